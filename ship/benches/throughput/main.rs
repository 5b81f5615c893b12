//! Measures shipping to an object store, a directory and a collector: rows per second, and memory.
//!
//! `cargo bench -p teamkeep-ship [-- EVENTS [RUNS]]` writes RUNS runs of EVENTS events together to a scratch store below `TMPDIR`,
//! ships them to each destination with each privacy, and prints the peak of resident memory. Budget: 50,000 rows a second and 128 MiB.
//! The object store is a directory, so that no server is measured. The collector is rotel, which `scripts/engines.sh` installs;
//! without it this part is skipped.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

#[path = "../../tests/support/collector.rs"]
mod collector;
#[path = "../../tests/support/engines.rs"]
mod engines;
#[path = "../../../benches/replay/long.rs"]
mod long;
mod received;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use collector::{Collector, Output};
use engines::{Engine, engine};
use long::Long;
use received::Received;

/// A shipment, as it was measured.
struct Shipment {
    rows: usize,
    seconds: f64,
    /// The peak of resident memory, in MiB.
    peak: u64,
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse().ok());
    let (events, runs) = (numbers.next().unwrap_or(1_000_000), numbers.next().unwrap_or(10));
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let written = (1..=runs).map(|number| Long::write(&store, number, events / runs));
    let (events, bytes) =
        written.fold((0, 0), |(events, bytes), long| (events + long.events, bytes + long.bytes));
    println!("load before: {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    println!("{events} events in {runs} runs, {} MB of log", bytes / 1_000_000);
    for privacy in ["metadata", "redacted", "full"] {
        to_files(dir.path(), "store", privacy);
        to_files(dir.path(), "directory", privacy);
    }
    for (privacy, signals) in [("metadata", "logs"), ("full", "logs"), ("metadata", "both")] {
        to_collector(dir.path(), privacy, signals);
    }
}

fn to_files(dir: &Path, key: &str, privacy: &str) {
    let target = dir.join(format!("{key}-{privacy}"));
    let scheme = if key == "store" { "file://" } else { "" };
    let found = ship(dir, &format!("{key} = \"{scheme}{}\"\nprivacy = \"{privacy}\"", target.display()));
    println!("{key}, {privacy}: {}, {} MB sent", found.text(), size(&target) / 1_000_000);
    std::fs::remove_dir_all(target).unwrap();
}

fn to_collector(dir: &Path, privacy: &str, signals: &str) {
    let Some(program) = engine(Engine::Rotel) else { return };
    // A directory of its own: the collector appends to its output.
    let dir_of_collector = dir.join(format!("rotel-{privacy}-{signals}"));
    let mut collector = Collector::start(&program, &dir_of_collector, Output::Counted);
    let config =
        format!("otlp = \"{}\"\nprivacy = \"{privacy}\"\notlp-signals = \"{signals}\"", collector.base());
    let found = ship(dir, &config);
    collector.stop();
    let received = Received::of(&collector.printed());
    println!("collector, {privacy}, {signals}: {}; {received:?}", found.text());
    if signals != "traces" {
        assert_eq!(received.records, found.rows);
    }
}

impl Shipment {
    fn text(&self) -> String {
        let Shipment { rows, seconds, peak } = self;
        format!("{rows} rows in {seconds:.1} s, {:.0} rows/s, {peak} MiB resident", *rows as f64 / seconds)
    }
}

/// Ships everything to a new destination.
fn ship(dir: &Path, config: &str) -> Shipment {
    std::fs::write(dir.join("teamkeep.toml"), format!("[ship]\n{config}\n")).unwrap();
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_teamkeep-ship"));
    command.arg("--once").env_clear().env("HOME", dir).env("TEAMKEEP_HOME", dir.join("store"));
    command.env("TEAMKEEP_CONFIG", dir.join("teamkeep.toml")).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (status, mut peak) = (format!("/proc/{}/status", child.id()), 0);
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or_default());
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let seconds = start.elapsed().as_secs_f64();
    let printed = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert!(ended.success(), "{printed}");
    let (_, rows) = printed.split_once(" (").unwrap();
    let rows = rows.split(' ').next().unwrap().replace(',', "").parse().unwrap();
    Shipment { rows, seconds, peak: peak >> 10 }
}

fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.path() {
        path if path.is_dir() => size(&path),
        _ => entry.metadata().map_or(0, |metadata| metadata.len()),
    });
    sizes.sum()
}
