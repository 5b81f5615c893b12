//! Measures the backtest of a large run. Budget: three seconds for 100,000 recorded events.
//!
//! `cargo bench --bench backtest [-- EVENTS]` writes such a run to a scratch store and times `teamkeep policy test`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

mod big;

use std::process::Command;
use std::time::{Duration, Instant};

const EVENTS: usize = 100_000;
const ROUNDS: usize = 5;

fn main() {
    let events = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(EVENTS);
    let store = tempfile::tempdir().unwrap();
    let big = big::Big::write(store.path(), events);
    println!(
        "{} events ({:.0} MB of log), {} snapshots, {} contents",
        big.events,
        big.bytes as f64 / 1e6,
        big.looks,
        big.written
    );
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_teamkeep"));
        command.env_clear().env("HOME", store.path()).env("TEAMKEEP_HOME", store.path());
        command.args(["policy", "test", "latest"]);
        command
    };
    let said = command().output().unwrap();
    assert!(said.status.success(), "{said:?}");
    let said = String::from_utf8(said.stdout).unwrap();
    println!("{}", said.lines().last().unwrap_or_default());
    let mut took: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            command().output().unwrap();
            start.elapsed()
        })
        .collect();
    took.sort();
    println!(
        "teamkeep policy test: {:.2} s (median of {ROUNDS}; budget: 3 s)",
        took[ROUNDS / 2].as_secs_f64()
    );
}
