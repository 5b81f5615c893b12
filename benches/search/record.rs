//! A store with many runs whose texts have frequent and rare words, as in a language.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use teamkeep_model::time;
use teamkeep_store::chain::ChainPoint;
use teamkeep_store::log::SegmentName;

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
            text.push_str("the needle, the Zeedle, 修改配置文件");
        }
        text
    }
}

/// A larger log is made of links to the files of one of this size, in bytes.
const MOST_ON_DISK: usize = 2_000_000_000;

#[derive(Default)]
pub struct Written {
    pub events: usize,
    /// Uncompressed.
    pub bytes: usize,
    /// The part of the bytes that is in compressed files.
    pub compressed: usize,
}

/// Writes runs until the log has this size.
pub fn write(store: &Path, most: usize) -> Written {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let copies = most.div_ceil(MOST_ON_DISK);
    let most = most / copies;
    let (mut written, mut segment, mut start) = (Written::default(), String::new(), 0);
    for run in 0..RUNS {
        describe(store, run);
        while written.bytes < most * (run + 1) / RUNS {
            let line = event(&mut numbers, run, written.events);
            written.events += 1;
            written.bytes += line.len();
            segment.push_str(&line);
            if segment.len() + 20_000 > SEGMENT_BYTES {
                written.compressed += save(store, (start, run, copies), &segment);
                (segment, start) = (String::new(), written.events);
            }
        }
        written.compressed += save(store, (start, run, copies), &segment);
        (segment, start) = (String::new(), written.events);
    }
    Written {
        events: written.events * copies,
        bytes: written.bytes * copies,
        compressed: written.compressed * copies,
    }
}

/// Writes a segment of a run's log, compressed for the oldest runs. Returns the size of a compressed one.
fn save(store: &Path, (start, run, copies): (usize, usize, usize), lines: &str) -> usize {
    if lines.is_empty() {
        return 0;
    }
    let is_old = run < RUNS / 4;
    let path = |copy: usize| {
        let count = (start + lines.lines().count() + copy * 100_000_000) as u64;
        let name = SegmentName::Closed(ChainPoint { count, ..ChainPoint::default() }).to_string();
        let name = if is_old { format!("{name}.gz") } else { name };
        store.join("runs").join(id(run)).join(name)
    };
    if is_old {
        let mut file = GzEncoder::new(std::fs::File::create(path(0)).unwrap(), Compression::default());
        file.write_all(lines.as_bytes()).unwrap();
        file.finish().unwrap();
    } else {
        std::fs::write(path(0), lines).unwrap();
    }
    (1..copies).for_each(|copy| std::fs::hard_link(path(0), path(copy)).unwrap());
    if is_old { lines.len() } else { 0 }
}

fn id(run: usize) -> String {
    format!("{run:08x}aabbccdd")
}

fn describe(store: &Path, run: usize) {
    let dir = store.join("runs").join(id(run));
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
    let at = time::parse("2026-02-03T00:00:00Z").unwrap() + chrono::TimeDelta::milliseconds(number as i64);
    let line = json!({"v": 1, "at": at, "id": format!("{number:026}"), "event": event, "session": format!("s{run}"),
        "team": format!("team-{run}"), "actor": {"name": agent, "id": null, "kind": "teammate"}, "run": id(run),
        "payload": payload});
    format!("{line}\n")
}
