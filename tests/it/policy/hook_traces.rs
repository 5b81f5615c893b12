//! The policy at the hook, on recorded runs.

use serde_json::{Value, json};

use crate::support::reenact::{Trace, local};
use crate::support::sandbox::{CommandResult, Sandbox};

const BEGAN: &str = "2026-02-03T04:05:06.000Z";

/// Whom a call asks to stop, if it is about to.
fn asked(payload: &Value) -> Option<&str> {
    let input = &payload["tool_input"];
    let asks = input["message"]["type"] == "shutdown_request" || input["type"] == "shutdown_request";
    (payload["hook_event_name"] == "PreToolUse" && asks).then(|| input["recipient"].as_str().unwrap())
}

/// The first request to each teammate, and how the hook answered it.
fn requests(answers: &[(Value, CommandResult)]) -> Vec<(&str, &CommandResult)> {
    let mut first: Vec<(&str, &CommandResult)> = Vec::new();
    for (payload, result) in answers {
        if let Some(name) = asked(payload).filter(|name| !first.iter().any(|(known, _)| known == name)) {
            first.push((name, result));
        }
    }
    first
}

#[test]
fn the_premature_shutdown_of_every_recorded_run_is_blocked() {
    for name in ["v47-inprocess", "v177-inprocess", "v328-inprocess", "v328-panes"] {
        let sandbox = Sandbox::judging();
        let answers = Trace::read(name, BEGAN).answers(&sandbox);
        let mut requests = requests(&answers);
        requests.sort_by_key(|(name, _)| *name);
        let codes: Vec<_> = requests.iter().map(|(name, result)| (*name, result.code)).collect();
        assert_eq!(codes, [("alice", Some(0)), ("bob", Some(2)), ("carol", Some(0))], "{name}");
        let reason = &requests[1].1.err;
        assert!(reason.contains("task 2") && requests[1].1.out.is_empty(), "{name}: {reason}");
        let blocked = answers.iter().filter(|(_, result)| result.code == Some(2)).count();
        assert_eq!(blocked, 2, "{name}: the request, and bob's own approval");
        assert!(answers.iter().all(|(_, result)| matches!(result.code, Some(0 | 2))), "{name}");
        let one_object = |result: &CommandResult| {
            result.out.is_empty() || serde_json::from_str::<Value>(&result.out).is_ok()
        };
        assert!(answers.iter().all(|(_, result)| one_object(result)), "{name}");
    }
}

#[test]
fn transcripts_name_the_agent_of_a_verdict_that_no_hook_names() {
    let sandbox = Sandbox::judging();
    Trace::read("v47-inprocess", BEGAN).answers(&sandbox);
    sandbox.finish();
    let verdicts: Vec<Value> = sandbox.log().into_iter().filter(|line| line["event"] == "Verdict").collect();
    assert!(verdicts.iter().any(|line| line["actor"]["kind"] == "unknown"), "{verdicts:?}");
    let entries = sandbox.replay("latest");
    let told: Vec<&Value> = entries.iter().filter(|entry| entry["kind"] == "verdict").collect();
    assert_eq!(told.len(), verdicts.len());
    assert!(told.iter().all(|entry| entry["actor"] != "unknown"), "{told:?}");
    let block = told.iter().find(|entry| entry["decision"] == "block").unwrap();
    assert_eq!(block["actor"], "team-lead");
}

#[test]
fn a_request_that_was_sent_despite_a_block_is_shown_as_sent() {
    let sandbox = Sandbox::judging();
    Trace::read("v328-panes", BEGAN).answers(&sandbox);
    sandbox.finish();
    let entries = sandbox.replay("latest");
    let kinds = ["message-refused", "shutdown-approved", "shutdown-rejected"];
    let by_bob = |entry: &&Value| entry["actor"] == "bob" && kinds.iter().any(|kind| entry["kind"] == *kind);
    let told: Vec<&Value> = entries.iter().filter(by_bob).collect();
    let [answer] = told[..] else { panic!("{told:?}") };
    assert_eq!(answer["kind"], "shutdown-approved", "no hook saw it happen, and the lead's inbox has it");
    assert_eq!(answer["sources"], json!(["hook", "inbox", "transcript"]));
    for key in ["automatic", "unconfirmed", "refusal", "of"] {
        assert!(answer.get(key).is_none(), "{key}: {answer}");
    }
    assert_eq!(sandbox.teams()[0]["messages"], 13);
    let blocks = entries.iter().filter(|entry| entry["decision"] == "block");
    assert_eq!(blocks.map(|entry| &entry["actor"]).collect::<Vec<_>>(), ["team-lead", "bob"]);
}

#[test]
fn a_team_without_tasks_is_only_warned() {
    let sandbox = Sandbox::judging();
    let answers = Trace::read("v328-notasks", BEGAN).answers(&sandbox);
    assert!(answers.iter().all(|(_, result)| result.code == Some(0)));
}

/// Plays a run up to the first request to bob, which is returned.
fn until_bob_is_asked(sandbox: &Sandbox) -> String {
    let mut trace = Trace::read("v328-inprocess", BEGAN);
    let place = trace.steps.iter().position(|step| asked(&step["payload"]) == Some("bob")).unwrap();
    let request = trace.steps[place]["payload"].to_string();
    trace.steps.truncate(place);
    trace.answers(sandbox);
    request
}

#[test]
fn the_fourth_attempt_is_allowed_and_reported() {
    let sandbox = Sandbox::judging();
    let request = until_bob_is_asked(&sandbox);
    // Each try is a message of its own.
    let again = |number: usize| {
        let mut payload: Value = serde_json::from_str(&local(&sandbox, &request)).unwrap();
        payload["tool_use_id"] = json!(format!("toolu_{number}"));
        sandbox.think();
        sandbox.feed("pre-tool-use", payload.to_string().as_bytes(), &[])
    };
    let tries: Vec<CommandResult> = (0..5).map(again).collect();
    let codes: Vec<_> = tries.iter().map(|result| result.code).collect();
    assert_eq!(codes, [Some(2), Some(2), Some(2), Some(0), Some(0)]);
    let told: Value = serde_json::from_str(&tries[3].out).unwrap();
    let words = told["systemMessage"].as_str().unwrap();
    let start = "teamkeep allowed this action after 3 blocks (premature-shutdown: a shutdown request to bob";
    assert!(words.starts_with(start) && !words.contains("Refused"), "{words}");
    let log = sandbox.log();
    let verdicts: Vec<_> =
        log.iter().filter(|line| line["event"] == "Verdict").map(|line| &line["verdict"]).collect();
    let last = verdicts.last().unwrap();
    assert_eq!(
        (&last["decision"], &last["escalated"], &last["gate"]),
        (&json!("allow"), &json!(true), &json!("premature-shutdown"))
    );
}

#[test]
fn a_user_allows_one_shutdown_or_pauses_the_gate() {
    let sandbox = Sandbox::judging();
    let request = until_bob_is_asked(&sandbox);
    let ask = || sandbox.feed("pre-tool-use", local(&sandbox, &request).as_bytes(), &[]).code;
    assert_eq!(sandbox.run(&["allow", "bob"]).code, Some(0));
    assert_eq!((ask(), ask()), (Some(0), Some(2)), "once");
    assert_eq!(sandbox.run(&["pause", "premature-shutdown", "15m"]).code, Some(0));
    assert_eq!(ask(), Some(0));
    assert_eq!(sandbox.run(&["resume", "premature-shutdown"]).code, Some(0));
    assert_eq!(ask(), Some(2));
}
