//! `teamkeep policy explain`.

use serde_json::json;

use super::policy_team::Team;
use super::policy_trials::{ASKED, BEGAN, everything, explain, file, test};
use super::reenact::{Trace, local};
use super::stage::{Stage, lines};

#[test]
fn a_decision_is_explained_and_nothing_is_changed() {
    let stage = Stage::new();
    let mut played = Trace::read("v328-inprocess", BEGAN);
    let payload = played.steps[ASKED - 1]["payload"].clone();
    played.steps.truncate(ASKED - 1);
    played.play(&stage, 1);
    stage.unconfigure();
    let payload = local(&stage, &payload.to_string());
    let before = everything(&stage);
    let said = explain(&stage, &payload, &[]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.out);
    insta::assert_snapshot!("explain", said.out);
    let line =
        format!(r#"{{"v":1,"at":"2026-02-03T04:05:06.000Z","event":"PreToolUse","payload":{payload}}}"#);
    assert_eq!(explain(&stage, &line, &[]).out, said.out, "a line of the log says the same");
    // By the run's record alone the same is said.
    let by_run = explain(&stage, &payload, &["--run", "latest"]);
    let from = |text: &str| text.split("  premature-shutdown").nth(1).unwrap().to_owned();
    assert_eq!(from(&by_run.out), from(&said.out));
    let idle =
        json!({"session_id": "1353b3db-15db-4165-b1fb-ed39ac7e091c", "hook_event_name": "Notification"});
    let said = explain(&stage, &idle.to_string(), &[]);
    assert!(said.out.contains("verdict    allow\nresponse   exit 0\n"), "{}", said.out);
    assert_eq!(everything(&stage), before, "no line, no count, no lock");
    let said = explain(&stage, "nonsense", &[]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.starts_with("error: stdin is not a hook payload: invalid JSON"), "{}", said.err);
}

#[test]
fn json_that_is_not_a_payload_is_an_error() {
    let stage = Stage::judging();
    let said = explain(&stage, r#"{"foo":1}"#, &[]);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    let error =
        "error: stdin is not a hook payload: `hook_event_name` is missing\nhint: explain a recorded one: ";
    assert!(said.err.starts_with(error), "{}", said.err);
}

#[test]
fn a_recorded_event_is_explained_as_of_its_time() {
    let stage = Stage::new();
    let played = Trace::read("v328-inprocess", BEGAN);
    let payload = local(&stage, &played.steps[ASKED - 1]["payload"].to_string());
    played.play(&stage, 1);
    stage.unconfigure();
    stage.finish();
    let before = everything(&stage);
    let tested = lines(&test(&stage, &["latest", "--json"]).out);
    let block = tested.iter().find(|line| line["verdict"]["decision"] == "block").unwrap();
    let id = block["of"].as_str().unwrap();
    let said = explain(&stage, "", &["--event", id]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!("explain_event", said.out.replace(id, "ID"));
    assert!(said.out.contains(block["verdict"]["reason"].as_str().unwrap()), "{}", said.out);
    let at_the_end = explain(&stage, &payload, &["--run", "latest"]);
    assert!(!at_the_end.out.contains("verdict    block"), "it depends on the time: {}", at_the_end.out);
    // Each event has the verdict that the back-test finds.
    for line in tested.iter().filter(|line| !line["verdict"].is_null()) {
        let said = explain(&stage, "", &["--event", line["of"].as_str().unwrap()]).out;
        let word = format!("verdict    {}", line["verdict"]["decision"].as_str().unwrap());
        assert!(said.contains(&word), "{line}: {said}");
    }
    let log = stage.log();
    let first = log[0]["id"].as_str().unwrap();
    assert!(explain(&stage, "", &["--event", first]).out.contains("recorded   no verdict\n"));
    assert_eq!(explain(&stage, "", &["--event", &id[..25]]).out, said.out, "a unique prefix");
    let many = explain(&stage, "", &["--event", &id[..2]]);
    assert_eq!((many.code, many.out.as_str()), (Some(1), ""));
    assert!(many.err.starts_with(&format!("error: ambiguous event ID {:?}: ", &id[..2])), "{}", many.err);
    let none = explain(&stage, "", &["--event", "nope"]);
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""));
    assert!(none.err.starts_with("error: no event matches \"nope\"\nhint: "), "{}", none.err);
    assert_eq!(everything(&stage), before, "nothing is changed");
}

#[test]
fn the_recorded_verdict_is_printed_beside_todays() {
    let team = Team::new("");
    team.roster(&["bob"]);
    team.spawn("bob");
    team.task(1, "in_progress", "bob", &[]);
    assert_eq!(team.ask("bob"), 2);
    let log = team.stage.log();
    let verdict = log.iter().find(|line| line["verdict"]["decision"] == "block").unwrap();
    let off = file(&team.stage, "off.toml", "[policy.premature-shutdown]\nmode = \"off\"\n");
    for id in [&verdict["verdict"]["of"], &verdict["id"]] {
        let said = explain(&team.stage, "", &["--event", id.as_str().unwrap(), "--policy", &off]);
        assert!(said.out.contains("verdict    allow\n"), "{}{}", said.out, said.err);
        assert!(said.out.contains("\nrecorded   block premature-shutdown: Blocked: "), "{}", said.out);
    }
}
