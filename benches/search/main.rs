//! Measures `teamkeep search` on a large store.
//!
//! `cargo bench --bench search [-- MEGABYTES]` writes a log of 1,000 MB (100 runs; prompts, messages, and tools with results
//! of some kilobytes) below `TMPDIR`, a quarter of it in compressed parts, and searches. Budget: 1.2 s for 1,000 MB on 2 cores,
//! 12 s for 10,000 MB.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

mod record;

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MEGABYTES: usize = 1_000;

fn main() {
    let megabytes = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(MEGABYTES);
    // A large log takes long to search without a literal.
    let rounds = if megabytes > 2_000 { 1 } else { 5 };
    let store = tempfile::tempdir().unwrap();
    let written = record::write(store.path(), megabytes * 1_000_000);
    let (all, compressed) = (written.bytes / 1_000_000, written.compressed / 1_000_000);
    println!("{} events, {all} MB of log, {compressed} MB of it compressed", written.events);
    let rows: [(&str, &[&str]); 12] = [
        ("a rare word", &["needle"]),
        ("a rare word, exact", &["Zeedle"]),
        ("a word that does not occur", &["missing"]),
        ("a rare word in Chinese", &["配置"]),
        ("a whole rare word", &["-w", "needle"]),
        ("a rare and a frequent word", &["w0", "needle"]),
        ("a word in most texts", &["w0"]),
        ("two frequent words", &["w1", "w2"]),
        ("a phrase of frequent words", &["\"w1 w2\""]),
        ("a frequent word in messages of one agent", &["w1", "--kind", "message", "--agent", "a2"]),
        ("a regular expression with a literal", &["--regex", "ne+dle"]),
        ("a regular expression without a literal", &["--regex", "[n][a-e]{2}[d][k-m]"]),
    ];
    for (what, args) in rows {
        let mut took: Vec<[Duration; 2]> =
            (0..rounds).map(|_| run(store.path(), &[&["--quiet", "search"], args].concat())).collect();
        took.sort();
        let ms = |round: usize, part: usize| took[round][part].as_secs_f64() * 1e3;
        let (median, worst, first) = (ms(rounds / 2, 0), ms(rounds - 1, 0), ms(rounds / 2, 1));
        let speed = all as f64 / median;
        println!(
            "{what}: {median:.0} ms ({speed:.2} GB/s), worst of {rounds} {worst:.0} ms, first output after {first:.0} ms"
        );
    }
}

/// The time of a whole call, and until its first output.
fn run(store: &Path, args: &[&str]) -> [Duration; 2] {
    let binary = std::env::var_os("TEAMKEEP_BENCH_BINARY");
    let binary: OsString = binary.unwrap_or_else(|| env!("CARGO_BIN_EXE_teamkeep").into());
    let mut command = Command::new(binary);
    command.env_clear().env("HOME", store).env("TEAMKEEP_HOME", store).args(args).stdout(Stdio::piped());
    let start = Instant::now();
    let mut process = command.spawn().unwrap();
    let mut out = process.stdout.take().unwrap();
    let _ = out.read(&mut [0]).unwrap();
    let first = start.elapsed();
    let _ = std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert!(process.wait().unwrap().success());
    [start.elapsed(), first]
}
