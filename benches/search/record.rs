//! A store with many runs whose texts have frequent and rare words, as in a language.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use teamkeep_core::sys::clock;

const RUNS: usize = 100;
/// Segments are closed at this size, as the recorder does.
const SEGMENT_BYTES: usize = 16 << 20;
const WORDS: u64 = 200_000;
/// One in so many texts contains the rare word.
const RARE: u64 = 20_000;

/// Numbers that are the same in each run of the program.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A text of so many words. The probability of a word falls with its number.
    fn text(&mut self, words: u64) -> String {
        let mut text = String::new();
        for place in 0..words {
            let uniform = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
            let word = (WORDS as f64).powf(uniform) as u64 - 1;
            let break_ = if place % 12 == 11 { '\n' } else { ' ' };
            let _ = write!(text, "w{word}{break_}");
        }
        if self.next().is_multiple_of(RARE) {
            text.push_str("the needle");
        }
        text
    }
}

/// Writes runs until the log has this size; returns the number of events and of bytes.
pub fn write(store: &Path, most: usize) -> (usize, usize) {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    std::fs::create_dir_all(store.join("log")).unwrap();
    let (mut events, mut bytes, mut segment, mut part) = (0, 0, String::new(), 0);
    for run in 0..RUNS {
        describe(store, run);
        while bytes < most * (run + 1) / RUNS {
            let line = event(&mut numbers, run, events);
            (events, bytes) = (events + 1, bytes + line.len());
            segment.push_str(&line);
            if segment.len() + 20_000 > SEGMENT_BYTES {
                save(store, part, &segment);
                (segment, part) = (String::new(), part + 1);
            }
        }
    }
    save(store, part, &segment);
    (events, bytes)
}

/// Adds some events to the last segment.
pub fn append(store: &Path) {
    let mut numbers = Numbers(7);
    let mut segments: Vec<_> =
        std::fs::read_dir(store.join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.sort();
    let mut file = std::fs::OpenOptions::new().append(true).open(segments.last().unwrap()).unwrap();
    for number in 0..100 {
        file.write_all(event(&mut numbers, RUNS - 1, 10_000_000 + number).as_bytes()).unwrap();
    }
}

fn save(store: &Path, part: usize, lines: &str) {
    let name =
        format!("2026-02-03T{:02}{:02}{:02}000Z-aaaaaaaa.jsonl", part / 3_600, part / 60 % 60, part % 60);
    std::fs::write(store.join("log").join(name), lines).unwrap();
}

fn id(run: usize) -> String {
    format!("{run:08x}aabbccdd")
}

fn describe(store: &Path, run: usize) {
    let dir = store.join("archive/runs").join(id(run));
    std::fs::create_dir_all(&dir).unwrap();
    let record = json!({"v": 1, "run": id(run), "team": format!("team-{run}"), "started_at": "2026-02-03T00:00:00.000Z",
        "ended_at": "2026-02-03T12:00:00.000Z", "sessions": [{"id": format!("s{run}"), "role": "lead"}], "finished": true});
    std::fs::write(dir.join("run.json"), record.to_string()).unwrap();
}

/// The start or the end of a tool call, a message or a prompt.
fn event(numbers: &mut Numbers, run: usize, number: usize) -> String {
    let agent = format!("a{}", number / 7 % 8);
    let tool = |event: &str, tool: &str, input: Value| {
        json!({"hook_event_name": event, "session_id": format!("s{run}"),
        "tool_name": tool, "tool_use_id": format!("t{}", number / 2), "tool_input": input})
    };
    let (event, payload) = match number % 14 {
        0 => ("UserPromptSubmit", json!({"session_id": format!("s{run}"), "prompt": numbers.text(60)})),
        1 => (
            "PreToolUse",
            tool("PreToolUse", "SendMessage", json!({"to": "a1", "message": numbers.text(120)})),
        ),
        place if place % 2 == 0 => (
            "PreToolUse",
            tool("PreToolUse", "Bash", json!({"command": numbers.text(12), "description": "run it"})),
        ),
        _ => {
            let mut payload = tool("PostToolUse", "Bash", json!({"command": "cargo test"}));
            payload["tool_response"] = json!({"stdout": numbers.text(600), "stderr": ""});
            ("PostToolUse", payload)
        }
    };
    let at = clock::parse("2026-02-03T00:00:00Z").unwrap() + chrono::TimeDelta::milliseconds(number as i64);
    let line = json!({"v": 1, "at": at, "id": format!("{number:026}"), "event": event, "session": format!("s{run}"),
        "team": format!("team-{run}"), "actor": {"name": agent, "id": null, "kind": "teammate"}, "run": id(run),
        "payload": payload});
    format!("{line}\n")
}
