//! `teamkeep policy explain`.

use serde_json::json;

use super::policy_trials::{ASKED, BEGAN, everything, explain};
use super::reenact::{Trace, local};
use super::stage::Stage;

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
    assert!(said.out.contains("verdict   allow\nanswer    exit 0\n"), "{}", said.out);
    assert_eq!(everything(&stage), before, "no line, no count, no lock");
    let said = explain(&stage, "nonsense", &[]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.starts_with("teamkeep: stdin is no payload of a hook: no JSON"), "{}", said.err);
}
