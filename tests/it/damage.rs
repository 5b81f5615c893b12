//! Damage to the record: what is hurt is told, what is whole is used, and recording goes on.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::play::{Lead, only};
use super::stage::{Stage, below};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TEAM: &str = "session-aaaaaaaa";

fn team(stage: &Stage) -> Lead<'_> {
    let lead = Lead::of(stage, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.task("1", "pending", None);
    lead.start("startup");
    lead.says("user", json!("go"));
    lead
}

fn run_of(stage: &Stage) -> String {
    stage.library().find(TEAM).unwrap().run.clone()
}

/// What goes on after the damage: a task is completed, and the session ends.
fn go_on(stage: &Stage, lead: &Lead<'_>) {
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    lead.erase();
    lead.end("other");
    stage.finish();
}

fn is_whole(stage: &Stage, run: &str) {
    let teams = stage.teams();
    assert_eq!(
        (teams.len(), &teams[0]["run"], &teams[0]["ended_by"]),
        (1, &json!(run), &json!("session-end"))
    );
    assert_eq!(teams[0]["members"], json!(["team-lead", "alice"]));
    let entries = stage.replay(TEAM);
    assert_eq!(
        only(&entries, "task-created")["at"],
        "2026-02-03T04:05:06.000Z",
        "what was before is still told"
    );
    assert_eq!(only(&entries, "task-completed")["task"], "1");
    assert_eq!(only(&entries, "team-created")["at"], "2026-02-03T04:05:06.000Z");
    assert_eq!(stage.show(&[TEAM])["tasks"]["1"]["status"], "completed");
    let run = stage.archive().run(run).unwrap();
    assert_eq!(
        (run.sessions.len(), run.finished, stage.archive().kept(&run.run).len()),
        (1, true, 1),
        "{run:?}"
    );
}

#[test]
fn a_damaged_index_costs_another_look_and_nothing_else() {
    for damage in ["", "{\"v\":1,\"run\":", "[]", "\0\0\0\0", "{\"v\":1,\"run\":\"../../elsewhere\"}"] {
        let stage = Stage::new();
        let lead = team(&stage);
        let run = run_of(&stage);
        std::fs::write(stage.keep(&format!("archive/open/team-{TEAM}.json")), damage).unwrap();
        go_on(&stage, &lead);
        is_whole(&stage, &run);
        let told = "the index of session-aaaaaaaa was invalid and is rebuilt";
        assert_eq!(stage.diagnostics().matches(told).count(), 1, "{damage}: {}", stage.diagnostics());
    }
}

#[test]
fn a_file_that_vanished_behind_a_damaged_index_is_told_as_gone() {
    let stage = Stage::new();
    let lead = team(&stage);
    std::fs::write(stage.keep(&format!("archive/open/team-{TEAM}.json")), "damaged").unwrap();
    std::fs::remove_file(stage.client(&format!("tasks/{TEAM}/1.json"))).unwrap();
    lead.hook("Stop", json!({}));
    assert_eq!(stage.show(&[TEAM, "--at", &stage.last()])["tasks"], json!({}));
    assert_eq!(only(&stage.replay(TEAM), "task-erased")["task"], "1");
}

#[test]
fn a_damaged_run_record_is_told_and_made_again() {
    let stage = Stage::new();
    let lead = team(&stage);
    let run = run_of(&stage);
    std::fs::write(stage.keep(&format!("archive/runs/{run}/run.json")), "{\"v\":1,").unwrap();
    let said = stage.run(&["list"]);
    assert_eq!(said.code, Some(1), "it is not an empty list");
    let path = stage.keep(&format!("archive/runs/{run}/run.json"));
    let why = format!("warning: cannot read {}: EOF while parsing a value", path.display());
    assert!(said.err.contains(&why), "{}", said.err);
    assert!(said.err.contains("; check its permissions, and run: teamkeep verify"), "{}", said.err);
    go_on(&stage, &lead);
    is_whole(&stage, &run);
    assert_eq!(
        stage.archive().run(&run).unwrap().started_at,
        "2026-02-03T04:05:06.000Z",
        "as the journal has it"
    );
}

#[test]
fn a_damaged_line_of_the_journal_is_told_and_the_others_stand() {
    let stage = Stage::new();
    let lead = team(&stage);
    let journal = stage.keep(&format!("archive/runs/{}/snapshots.jsonl", run_of(&stage)));
    let whole = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, format!("{whole}\u{0}damaged\n{{\"v\":1,\"at\":\"2026")).unwrap();
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    let said = stage.run(&["replay", TEAM, "--json"]);
    let lines = whole.lines().count();
    let begin = format!("warning: {}:{}: expected value at line 1", journal.display(), lines + 1);
    assert!(said.err.starts_with(&begin), "{}", said.err);
    assert!(said.err.contains("; 2 line(s) of the run's journal are passed over"), "{}", said.err);
    assert_eq!(said.err.lines().count(), 1);
    let entries = super::stage::lines(&said.out);
    assert_eq!(
        (only(&entries, "task-created")["task"].as_str(), only(&entries, "task-completed")["task"].as_str()),
        (Some("1"), Some("1"))
    );
    assert!(std::fs::read_to_string(&journal).unwrap().starts_with(&whole));
    assert!(
        stage.diagnostics().contains("the last line of snapshots.jsonl of run "),
        "{}",
        stage.diagnostics()
    );
}

#[test]
fn a_damaged_memory_of_a_session_is_made_again() {
    let stage = Stage::new();
    let lead = team(&stage);
    let run = run_of(&stage);
    std::fs::write(stage.keep(&format!("sessions/{SESSION}.json")), "{\"team\":3").unwrap();
    go_on(&stage, &lead);
    is_whole(&stage, &run);
    let log = stage.log();
    assert!(log.iter().all(|event| event["run"] == run.as_str() && event["team"] == TEAM));
}

fn segment(stage: &Stage) -> PathBuf {
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "jsonl");
    below(&stage.keep("log")).into_iter().find(is_segment).unwrap()
}

#[test]
fn a_log_that_was_cut_in_a_line_goes_on_with_the_next() {
    let stage = Stage::new();
    let lead = team(&stage);
    lead.hook("Stop", json!({}));
    let path = segment(&stage);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    lead.hook("Notification", json!({}));
    assert!(
        stage.diagnostics().contains("was incomplete: its writer was probably killed"),
        "{}",
        stage.diagnostics()
    );
    let said = stage.run(&["log", "--json"]);
    let events: Vec<Value> = super::stage::lines(&said.out);
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["SessionStart", "Notification"]);
    assert!(said.err.contains(&format!("{}:2: cut off", path.display())), "{}", said.err);
    assert!(std::fs::read(&path).unwrap().starts_with(&whole[..whole.len() - 20]), "what was there stays");
}

#[test]
fn a_damaged_object_is_told_and_the_rest_is_shown() {
    let stage = Stage::new();
    let lead = team(&stage);
    lead.task("2", "pending", None);
    lead.hook("Stop", json!({}));
    let library = stage.library();
    let held = library.archive.journal(&run_of(&stage)).last();
    let hash = held[&format!("tasks/{TEAM}/1.json")].object.clone().unwrap();
    let path = stage.keep(&format!("archive/objects/{}/{}", &hash[..1], &hash[1..]));
    std::fs::write(&path, "{}").unwrap();
    let said = stage.run(&["show", TEAM, "--json"]);
    assert_eq!(said.code, Some(0));
    assert!(
        said.err.contains(&format!("{} is damaged: its content has another hash", path.display())),
        "{}",
        said.err
    );
    let shown: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(shown["tasks"]["2"]["status"], "pending");
}

#[test]
fn a_clock_that_goes_backwards_reorders_nothing() {
    let stage = Stage::new();
    let lead = team(&stage);
    for (clock, status) in [(60_000, "in_progress"), (-86_400_000, "pending"), (-86_399_000, "completed")] {
        stage.set_clock(clock);
        lead.task("1", status, Some("alice"));
        lead.hook("Stop", json!({}));
    }
    assert_eq!(stage.log().len(), 4);
    let told = stage.diagnostics();
    assert!(told.contains("the clock went back to 2026-02-02T04:05:06.000Z: the log's segment "), "{told}");
    let entries = stage.replay(TEAM);
    let states: Vec<&Value> =
        entries.iter().filter(|entry| entry["task"] == "1").map(|entry| &entry["to_status"]).collect();
    assert_eq!(states, ["pending", "in_progress", "pending", "completed"]);
    assert_eq!(stage.show(&[TEAM])["tasks"]["1"]["status"], "completed");
}

#[test]
fn of_many_problems_five_are_told_and_the_rest_counted() {
    let stage = Stage::new();
    let lead = team(&stage);
    for number in 2..12 {
        lead.task(&number.to_string(), "pending", None);
        lead.hook("Stop", json!({}));
    }
    let objects = below(&stage.keep("archive/objects"));
    objects.iter().filter(|path| path.is_file()).for_each(|path| std::fs::write(path, "{}").unwrap());
    let said = stage.run(&["show", TEAM]);
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!((said.code, lines.len()), (Some(0), 6), "{}", said.err);
    assert!(lines[..5].iter().all(|line| line.contains("is damaged: its content has another hash; ")));
    assert_eq!(lines[5], "warning: 7 more problems with the recorded data; see: teamkeep verify");
}

#[test]
fn what_a_journal_lost_is_kept_again_at_the_next_call_and_told_once() {
    type Damage = fn(&str) -> String;
    let removed: Damage = |_| String::new();
    let last_line_lost: Damage = |text| text.trim_end().rsplit_once('\n').unwrap().0.to_owned() + "\n";
    let cut: Damage = |text| text.get(..text.len() - 20).unwrap().to_owned();
    for damage in [removed, last_line_lost, cut] {
        let stage = Stage::new();
        let lead = team(&stage);
        lead.task("1", "completed", Some("alice"));
        lead.hook("Stop", json!({}));
        let journal = stage.keep(&format!("archive/runs/{}/snapshots.jsonl", run_of(&stage)));
        std::fs::write(&journal, damage(&std::fs::read_to_string(&journal).unwrap())).unwrap();
        let stop = lead.payload("Stop", json!({})).to_string();
        let said = stage.feed("stop", stop.as_bytes(), &[]);
        assert_eq!(said.code, Some(0));
        assert!(said.err.contains(" bytes; storing the existing files again"), "{}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
        // What is left of a line that was cut is told whenever the journal is read.
        let show: Value = serde_json::from_str(&stage.run(&["show", "--json", TEAM]).out).unwrap();
        assert_eq!(show["tasks"]["1"]["status"], "completed");
        assert!(show["members"].get("alice").is_some(), "{show}");
        assert_eq!(stage.library().runs.len(), 1);
        let length = journal.metadata().unwrap().len();
        lead.hook("Stop", json!({}));
        assert_eq!(journal.metadata().unwrap().len(), length, "there is nothing more to keep");
    }
}

#[test]
fn a_writer_that_was_killed_behind_its_line_is_no_damage() {
    let stage = Stage::new();
    let lead = team(&stage);
    let index = stage.keep(&format!("archive/open/team-{TEAM}.json"));
    let before = std::fs::read(&index).unwrap();
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    let journal = stage.keep(&format!("archive/runs/{}/snapshots.jsonl", run_of(&stage)));
    let length = journal.metadata().unwrap().len();
    std::fs::write(&index, before).unwrap();
    lead.hook("Stop", json!({}));
    lead.hook("Stop", json!({}));
    assert_eq!(journal.metadata().unwrap().len(), length, "the state is on record already");
    assert_eq!(only(&stage.replay(TEAM), "task-completed")["task"], "1");
}
