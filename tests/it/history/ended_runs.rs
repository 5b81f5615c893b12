//! How runs end, whoever notices it, and what is kept of one that is over.

use serde_json::{Value, json};

use crate::store::run_sandbox::{Client, ONE, TWO, begin, ended_process, rows};
use crate::support::client_files::{Lead, only};
use crate::support::sandbox::Sandbox;

/// A team whose lead has this process; then another session starts.
fn ended_after_another_start(process: Value) -> Value {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.config(1_000, &["alice"], json!({"leadProcess": process}));
    lead.start("startup");
    // Ten years later: age tells nothing.
    sandbox.set_clock(315_360_000_000);
    Lead::of(&sandbox, TWO).start("startup");
    let teams = sandbox.teams();
    teams[0]["ended_by"].clone()
}

#[test]
fn run_of_a_killed_client_is_closed_as_crashed_at_the_next_start() {
    assert_eq!(ended_after_another_start(json!({"pid": ended_process()})), "crashed");
}

#[test]
fn run_of_a_live_client_is_not_closed_at_any_age() {
    assert_eq!(ended_after_another_start(json!({"pid": std::process::id()})), Value::Null);
}

#[test]
fn run_of_a_client_in_another_pid_namespace_is_not_closed() {
    let elsewhere = json!({"pid": ended_process(), "pidSpace": "container#pid:[1]"});
    assert_eq!(ended_after_another_start(elsewhere), Value::Null);
}

#[test]
fn run_without_a_process_id_is_not_closed() {
    assert_eq!(ended_after_another_start(Value::Null), Value::Null);
}

#[test]
fn resumed_run_without_a_team_is_not_closed_when_its_first_process_ends() {
    let sandbox = Sandbox::new();
    let mut lead = Lead::of(&sandbox, ONE);
    lead.pid = Some(ended_process());
    lead.start("startup");
    lead.hook("SubagentStart", json!({"agent_id": "a1", "agent_type": "Explore"}));
    lead.pid = Some(std::process::id());
    lead.start("resume");
    Lead::of(&sandbox, TWO).start("startup");
    assert_eq!(rows(&sandbox.teams(), "ended_by"), [&Value::Null]);
}

#[test]
fn session_end_ends_every_team_it_led() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "first");
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    // Its memory goes with the later one (2.1.47, where a teammate was spawned into a team that was not there).
    let later = Lead::named(&sandbox, ONE, "later");
    later.roster(2_000, &["alice"]);
    let made = json!({"team_name": "later"});
    lead.tool("t1", "TeamCreate", &made, made.clone());
    Lead::named(&sandbox, TWO, "other").roster(3_000, &[]);
    lead.end("clear");
    assert_eq!(rows(&sandbox.teams(), "ended_by"), [&Value::Null; 3]);
    lead.end("prompt_input_exit");
    let teams = sandbox.teams();
    let mut ended: Vec<_> =
        teams.iter().map(|team| (team["team"].as_str(), team["ended_by"].as_str())).collect();
    ended.sort_unstable();
    let by_session = Some("session-end");
    assert_eq!(ended, [(Some("first"), by_session), (Some("later"), by_session), (Some("other"), None)]);
}

#[test]
fn restarted_session_does_not_close_its_own_run() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": ended_process()}}));
    lead.start("startup");
    lead.start("resume");
    assert_eq!(rows(&sandbox.teams(), "ended_by"), [&Value::Null]);
}

#[test]
fn crashed_run_shows_its_end_and_preserves_its_files() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": ended_process()}}));
    lead.start("startup");
    Lead::of(&sandbox, TWO).start("startup");
    let entries = sandbox.replay("session-aaaaaaaa");
    assert_eq!(only(&entries, "session-ended")["summary"], "crashed");
    assert!(sandbox.client("teams/session-aaaaaaaa/config.json").exists(), "it is the user's to remove");
}

#[test]
fn team_that_disappears_without_a_hook_call_is_closed_as_disappeared() {
    let sandbox = Sandbox::new();
    let lead = begin(&sandbox, ONE);
    lead.erase();
    Lead::of(&sandbox, TWO).start("startup");
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("disappeared")]);
    assert_eq!(only(&sandbox.replay("latest"), "team-erased")["actor"], "client");
}

#[test]
fn later_hook_call_corrects_how_a_run_ended() {
    let sandbox = Sandbox::new();
    let lead = begin(&sandbox, ONE);
    lead.erase();
    Lead::of(&sandbox, TWO).start("startup");
    lead.end("prompt_input_exit");
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "ended_by"), [&json!("session-end")]);
    assert_eq!(teams[0]["ended_at"], "2026-02-03T04:05:08.000Z", "but not when");
}

#[test]
fn only_a_session_that_acts_after_its_end_reopens_its_run() {
    let sandbox = Sandbox::new();
    let lead = begin(&sandbox, ONE);
    lead.end("other");
    // Hooks overlap: this call began before the end, and comes to the archive after it.
    sandbox.set_clock(1_500);
    lead.hook("UserPromptSubmit", json!({"prompt": "overtaken"}));
    assert_eq!(rows(&sandbox.teams(), "ended_by"), [&json!("session-end")]);
    sandbox.set_clock(10_000);
    lead.hook("UserPromptSubmit", json!({"prompt": "still here"}));
    assert_eq!(rows(&sandbox.teams(), "ended_by"), [&Value::Null]);
}

fn deleted(response: Value, removes: bool) -> Value {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "parser-team");
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.before("u1", "TeamDelete", &json!({}), json!({}));
    if removes {
        lead.erase();
    }
    lead.after("u1", "TeamDelete", &json!({}), response, json!({}));
    sandbox.teams()[0]["ended_by"].clone()
}

#[test]
fn rejected_team_delete_does_not_close_the_run() {
    let refused = json!({"success": false, "message": "Cannot cleanup team with 1 active member(s)"});
    assert_eq!(deleted(refused, false), Value::Null);
}

#[test]
fn team_delete_closes_the_run() {
    assert_eq!(deleted(json!({"success": true, "team_name": "parser-team"}), true), "team-delete");
    assert_eq!(deleted(json!({"success": true}), true), "team-delete", "also where the answer names no team");
}

/// The session that a process belongs to, where the kernel tells it.
#[cfg(target_os = "linux")]
fn session_of(pid: &str) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(3).map(str::to_owned)
}

#[test]
fn end_without_a_process_closes_a_run_whose_roster_names_a_live_process() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": std::process::id()}}));
    lead.start("startup");
    sandbox.finish();
    lead.end("prompt_input_exit");
    // It waits until nothing is left, and fails when something stays.
    sandbox.finish();
    let run = &sandbox.library().runs[0];
    assert!(run.finished && run.client_pid.is_some(), "{run:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn process_that_outlives_its_client_has_its_own_session() {
    let sandbox = Sandbox::new();
    let client = Client::start();
    let pid = client.0.id().to_string();
    let lead = Lead { pid: Some(client.0.id()), ..Lead::of(&sandbox, ONE) };
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    sandbox.finish();
    lead.end("prompt_input_exit");
    // It waits for the client to go: this one stays until it was seen.
    let wanted = format!("finish\0--after\0{pid}\0--ended\0{ONE}\0");
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
    while !own && sandbox.is_unfinished() {
        own = found().is_some_and(|finish| session_of(&finish).is_some_and(|session| session == finish));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(client);
    assert!(own, "it never had one");
    sandbox.finish();
}

#[test]
fn summary_of_an_ended_run_is_cached_until_it_reopens() {
    let sandbox = Sandbox::new();
    let lead = begin(&sandbox, ONE);
    lead.task("1", "pending", None);
    lead.hook("Stop", json!({}));
    lead.end("prompt_input_exit");
    sandbox.finish();
    let run = sandbox.library().runs[0].run.clone();
    let kept = || sandbox.archive().cache_path(&run, "summary.json").unwrap();
    let fresh = sandbox.teams();
    assert!(!kept().exists(), "late events may still come");
    sandbox.set_clock(3_600_000);
    assert_eq!(sandbox.teams(), fresh);
    assert!(kept().exists());
    // What is kept is what is told: the log is not read again.
    let segments = sandbox.segments();
    let aside: Vec<_> = segments.iter().map(|path| path.with_extension("aside")).collect();
    segments.iter().zip(&aside).for_each(|(path, aside)| std::fs::rename(path, aside).unwrap());
    assert_eq!(sandbox.teams(), fresh);
    segments.iter().zip(&aside).for_each(|(path, aside)| std::fs::rename(aside, path).unwrap());
    std::fs::write(kept(), "{").unwrap();
    assert_eq!(sandbox.teams().len(), 1, "one that makes no sense is made again");
    lead.start("resume");
    lead.task("2", "pending", None);
    lead.hook("UserPromptSubmit", json!({"prompt": "go on"}));
    let told = sandbox.teams();
    assert_eq!((&told[0]["ended_at"], &told[0]["tasks"]), (&json!(null), &json!(2)), "{told:?}");
}

#[test]
fn event_for_a_deleted_team_creates_and_reopens_no_run() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, ONE, "harbor");
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    let input = json!({});
    lead.before("u1", "TeamDelete", &input, json!({}));
    lead.erase();
    lead.after("u1", "TeamDelete", &input, json!({"success": true, "team_name": "harbor"}), json!({}));
    let ended = sandbox.teams()[0]["ended_at"].clone();
    // The client refuses to spawn into it, and runs the teammate all the same (2.1.47).
    for team in ["harbor", "lighthouse"] {
        sandbox.write(&format!("teams/{team}/inboxes/alice.json"), json!([]));
        lead.hook("SubagentStart", json!({"agent_type": "alice", "team_name": team}));
        lead.hook("TeammateIdle", json!({"teammate_name": "alice", "team_name": team}));
    }
    let teams = sandbox.teams();
    assert_eq!(rows(&teams, "team"), [&json!("harbor")]);
    assert_eq!((&teams[0]["ended_by"], &teams[0]["ended_at"]), (&json!("team-delete"), &ended));
}
