//! Finds the origin of a tool call: the message of the model that contains it, in the session's transcript.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::model::event::SafeName;
use crate::policy::Origin;
use crate::sys::fs;

/// How long to wait for a call in the transcript. 2.1.330 writes it within 0.11 s, seen at a load of 12 on 2 cores. With 0.2 s
/// a run of 2.1.47 at a load of 4 was not counted; with 0.5 s it was.
const TIMEOUT: Duration = Duration::from_millis(500);
const POLL_INTERVAL: Duration = Duration::from_millis(15);
/// Bytes to read from the end of a transcript, plus the size of the call.
const TAIL_BYTES: u64 = 256 << 10;
const MAX_TAIL_BYTES: u64 = 32 << 20;
/// Number of agents' transcripts to read if the call names no agent (before 2.1.69).
const MAX_AGENTS: usize = 8;

/// The bytes that every record of a tool call contains.
const TOOL_USE: &[u8] = b"\"tool_use\"";

/// Finds the message with a tool call, in the session's transcript or those of its agents. `size` is the payload's. Do not hold
/// a lock during this call: it waits for Claude Code to write.
pub fn origin(transcript: &Path, id: Option<&str>, agent: Option<&str>, size: usize) -> Origin {
    let start = Instant::now();
    loop {
        let (mut is_readable, mut shows_calls) = (false, false);
        for path in transcripts(transcript, agent) {
            let Ok(tail) = tail(&path, size) else { continue };
            is_readable = true;
            shows_calls |= tail.windows(TOOL_USE.len()).any(|part| part == TOOL_USE);
            if let Some(message) = id.and_then(|id| message_of(&tail, id)) {
                return Origin::Message(message);
            }
        }
        if !is_readable {
            return Origin::Unknown;
        }
        if id.is_none() || start.elapsed() >= TIMEOUT {
            return if shows_calls { Origin::NotInTranscript } else { Origin::Unknown };
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The files that may contain the call, most likely first.
fn transcripts(main: &Path, agent: Option<&str>) -> Vec<PathBuf> {
    let agents = main.with_extension("").join("subagents");
    if let Some(agent) = agent {
        let own = SafeName::new(&format!("agent-{agent}.jsonl")).map(|name| agents.join(name));
        return own.into_iter().chain([main.to_owned()]).collect();
    }
    let modified = |entry: std::fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
    let entries = std::fs::read_dir(agents).into_iter().flatten().flatten();
    let mut others: Vec<_> = entries.filter_map(modified).collect();
    others.sort_by(|a, b| b.cmp(a));
    let others = others.into_iter().map(|(_, path)| path);
    let others = others.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    [main.to_owned()].into_iter().chain(others.take(MAX_AGENTS)).collect()
}

fn tail(path: &Path, size: usize) -> std::io::Result<Vec<u8>> {
    // The transcript may have the call with another level of escapes.
    let most = TAIL_BYTES.saturating_add((size as u64).saturating_mul(2)).min(MAX_TAIL_BYTES);
    fs::read_end(path, most as usize)
}

fn message_of(tail: &[u8], id: &str) -> Option<String> {
    let lines = tail.split(|byte| *byte == b'\n').rev();
    let mut likely =
        lines.filter(|line| !id.is_empty() && line.windows(id.len()).any(|part| part == id.as_bytes()));
    likely.find_map(|line| {
        let record: Value = serde_json::from_slice(line).ok()?;
        let message = record.get("message").filter(|_| record["type"] == "assistant")?;
        let is_call = |block: &Value| block["type"] == "tool_use" && block["id"] == id;
        message["content"]
            .as_array()?
            .iter()
            .any(is_call)
            .then(|| message["id"].as_str().map(str::to_owned))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(message: &str, id: &str) -> String {
        format!(
            "{{\"type\":\"assistant\",\"message\":{{\"id\":\"{message}\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"SendMessage\",\"input\":{{}}}}]}}}}\n"
        )
    }

    #[test]
    fn a_call_is_found_in_the_transcripts_of_the_session_and_its_agents() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("s1.jsonl");
        let found = |id, agent| origin(&main, Some(id), agent, 0);
        assert_eq!(found("u1", None), Origin::Unknown, "there is no transcript");
        std::fs::write(&main, "{\"type\":\"user\"}\n").unwrap();
        assert_eq!(found("u1", None), Origin::Unknown, "it shows no calls at all");
        let other = "{\"type\":\"api-request-blob\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"u2\"}]}}\n";
        std::fs::write(&main, [&record("m1", "u1"), other].concat()).unwrap();
        assert_eq!(found("u1", None), Origin::Message("m1".to_owned()));
        assert_eq!(found("u2", None), Origin::NotInTranscript, "only a record of a message shows a call");
        assert_eq!(origin(&main, None, None, 0), Origin::NotInTranscript);
        let agents = dir.path().join("s1/subagents");
        std::fs::create_dir_all(&agents).unwrap();
        let large = "x".repeat(TAIL_BYTES as usize);
        std::fs::write(agents.join("agent-abob-1.jsonl"), [&large, "\n", &record("m2", "u3")].concat())
            .unwrap();
        assert_eq!(found("u3", Some("abob-1")), Origin::Message("m2".to_owned()));
        assert_eq!(found("u3", None), Origin::Message("m2".to_owned()), "before 2.1.69 no agent is named");
        assert_eq!(found("u3", Some("../../x")), Origin::NotInTranscript);
    }

    #[test]
    fn origin_waits_for_a_call_that_is_written_later() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("s1.jsonl");
        std::fs::write(&main, record("m1", "u1")).unwrap();
        let path = main.clone();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(POLL_INTERVAL * 2);
            std::fs::write(path, [record("m1", "u1"), record("m2", "u2")].concat()).unwrap();
        });
        assert_eq!(origin(&main, Some("u2"), None, 0), Origin::Message("m2".to_owned()));
        writer.join().unwrap();
    }
}
