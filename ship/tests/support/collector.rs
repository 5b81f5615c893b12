//! The collector rotel.

#![allow(dead_code, clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::engines::{Server, lasting_port, signal, wait_for_port};

/// Where a collector puts the data that it receives.
#[derive(Debug, Clone)]
pub enum Output {
    /// Prints it.
    Printed,
    /// Prints the numbers of items in each request.
    Counted,
    /// Sends it to another OTLP/HTTP receiver with this base address.
    Sent(String),
}

/// A running collector.
pub struct Collector {
    program: PathBuf,
    dir: PathBuf,
    output: Output,
    ports: [u16; 2],
    server: Option<Server>,
}

impl Collector {
    /// Starts it. The directory is for its files.
    pub fn start(program: &Path, dir: &Path, output: Output) -> Collector {
        std::fs::create_dir_all(dir).unwrap();
        let (program, dir) = (program.to_owned(), dir.to_owned());
        let ports = std::array::from_fn(|_| lasting_port());
        let mut collector = Collector { program, dir, output, ports, server: None };
        collector.restart();
        collector
    }

    /// Ends it, if it runs, and starts it at the same port.
    pub fn restart(&mut self) {
        self.stop();
        let log = std::fs::File::options().create(true).append(true).open(self.log()).unwrap();
        let [http, grpc] = self.ports.map(|port| format!("127.0.0.1:{port}"));
        let mut command = Command::new(&self.program);
        command.args(["start", "--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc]);
        match &self.output {
            Output::Printed | Output::Counted => {
                let is_counted = matches!(self.output, Output::Counted);
                let verbosity = if is_counted { "basic" } else { "detailed" };
                command.args(["--exporter", "blackhole", "--debug-log-verbosity", verbosity]);
                command.args(["traces", "logs"].map(|signal| format!("--debug-log={signal}")));
            }
            Output::Sent(base) => {
                command.args(["--exporter", "otlp", "--otlp-exporter-protocol", "http"]);
                command.args(["--otlp-exporter-endpoint", base]);
                // Longer than the test stops it.
                command.args(["--otlp-exporter-request-timeout", "60s"]);
            }
        }
        command.arg("--pid-file").arg(self.dir.join("pid")).arg("--log-file").arg(self.dir.join("log"));
        command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.server = Some(Server(command.spawn().unwrap()));
        wait_for_port(self.ports[0]);
    }

    /// Ends it with SIGTERM, after which it first handles all that it has accepted.
    pub fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            signal(server.0.id(), "TERM");
            server.0.wait().unwrap();
        }
    }

    pub fn pid(&self) -> u32 {
        self.server.as_ref().map_or(0, |server| server.0.id())
    }

    pub fn port(&self) -> u16 {
        self.ports[0]
    }

    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port())
    }

    /// All that it has printed.
    pub fn printed(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap()
    }

    fn log(&self) -> PathBuf {
        self.dir.join("output")
    }
}
