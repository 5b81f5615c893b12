//! What people ask for that is not there, or not so: each is told what is wrong and what was meant.

use serde_json::json;

use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, Sandbox, feed};

const SESSION: &str = "1353b3db-0000-4000-8000-000000000001";

fn error(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, String) {
    let result = sandbox.run(args);
    assert_eq!(result.out, "", "{args:?}");
    (result.code, result.err)
}

#[test]
fn a_record_of_events_without_a_team_says_that_the_hooks_work() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    assert!(sandbox.run(&["teams"]).err.starts_with("no runs recorded yet\nhint: "));
    assert!(sandbox.run(&["log"]).err.starts_with("error: no runs recorded yet\n"));
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    let result = "no runs recorded yet; hooks are working (2 events)\n";
    assert_eq!(error(&sandbox, &["teams"]), (Some(0), result.to_owned()));
    let hint = "hint: to list the recorded events of all sessions: teamkeep log --raw\n";
    assert_eq!(error(&sandbox, &["log"]), (Some(1), format!("error: {result}{hint}")));
    assert_eq!(error(&sandbox, &["show"]), (Some(1), format!("error: {result}")));
}

#[test]
fn a_run_that_is_not_there_is_told_with_those_that_may_be_meant() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    for slip in ["session-1353b3bd", "Session-1353"] {
        let (code, result) = error(&sandbox, &["show", slip]);
        assert_eq!(code, Some(1));
        assert!(result.starts_with(&format!("error: no run matches {slip:?}\n")), "{result}");
        assert!(result.contains("\nhint: did you mean session-1353b3db?\n"), "{result}");
    }
    let by_session = sandbox.told(&["show", &SESSION[..8]]);
    assert!(by_session.starts_with("session-1353b3db "), "{by_session}");
    assert!(error(&sandbox, &["show", "latets"]).1.contains("did you mean latest?"));
    assert!(!error(&sandbox, &["show", "lexer"]).1.contains("did you mean"));
    let (code, result) = error(&sandbox, &["show", ""]);
    assert!(code == Some(64) && result.starts_with("error: RUN is empty\nhint: "), "{result}");
}

#[test]
fn a_beginning_that_several_runs_have_is_told_with_their_teams_and_times() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, SESSION, "parser-team");
    // Sixteen beginnings are all that there are.
    for number in 1..=17 {
        lead.roster(number, &["alice"]);
        lead.start("startup");
    }
    let library = sandbox.library();
    let head = |run: &str| run[..1].to_owned();
    let heads: Vec<String> = library.runs.iter().map(|run| head(&run.run)).collect();
    let twice = heads.iter().find(|one| heads.iter().filter(|other| other == one).count() > 1).unwrap();
    let meant: Vec<_> = library.runs.iter().filter(|run| head(&run.run) == *twice).collect();
    let (code, result) = error(&sandbox, &["log", twice]);
    let begin = format!("error: {twice:?} matches {} runs\n", meant.len());
    assert!(code == Some(1) && result.starts_with(&begin), "{result}");
    for run in meant {
        assert!(result.contains(&format!("hint: {} parser-team, {}\n", run.run, run.started_at)), "{result}");
    }
}

#[test]
fn times_are_read_as_people_write_them() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.hook("Stop", json!({}));
    for time in ["2026-02-03 04:05:07", "2026-02-03T04:05:07", "2026-02-03 04:05:07 UTC", "+1s"] {
        assert_eq!(sandbox.show(&["--at", time])["at"], "2026-02-03T04:05:07.000Z", "{time}");
    }
    let since = sandbox.told(&["log", "--raw", "--since", "2026-02-03 04:05:07", "--json"]);
    let until = sandbox.told(&["log", "--raw", "--until", "2026-02-03T04:05:06", "--json"]);
    assert_eq!((since.lines().count(), until.lines().count()), (1, 1));
    assert_eq!(error(&sandbox, &["show", "--at", "noon"]).0, Some(64));
}

#[test]
fn help_is_a_command() {
    let sandbox = Sandbox::new();
    assert!(sandbox.told(&["help"]).contains("Usage: teamkeep"));
    assert!(sandbox.told(&["help", "replay"]).contains("--full"));
}

/// An environment that makes no sense, its complaint, and what a person and a hook are told.
fn is_told(sandbox: &Sandbox, name: &str, value: &str, complaint: &str) {
    let mut command = sandbox.command(&["prune", "--keep", "1"]);
    let result: CommandResult = command.env(name, value).output().unwrap().into();
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""), "{result:?}");
    assert!(result.err.starts_with(&format!("error: {complaint}\nhint: ")), "{}", result.err);
    let mut command = sandbox.command(&["hook", "stop"]);
    let result = feed(command.env(name, value), br#"{"hook_event_name":"Stop","session_id":"s1"}"#);
    assert_eq!((result.code, result.out.as_str()), (Some(0), ""), "{name}");
    // A configuration is told when a session begins, and by `policy check`.
    let is_told = result.err.starts_with(&format!("teamkeep: {complaint}; using the default"));
    assert_eq!(is_told, name != "TEAMKEEP_CONFIG", "{}", result.err);
}

#[test]
fn a_clock_or_a_configuration_that_is_none_stops_people_and_no_hook() {
    let sandbox = Sandbox::new();
    let now = "invalid TEAMKEEP_NOW \"noon\": not an RFC 3339 time";
    is_told(&sandbox, "TEAMKEEP_NOW", "noon", now);
    let config = "TEAMKEEP_CONFIG names /nowhere/teamkeep.toml, which does not exist";
    is_told(&sandbox, "TEAMKEEP_CONFIG", "/nowhere/teamkeep.toml", config);
    let log = sandbox.log();
    let mut events: Vec<_> = log.iter().map(|line| line["event"].as_str().unwrap()).collect();
    events.sort_unstable();
    assert_eq!(
        events,
        ["Stop", "Stop", "Verdict"],
        "both calls, and that no policy could be read at the second"
    );
    let noted = sandbox.diagnostics();
    assert!(noted.contains(&format!("{now}; using the default")), "{noted}");
    assert!(
        noted.contains("/nowhere/teamkeep.toml: error[unreadable]: TEAMKEEP_CONFIG names a file"),
        "{noted}"
    );
}

#[test]
fn a_relative_place_for_the_record_stops_people_and_no_hook() {
    let sandbox = Sandbox::new();
    let complaint = "invalid TEAMKEEP_HOME \"keep\": not an absolute path";
    is_told(&sandbox, "TEAMKEEP_HOME", "keep", complaint);
    assert!(!sandbox.home().join("parser/keep").exists());
    let place = sandbox.home().join(".local/share/teamkeep");
    assert!(place.join("log").is_dir(), "the default place is used");
    let noted = std::fs::read_dir(place.join("diagnostics")).unwrap().next().unwrap().unwrap().path();
    assert!(std::fs::read_to_string(noted).unwrap().contains(complaint));
}
