//! How runs begin, go on and end, in scenes that no recorded run has.

use std::process::Command;

use serde_json::{Value, json};

use super::play::{Lead, count, only};
use super::stage::Stage;

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TWO: &str = "bbbbbbbb-0000-4000-8000-000000000002";

/// A process that stands for the client, until it is dropped.
struct Client(std::process::Child);

impl Client {
    fn start() -> Client {
        Client(Command::new("sleep").arg("600").spawn().unwrap())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The number of a process that has ended.
pub fn ended_process() -> u32 {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    pid
}

fn rows<'a>(teams: &'a [Value], key: &str) -> Vec<&'a Value> {
    teams.iter().map(|team| &team[key]).collect()
}

/// A team of alice and bob that has done a little.
fn begin<'a>(stage: &'a Stage, session: &str) -> Lead<'a> {
    let lead = Lead::of(stage, session);
    lead.roster(1_000, &["alice", "bob"]);
    lead.start("startup");
    lead.task("1", "pending", None);
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    lead
}

#[test]
fn clear_goes_on_with_the_run_under_a_new_session() {
    let stage = Stage::new();
    let client = Client::start();
    let pid = client.0.id();
    let mut lead = Lead { pid: Some(pid), ..Lead::of(&stage, ONE) };
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": pid}}));
    lead.start("startup");
    lead.end("clear");
    lead.session = TWO.to_owned();
    lead.start("clear");
    lead.hook("UserPromptSubmit", json!({"prompt": "again"}));

    let teams = stage.teams();
    assert_eq!(
        (rows(&teams, "team"), &teams[0]["ended_by"]),
        (vec![&json!("session-aaaaaaaa")], &Value::Null)
    );
    let log = stage.log();
    let last = log.last().unwrap();
    assert_eq!((&last["team"], &last["run"]), (&json!("session-aaaaaaaa"), &teams[0]["run"]));
    assert_eq!(last["actor"], json!({"name": "team-lead", "id": null, "kind": "lead"}));
    let entries = stage.replay("latest");
    let prompts: Vec<&Value> =
        entries.iter().filter(|entry| entry["kind"] == "turn-started").map(|entry| &entry["text"]).collect();
    assert_eq!(prompts, [&json!("again")]);
    assert_eq!((count(&entries, "session-started"), count(&entries, "session-ended")), (2, 1));

    lead.erase();
    lead.end("prompt_input_exit");
    assert_eq!(rows(&stage.teams(), "ended_by"), [&json!("session-end")]);
    drop(client);
}

#[test]
fn the_tasks_made_after_clear_are_kept_beside_those_from_before() {
    let stage = Stage::new();
    let client = Client::start();
    let pid = client.0.id();
    let mut lead = Lead { pid: Some(pid), ..Lead::of(&stage, ONE) };
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": pid}}));
    lead.task("1", "pending", None);
    lead.start("startup");
    lead.end("clear");
    lead.session = TWO.to_owned();
    lead.start("clear");
    stage.write("tasks/session-bbbbbbbb/1.json", json!({"id": "1", "subject": "New", "status": "pending"}));
    lead.hook("UserPromptSubmit", json!({"prompt": "again"}));
    stage.write("tasks/session-bbbbbbbb/1.json", json!({"id": "1", "subject": "New", "status": "completed"}));
    lead.hook("Stop", json!({}));

    let shown = stage.show(&["latest"]);
    assert_eq!(shown["tasks"]["1"]["subject"], "Task 1");
    assert_eq!(shown["tasks"]["session-bbbbbbbb/1"]["status"], "completed");

    // Also when what was remembered of the team is lost.
    std::fs::write(stage.keep("archive/open/team-session-aaaaaaaa.json"), "damaged").unwrap();
    lead.hook("Stop", json!({}));
    stage.write("tasks/session-bbbbbbbb/1.json", json!({"id": "1", "subject": "New", "status": "pending"}));
    lead.hook("Stop", json!({}));
    assert_eq!(stage.show(&["latest"])["tasks"]["session-bbbbbbbb/1"]["status"], "pending");
    assert!(stage.replay("latest").iter().all(|entry| entry["kind"] != "task-erased"));
}

#[test]
fn a_resumed_session_is_a_new_run_that_continues_the_former() {
    let stage = Stage::new();
    let lead = begin(&stage, ONE);
    lead.erase();
    lead.end("prompt_input_exit");
    lead.roster(2_000, &[]);
    lead.start("resume");

    let library = stage.library();
    assert_eq!(library.runs.len(), 2);
    assert_eq!(library.runs[1].continues.as_ref(), Some(&library.runs[0].run));
    let teams = stage.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("session-end"), &Value::Null]);
    assert_eq!(teams[1]["members"], json!(["team-lead"]), "nobody comes back by himself");
    assert_eq!(stage.show(&["latest"])["tasks"]["1"]["status"], "pending", "the task list is still there");
    assert_eq!(stage.log().last().unwrap()["run"], teams[1]["run"]);
}

#[test]
fn a_name_that_another_session_uses_again_is_another_run() {
    let stage = Stage::new();
    let first = Lead::named(&stage, ONE, "parser-team");
    first.roster(1_000, &["alice"]);
    first.start("startup");
    first.hook("UserPromptSubmit", json!({"prompt": "go"}));
    let second = Lead::named(&stage, TWO, "parser-team");
    second.roster(2_000, &["bob"]);
    second.start("startup");
    second.hook("UserPromptSubmit", json!({"prompt": "me too"}));

    let teams = stage.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("replaced"), &Value::Null]);
    assert_eq!(rows(&teams, "members"), [&json!(["team-lead", "alice"]), &json!(["team-lead", "bob"])]);
    assert!(stage.library().runs.iter().all(|run| run.continues.is_none()));
    for (run, prompt) in [(0, "go"), (1, "me too")] {
        let entries = stage.replay(teams[run]["run"].as_str().unwrap());
        assert_eq!(only(&entries, "turn-started")["text"], prompt);
    }
    assert_eq!(
        stage.replay("parser-team"),
        stage.replay(teams[1]["run"].as_str().unwrap()),
        "the last by name"
    );
}

/// A team whose lead has this process; then another session starts.
fn ended_after_another_start(process: Value) -> Value {
    let stage = Stage::new();
    let lead = Lead::of(&stage, ONE);
    lead.config(1_000, &["alice"], json!({"leadProcess": process}));
    lead.start("startup");
    // Ten years later: age tells nothing.
    stage.set_clock(315_360_000_000);
    Lead::of(&stage, TWO).start("startup");
    let teams = stage.teams();
    teams[0]["ended_by"].clone()
}

#[test]
fn a_run_whose_client_was_killed_is_closed_as_crashed_at_the_next_start() {
    assert_eq!(ended_after_another_start(json!({"pid": ended_process()})), "crashed");
}

#[test]
fn a_run_whose_client_lives_is_not_closed_however_old() {
    assert_eq!(ended_after_another_start(json!({"pid": std::process::id()})), Value::Null);
}

#[test]
fn a_run_whose_client_lives_in_another_pid_namespace_is_not_closed() {
    let elsewhere = json!({"pid": ended_process(), "pidSpace": "container#pid:[1]"});
    assert_eq!(ended_after_another_start(elsewhere), Value::Null);
}

#[test]
fn a_run_that_names_no_process_is_not_closed() {
    assert_eq!(ended_after_another_start(Value::Null), Value::Null);
}

#[test]
fn a_session_that_starts_again_does_not_close_its_own_run() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, ONE);
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": ended_process()}}));
    lead.start("startup");
    lead.start("resume");
    assert_eq!(rows(&stage.teams(), "ended_by"), [&Value::Null]);
}

#[test]
fn a_crashed_run_is_told_with_its_end_and_keeps_its_files() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, ONE);
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": ended_process()}}));
    lead.start("startup");
    Lead::of(&stage, TWO).start("startup");
    let entries = stage.replay("session-aaaaaaaa");
    assert_eq!(only(&entries, "session-ended")["summary"], "crashed");
    assert!(stage.client("teams/session-aaaaaaaa/config.json").exists(), "it is the user's to remove");
}

#[test]
fn a_team_that_disappears_without_a_hook_is_closed_as_disappeared() {
    let stage = Stage::new();
    let lead = begin(&stage, ONE);
    lead.erase();
    Lead::of(&stage, TWO).start("startup");
    let teams = stage.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("disappeared")]);
    assert_eq!(only(&stage.replay("latest"), "team-erased")["actor"], "client");
}

#[test]
fn better_evidence_corrects_how_a_run_ended() {
    let stage = Stage::new();
    let lead = begin(&stage, ONE);
    lead.erase();
    Lead::of(&stage, TWO).start("startup");
    lead.end("prompt_input_exit");
    let teams = stage.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("session-end")]);
    assert_eq!(teams[0]["ended_at"], "2026-02-03T04:05:08.000Z", "but not when");
}

#[test]
fn a_session_that_acts_after_its_end_opens_its_run_again_and_one_that_acted_before_does_not() {
    let stage = Stage::new();
    let lead = begin(&stage, ONE);
    lead.end("other");
    // Hooks overlap: this call began before the end, and comes to the archive after it.
    stage.set_clock(1_500);
    lead.hook("UserPromptSubmit", json!({"prompt": "overtaken"}));
    assert_eq!(rows(&stage.teams(), "ended_by"), [&json!("session-end")]);
    stage.set_clock(10_000);
    lead.hook("UserPromptSubmit", json!({"prompt": "still here"}));
    assert_eq!(rows(&stage.teams(), "ended_by"), [&Value::Null]);
}

fn deleted(response: Value, removes: bool) -> Value {
    let stage = Stage::new();
    let lead = Lead::named(&stage, ONE, "parser-team");
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.before("u1", "TeamDelete", &json!({}), json!({}));
    if removes {
        lead.erase();
    }
    lead.after("u1", "TeamDelete", &json!({}), response, json!({}));
    stage.teams()[0]["ended_by"].clone()
}

#[test]
fn a_team_delete_that_was_refused_closes_nothing() {
    let refused = json!({"success": false, "message": "Cannot cleanup team with 1 active member(s)"});
    assert_eq!(deleted(refused, false), Value::Null);
}

#[test]
fn a_team_delete_closes_the_run() {
    assert_eq!(deleted(json!({"success": true, "team_name": "parser-team"}), true), "team-delete");
    assert_eq!(deleted(json!({"success": true}), true), "team-delete", "also where the answer names no team");
}

#[test]
fn two_teams_at_once_are_kept_apart() {
    let stage = Stage::new();
    let (one, two) = (Lead::of(&stage, ONE), Lead::of(&stage, TWO));
    one.roster(1_000, &["alice"]);
    one.start("startup");
    two.roster(2_000, &["alice"]);
    two.start("startup");
    for (lead, word) in [(&one, "first"), (&two, "second"), (&one, "third"), (&two, "fourth")] {
        lead.task(word, "pending", None);
        lead.hook("UserPromptSubmit", json!({"prompt": word}));
        let input = json!({"to": "alice", "message": word});
        lead.tool(word, "SendMessage", &input, json!({"success": true}));
    }
    one.erase();
    one.end("prompt_input_exit");
    two.hook("Stop", json!({}));

    for (team, words, ended) in [
        ("session-aaaaaaaa", ["first", "third"], json!("session-end")),
        ("session-bbbbbbbb", ["second", "fourth"], Value::Null),
    ] {
        let entries = stage.replay(team);
        let told = |kind: &str| -> Vec<Value> {
            entries.iter().filter(|entry| entry["kind"] == kind).map(|entry| entry["text"].clone()).collect()
        };
        assert_eq!(
            (told("message"), told("turn-started")),
            (words.map(Value::from).into(), words.map(Value::from).into())
        );
        let shown = stage.show(&[team]);
        assert_eq!(shown["tasks"].as_object().unwrap().len(), 2);
        assert!(words.iter().all(|word| shown["tasks"][word].is_object()), "{shown}");
        let teams = stage.teams();
        assert_eq!(teams.iter().find(|row| row["team"] == team).unwrap()["ended_by"], ended);
    }
}

#[test]
fn a_session_without_a_team_that_starts_subagents_is_a_run_of_its_own() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, ONE);
    lead.start("startup");
    assert_eq!(stage.teams(), Vec::<Value>::new(), "a session alone is no run");
    let scout = json!({"agent_id": "a1", "agent_type": "Explore"});
    lead.hook("SubagentStart", scout.clone());
    lead.hook("SubagentStop", scout);
    lead.end("other");

    let teams = stage.teams();
    assert_eq!(
        (rows(&teams, "team"), rows(&teams, "ended_by")),
        (vec![&Value::Null], vec![&json!("session-end")])
    );
    assert_eq!(
        stage.run(&["teams"]).err,
        "no team is on record; `teamkeep teams --all` lists sessions without a team\n"
    );
    let entries = stage.replay("latest");
    assert_eq!(only(&entries, "session-started")["actor"], "lead", "also what was before the first subagent");
    assert_eq!(
        (&only(&entries, "turn-started")["actor"], &only(&entries, "turn-ended")["agent"]),
        (&json!("Explore"), &json!("a1"))
    );
}

#[test]
fn events_that_name_no_team_are_told_by_what_else_they_say() {
    let stage = Stage::new();
    let lead = begin(&stage, ONE);
    let alice = json!({"agent_id": "aalice-1", "agent_type": "alice"});
    lead.hook("SubagentStart", alice);
    lead.hook("TeammateIdle", json!({"teammate_name": "alice"}));
    let log = stage.log();
    for event in &log[2..] {
        assert_eq!((&event["team"], &event["actor"]["name"]), (&json!("session-aaaaaaaa"), &json!("alice")));
        assert_eq!(event["actor"]["kind"], "teammate");
    }
}

/// The session that a process belongs to, where the kernel tells it.
#[cfg(target_os = "linux")]
fn session_of(pid: &str) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(3).map(str::to_owned)
}

#[test]
fn an_end_that_names_no_client_is_finished_though_the_roster_names_one_that_lives() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, ONE);
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": std::process::id()}}));
    lead.start("startup");
    stage.finish();
    lead.end("prompt_input_exit");
    // It waits until nothing is left, and fails when something stays.
    stage.finish();
    let run = &stage.library().runs[0];
    assert!(run.finished && run.client_pid.is_some(), "{run:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_outlives_the_client_has_a_session_of_its_own() {
    let stage = Stage::new();
    let client = Client::start();
    let pid = client.0.id().to_string();
    let lead = Lead { pid: Some(client.0.id()), ..Lead::of(&stage, ONE) };
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    stage.finish();
    lead.end("prompt_input_exit");
    // It waits for the client to go: this one stays until it was seen.
    let wanted = format!("finish\0--after\0{pid}\0");
    let found = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut names = processes.filter_map(|entry| entry.file_name().into_string().ok());
        names.find(|name| {
            std::fs::read(format!("/proc/{name}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).ends_with(&wanted))
        })
    };
    // A process that has just begun shows no command line for a moment, so one look that finds none says nothing.
    let mut own = false;
    while !own && stage.is_unfinished() {
        own = found().is_some_and(|finish| session_of(&finish).is_some_and(|session| session == finish));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(client);
    assert!(own, "it never had one");
    stage.finish();
}

#[test]
fn what_is_told_of_a_run_that_is_over_is_kept_until_it_begins_again() {
    let stage = Stage::new();
    let lead = begin(&stage, ONE);
    lead.task("1", "pending", None);
    lead.hook("Stop", json!({}));
    lead.end("prompt_input_exit");
    stage.finish();
    let kept = || {
        stage.keep("archive/runs").read_dir().unwrap().flatten().next().unwrap().path().join("summary.json")
    };
    let fresh = stage.teams();
    assert!(!kept().exists(), "late events may still come");
    stage.set_clock(3_600_000);
    assert_eq!(stage.teams(), fresh);
    assert!(kept().exists());
    // What is kept is what is told: the log is not read again.
    std::fs::remove_dir_all(stage.keep("log")).unwrap();
    assert_eq!(stage.teams(), fresh);
    std::fs::write(kept(), "{").unwrap();
    assert_eq!(stage.teams().len(), 1, "one that makes no sense is made again");
    lead.start("resume");
    lead.task("2", "pending", None);
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    let told = stage.teams();
    assert_eq!((&told[0]["ended_at"], &told[0]["tasks"]), (&json!(null), &json!(2)), "{told:?}");
}
