//! Measures shipping to a directory and to a collector: events per second, and memory.
//!
//! `cargo bench -p teamkeep-ship [-- EVENTS [RUNS]]` writes RUNS runs of EVENTS events together to a scratch store below `TMPDIR`,
//! ships them with each privacy, and prints the peak of resident memory. Budget: 50,000 events a second and 256 MiB. A collector gets
//! ended runs only, no events. It is rotel, which `scripts/engines.sh` installs; without it this part is skipped.

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
use std::time::Instant;

use collector::{Collector, Output};
use engines::{Engine, engine};
use long::Long;
use received::Received;

/// The runs in the store.
struct Written {
    runs: usize,
    events: usize,
    megabytes: usize,
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse().ok());
    let (events, runs) = (numbers.next().unwrap_or(1_000_000), numbers.next().unwrap_or(10));
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let written = (1..=runs).map(|number| Long::write(&store, number, events / runs));
    let (events, bytes) =
        written.fold((0, 0), |(events, bytes), long| (events + long.events, bytes + long.bytes));
    let written = Written { runs, events, megabytes: bytes / 1_000_000 };
    println!("load before: {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    println!("{events} events in {runs} runs, {} MB of log", written.megabytes);
    for privacy in ["metadata", "redacted", "full"] {
        to_directory(dir.path(), &written, privacy);
    }
    for privacy in ["metadata", "full"] {
        to_collector(dir.path(), &written, privacy);
    }
}

fn to_directory(dir: &Path, written: &Written, privacy: &str) {
    let lake = dir.join(privacy);
    let (seconds, peak) =
        ship(dir, &format!("store = \"file://{}\"\nprivacy = \"{privacy}\"", lake.display()));
    println!(
        "directory, {privacy}: {seconds:.1} s, {:.0} events/s, {:.0} MB/s, {peak} MiB resident, {} MB sent",
        written.events as f64 / seconds,
        written.megabytes as f64 / seconds,
        size(&lake) / 1_000_000
    );
}

fn to_collector(dir: &Path, written: &Written, privacy: &str) {
    let Some(program) = engine(Engine::Rotel) else { return };
    // A directory of its own: the collector appends to its output.
    let mut collector = Collector::start(&program, &dir.join(format!("rotel-{privacy}")), Output::Counted);
    let (seconds, peak) = ship(dir, &format!("otlp = \"{}\"\nprivacy = \"{privacy}\"", collector.base()));
    collector.stop();
    let received = Received::of(&collector.printed());
    println!(
        "collector, {privacy}: {seconds:.1} s, {:.1} runs/s ({:.0} events/s), {:.0} items/s, {peak} MiB resident; {received:?}",
        written.runs as f64 / seconds,
        written.events as f64 / seconds,
        (received.spans + received.records + received.points) as f64 / seconds,
    );
}

/// Ships everything to a new destination; returns the seconds and the peak of resident memory in MiB.
fn ship(dir: &Path, config: &str) -> (f64, u64) {
    std::fs::write(dir.join("teamkeep.toml"), format!("[ship]\n{config}\n")).unwrap();
    let _ = std::fs::remove_dir_all(dir.join("store/ship"));
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_teamkeep-ship"));
    command.arg("--once").env_clear().env("HOME", dir).env("TEAMKEEP_HOME", dir.join("store"));
    command.env("TEAMKEEP_CONFIG", dir.join("teamkeep.toml")).stderr(Stdio::inherit());
    let mut child = command.spawn().unwrap();
    let (status, mut peak) = (format!("/proc/{}/status", child.id()), 0);
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or_default());
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return (start.elapsed().as_secs_f64(), peak >> 10);
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.path() {
        path if path.is_dir() => size(&path),
        _ => entry.metadata().map_or(0, |metadata| metadata.len()),
    });
    sizes.sum()
}
