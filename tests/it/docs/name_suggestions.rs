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
    std::fs::create_dir(sandbox.keep("")).unwrap();
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
    let by_session = sandbox.printed(&["show", &SESSION[..8]]);
    assert!(by_session.starts_with("session-1353b3db "), "{by_session}");
    assert!(error(&sandbox, &["show", "latets"]).1.contains("did you mean latest?"));
    assert!(!error(&sandbox, &["show", "lexer"]).1.contains("did you mean"));
    let (code, result) = error(&sandbox, &["show", ""]);
    assert!(code == Some(64) && result.starts_with("error: RUN is empty\nhint: "), "{result}");
}

#[test]
fn fewer_than_four_digits_pick_no_run() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, SESSION, "parser-team");
    lead.roster(1, &["alice"]);
    lead.start("startup");
    let run = sandbox.library().runs[0].run.clone();
    for digits in [&run[..1], &run[..3], &SESSION[..2]] {
        let (code, result) = error(&sandbox, &["show", digits]);
        let wanted = format!(
            "error: {digits:?} is too short: a run ID needs at least 4 digits\n\
             hint: give more digits: {run} (parser-team, 2026-02-03 04:05:06 UTC)\n"
        );
        assert_eq!((code, result), (Some(1), wanted));
    }
    for enough in [&run[..4], &SESSION[..4], "parser-team"] {
        assert!(sandbox.printed(&["show", enough]).starts_with("parser-team "), "{enough}");
    }
    assert!(error(&sandbox, &["show", "zz"]).1.starts_with("error: no run matches \"zz\"\n"));
}

#[test]
fn a_beginning_that_several_runs_have_asks_for_more_digits_and_counts_those_that_it_does_not_list() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, SESSION, "parser-team");
    for number in 1..=5 {
        lead.roster(number, &["alice"]);
        lead.start("startup");
    }
    // All runs are of one session.
    let (code, result) = error(&sandbox, &["log", &SESSION[..6]]);
    let library = sandbox.library();
    let shown = library.runs.iter().rev().take(3);
    let shown = shown
        .map(|run| format!("{} (parser-team, {})", run.run, teamkeep_model::time::moment(run.started_at)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let wanted = format!("error: \"1353b3\" matches 5 runs\nhint: give more digits: {shown} and 2 more\n");
    assert_eq!((code, result), (Some(1), wanted));
}

#[test]
fn similar_teams_are_listed_in_one_form() {
    let sandbox = Sandbox::new();
    for number in 1..=4 {
        let session = format!("1353b3d{number}-0000-4000-8000-00000000000{number}");
        let lead = Lead::of(&sandbox, &session);
        lead.roster(number, &["alice"]);
        lead.start("startup");
    }
    let (_, result) = error(&sandbox, &["log", "session"]);
    let hint =
        "hint: did you mean one of: session-1353b3d4, session-1353b3d3, session-1353b3d2 and 1 more?\n";
    assert!(result.contains(hint), "{result}");
}

#[test]
fn a_name_that_nothing_has_is_an_error_with_the_nearest_one() {
    let sandbox = Sandbox::new();
    let lead = Lead::named(&sandbox, SESSION, "parser-team");
    lead.roster(1_000, &["alice", "bob"]);
    lead.start("startup");
    std::fs::write(sandbox.home().join("parser/parser.rs"), "fn main() {}\n").unwrap();
    for (line, what, near) in [
        ("files --agent bbo", "unknown agent \"bbo\"", "\"bob\""),
        ("brief --agent bbo", "unknown agent \"bbo\"", "\"bob\""),
        ("log --agent bbo", "unknown agent \"bbo\"", "\"bob\""),
        ("log --involving alcie", "unknown agent \"alcie\"", "\"alice\""),
        ("pause team-szie 1h", "unknown gate \"team-szie\"", "\"team-size\""),
        ("resume team-szie", "unknown gate \"team-szie\"", "\"team-size\""),
        ("config show polciy", "unknown table \"polciy\"", "\"policy\""),
        ("log --kind mesage", "unknown kind \"mesage\"", "\"message\""),
        ("blame parsre.rs", "the file parsre.rs does not exist", "parser.rs"),
        ("blame ./parsre.rs", "the file ./parsre.rs does not exist", "./parser.rs"),
        (
            "files ./parsre.rs",
            "no change of ./parsre.rs is recorded, and it does not exist here",
            "./parser.rs",
        ),
    ] {
        let (code, result) = error(&sandbox, &line.split(' ').collect::<Vec<_>>());
        assert!(matches!(code, Some(1 | 64)), "{line}");
        assert!(
            result.starts_with(&format!("error: {what}\nhint: did you mean {near}?\n")),
            "{line}: {result}"
        );
    }
    for (line, near) in [
        ("log --kind blocked", "did you mean \"verdict\"?"),
        ("blame parser.rs 20", "did you mean: teamkeep blame FILE:20?"),
        ("blame -L 20 parser.rs", "did you mean: teamkeep blame FILE:LINE?"),
        ("blame --line 20 parser.rs", "did you mean: teamkeep blame FILE:LINE?"),
        ("--json list", "put it after the command: teamkeep list --json"),
        ("tail", "did you mean `teamkeep log --follow`?"),
        ("rm", "did you mean `teamkeep prune`?"),
        ("files bob", "the files that it changed: teamkeep files --agent bob"),
        ("show bob", "bob is an agent of the last run: teamkeep log --involving bob"),
    ] {
        let (_, result) = error(&sandbox, &line.split(' ').collect::<Vec<_>>());
        assert!(result.contains(&format!("hint: {near}\n")), "{line}: {result}");
    }
    let (code, result) = error(&sandbox, &["files", "--agent", "nobody"]);
    assert!(code == Some(1) && result.contains("\nhint: known agents: alice, bob, "), "{result}");
    assert!(
        error(&sandbox, &["blame", "nosuch.rs"]).1.starts_with("error: the file nosuch.rs does not exist\n")
    );
    assert_eq!(error(&sandbox, &["blame", "parser.rs:abc"]).0, Some(64));
}

#[test]
fn a_pause_for_a_team_that_does_not_run_has_a_warning_and_an_allowance_is_an_error() {
    let sandbox = Sandbox::judging();
    let lead = Lead::named(&sandbox, SESSION, "parser-team");
    lead.roster(1_000, &["alice", "bob"]);
    lead.start("startup");
    for (line, warning, given) in [
        (
            "pause 1h --team parser-taem",
            "warning: no running team is named \"parser-taem\"\nhint: did you mean \"parser-team\"?\n",
            "paused every gate and rule in team \"parser-taem\"",
        ),
        (
            "pause rule 1h --team zzz",
            "warning: no running team is named \"zzz\"\nhint: known teams: parser-team\n",
            "paused rule in team \"zzz\"",
        ),
    ] {
        let (code, result) = error(&sandbox, &line.split(' ').collect::<Vec<_>>());
        assert_eq!(code, Some(0), "{line}");
        assert!(result.starts_with(&format!("{warning}{given}")), "{line}: {result}");
    }
    for line in ["allow bob", "allow @bob", "pause 1h --team parser-team"] {
        let (_, result) = error(&sandbox, &line.split(' ').collect::<Vec<_>>());
        assert!(!result.contains("warning: "), "{line}: {result}");
    }
    let (code, result) = error(&sandbox, &["pause", "bob"]);
    assert!(code == Some(64) && result.ends_with(": teamkeep allow bob\n"), "{result}");
    let (code, result) = error(&sandbox, &["allow", "bbo"]);
    let what = "error: no running team has a teammate named \"bbo\"\nhint: did you mean \"bob\"?\n";
    assert!(code == Some(1) && result.starts_with(what), "{result}");
    lead.end("prompt_input_exit");
    lead.erase();
    lead.hook("SessionEnd", json!({"reason": "other"}));
    let (code, result) = error(&sandbox, &["allow", "bob"]);
    assert!(code == Some(1) && result.starts_with("error: no team is running\nhint: "), "{result}");
    assert_eq!(error(&sandbox, &["allow", "bob", "--force"]).0, Some(0));
}

#[test]
fn a_time_is_read_as_it_is_printed() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    lead.hook("Stop", json!({}));
    let printed = sandbox.printed(&["log", "--raw"]);
    let time = printed.lines().last().unwrap().split(' ').next().unwrap();
    assert_eq!(time, "04:05:07.000");
    for time in
        [time, "04:05:07", "04:05:07 UTC", "+1s", "+1 s", "2026-02-03 04:05:07", "today 04:05:07", "1 s ago"]
    {
        assert_eq!(sandbox.show(&["--at", time])["at"], "2026-02-03T04:05:07.000Z", "{time}");
    }
    let counted =
        |args: &[&str]| sandbox.printed(&[&["log", "--raw", "--json"], args].concat()).lines().count();
    assert_eq!((counted(&["--since", "04:05:07"]), counted(&["--until", "04:05:06"])), (1, 1));
    assert_eq!(counted(&["--since", "04:05"]), 2);
    assert_eq!(counted(&["--since", "2 min ago"]), 2);
    let (code, result) = error(&sandbox, &["show", "--at", "25:00"]);
    assert!(code == Some(64) && result.contains("\nhint: expected 17:53, "), "{result}");
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
    let since = sandbox.printed(&["log", "--raw", "--since", "2026-02-03 04:05:07", "--json"]);
    let until = sandbox.printed(&["log", "--raw", "--until", "2026-02-03T04:05:06", "--json"]);
    assert_eq!((since.lines().count(), until.lines().count()), (1, 1));
    assert_eq!(error(&sandbox, &["show", "--at", "noon"]).0, Some(64));
}

#[test]
fn help_is_a_command() {
    let sandbox = Sandbox::new();
    assert!(sandbox.printed(&["help"]).contains("Usage: teamkeep"));
    assert!(sandbox.printed(&["help", "replay"]).contains("--full"));
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
    assert!(place.join("sessions").is_dir(), "the default place is used");
    let noted = std::fs::read_dir(place.join("diagnostics")).unwrap().next().unwrap().unwrap().path();
    assert!(std::fs::read_to_string(noted).unwrap().contains(complaint));
}
