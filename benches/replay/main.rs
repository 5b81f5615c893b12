//! Measures time and memory of replaying a long run, of listing many, and of the report of a big run.
//!
//! `cargo bench --bench replay [-- EVENTS [RUNS [MESSAGES]]]` writes a run of 1,000,000 events to a scratch store and replays it
//! to JSON. Budget: 5 s (or 300 MB/s of log, if that is longer) and 256 MiB. It also writes 1,000 runs and lists them.
//! Budget: 100 ms. It reports the big run of the tests (13 agents, 150 tasks, 3,091 messages). The scratch stores are below `TMPDIR`; the first one takes 1 GB.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

#[allow(dead_code)]
#[path = "../../tests/it/support/big_run.rs"]
mod big_run;
mod long;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use big_run::{BigRun, Course, MESSAGES};
use long::Long;

const EVENTS: usize = 1_000_000;
const RUNS: usize = 1_000;
/// Number of events of each of many runs.
const EACH: usize = 100;
const ROUNDS: usize = 5;

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse().ok());
    let (events, runs) = (numbers.next().unwrap_or(EVENTS), numbers.next().unwrap_or(RUNS));
    replay(events);
    teams(runs);
    report(numbers.next().unwrap_or(MESSAGES));
}

fn replay(events: usize) {
    let store = tempfile::tempdir().unwrap();
    let long = Long::write(store.path(), 1, events);
    let megabytes = long.bytes as f64 / 1e6;
    println!("{} events, {megabytes:.0} MB of log", long.events);
    let said = command(store.path(), &["log", "--json"]).output().unwrap();
    assert!(said.status.success() && said.stderr.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
    println!("{} entries", said.stdout.iter().filter(|byte| **byte == b'\n').count());
    drop(said);
    let asked = (megabytes / 300.0).max(5.0 * events as f64 / 1e6);
    let took = median(|| run(store.path(), &["log", "--json"]));
    println!(
        "teamkeep log --json: {:.2} s, {:.0} MB/s (median of {ROUNDS}; budget: {asked:.2} s)",
        took.as_secs_f64(),
        megabytes / took.as_secs_f64()
    );
    println!("peak resident memory: {:.0} MiB (budget: 256 MiB)", peak(store.path(), &["log", "--json"]));
}

fn teams(runs: usize) {
    let store = tempfile::tempdir().unwrap();
    let bytes: usize = (0..runs).map(|number| Long::write(store.path(), number, EACH).bytes).sum();
    println!("{runs} runs, {:.0} MB of log", bytes as f64 / 1e6);
    let first = run(store.path(), &["list"]);
    let took = median(|| run(store.path(), &["list"]));
    println!(
        "teamkeep list: {:.0} ms, the first time {:.0} ms (median of {ROUNDS}; budget: 100 ms)",
        took.as_secs_f64() * 1e3,
        first.as_secs_f64() * 1e3
    );
}

fn report(messages: usize) {
    let store = tempfile::tempdir().unwrap();
    BigRun::with_messages(store.path(), &store.path().join(".claude"), Course::Stall, messages);
    println!("a run of {messages} messages");
    for format in ["text", "json", "html"] {
        let args = ["report", "--format", format];
        let took = median(|| run(store.path(), &args));
        let took = took.as_secs_f64() * 1e3;
        println!("teamkeep report --format {format}: {took:.0} ms, {:.0} MiB", peak(store.path(), &args));
    }
}

fn median(mut once: impl FnMut() -> Duration) -> Duration {
    let mut took: Vec<Duration> = (0..ROUNDS).map(|_| once()).collect();
    took.sort();
    took[ROUNDS / 2]
}

fn run(store: &Path, args: &[&str]) -> Duration {
    let start = Instant::now();
    let status = command(store, args).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    start.elapsed()
}

/// The peak of resident memory in MiB, as the kernel counts it (Linux).
fn peak(store: &Path, args: &[&str]) -> f64 {
    let mut child = command(store, args).stdout(Stdio::null()).spawn().unwrap();
    let mut most = 0.0f64;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        most = most.max(kilobytes.unwrap_or_default() / 1024.0);
        std::thread::sleep(Duration::from_millis(2));
    }
    most
}

/// The binary of `benches/table.sh`, or of this build.
fn binary() -> OsString {
    std::env::var_os("TEAMKEEP_BENCH_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_teamkeep").into())
}

fn command(store: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.env_clear().env("HOME", store).env("TEAMKEEP_HOME", store).args(args);
    command
}
