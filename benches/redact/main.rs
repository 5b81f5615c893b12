//! Measures redaction of recorded transcripts. Budget: 100 MB/s, in one thread.
//!
//! `cargo bench --bench redact` redacts the events in `tests/fixtures/traces` as JSON Lines and their texts as plain text.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods)]

use std::time::{Duration, Instant};

use serde_json::Value;
use teamkeep_config::Privacy;
use teamkeep_redact::Redactor;

const ROUNDS: usize = 7;

fn main() {
    let traces = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/traces");
    let files = std::fs::read_dir(traces).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let lines: String = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let mut texts = String::new();
    lines.lines().for_each(|line| collect(&serde_json::from_str(line).unwrap(), &mut texts));
    let redactor = Redactor::new(&Privacy::default(), &["/srv/people/ada".to_owned()]).unwrap();
    measure("JSON Lines", &lines, |text| redactor.content(text).len());
    measure("plain text", &texts, |text| redactor.text(text).len());
}

fn collect(value: &Value, texts: &mut String) {
    match value {
        Value::String(text) => {
            texts.push_str(text);
            texts.push('\n');
        }
        Value::Array(all) => all.iter().for_each(|value| collect(value, texts)),
        Value::Object(all) => all.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

fn measure(name: &str, text: &str, redact: impl Fn(&str) -> usize) {
    let mut took: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(redact(text));
            start.elapsed()
        })
        .collect();
    took.sort();
    let megabytes = text.len() as f64 / 1e6;
    println!("{name}: {megabytes:.1} MB, {:.0} MB/s (best of {ROUNDS})", megabytes / took[0].as_secs_f64());
}
