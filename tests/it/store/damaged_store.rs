//! Damage to the record: what is hurt is told, what is whole is used, and recording goes on.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::history::traces::{PANES, V328, play_again};
use crate::support::access::set_time;
use crate::support::client_files::{Lead, only};
use crate::support::reenact::Trace;
use crate::support::sandbox::{ContentDamage, Sandbox, below};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TEAM: &str = "session-aaaaaaaa";

fn team(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.task("1", "pending", None);
    lead.start("startup");
    lead.says("user", json!("go"));
    lead
}

fn run_of(sandbox: &Sandbox) -> String {
    sandbox.library().find(TEAM).unwrap().run.clone()
}

/// What goes on after the damage: a task is completed, and the session ends.
fn go_on(sandbox: &Sandbox, lead: &Lead<'_>) {
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    lead.erase();
    lead.end("other");
    sandbox.finish();
}

fn is_whole(sandbox: &Sandbox, run: &str) {
    let teams = sandbox.teams();
    assert_eq!(
        (teams.len(), &teams[0]["run"], &teams[0]["ended_by"]),
        (1, &json!(run), &json!("session-end"))
    );
    assert_eq!(teams[0]["members"], json!(["team-lead", "alice"]));
    let entries = sandbox.replay(TEAM);
    assert_eq!(
        only(&entries, "task-created")["at"],
        "2026-02-03T04:05:06.000Z",
        "what was before is still told"
    );
    assert_eq!(only(&entries, "task-completed")["task"], "1");
    assert_eq!(only(&entries, "team-created")["at"], "2026-02-03T04:05:06.000Z");
    assert_eq!(sandbox.show(&[TEAM])["tasks"]["1"]["status"], "completed");
    let run = sandbox.archive().run(run).unwrap();
    assert_eq!(
        (run.sessions.len(), run.finished, sandbox.archive().kept(&run.run).len()),
        (1, true, 1),
        "{run:?}"
    );
}

#[test]
fn a_damaged_index_costs_only_another_capture() {
    for damage in ["", "{\"v\":1,\"run\":", "[]", "\0\0\0\0", "{\"v\":1,\"run\":\"../../elsewhere\"}"] {
        let sandbox = Sandbox::new();
        let lead = team(&sandbox);
        let run = run_of(&sandbox);
        std::fs::write(sandbox.keep(&format!("teams/open/team-{TEAM}.json")), damage).unwrap();
        go_on(&sandbox, &lead);
        is_whole(&sandbox, &run);
        let told = "the index of session-aaaaaaaa was invalid and is rebuilt";
        assert_eq!(sandbox.diagnostics().matches(told).count(), 1, "{damage}: {}", sandbox.diagnostics());
    }
}

#[test]
fn a_file_that_disappeared_with_the_index_is_recorded_as_deleted() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    std::fs::write(sandbox.keep(&format!("teams/open/team-{TEAM}.json")), "damaged").unwrap();
    std::fs::remove_file(sandbox.client(&format!("tasks/{TEAM}/1.json"))).unwrap();
    lead.hook("Stop", json!({}));
    assert_eq!(sandbox.show(&[TEAM, "--at", &sandbox.last()])["tasks"], json!({}));
    assert_eq!(only(&sandbox.replay(TEAM), "task-erased")["task"], "1");
}

#[test]
fn a_damaged_run_description_is_reported_and_rebuilt() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let run = run_of(&sandbox);
    std::fs::write(sandbox.keep(&format!("runs/{run}/run.json")), "{\"v\":1,").unwrap();
    let result = sandbox.run(&["list"]);
    assert!(result.code == Some(0) && result.out.contains(&run[..4]), "its log describes it: {}", result.out);
    let path = sandbox.keep(&format!("runs/{run}/run.json"));
    let why = format!("warning: cannot read {}: EOF while parsing a value", path.display());
    assert!(result.err.contains(&why), "{}", result.err);
    assert!(result.err.contains(&format!("; to check it: teamkeep verify {run}")), "{}", result.err);
    go_on(&sandbox, &lead);
    is_whole(&sandbox, &run);
    assert_eq!(
        sandbox.archive().run(&run).unwrap().started_at.to_string(),
        "2026-02-03T04:05:06.000Z",
        "as the journal has it"
    );
}

#[test]
fn a_damaged_journal_line_is_reported_and_the_others_are_read() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let journal = sandbox.keep(&format!("runs/{}/snapshots.jsonl", run_of(&sandbox)));
    let whole = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, format!("{whole}\u{0}damaged\n{{\"v\":1,\"at\":\"2026")).unwrap();
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    let result = sandbox.run(&["log", TEAM, "--json"]);
    let lines = whole.lines().count();
    let begin = format!("warning: {}:{}: expected value at line 1", journal.display(), lines + 1);
    assert!(result.err.starts_with(&begin), "{}", result.err);
    assert!(result.err.contains("; 2 line(s) of the run's journal are passed over"), "{}", result.err);
    assert_eq!(result.err.lines().count(), 1);
    let entries = crate::support::sandbox::lines(&result.out);
    assert_eq!(
        (only(&entries, "task-created")["task"].as_str(), only(&entries, "task-completed")["task"].as_str()),
        (Some("1"), Some("1"))
    );
    assert!(std::fs::read_to_string(&journal).unwrap().starts_with(&whole));
    assert!(
        sandbox.diagnostics().contains("the last line of snapshots.jsonl of run "),
        "{}",
        sandbox.diagnostics()
    );
}

#[test]
fn a_damaged_session_state_is_rebuilt() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let run = run_of(&sandbox);
    std::fs::write(sandbox.keep(&format!("sessions/{SESSION}.json")), "{\"team\":3").unwrap();
    go_on(&sandbox, &lead);
    is_whole(&sandbox, &run);
    let log = sandbox.log();
    assert!(log.iter().all(|event| event["run"] == run.as_str() && event["team"] == TEAM));
}

fn segment(sandbox: &Sandbox) -> PathBuf {
    sandbox.run_log().segments().unwrap().remove(0).path()
}

#[test]
fn a_log_that_was_cut_in_a_line_continues_with_the_next() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.hook("Stop", json!({}));
    let path = segment(&sandbox);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    lead.hook("Notification", json!({}));
    assert!(
        sandbox.diagnostics().contains("was incomplete: its writer was probably killed"),
        "{}",
        sandbox.diagnostics()
    );
    let result = sandbox.run(&["log", "--raw", "--json"]);
    let events: Vec<Value> = crate::support::sandbox::lines(&result.out);
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["SessionStart", "Notification"]);
    assert!(result.err.contains(&format!("{}:2: cut off", path.display())), "{}", result.err);
    assert!(std::fs::read(&path).unwrap().starts_with(&whole[..whole.len() - 20]), "what was there stays");
}

#[test]
fn a_damaged_content_is_reported_and_the_rest_is_shown() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.task("2", "pending", None);
    lead.hook("Stop", json!({}));
    let hash = sandbox.last_content(&format!("tasks/{TEAM}/1.json"));
    sandbox.damage_content(&hash, ContentDamage::Changed);
    let result = sandbox.run(&["show", TEAM, "--json"]);
    assert_eq!(result.code, Some(0));
    assert!(result.err.contains(&format!("content {hash} in ")), "{}", result.err);
    let shown: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(shown["tasks"]["2"]["status"], "pending");
}

#[test]
fn a_clock_that_goes_backwards_reorders_nothing() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    for (clock, status) in [(60_000, "in_progress"), (-86_400_000, "pending"), (-86_399_000, "completed")] {
        sandbox.set_clock(clock);
        lead.task("1", status, Some("alice"));
        lead.hook("Stop", json!({}));
    }
    assert_eq!(sandbox.log().len(), 4);
    let result = sandbox.run(&["log", TEAM, "--json"]);
    let warning = "warning: the clock was set back to 2026-02-02 04:05:06 UTC; \
                   later times are shown as if it had continued at 2026-02-03 04:06:06 UTC\n";
    assert_eq!((result.code, result.err.as_str()), (Some(0), warning));
    let entries = crate::support::sandbox::lines(&result.out);
    let states: Vec<&Value> =
        entries.iter().filter(|entry| entry["task"] == "1").map(|entry| &entry["to_status"]).collect();
    assert_eq!(states, ["pending", "in_progress", "pending", "completed"]);
    let shown: Value = serde_json::from_str(&sandbox.run(&["show", TEAM, "--json"]).out).unwrap();
    assert_eq!(shown["tasks"]["1"]["status"], "completed");
}

#[test]
fn calls_after_the_clock_was_set_back_follow_those_before_until_it_is_right_again() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    for (clock, prompt) in
        [(10_000, "one"), (20_000, "two"), (-3_600_000, "three"), (-3_590_000, "four"), (60_000, "five")]
    {
        sandbox.set_clock(clock);
        lead.hook("UserPromptSubmit", json!({"prompt": prompt}));
    }
    sandbox.set_clock(70_000);
    lead.erase();
    lead.end("other");
    sandbox.finish();
    let out = sandbox.run(&["log", TEAM, "--json"]).out;
    let entries = crate::support::sandbox::lines(&out);
    let turns = entries.iter().filter(|entry| entry["kind"] == "turn-started");
    let turns: Vec<(&str, &str)> =
        turns.map(|entry| (entry["at"].as_str().unwrap(), entry["text"].as_str().unwrap())).collect();
    let at = ["04:05:16.000", "04:05:26.000", "04:05:26.001", "04:05:36.001", "04:06:06.000"];
    let at = at.map(|time| format!("2026-02-03T{time}Z"));
    let prompts = ["one", "two", "three", "four", "five"];
    assert_eq!(turns, at.iter().map(String::as_str).zip(prompts).collect::<Vec<_>>());
    let report = sandbox.run(&["report", TEAM]);
    assert!(report.out.contains(", lasted 1 min 1"), "{}", report.out);
}

#[test]
fn five_of_many_problems_are_listed_and_the_rest_counted() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    for number in 2..12 {
        lead.task(&number.to_string(), "pending", None);
        lead.hook("Stop", json!({}));
    }
    let files = below(&sandbox.keep("runs"));
    let data = files.iter().find(|path| path.ends_with("contents.data")).unwrap();
    std::fs::write(data, vec![b'x'; std::fs::read(data).unwrap().len()]).unwrap();
    let result = sandbox.run(&["show", TEAM]);
    let lines: Vec<&str> = result.err.lines().collect();
    assert_eq!((result.code, lines.len()), (Some(0), 6), "{}", result.err);
    assert!(lines[..5].iter().all(|line| line.contains(" is damaged; ")));
    assert_eq!(lines[5], "warning: 7 more problems with the recorded data; see: teamkeep verify");
}

#[test]
fn files_that_the_journal_lost_are_stored_again_and_reported_once() {
    type Damage = fn(&str) -> String;
    let removed: Damage = |_| String::new();
    let last_line_lost: Damage = |text| text.trim_end().rsplit_once('\n').unwrap().0.to_owned() + "\n";
    let cut: Damage = |text| text.get(..text.len() - 20).unwrap().to_owned();
    for damage in [removed, last_line_lost, cut] {
        let sandbox = Sandbox::new();
        let lead = team(&sandbox);
        lead.task("1", "completed", Some("alice"));
        lead.hook("Stop", json!({}));
        let journal = sandbox.keep(&format!("runs/{}/snapshots.jsonl", run_of(&sandbox)));
        std::fs::write(&journal, damage(&std::fs::read_to_string(&journal).unwrap())).unwrap();
        let stop = lead.payload("Stop", json!({})).to_string();
        let result = sandbox.feed("stop", stop.as_bytes(), &[]);
        assert_eq!(result.code, Some(0));
        assert!(result.err.contains(" bytes; storing the existing files again"), "{}", result.err);
        assert_eq!(result.err.lines().count(), 1, "{}", result.err);
        // What is left of a line that was cut is told whenever the journal is read.
        let show: Value = serde_json::from_str(&sandbox.run(&["show", "--json", TEAM]).out).unwrap();
        assert_eq!(show["tasks"]["1"]["status"], "completed");
        assert!(show["members"].get("alice").is_some(), "{show}");
        assert_eq!(sandbox.library().runs.len(), 1);
        let length = journal.metadata().unwrap().len();
        lead.hook("Stop", json!({}));
        assert_eq!(journal.metadata().unwrap().len(), length, "there is nothing more to keep");
    }
}

#[test]
fn a_writer_that_was_killed_after_its_line_causes_no_damage() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let index = sandbox.keep(&format!("teams/open/team-{TEAM}.json"));
    let before = std::fs::read(&index).unwrap();
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    let journal = sandbox.keep(&format!("runs/{}/snapshots.jsonl", run_of(&sandbox)));
    let length = journal.metadata().unwrap().len();
    std::fs::write(&index, before).unwrap();
    lead.hook("Stop", json!({}));
    lead.hook("Stop", json!({}));
    assert_eq!(journal.metadata().unwrap().len(), length, "the state is on record already");
    assert_eq!(only(&sandbox.replay(TEAM), "task-completed")["task"], "1");
}

fn is_log(file: &Path) -> bool {
    file.file_name().unwrap().to_str().unwrap().starts_with("events")
}

#[test]
fn a_run_that_has_only_its_log_left_is_damaged_and_stays() {
    let sandbox = Sandbox::new();
    team(&sandbox);
    let dir = sandbox.keep(&format!("runs/{}", run_of(&sandbox)));
    for file in below(&dir).iter().filter(|file| !is_log(file)) {
        std::fs::remove_file(file).unwrap();
    }
    set_time(&dir, std::time::UNIX_EPOCH);
    assert_eq!(sandbox.run(&["verify"]).code, Some(1));
    let events = sandbox.log().len();
    assert!(events > 0);
    sandbox.run(&["prune", "--keep", "0", "--yes"]);
    assert_eq!(sandbox.log().len(), events);
}

#[test]
fn a_first_call_that_was_killed_before_its_snapshot_is_not_damage() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    let dir = sandbox.keep(&format!("runs/{}", run_of(&sandbox)));
    lead.erase();
    let path = dir.join("run.json");
    let mut run: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    run["sessions"] = json!([]);
    run["ended_at"] = run["started_at"].clone();
    std::fs::write(&path, serde_json::to_vec(&run).unwrap()).unwrap();
    std::fs::write(dir.join("snapshots.jsonl"), "").unwrap();
    for file in below(&dir).iter().filter(|file| is_log(file)) {
        std::fs::remove_file(file).unwrap();
    }
    let verified = sandbox.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{}", verified.out);
}

#[test]
fn damaged_counts_of_the_gates_are_reported_once_and_start_again() {
    let sandbox = Sandbox::judging();
    let lead = team(&sandbox);
    lead.task("1", "completed", Some("alice"));
    let counts = sandbox.run_log().dir().join("gates.json");
    let idle = || {
        let payload = lead.payload("TeammateIdle", json!({"teammate_name": "alice", "team_name": TEAM}));
        sandbox.feed("teammate-idle", payload.to_string().as_bytes(), &[])
    };
    assert_eq!(idle().err, "");
    let whole = std::fs::read(&counts).unwrap();
    std::fs::write(&counts, &whole[..whole.len() / 2]).unwrap();
    for command in [vec!["verify"], vec!["verify", TEAM]] {
        let found = sandbox.run(&command);
        assert_eq!(found.code, Some(1));
        assert!(found.out.contains(&format!("damaged-file: {}: EOF", counts.display())), "{}", found.out);
    }
    let result = idle();
    let begin = format!("teamkeep: {} is damaged: EOF while parsing", counts.display());
    assert_eq!((result.code, result.out.as_str()), (Some(0), ""));
    assert!(
        result.err.starts_with(&begin) && result.err.ends_with("; its counts start again\n"),
        "{}",
        result.err
    );
    assert!(sandbox.diagnostics().contains("; its counts start again"), "{}", sandbox.diagnostics());
    assert_eq!(idle().err, "", "reported once");
    assert_eq!(sandbox.run(&["verify"]).code, Some(0));
}

#[test]
fn an_ended_run_without_its_description_is_shown_as_its_log_has_it() {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    lead.end("prompt_input_exit");
    sandbox.finish();
    let run = run_of(&sandbox);
    let path = sandbox.keep(&format!("runs/{run}/run.json"));
    let before = sandbox.archive().run(&run).unwrap();
    let shown = || ["log", "report", "show"].map(|command| sandbox.run(&[command, TEAM, "--json"]).out);
    let intact = shown();
    for damage in [Some("{\"v\":1,"), Some(""), None] {
        match damage {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        assert_eq!(shown(), intact);
        let known = &sandbox.library().runs[0];
        assert_eq!((known.started_at, known.ended_at), (before.started_at, before.ended_at));
        assert_eq!((&known.sessions, known.finished), (&before.sessions, true));
        let verified = sandbox.run(&["verify"]);
        assert!(verified.code == Some(1) && verified.out.contains("run.json"), "{}", verified.out);
    }
}

#[test]
fn recorded_runs_without_their_descriptions_have_the_same_facts() {
    for (name, began) in [V328, PANES] {
        let played = play_again(Trace::read(name, began), 1);
        let shown = || ["log", "show"].map(|command| played.sandbox.run(&[command, "latest", "--json"]).out);
        let intact = shown();
        let run = played.sandbox.library().runs.iter().rfind(|run| run.team.is_some()).unwrap().run.clone();
        std::fs::remove_file(played.sandbox.keep(&format!("runs/{run}/run.json"))).unwrap();
        assert_eq!(shown(), intact, "{name}");
    }
}
