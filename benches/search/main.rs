//! Measures `teamkeep search` on a large store.
//!
//! `cargo bench --bench search [-- MEGABYTES]` writes a log of 1,000 MB (100 runs; prompts, messages, and tools with results
//! of some kilobytes) below `TMPDIR`, builds the index, and searches. Budget: 1 s for each search after the first one. The
//! index takes about as much space as the log.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

mod record;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MEGABYTES: usize = 1_000;
const ROUNDS: usize = 5;

fn main() {
    let megabytes = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(MEGABYTES);
    let store = tempfile::tempdir().unwrap();
    let (events, bytes) = record::write(store.path(), megabytes * 1_000_000);
    println!("{events} events, {} MB of log", bytes / 1_000_000);
    let first = run(store.path(), &["search", "parser"]);
    let (seconds, index) = (first.as_secs_f64(), size(&store.path().join("search")));
    println!("the first search: {seconds:.1} s, {:.0} MB/s", bytes as f64 / 1e6 / seconds);
    println!("the index: {} MB", index / 1_000_000);
    let rows: [(&str, &[&str]); 8] = [
        ("a rare word", &["needle"]),
        ("a word in most texts", &["w0"]),
        ("two frequent words", &["w1", "w2"]),
        ("a phrase of frequent words", &["\"w1 w2\""]),
        ("the newest with a frequent word", &["w1", "--sort", "time"]),
        ("a frequent word in messages of one agent", &["w1", "--kind", "message", "--agent", "a2"]),
        ("a regular expression in messages", &["--regex", "ne+dle", "--kind", "message"]),
        ("a regular expression in everything", &["--regex", "ne+dle"]),
    ];
    for (what, args) in rows {
        let mut took: Vec<Duration> =
            (0..ROUNDS).map(|_| run(store.path(), &[&["--quiet", "search"], args].concat())).collect();
        took.sort();
        let (median, worst) = (took[ROUNDS / 2].as_secs_f64() * 1e3, took[ROUNDS - 1].as_secs_f64() * 1e3);
        println!("{what}: {median:.0} ms, worst of {ROUNDS} {worst:.0} ms");
    }
    record::append(store.path());
    let took = run(store.path(), &["search", "needle"]).as_secs_f64() * 1e3;
    println!("after 100 more events: {took:.0} ms");
}

fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let of = |entry: std::fs::DirEntry| match entry.metadata().unwrap() {
        there if there.is_dir() => size(&entry.path()),
        there => there.len(),
    };
    entries.map(of).sum()
}

fn run(store: &Path, args: &[&str]) -> Duration {
    let binary = std::env::var_os("TEAMKEEP_BENCH_BINARY");
    let binary: OsString = binary.unwrap_or_else(|| env!("CARGO_BIN_EXE_teamkeep").into());
    let mut command = Command::new(binary);
    command.env_clear().env("HOME", store).env("TEAMKEEP_HOME", store).args(args).stdout(Stdio::null());
    let start = Instant::now();
    assert!(command.status().unwrap().success());
    start.elapsed()
}
