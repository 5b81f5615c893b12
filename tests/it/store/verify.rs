//! `teamkeep verify`: whatever is damaged is found, named and said what to do about.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, ContentDamage, Sandbox, below};
use teamkeep::verify::{Scope, Verifier};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const OTHER: &str = "bbbbbbbb-0000-4000-8000-000000000002";
const TEAM: &str = "session-aaaaaaaa";

/// A run that has ended, with a transcript.
fn ended() -> Sandbox {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.task("1", "pending", None);
    lead.start("startup");
    lead.says("user", json!("go"));
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    lead.erase();
    lead.end("other");
    sandbox.finish();
    sandbox
}

fn run_of(sandbox: &Sandbox) -> String {
    sandbox.library().find(TEAM).unwrap().run.clone()
}

/// What is found, which must be told in both forms with the same exit code.
fn findings(sandbox: &Sandbox, args: &[&str]) -> (CommandResult, Vec<Value>) {
    let result = sandbox.run(&[&["verify"], args].concat());
    let json = sandbox.run(&[&["verify", "--json"], args].concat());
    let value: Value = serde_json::from_str(&json.out).unwrap();
    let found = value["findings"].as_array().unwrap().clone();
    assert_eq!((result.code, json.code), (json.code, Some(i32::from(!found.is_empty()))), "{}", result.out);
    assert_eq!((value["v"].clone(), value["whole"] == true), (json!(1), found.is_empty()));
    (result, found)
}

/// The one thing that is found.
fn only(sandbox: &Sandbox, args: &[&str]) -> (CommandResult, Value) {
    let (result, mut found) = findings(sandbox, args);
    assert_eq!(found.len(), 1, "{}", result.out);
    (result, found.remove(0))
}

fn change(path: &Path, change: impl FnOnce(String) -> String) {
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, change(text)).unwrap();
}

fn segment(sandbox: &Sandbox) -> PathBuf {
    sandbox.run_log().segments().unwrap().remove(0).path()
}

#[test]
fn an_intact_store_and_an_empty_one_have_no_damage() {
    let sandbox = ended();
    let result = sandbox.run(&["verify"]);
    assert_eq!((result.code, result.err.as_str()), (Some(0), ""));
    assert!(result.out.starts_with("checked 1 run, 4 contents ("), "{}", result.out);
    assert!(result.out.ends_with("), 1 transcript, 3 log lines: no damage found\n"), "{}", result.out);
    assert!(findings(&sandbox, &[TEAM]).1.is_empty());
    let empty = Sandbox::new();
    assert_eq!(empty.run(&["verify"]).code, Some(0));
    assert_eq!(empty.run(&["verify", "nobody"]).code, Some(1));
}

#[test]
fn a_damaged_content_is_reported_with_the_states_that_need_it() {
    let sandbox = ended();
    let hash = sandbox.last_content(&format!("tasks/{TEAM}/1.json"));
    sandbox.damage_content(&hash, ContentDamage::Changed);
    let run = run_of(&sandbox);
    for args in [&[][..], &[TEAM]] {
        let (result, found) = only(&sandbox, args);
        assert_eq!((&found["kind"], &found["line"]), (&json!("damaged-content"), &json!(2)));
        let since = "2026-02-03T04:05:07.000Z";
        assert_eq!(found["needed_by"], json!([format!("{run} tasks/{TEAM}/1.json {since}")]));
        assert!(
            result.out.contains(&format!(": content {hash} in ")) && result.out.contains(" is damaged\n"),
            "{}",
            result.out
        );
        assert!(result.out.contains("\n  hint: only these states are lost"), "{}", result.out);
        assert!(result.out.ends_with(": 1 damaged\n"), "{}", result.out);
    }
}

#[test]
fn a_missing_content_is_reported_where_it_is_named() {
    let sandbox = ended();
    let hash = sandbox.last_content(&format!("tasks/{TEAM}/1.json"));
    sandbox.damage_content(&hash, ContentDamage::Lost);
    let (_, found) = only(&sandbox, &[]);
    assert_eq!((&found["kind"], &found["line"]), (&json!("missing-content"), &json!(2)));
    assert!(found["path"].as_str().unwrap().ends_with("snapshots.jsonl"));
}

#[test]
fn verify_finds_a_damaged_transcript() {
    let sandbox = ended();
    let files = below(&sandbox.keep("runs"));
    let packed = files.iter().find(|path| path.parent().unwrap().ends_with("transcripts")).unwrap();
    let bytes = std::fs::read(packed).unwrap();
    std::fs::write(packed, &bytes[..bytes.len() - 9]).unwrap();
    let (_, found) = only(&sandbox, &[]);
    assert_eq!(found["kind"], "damaged-content");
    assert!(found["needed_by"][0].as_str().unwrap().ends_with(&format!("{SESSION}.jsonl")), "{found}");
}

/// The notes, which are no damage.
fn notes(sandbox: &Sandbox, args: &[&str]) -> (CommandResult, Vec<Value>) {
    let json = sandbox.run(&[&["verify", "--json"], args].concat());
    let value: Value = serde_json::from_str(&json.out).unwrap();
    (sandbox.run(&[&["verify"], args].concat()), value["notes"].as_array().unwrap().clone())
}

#[test]
fn a_line_that_was_whole_once_is_damage_and_one_of_a_killed_writer_is_a_note() {
    let sandbox = ended();
    let path = segment(&sandbox);
    let whole = std::fs::read_to_string(&path).unwrap();
    // In the middle, and at the end.
    for text in [whole.replacen("\"payload\"", "\"pay\n", 1), whole[..whole.len() - 9].to_owned()] {
        std::fs::write(&path, text).unwrap();
        assert!(!findings(&sandbox, &[]).1.is_empty());
    }
    std::fs::write(&path, format!("{whole}{}", &whole[..200])).unwrap();
    let (result, notes) = notes(&sandbox, &[]);
    assert_eq!(result.code, Some(0), "{}", result.out);
    assert_eq!((notes.len(), &notes[0]["kind"], &notes[0]["line"]), (1, &json!("cut-line"), &json!(4)));
    assert_eq!(notes[0]["path"], json!(path));
    assert!(result.out.contains("cut off: its writer was probably killed\n  run: "), "{}", result.out);
    assert!(result.out.ends_with(": no damage found\n"), "{}", result.out);
}

#[test]
fn verify_finds_a_duplicate_event() {
    let sandbox = ended();
    change(&segment(&sandbox), |text| format!("{text}{}\n", text.lines().next().unwrap()));
    let (_, found) = only(&sandbox, &[]);
    assert_eq!((&found["kind"], &found["line"]), (&json!("repeated-id"), &json!(4)));
}

#[test]
fn data_of_a_newer_version_is_reported_as_such() {
    let newer = |text: String| match text.strip_prefix("[2,") {
        Some(rest) => format!("[3,{rest}"),
        None if text.starts_with("{\"v\":2") => text.replacen("\"v\":2", "\"v\":3", 1),
        None => text.replacen("\"v\":1", "\"v\":3", 1),
    };
    let sandbox = ended();
    let run = run_of(&sandbox);
    for path in [
        segment(&sandbox),
        sandbox.keep(&format!("runs/{run}/run.json")),
        sandbox.keep(&format!("runs/{run}/snapshots.jsonl")),
    ] {
        let before = std::fs::read_to_string(&path).unwrap();
        change(&path, newer);
        let (result, found) = only(&sandbox, &[]);
        assert_eq!((&found["kind"], &found["path"]), (&json!("newer-version"), &json!(path)));
        assert!(result.out.contains("format version 3\n"), "{}", result.out);
        assert!(
            result.out.contains("hint: written by a newer teamkeep; upgrade to read it"),
            "{}",
            result.out
        );
        std::fs::write(&path, before).unwrap();
    }
}

#[test]
fn verify_finds_damaged_files_of_the_store() {
    let sandbox = ended();
    let run = run_of(&sandbox);
    let journal = sandbox.keep(&format!("runs/{run}/snapshots.jsonl"));
    for (path, kind) in [
        (sandbox.keep(&format!("runs/{run}/run.json")), "damaged-file"),
        (sandbox.keep(&format!("runs/{run}/transcripts.json")), "damaged-file"),
        (sandbox.keep(&format!("teams/closed/team-{TEAM}.json")), "damaged-file"),
        (sandbox.keep(&format!("sessions/{SESSION}.json")), "damaged-file"),
        (journal.clone(), "damaged-line"),
    ] {
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, "{\"v\":1,x").unwrap();
        let (result, found) = only(&sandbox, &[]);
        assert_eq!((&found["kind"], &found["path"]), (&json!(kind), &json!(path)), "{}", result.out);
        std::fs::write(&path, before).unwrap();
    }
    change(&journal, |text| text.replace("tasks/", "../"));
    let (_, found) = findings(&sandbox, &[]);
    assert!(
        found[0]["what"].as_str().unwrap().contains("is not a path below Claude Code's directory"),
        "{found:?}"
    );
    std::fs::write(sandbox.keep(&format!("runs/{run}/run.json")), "{").unwrap();
    assert!(findings(&sandbox, &[&run]).1.len() > 1, "a run that cannot be read is found by its id");
}

#[test]
fn a_line_of_a_journal_that_a_killed_writer_left_explains_no_other_change() {
    let sandbox = ended();
    let journal = sandbox.keep(&format!("runs/{}/snapshots.jsonl", run_of(&sandbox)));
    change(&journal, |text| format!("{text}[2,\"\",\"01m8"));
    let (result, notes) = notes(&sandbox, &[]);
    assert_eq!((result.code, &notes[0]["kind"]), (Some(0), &json!("cut-line")), "{}", result.out);
    assert!(result.out.contains("hint: the next hook call of the team stores"), "{}", result.out);
    change(&journal, |text| text.replacen("1.json", "2.json", 1));
    let (_, found) = findings(&sandbox, &[]);
    let kinds: Vec<&Value> = found.iter().map(|found| &found["kind"]).collect();
    assert_eq!(kinds, ["altered-journal"]);
}

#[test]
fn damage_of_one_run_is_not_reported_for_another() {
    let sandbox = ended();
    let other = Lead::of(&sandbox, OTHER);
    other.roster(2_000, &[]);
    other.start("startup");
    let hash =
        blake3::hash(&std::fs::read(sandbox.client(&format!("tasks/{TEAM}/1.json"))).unwrap()).to_hex();
    sandbox.damage_content(&hash, ContentDamage::Lost);
    assert_eq!(findings(&sandbox, &[TEAM]).1.len(), 1);
    assert!(findings(&sandbox, &["session-bbbbbbbb"]).1.is_empty());
}

#[test]
fn a_name_in_a_damaged_file_cannot_drive_the_terminal() {
    let sandbox = ended();
    let journal = sandbox.keep(&format!("runs/{}/snapshots.jsonl", run_of(&sandbox)));
    change(&journal, |text| text.replacen("tasks/", "../\\u001b[31m", 1));
    let result = sandbox.run(&["verify"]);
    assert!(result.out.contains("\\u{1b}[31m") && !result.out.contains('\u{1b}'), "{}", result.out);
}

#[test]
#[cfg_attr(windows, ignore = "Windows moves no directory with an open file: the run stays")]
fn a_run_that_is_pruned_during_verify_is_not_damaged() {
    let sandbox = ended();
    let archive = sandbox.archive();
    let logs = sandbox.logs();
    let (scope, against): (_, &[_]) = (Scope::All, &[]);
    let verifier = Verifier { archive: &archive, logs: &logs, paths: None, scope, against };
    let mut pruned = None;
    // In the midst of the look at its contents the run goes, and then they do.
    let found = verifier.run(&mut |_| {
        pruned.get_or_insert_with(|| sandbox.run(&["prune", "--keep", "0", "--yes"]));
    });
    assert_eq!(pruned.unwrap().code, Some(0));
    let found = found.unwrap();
    assert!(found.is_ok() && found.checked.runs == 0, "{found:?}");
}
