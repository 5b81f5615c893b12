//! The collector rotel, which counts what it receives and drops it.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub struct Collector {
    child: Child,
    output: PathBuf,
    pub base: String,
}

/// The data that a collector received.
#[derive(Debug, Default)]
pub struct Received {
    pub requests: usize,
    pub spans: usize,
    pub records: usize,
    pub points: usize,
}

impl Collector {
    /// Starts the collector of `TEAMKEEP_ROTEL`; `None` if it is not set.
    pub fn start(dir: &Path) -> Option<Collector> {
        let program = std::env::var_os("TEAMKEEP_ROTEL")?;
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let (http, grpc, output) = (free(), free(), dir.join("rotel"));
        let file = std::fs::File::create(&output).unwrap();
        let mut command = Command::new(program);
        command.args(["start", "--exporter", "blackhole", "--debug-log-verbosity", "basic"]);
        for signal in ["traces", "logs", "metrics"] {
            command.args(["--debug-log", signal]);
        }
        command.args(["--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc]);
        command.arg("--pid-file").arg(dir.join("pid")).arg("--log-file").arg(dir.join("log"));
        command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let mut child = command.spawn().unwrap();
        while TcpStream::connect(&http).is_err() {
            assert!(child.try_wait().unwrap().is_none(), "rotel has ended: {}", output.display());
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(Collector { child, output, base: format!("http://{http}") })
    }

    /// Ends the collector, which first handles all that it has received.
    pub fn stop(mut self) -> Received {
        Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        self.child.wait().unwrap();
        let mut received = Received::default();
        for line in std::fs::read_to_string(&self.output).unwrap().lines() {
            let Some((_, line)) = line.split_once("Received ") else { continue };
            let count = |key: &str| {
                let (_, rest) = line.split_once(key)?;
                rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok()
            };
            received.requests += 1;
            received.spans += count(" spans=").unwrap_or_default();
            received.records += count(" logs=").unwrap_or_default();
            received.points += count(" metrics=").unwrap_or_default();
        }
        received
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
