//! Everything that `replay` shows of the recorded runs is found, and once.

use serde_json::Value;

use super::{hits, text};
use crate::history::traces::{ALL, PlayedRun, V328, play};
use crate::store::bundle_sandbox::{export, import};
use crate::support::sandbox::Sandbox;

/// The phrase that finds the beginning of a text.
fn phrase(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    format!("\"{}\"", line.split('"').next().unwrap_or_default())
}

/// The messages that agents sent.
fn sent(played: &PlayedRun) -> impl Iterator<Item = &Value> {
    played.entries.iter().filter(|entry| entry["kind"] == "message" && entry["automatic"] != true)
}

/// Runs a command that a hit has.
fn printed(sandbox: &Sandbox, command: &str) -> String {
    let words = shlex::split(command).unwrap();
    sandbox.printed(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn each_message_and_prompt_of_a_recorded_run_is_found_and_its_command_shows_it() {
    let mut seen = 0;
    for run in ALL {
        let played = play(run, 1);
        for entry in sent(played) {
            let (said, by) = (text(entry, "text"), text(entry, "actor"));
            let found = hits(&played.sandbox, &[&phrase(said), "--kind", "message", "--agent", by]);
            let words = |text: &str| {
                text.split_whitespace().filter(|word| *word != "·").take(5).collect::<Vec<_>>().join(" ")
            };
            let begin = words(said);
            let same =
                found.iter().find(|hit| text(&hit["snippet"], "text").replace(" ·", "").contains(&begin));
            let hit = same.unwrap_or_else(|| panic!("{}: {by}: {begin}: {found:#?}", run.0));
            assert_eq!(hit["run"], played.sandbox.show(&["latest"])["run"], "{}", run.0);
            let command = text(hit, "command").strip_prefix("teamkeep ").unwrap();
            let shown = printed(&played.sandbox, command);
            assert!(shown.contains(said.split_whitespace().next().unwrap()), "{entry}: {hit:#?}: {shown}");
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen}");
}

#[test]
fn each_task_is_found_by_its_subject_and_a_text_is_found_once() {
    let played = play(V328, 1);
    for task in ["Draft the parser", "Review the parser", "Fuzz the parser"] {
        let found = hits(&played.sandbox, &[&phrase(task), "--kind", "task"]);
        assert_eq!(found.len(), 1, "{found:#?}");
        let command = text(&found[0], "command").strip_prefix("teamkeep ").unwrap();
        let shown = printed(&played.sandbox, command);
        assert!(shown.contains(task), "{command}: {shown}");
    }
    // PreToolUse, PostToolUse, the transcripts of sender and recipient: one message.
    let entry = sent(played).find(|entry| entry["actor"] == "carol");
    let found = hits(&played.sandbox, &[&phrase(text(entry.unwrap(), "text")), "--kind", "message"]);
    assert_eq!(found.len(), 1, "{found:#?}");
}

#[test]
fn an_imported_run_and_an_exported_file_are_searched_like_the_original() {
    let played = play(V328, 1);
    let args = ["parser", "--limit", "100"];
    let own = hits(&played.sandbox, &args);
    assert!(own.len() > 10, "{}", own.len());
    let path = export(&played.sandbox, "latest", "run.teamkeep", &[]);
    let elsewhere = Sandbox::new();
    let file = hits(&elsewhere, &[&args[..], &["--file", path.to_str().unwrap()]].concat());
    assert!(!elsewhere.keep("runs").exists());
    assert_eq!(import(&elsewhere, &path).code, Some(0));
    let imported = hits(&elsewhere, &args);
    let texts = |found: &[Value]| {
        let of = |hit: &Value| {
            ["at", "kind", "agent", "run", "title"].map(|key| hit[key].clone().to_string()).join(" ")
        };
        let mut all: Vec<String> = found.iter().map(of).collect();
        all.sort();
        all
    };
    assert_eq!(texts(&imported), texts(&own));
    assert_eq!(texts(&file), texts(&own));
}
