//! An OTLP/HTTP receiver that keeps every request.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use prost::Message;
use teamkeep_ship::otlp::Request;

use super::http::{Got, answer};

/// A running receiver.
pub struct Receiver {
    pub base: String,
    kept: Arc<Kept>,
}

#[derive(Default)]
struct Kept {
    is_busy: AtomicBool,
    /// The size, decompressed, from which on it refuses a request.
    limit: Mutex<Option<usize>>,
    refused: AtomicUsize,
    requests: Mutex<Vec<Got>>,
}

impl Receiver {
    pub fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let receiver = Receiver { base, kept: Arc::default() };
        let kept = Arc::clone(&receiver.kept);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (stream.unwrap(), Arc::clone(&kept));
                std::thread::spawn(move || kept.take(stream));
            }
        });
        receiver
    }

    /// Whether it accepts nothing for the next ten minutes.
    pub fn set_busy(&self, is_busy: bool) {
        self.kept.is_busy.store(is_busy, Ordering::Relaxed);
    }

    /// Refuses requests from this size on, decompressed.
    pub fn set_limit(&self, bytes: usize) {
        *self.kept.limit.lock().unwrap() = Some(bytes);
    }

    /// The number of requests that were too large.
    pub fn refused(&self) -> usize {
        self.kept.refused.load(Ordering::Relaxed)
    }

    /// The requests that it has accepted.
    pub fn requests(&self) -> Vec<Request> {
        self.kept.requests.lock().unwrap().iter().map(decoded).collect()
    }
}

impl Kept {
    fn take(&self, stream: TcpStream) -> io::Result<()> {
        let request = Got::read(&stream)?;
        if self.is_busy.load(Ordering::Relaxed) {
            return answer(stream, "503 Service Unavailable", "Retry-After: 600\r\n");
        }
        if self.limit.lock().unwrap().is_some_and(|limit| request.content().len() >= limit) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return answer(stream, "413 Content Too Large", "");
        }
        self.requests.lock().unwrap().push(request);
        answer(stream, "200 OK", "Content-Type: application/x-protobuf\r\n")
    }
}

fn decoded(request: &Got) -> Request {
    let content = request.content();
    match request.path() {
        "/v1/traces" => Request::Traces(Message::decode(content.as_slice()).unwrap()),
        "/v1/logs" => Request::Logs(Message::decode(content.as_slice()).unwrap()),
        "/v1/metrics" => Request::Metrics(Message::decode(content.as_slice()).unwrap()),
        path => panic!("unknown path {path}"),
    }
}
