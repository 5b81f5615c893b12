//! What people ask for that is not there, or not so: each is told what is wrong and what was meant.

use serde_json::json;

use super::play::Lead;
use super::stage::{Said, Stage, feed};

const SESSION: &str = "1353b3db-0000-4000-8000-000000000001";

fn error(stage: &Stage, args: &[&str]) -> (Option<i32>, String) {
    let said = stage.run(args);
    assert_eq!(said.out, "", "{args:?}");
    (said.code, said.err)
}

#[test]
fn a_record_of_events_without_a_team_says_that_the_hooks_work() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, SESSION);
    assert!(stage.run(&["teams"]).err.starts_with("no runs recorded yet\nhint: "));
    assert!(stage.run(&["replay"]).err.starts_with("error: no runs recorded yet\n"));
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    let said = "no runs recorded yet; hooks are working (2 events)\n";
    assert_eq!(error(&stage, &["teams"]), (Some(0), said.to_owned()));
    assert_eq!(error(&stage, &["replay"]), (Some(1), format!("error: {said}")));
    assert_eq!(error(&stage, &["show"]), (Some(1), format!("error: {said}")));
}

#[test]
fn a_run_that_is_not_there_is_told_with_those_that_may_be_meant() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    for slip in ["session-1353b3bd", "Session-1353"] {
        let (code, said) = error(&stage, &["show", slip]);
        assert_eq!(code, Some(1));
        assert!(said.starts_with(&format!("error: no run matches {slip:?}\n")), "{said}");
        assert!(said.contains("\nhint: did you mean session-1353b3db?\n"), "{said}");
    }
    let by_session = stage.told(&["show", &SESSION[..8]]);
    assert!(by_session.starts_with("session-1353b3db "), "{by_session}");
    assert!(error(&stage, &["show", "latets"]).1.contains("did you mean latest?"));
    assert!(!error(&stage, &["show", "lexer"]).1.contains("did you mean"));
    let (code, said) = error(&stage, &["show", ""]);
    assert!(code == Some(64) && said.starts_with("error: RUN is empty\nhint: "), "{said}");
}

#[test]
fn a_beginning_that_several_runs_have_is_told_with_their_teams_and_times() {
    let stage = Stage::new();
    let lead = Lead::named(&stage, SESSION, "parser-team");
    // Sixteen beginnings are all that there are.
    for number in 1..=17 {
        lead.roster(number, &["alice"]);
        lead.start("startup");
    }
    let library = stage.library();
    let head = |run: &str| run[..1].to_owned();
    let heads: Vec<String> = library.runs.iter().map(|run| head(&run.run)).collect();
    let twice = heads.iter().find(|one| heads.iter().filter(|other| other == one).count() > 1).unwrap();
    let meant: Vec<_> = library.runs.iter().filter(|run| head(&run.run) == *twice).collect();
    let (code, said) = error(&stage, &["replay", twice]);
    let begin = format!("error: {twice:?} matches {} runs\n", meant.len());
    assert!(code == Some(1) && said.starts_with(&begin), "{said}");
    for run in meant {
        assert!(said.contains(&format!("hint: {} parser-team, {}\n", run.run, run.started_at)), "{said}");
    }
}

#[test]
fn times_are_read_as_people_write_them() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.hook("Stop", json!({}));
    for time in ["2026-02-03 04:05:07", "2026-02-03T04:05:07", "2026-02-03 04:05:07 UTC", "+1s"] {
        assert_eq!(stage.show(&["--at", time])["at"], "2026-02-03T04:05:07.000Z", "{time}");
    }
    let since = stage.told(&["log", "--since", "2026-02-03 04:05:07", "--json"]);
    let until = stage.told(&["log", "--until", "2026-02-03T04:05:06", "--json"]);
    assert_eq!((since.lines().count(), until.lines().count()), (1, 1));
    assert_eq!(error(&stage, &["show", "--at", "noon"]).0, Some(64));
}

#[test]
fn help_is_a_command() {
    let stage = Stage::new();
    assert!(stage.told(&["help"]).contains("Usage: teamkeep"));
    assert!(stage.told(&["help", "replay"]).contains("--full"));
}

/// An environment that makes no sense, its complaint, and what a person and a hook are told.
fn is_told(stage: &Stage, name: &str, value: &str, complaint: &str) {
    let mut command = stage.command(&["prune", "--keep", "1"]);
    let said: Said = command.env(name, value).output().unwrap().into();
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.err.starts_with(&format!("error: {complaint}\nhint: ")), "{}", said.err);
    let mut command = stage.command(&["hook", "stop"]);
    let said = feed(command.env(name, value), br#"{"hook_event_name":"Stop","session_id":"s1"}"#);
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{name}");
    // A configuration is told when a session begins, and by `policy check`.
    let is_told = said.err.starts_with(&format!("teamkeep: {complaint}; using the default"));
    assert_eq!(is_told, name != "TEAMKEEP_CONFIG", "{}", said.err);
}

#[test]
fn a_clock_or_a_configuration_that_is_none_stops_people_and_no_hook() {
    let stage = Stage::new();
    let now = "invalid TEAMKEEP_NOW \"noon\": not an RFC 3339 time";
    is_told(&stage, "TEAMKEEP_NOW", "noon", now);
    let config = "TEAMKEEP_CONFIG names /nowhere/teamkeep.toml, which does not exist";
    is_told(&stage, "TEAMKEEP_CONFIG", "/nowhere/teamkeep.toml", config);
    let log = stage.log();
    let mut events: Vec<_> = log.iter().map(|line| line["event"].as_str().unwrap()).collect();
    events.sort_unstable();
    assert_eq!(
        events,
        ["Stop", "Stop", "Verdict"],
        "both calls, and that no policy could be read at the second"
    );
    let noted = stage.diagnostics();
    assert!(noted.contains(&format!("{now}; using the default")), "{noted}");
    assert!(
        noted.contains("/nowhere/teamkeep.toml: error[unreadable]: TEAMKEEP_CONFIG names a file"),
        "{noted}"
    );
}

#[test]
fn a_relative_place_for_the_record_stops_people_and_no_hook() {
    let stage = Stage::new();
    let complaint = "invalid TEAMKEEP_HOME \"keep\": not an absolute path";
    is_told(&stage, "TEAMKEEP_HOME", "keep", complaint);
    assert!(!stage.home().join("parser/keep").exists());
    let place = stage.home().join(".local/share/teamkeep");
    assert!(place.join("log").is_dir(), "the default place is used");
    let noted = std::fs::read_dir(place.join("diagnostics")).unwrap().next().unwrap().unwrap().path();
    assert!(std::fs::read_to_string(noted).unwrap().contains(complaint));
}
