//! The way from a machine to the collector. It can be full, or lose responses.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use super::http::{Got, answer};

/// The trouble of all gates.
#[derive(Debug, Default)]
pub struct Trouble {
    mode: AtomicU8,
    /// Requests that were not taken.
    pub refused: AtomicUsize,
    /// Responses of the collector that did not arrive.
    pub lost: AtomicUsize,
}

impl Trouble {
    const NONE: u8 = 0;
    const FULL: u8 = 1;
    const LOSES: u8 = 2;

    /// Every request is answered with 503 or 429 for as long as this takes.
    pub fn full(&self, wait: impl FnOnce()) {
        self.during(Trouble::FULL, wait);
    }

    /// Every request reaches the collector, whose response is lost, for as long as this takes.
    pub fn loses_responses(&self, wait: impl FnOnce()) {
        self.during(Trouble::LOSES, wait);
    }

    fn during(&self, mode: u8, wait: impl FnOnce()) {
        self.mode.store(mode, Ordering::Relaxed);
        wait();
        self.mode.store(Trouble::NONE, Ordering::Relaxed);
    }

    /// Passes one request to the collector at this port, and its response back.
    fn pass(&self, mut machine: TcpStream, port: u16) -> io::Result<()> {
        let request = Got::read(&machine)?;
        let mode = self.mode.load(Ordering::Relaxed);
        if mode == Trouble::FULL {
            let statuses = ["503 Service Unavailable", "429 Too Many Requests"];
            let status = statuses[self.refused.fetch_add(1, Ordering::Relaxed) % 2];
            return answer(machine, status, "Retry-After: 1\r\n");
        }
        let mut collector = TcpStream::connect(("127.0.0.1", port))?;
        request.write(&collector)?;
        let mut response = Vec::new();
        collector.read_to_end(&mut response)?;
        if mode == Trouble::LOSES {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        machine.write_all(&response)
    }
}

/// The address at which one machine finds the collector.
pub struct Gate {
    pub base: String,
    requests: Arc<AtomicUsize>,
}

impl Gate {
    /// Opens a way to the collector at this port.
    pub fn open(port: u16, trouble: &Arc<Trouble>) -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (requests, trouble) = (Arc::new(AtomicUsize::new(0)), Arc::clone(trouble));
        let gate = Gate { base, requests: Arc::clone(&requests) };
        std::thread::spawn(move || {
            for machine in listener.incoming() {
                let (machine, trouble) = (machine.unwrap(), Arc::clone(&trouble));
                requests.fetch_add(1, Ordering::Relaxed);
                // Without a response, the machine finds its connection closed.
                std::thread::spawn(move || trouble.pass(machine, port));
            }
        });
        gate
    }

    /// The number of requests so far.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}
