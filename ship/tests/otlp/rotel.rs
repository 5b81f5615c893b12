//! A run is sent to the collector rotel, which prints all that it receives. `TEAMKEEP_ROTEL` is the path of `rotel-agent`;
//! `scripts/engines.sh` installs it. Without it the test is skipped, unless `TEAMKEEP_NEED_ENGINES` is 1.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use teamkeep_ship::otlp::{Encoding, OtlpTarget, Privacy, Sender, names, requests};
use tempfile::TempDir;

use super::sample::{RESOURCE, Sample, records, spans};

/// How long rotel has to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

fn rotel() -> Option<PathBuf> {
    let path = std::env::var_os("TEAMKEEP_ROTEL").map(PathBuf::from).filter(|path| path.exists());
    let is_needed = std::env::var("TEAMKEEP_NEED_ENGINES").is_ok_and(|value| value == "1");
    assert!(
        path.is_some() || !is_needed,
        "TEAMKEEP_ROTEL is not the path of rotel-agent: scripts/engines.sh"
    );
    if path.is_none() {
        eprintln!("skipped: TEAMKEEP_ROTEL is not set");
    }
    path
}

/// A running collector.
struct Collector {
    child: Child,
    dir: TempDir,
    base: String,
}

impl Collector {
    fn start(program: PathBuf) -> Collector {
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let (http, grpc, dir) = (free(), free(), tempfile::tempdir().unwrap());
        let output = std::fs::File::create(dir.path().join("output")).unwrap();
        let mut command = Command::new(program);
        command.args(["start", "--exporter", "blackhole", "--debug-log-verbosity", "detailed"]);
        for signal in ["traces", "logs", "metrics"] {
            command.args(["--debug-log", signal]);
        }
        command.args(["--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc]);
        command.arg("--pid-file").arg(dir.path().join("pid")).arg("--log-file").arg(dir.path().join("log"));
        command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
        let child = command.spawn().unwrap();
        let (began, collector) = (Instant::now(), Collector { child, dir, base: format!("http://{http}") });
        while TcpStream::connect(&http).is_err() {
            assert!(began.elapsed() < START_TIMEOUT, "rotel does not listen: {}", collector.output());
            std::thread::sleep(Duration::from_millis(5));
        }
        collector
    }

    /// Ends the collector, which first handles all that it has received, and returns its output.
    fn stop(mut self) -> String {
        let status = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success());
        self.child.wait().unwrap();
        self.output()
    }

    fn output(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("output")).unwrap()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn received(encoding: Encoding, privacy: Privacy) -> Option<String> {
    let collector = Collector::start(rotel()?);
    let target = OtlpTarget { base: collector.base.clone(), encoding, ..OtlpTarget::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sender = Sender::new(&target).unwrap();
    for request in requests(&RESOURCE, &Sample::new().export(privacy, 60, None)) {
        runtime.block_on(sender.send(&request)).unwrap();
    }
    Some(collector.stop())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether the output has everything of the sample.
fn check(output: &str) {
    let sent = requests(&RESOURCE, &Sample::new().export(Privacy::Full, 60, None));
    for span in spans(&sent) {
        assert!(
            output.contains(&span.name) && output.contains(&hex(&span.span_id)),
            "{}: {output}",
            span.name
        );
        assert!(output.contains(&hex(&span.trace_id)), "{}", span.name);
    }
    for record in records(&sent) {
        assert!(output.contains(&record.event_name), "{}: {output}", record.event_name);
    }
    for attribute in names::ATTRIBUTES {
        assert!(output.contains(attribute.name), "{}: {output}", attribute.name);
    }
    for metric in names::METRICS {
        assert!(output.contains(metric.name), "{}: {output}", metric.name);
    }
}

#[test]
fn a_collector_receives_protobuf() {
    if let Some(output) = received(Encoding::Protobuf, Privacy::Full) {
        check(&output);
    }
}

#[test]
fn a_collector_receives_json() {
    if let Some(output) = received(Encoding::Json, Privacy::Full) {
        check(&output);
    }
}

#[test]
fn a_collector_receives_no_text_in_metadata_mode() {
    if let Some(output) = received(Encoding::Protobuf, Privacy::Metadata) {
        assert!(
            output.contains("invoke_workflow parser") && !output.contains(super::sample::PLANTED),
            "{output}"
        );
    }
}
