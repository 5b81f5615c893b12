//! Hooks of managed settings are called twice for SendMessage and Agent: one event, one judgement.

use serde_json::{Value, json};

use crate::policy::gate_sandbox::{SESSION, busy, told};
use crate::support::sandbox::{CommandResult, Sandbox};

/// Both calls, as 2.1.330 makes them: with the model's input, then with the client's.
fn twice(sandbox: &Sandbox, id: &str, raw: &Value) -> [CommandResult; 2] {
    let mut full = raw.clone();
    let kind = raw["message"]["type"].as_str().unwrap_or("message");
    full.as_object_mut().unwrap().extend([
        ("type".to_owned(), json!(kind)),
        ("recipient".to_owned(), raw["to"].clone()),
        ("recipient_kind".to_owned(), json!("name")),
        ("content".to_owned(), json!("in short")),
    ]);
    [raw, &full].map(|input| {
        told(sandbox, json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_use_id": id, "tool_input": input}))
    })
}

fn count(sandbox: &Sandbox, event: &str) -> usize {
    sandbox.log().iter().filter(|line| line["event"] == event).count()
}

fn shutdown() -> Value {
    json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}})
}

#[test]
fn a_message_announced_twice_is_one_event_with_one_warning_and_uses_one_allowance() {
    let sandbox = busy("[policy.premature-shutdown]\nmode = \"warn\"\n");
    let result = twice(&sandbox, "u1", &shutdown());
    assert_eq!([result[0].code, result[1].code], [Some(0); 2]);
    // Claude Code passes on the answer to the second call.
    assert!(result[0].out.contains("still owns task 2") && result[1].out == result[0].out, "{result:?}");
    assert_eq!((count(&sandbox, "PreToolUse"), count(&sandbox, "Verdict")), (1, 1));
    sandbox.write_config("");
    assert_eq!(sandbox.run(&["allow", "bob"]).code, Some(0));
    let result = twice(&sandbox, "u2", &shutdown());
    assert_eq!([result[0].code, result[1].code], [Some(0); 2], "{result:?}");
    assert_eq!((count(&sandbox, "PreToolUse"), count(&sandbox, "Verdict")), (2, 2));
    let other = json!({"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_use_id": "u2", "tool_input": {"to": "bob", "message": {"type": "shutdown_request", "reason": "another"}, "recipient": "bob"}});
    assert_eq!(told(&sandbox, other).code, Some(2), "another input is another call");
    assert_eq!((count(&sandbox, "PreToolUse"), count(&sandbox, "Verdict")), (3, 3));
}

#[test]
fn a_rule_that_matches_only_the_second_input_blocks_it_and_its_verdict_names_the_event() {
    let rule = "[[rule]]\nname = \"short\"\ntools = [\"SendMessage\"]\nmatch = { \"/tool_input/content\" = \"in short\" }\naction = \"block\"\nreason = \"no\"\n";
    let sandbox = busy(rule);
    let result = twice(&sandbox, "u1", &json!({"to": "bob", "message": "hello"}));
    assert_eq!([result[0].code, result[1].code], [Some(0), Some(2)]);
    let log = sandbox.log();
    let of = |event: &str| log.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    let (events, verdicts) = (of("PreToolUse"), of("Verdict"));
    assert_eq!((events.len(), verdicts.len()), (1, 1));
    assert_eq!(verdicts[0]["verdict"]["of"], events[0]["id"]);
}

#[test]
fn a_spawn_that_is_announced_twice_is_one_event_and_a_later_one_is_another() {
    let sandbox = Sandbox::judging();
    let spawn = |id: &str, input: Value| {
        let payload = json!({"session_id": SESSION, "hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_use_id": id, "tool_input": input});
        assert_eq!(sandbox.feed("", payload.to_string().as_bytes(), &[]).code, Some(0));
    };
    let input = json!({"name": "bob", "prompt": "work"});
    let mut raw = input.clone();
    raw["run_in_background"] = json!(true);
    spawn("u1", raw.clone());
    spawn("u1", input.clone());
    // With hooks of the user's own settings beside it, the second input comes once more.
    spawn("u1", input.clone());
    assert_eq!(count(&sandbox, "PreToolUse"), 1);
    spawn("u2", raw);
    assert_eq!(count(&sandbox, "PreToolUse"), 2);
}
