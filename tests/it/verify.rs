//! `teamkeep verify`: whatever is damaged is found, named and said what to do about.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::play::Lead;
use super::stage::{Said, Stage, below};
use teamkeep::verify::{Scope, Verifier};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const OTHER: &str = "bbbbbbbb-0000-4000-8000-000000000002";
const TEAM: &str = "session-aaaaaaaa";

/// A run that has ended, with a transcript.
fn ended() -> Stage {
    let stage = Stage::new();
    let lead = Lead::of(&stage, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.task("1", "pending", None);
    lead.start("startup");
    lead.says("user", json!("go"));
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    lead.erase();
    lead.end("other");
    stage.finish();
    stage
}

fn run_of(stage: &Stage) -> String {
    stage.library().find(TEAM).unwrap().run.clone()
}

/// What is found, which must be told in both forms with the same exit code.
fn findings(stage: &Stage, args: &[&str]) -> (Said, Vec<Value>) {
    let said = stage.run(&[&["verify"], args].concat());
    let json = stage.run(&[&["verify", "--json"], args].concat());
    let value: Value = serde_json::from_str(&json.out).unwrap();
    let found = value["findings"].as_array().unwrap().clone();
    assert_eq!((said.code, json.code), (json.code, Some(i32::from(!found.is_empty()))), "{}", said.out);
    assert_eq!((value["v"].clone(), value["whole"] == true), (json!(1), found.is_empty()));
    (said, found)
}

/// The one thing that is found.
fn only(stage: &Stage, args: &[&str]) -> (Said, Value) {
    let (said, mut found) = findings(stage, args);
    assert_eq!(found.len(), 1, "{}", said.out);
    (said, found.remove(0))
}

fn change(path: &Path, change: impl FnOnce(String) -> String) {
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, change(text)).unwrap();
}

fn segment(stage: &Stage) -> PathBuf {
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "jsonl");
    below(&stage.keep("log")).into_iter().find(is_segment).unwrap()
}

fn object(stage: &Stage, path: &str) -> PathBuf {
    let held = stage.archive().journal(&run_of(stage)).last();
    let hash = held[path].object.clone().unwrap();
    stage.keep(&format!("archive/objects/{}/{}", &hash[..1], &hash[1..]))
}

#[test]
fn a_whole_record_is_called_whole_and_nothing_is_not_damage() {
    let stage = ended();
    let said = stage.run(&["verify"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert!(said.out.starts_with("checked 1 run, 4 objects ("), "{}", said.out);
    assert!(
        said.out.ends_with("), 3 manifests, 1 transcript, 3 log lines: no damage found\n"),
        "{}",
        said.out
    );
    assert!(findings(&stage, &[TEAM]).1.is_empty());
    let empty = Stage::new();
    assert_eq!(empty.run(&["verify"]).code, Some(0));
    assert_eq!(empty.run(&["verify", "nobody"]).code, Some(1));
}

#[test]
fn a_damaged_object_is_named_with_what_needs_it() {
    let stage = ended();
    let path = object(&stage, &format!("tasks/{TEAM}/1.json"));
    std::fs::write(&path, "{}").unwrap();
    let run = run_of(&stage);
    for args in [&[][..], &[TEAM]] {
        let (said, found) = only(&stage, args);
        assert_eq!((&found["kind"], &found["path"]), (&json!("damaged-object"), &json!(path)));
        let since = "2026-02-03T04:05:07.000Z";
        assert_eq!(found["needed_by"], json!([format!("{run} tasks/{TEAM}/1.json {since}")]));
        assert!(
            said.out.contains(&format!("{}: its content has another hash", path.display())),
            "{}",
            said.out
        );
        assert!(said.out.contains("\n  hint: only these states are lost"), "{}", said.out);
        assert!(said.out.ends_with(": 1 damaged\n"), "{}", said.out);
    }
}

#[test]
fn a_missing_object_is_told_where_it_is_named() {
    let stage = ended();
    let path = object(&stage, &format!("tasks/{TEAM}/1.json"));
    std::fs::remove_file(&path).unwrap();
    let (_, found) = only(&stage, &[]);
    assert_eq!((&found["kind"], &found["line"]), (&json!("missing-object"), &json!(2)));
    assert!(found["path"].as_str().unwrap().ends_with("snapshots.jsonl"));
}

#[test]
fn a_damaged_transcript_is_found() {
    let stage = ended();
    let packed =
        below(&stage.keep("archive/objects")).into_iter().find(|path| path.extension().is_some()).unwrap();
    let bytes = std::fs::read(&packed).unwrap();
    std::fs::write(&packed, &bytes[..bytes.len() - 9]).unwrap();
    let (_, found) = only(&stage, &[]);
    assert_eq!(found["kind"], "damaged-object");
    assert!(found["needed_by"][0].as_str().unwrap().ends_with(&format!("{SESSION}.jsonl")), "{found}");
}

#[test]
fn a_log_that_was_cut_is_found_at_its_line() {
    let stage = ended();
    let path = segment(&stage);
    let whole = std::fs::read_to_string(&path).unwrap();
    // In the middle, and at the end.
    for (text, line) in
        [(whole.replacen("\"payload\"", "\"pay\n", 1), 1), (whole[..whole.len() - 9].to_owned(), 3)]
    {
        std::fs::write(&path, text).unwrap();
        let (_, found) = findings(&stage, &[]);
        assert_eq!((&found[0]["kind"], &found[0]["line"]), (&json!("damaged-line"), &json!(line)));
        assert_eq!(found[0]["path"], json!(path));
    }
    let (said, found) = only(&stage, &[TEAM]);
    assert_eq!(found["what"], "cut off; its writer must have been killed");
    assert!(said.out.contains("hint: this event is lost; all other events are intact"), "{}", said.out);
}

#[test]
fn an_event_that_stands_twice_is_found() {
    let stage = ended();
    change(&segment(&stage), |text| format!("{text}{}\n", text.lines().next().unwrap()));
    let (_, found) = only(&stage, &[]);
    assert_eq!((&found["kind"], &found["line"]), (&json!("repeated-id"), &json!(4)));
}

#[test]
fn what_a_newer_program_wrote_is_told_as_such() {
    let newer = |text: String| match text.strip_prefix("[2,") {
        Some(rest) => format!("[3,{rest}"),
        None => text.replacen("\"v\":1", "\"v\":3", 1),
    };
    let stage = ended();
    let run = run_of(&stage);
    for path in [
        segment(&stage),
        stage.keep(&format!("archive/runs/{run}/run.json")),
        stage.keep(&format!("archive/runs/{run}/snapshots.jsonl")),
        stage.keep(&format!("archive/closed/team-{TEAM}.json")),
    ] {
        let before = std::fs::read_to_string(&path).unwrap();
        change(&path, newer);
        let (said, found) = only(&stage, &[]);
        assert_eq!((&found["kind"], &found["path"]), (&json!("newer-version"), &json!(path)));
        assert!(said.out.contains("format version 3\n"), "{}", said.out);
        assert!(said.out.contains("hint: written by a newer teamkeep; upgrade to read it"), "{}", said.out);
        std::fs::write(&path, before).unwrap();
    }
}

#[test]
fn damaged_files_of_ours_are_found() {
    let stage = ended();
    let run = run_of(&stage);
    let journal = stage.keep(&format!("archive/runs/{run}/snapshots.jsonl"));
    for (path, kind) in [
        (stage.keep(&format!("archive/runs/{run}/run.json")), "damaged-file"),
        (stage.keep(&format!("archive/runs/{run}/transcripts.json")), "damaged-file"),
        (stage.keep(&format!("archive/closed/team-{TEAM}.json")), "damaged-file"),
        (stage.keep(&format!("sessions/{SESSION}.json")), "damaged-file"),
        (journal.clone(), "damaged-line"),
    ] {
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, "{\"v\":1,").unwrap();
        let (said, found) = only(&stage, &[]);
        assert_eq!((&found["kind"], &found["path"]), (&json!(kind), &json!(path)), "{}", said.out);
        std::fs::write(&path, before).unwrap();
    }
    change(&journal, |text| text.replace("tasks/", "../"));
    let (_, found) = findings(&stage, &[]);
    assert!(
        found[0]["what"].as_str().unwrap().contains("is not a path below Claude Code's directory"),
        "{found:?}"
    );
    std::fs::write(stage.keep(&format!("archive/runs/{run}/run.json")), "{").unwrap();
    assert!(findings(&stage, &[&run]).1.len() > 1, "a run that cannot be read is found by its id");
}

#[test]
fn the_damage_of_one_run_is_none_of_another() {
    let stage = ended();
    let other = Lead::of(&stage, OTHER);
    other.roster(2_000, &[]);
    other.start("startup");
    std::fs::remove_file(object(&stage, &format!("tasks/{TEAM}/1.json"))).unwrap();
    assert_eq!(findings(&stage, &[TEAM]).1.len(), 1);
    assert!(findings(&stage, &["session-bbbbbbbb"]).1.is_empty());
}

#[test]
fn a_name_in_a_damaged_file_cannot_drive_the_terminal() {
    let stage = ended();
    let journal = stage.keep(&format!("archive/runs/{}/snapshots.jsonl", run_of(&stage)));
    change(&journal, |text| text.replacen("tasks/", "../\\u001b[31m", 1));
    let said = stage.run(&["verify"]);
    assert!(said.out.contains("\\u{1b}[31m") && !said.out.contains('\u{1b}'), "{}", said.out);
}

#[test]
fn a_run_that_is_pruned_while_it_is_looked_at_is_not_damaged() {
    let stage = ended();
    let archive = stage.archive();
    let (log, sessions) = (stage.keep("log"), stage.keep("sessions"));
    let verifier = Verifier { archive: &archive, log: &log, sessions: &sessions, scope: Scope::All };
    let mut pruned = None;
    // In the midst of the look at its contents the run goes, and then they do.
    let found = verifier.run(&mut |_| {
        pruned.get_or_insert_with(|| stage.run(&["prune", "--keep", "0", "--yes"]));
    });
    assert_eq!(pruned.unwrap().code, Some(0));
    let found = found.unwrap();
    assert!(found.is_whole() && found.checked.runs == 0, "{found:?}");
}
