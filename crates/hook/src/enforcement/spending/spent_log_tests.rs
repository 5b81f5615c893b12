use serde_json::{Value, json};

use super::*;
use teamkeep_model::time;

struct Store {
    dir: tempfile::TempDir,
    log: SpentLog,
}

impl Store {
    fn new() -> Store {
        let dir = tempfile::tempdir().unwrap();
        let log = SpentLog::at(dir.path().join("spent.jsonl"));
        Store { dir, log }
    }

    fn transcript(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, lines: &[String]) {
        std::fs::write(self.transcript(name), lines.concat()).unwrap();
    }

    fn update(&self, names: &[&str]) -> SpentMessages {
        self.update_from(names, None)
    }

    fn update_from(&self, names: &[&str], from: Option<Timestamp>) -> SpentMessages {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.transcript(name)).collect();
        self.log.update(&paths, from).unwrap()
    }
}

fn line_with(id: &str, model: &str, usage: &Value) -> String {
    let message = json!({"id": id, "model": model, "usage": usage, "content": []});
    json!({"timestamp": "2026-02-03T04:05:06.000Z", "message": message}).to_string() + "\n"
}

fn line(id: &str, output: u64) -> String {
    line_with(id, "claude-opus-5", &json!({"output_tokens": output}))
}

fn output(spent: &SpentMessages) -> u64 {
    spent.messages.values().map(|(_, cost)| cost.tokens.output).sum()
}

#[test]
fn wherever_a_writer_was_killed_each_message_counts_once() {
    let store = Store::new();
    store.write("a.jsonl", &[line("m1", 1)]);
    store.write("b.jsonl", &[line("m2", 20)]);
    store.update(&["a.jsonl", "b.jsonl"]);
    store.write("a.jsonl", &[line("m1", 1), line("m1", 3), line("m3", 300)]);
    assert_eq!(output(&store.update(&["a.jsonl", "b.jsonl"])), 323);
    let whole = std::fs::read(&store.log.0).unwrap();
    for cut in 0..=whole.len() {
        std::fs::write(&store.log.0, &whole[..cut]).unwrap();
        for _ in 0..2 {
            assert_eq!(output(&store.update(&["a.jsonl", "b.jsonl"])), 323, "{cut}");
        }
        assert_eq!(output(&store.log.read()), 323, "{cut}: stored");
    }
}

#[test]
fn after_a_damaged_line_the_transcript_is_read_again() {
    let store = Store::new();
    let lines: Vec<String> = (0..5).map(|number| line(&format!("m{number}"), 1 << number)).collect();
    for count in 1..=lines.len() {
        store.write("a.jsonl", &lines[..count]);
        store.update(&["a.jsonl"]);
    }
    let whole = std::fs::read_to_string(&store.log.0).unwrap();
    let stored: Vec<&str> = whole.lines().collect();
    assert_eq!(stored.len(), lines.len());
    for damaged in 0..stored.len() {
        let mut damaged_lines = stored.clone();
        damaged_lines[damaged] = "{\u{0}";
        std::fs::write(&store.log.0, damaged_lines.join("\n") + "\n").unwrap();
        for _ in 0..2 {
            assert_eq!(output(&store.update(&["a.jsonl"])), 31, "{damaged}");
        }
        assert_eq!(output(&store.log.read()), 31, "{damaged}: stored");
    }
}

#[test]
fn what_another_call_stores_meanwhile_counts_once() {
    let store = Store::new();
    store.write("a.jsonl", &[line("m1", 1), line("m2", 20)]);
    store.update(&["a.jsonl"]);
    let stored = std::fs::read(&store.log.0).unwrap();
    // Both calls read the same part.
    std::fs::write(&store.log.0, stored.repeat(2)).unwrap();
    assert_eq!(output(&store.update(&["a.jsonl"])), 21);
    // Both read the same part from the middle on, and the second one less of it.
    store.write("a.jsonl", &[line("m1", 1), line("m2", 20), line("m3", 300)]);
    store.update(&["a.jsonl"]);
    let less = std::fs::read(&store.log.0).unwrap();
    let last = less.strip_suffix(b"\n").unwrap().iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    store.write("a.jsonl", &[line("m1", 1), line("m2", 20), line("m3", 300), line("m4", 4_000)]);
    std::fs::write(&store.log.0, &less[..last]).unwrap();
    store.update(&["a.jsonl"]);
    let mut both = std::fs::read(&store.log.0).unwrap();
    both.extend(&less[last..]);
    std::fs::write(&store.log.0, &both).unwrap();
    assert_eq!(output(&store.update(&["a.jsonl"])), 4_321);
    assert_eq!(std::fs::read(&store.log.0).unwrap(), both, "nothing is read and stored again");
}

#[test]
fn odd_numbers_count_as_nothing_or_as_the_largest_number() {
    let store = Store::new();
    let usage = |text: &str| {
        line_with("m", "claude-opus-5", &json!({"output_tokens": 0})).replace(":0}", &format!(":{text}}}"))
    };
    for (text, expected) in [
        ("-5", 0),
        ("2.5", 0),
        ("1e400", 0),
        ("99999999999999999999999999", 0),
        ("\"7\"", 0),
        ("[7]", 0),
        ("7", 7),
        ("18446744073709551615", u64::MAX),
    ] {
        store.write("a.jsonl", &[usage(text)]);
        let spent = store.update(&["a.jsonl"]);
        let most = spent.messages.get("m").map_or(0, |(_, cost)| cost.tokens.new_tokens());
        assert_eq!(most, expected, "{text}");
        assert_eq!(store.log.read().messages, spent.messages, "{text}: stored");
    }
}

#[test]
fn a_session_that_was_resumed_counts_from_the_start_of_its_run() {
    let store = Store::new();
    let later = |id: &str| line(id, 7).replace("04:05:06", "05:00:00");
    store.write("a.jsonl", &[line("m1", 500), line("m1", 600), later("m2")]);
    // The resumed session has its messages again.
    store.write("b.jsonl", &[line("m1", 600), later("m2"), later("m3")]);
    let from = time::parse("2026-02-03T04:30:00Z");
    assert_eq!(output(&store.update_from(&["a.jsonl", "b.jsonl"], from)), 14);
    assert_eq!(output(&store.update(&["a.jsonl", "b.jsonl"])), 14, "it is stored");
}

#[test]
fn a_file_that_is_too_large_is_replaced() {
    let store = Store::new();
    store.write("a.jsonl", &[line("m1", 7)]);
    std::fs::File::create(&store.log.0).unwrap().set_len(fs::MAX_JSON_BYTES + 1).unwrap();
    assert_eq!(output(&store.update(&["a.jsonl"])), 7);
    assert_eq!(output(&store.log.read()), 7);
    assert!(store.log.0.metadata().unwrap().len() < 1_000);
}
