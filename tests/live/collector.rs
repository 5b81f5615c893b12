//! The collector rotel, to which both Claude Code and teamkeep send their telemetry. It prints all that it receives.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::home::Home;

/// How long the collector has to start, and teamkeep to send.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running collector.
pub struct Collector {
    child: Mutex<Child>,
    output: PathBuf,
    base: String,
}

impl Collector {
    /// Starts it. `dir` is the directory of its files.
    pub fn start(dir: &Path) -> Result<Self, String> {
        let program = std::env::var_os("TEAMKEEP_ROTEL").ok_or(
            "TEAMKEEP_ROTEL is not the path of the collector\nhint: eval \"$(scripts/engines.sh)\""
                .to_owned(),
        )?;
        let cannot = |error: std::io::Error| format!("cannot start the collector: {error}");
        fs::create_dir_all(dir).map_err(cannot)?;
        let free = || Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string());
        let (http, grpc, output) = (free().map_err(cannot)?, free().map_err(cannot)?, dir.join("output"));
        let out = File::create(&output).map_err(cannot)?;
        let mut command = Command::new(program);
        command.args(["start", "--exporter", "blackhole", "--debug-log-verbosity", "detailed"]);
        for signal in ["traces", "logs", "metrics"] {
            command.args(["--debug-log", signal]);
        }
        command.args(["--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc]);
        command.arg("--pid-file").arg(dir.join("pid")).arg("--log-file").arg(dir.join("log"));
        command.stdin(Stdio::null()).stdout(out.try_clone().map_err(cannot)?).stderr(out);
        let child = command.spawn().map_err(cannot)?;
        let collector = Self { child: Mutex::new(child), output, base: format!("http://{http}") };
        let began = Instant::now();
        while TcpStream::connect(&http).is_err() {
            if began.elapsed() > TIMEOUT {
                return Err(format!("the collector does not listen: {}", collector.output()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(collector)
    }

    /// The variables with which Claude Code sends all its telemetry to it.
    pub fn variables(&self) -> [(&'static str, &str); 8] {
        [
            ("CLAUDE_CODE_ENABLE_TELEMETRY", "1"),
            ("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1"),
            ("CLAUDE_CODE_PROPAGATE_TRACEPARENT", "1"),
            ("OTEL_LOGS_EXPORTER", "otlp"),
            ("OTEL_METRICS_EXPORTER", "otlp"),
            ("OTEL_TRACES_EXPORTER", "otlp"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &self.base),
        ]
    }

    /// The configuration with which teamkeep sends to it.
    pub fn config(&self) -> String {
        format!("[ship]\notlp = \"{}\"\notlp-signals = \"both\"\n", self.base)
    }

    /// Waits until teamkeep has sent all, ends the collector, which first handles all that it has received, and returns what
    /// it printed.
    pub fn finish(&self, home: &Home) -> Result<String, String> {
        let began = Instant::now();
        loop {
            let output = home.output(&["ship", "--once"])?;
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            if !output.status.success() || began.elapsed() > TIMEOUT {
                return Err(format!("teamkeep ship ended with {}: {told}", output.status));
            }
            // A hook has started one at the end of the session.
            if !told.contains("another process is sending") {
                break;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        let mut child = self.child.lock().map_err(|error| error.to_string())?;
        let ended = Command::new("kill").arg(child.id().to_string()).status();
        let ended = ended.and_then(|_| child.wait());
        ended.map_err(|error| format!("cannot end the collector: {error}"))?;
        Ok(self.output())
    }

    fn output(&self) -> String {
        fs::read_to_string(&self.output).unwrap_or_default()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        if let Ok(child) = self.child.get_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Puts `teamkeep-ship` next to `teamkeep`.
pub fn place_shipper(root: &Path) -> Result<(), String> {
    let built = Path::new(env!("CARGO_BIN_EXE_teamkeep")).with_file_name("teamkeep-ship");
    fs::copy(&built, root.join("bin/teamkeep-ship")).map(drop).map_err(|error| {
        format!("cannot copy {}: {error}\nhint: cargo build --locked -p teamkeep-ship", built.display())
    })
}
