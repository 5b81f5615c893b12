//! Measures shipping to a directory: events per second, and memory.
//!
//! `cargo bench -p teamkeep-ship [-- EVENTS [RUNS]]` writes RUNS runs of EVENTS events together to a scratch store below `TMPDIR`,
//! ships them with each privacy, and prints the peak of resident memory. Budget: 50,000 events a second and 256 MiB.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../../benches/replay/long.rs"]
mod long;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use long::Long;

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse().ok());
    let (events, runs) = (numbers.next().unwrap_or(1_000_000), numbers.next().unwrap_or(10));
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("store");
    let written: Vec<(usize, usize)> = (1..=runs)
        .map(|number| {
            let long = Long::write(&store, number, events / runs);
            (long.events, long.bytes)
        })
        .collect();
    let total: usize = written.iter().map(|(events, _)| events).sum();
    let megabytes = written.iter().map(|(_, bytes)| bytes).sum::<usize>() / 1_000_000;
    println!("{total} events in {runs} runs, {megabytes} MB of log");
    for privacy in ["metadata", "redacted", "full"] {
        let lake = dir.path().join(privacy);
        let config = format!("[ship]\nstore = \"file://{}\"\nprivacy = \"{privacy}\"\n", lake.display());
        std::fs::write(dir.path().join("teamkeep.toml"), config).unwrap();
        let _ = std::fs::remove_dir_all(store.join("ship"));
        let start = Instant::now();
        let peak = ship(dir.path());
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{privacy}: {:.1} s, {:.0} events/s, {:.0} MB/s, {peak} MiB resident, {} MB sent",
            seconds,
            total as f64 / seconds,
            megabytes as f64 / seconds,
            size(&lake) / 1_000_000
        );
    }
}

/// Ships everything; returns the peak of resident memory in MiB.
fn ship(dir: &Path) -> u64 {
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
            return peak >> 10;
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
