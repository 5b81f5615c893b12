use serde_json::json;

use super::*;
use teamkeep_model::time;

/// A call with a payload, so many milliseconds after the first one.
fn repeats((by_plugin, earlier): (bool, &Value), (plugin, later): (bool, &Value), gap: i64) -> bool {
    let start = time::parse("2026-02-03T04:05:06.789Z").unwrap();
    let [earlier_raw, later_raw] =
        [earlier, later].map(|value| RawValue::from_string(value.to_string()).unwrap());
    let line = |plugin, at: i64, payload| Line {
        at: Timestamp::from_millis(start.millis() + at).unwrap(),
        id: "".into(),
        event: "".into(),
        plugin,
        verdict: None,
        payload,
    };
    let name = |value: &Value| value["hook_event_name"].as_str().unwrap().to_owned();
    let first = Line { event: name(earlier).into(), ..line(by_plugin, 0, &earlier_raw) };
    let second = Line { event: name(later).into(), ..line(plugin, gap, &later_raw) };
    first.is_repeated_by(&second)
}

fn spawn(id: &str, input: Value) -> Value {
    json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_use_id": id, "tool_input": input})
}

const PLUGIN: bool = true;
const SETTINGS: bool = false;

#[test]
fn an_equal_payload_repeats_an_event_only_from_the_other_of_plugin_and_settings() {
    let idle = json!({"session_id": "s", "hook_event_name": "TeammateIdle", "teammate_name": "bob"});
    for (one, other, gap, expected) in [
        (PLUGIN, SETTINGS, 0, true),
        (SETTINGS, PLUGIN, 9_999, true),
        // The second call can have begun first.
        (SETTINGS, PLUGIN, -5, true),
        (SETTINGS, PLUGIN, 10_000, false),
        (SETTINGS, SETTINGS, 0, false),
        (PLUGIN, PLUGIN, 151, false),
    ] {
        assert_eq!(repeats((one, &idle), (other, &idle), gap), expected, "{one} {other} {gap}");
    }
    let other = json!({"session_id": "s", "hook_event_name": "TeammateIdle", "teammate_name": "alice"});
    assert!(!repeats((PLUGIN, &idle), (SETTINGS, &other), 0));
}

#[test]
fn a_second_call_for_a_tool_use_has_equal_values_under_shared_keys() {
    let first = spawn("u1", json!({"name": "bob", "run_in_background": true}));
    let again = |later: &Value| repeats((SETTINGS, &first), (SETTINGS, later), 5);
    assert!(again(&spawn("u1", json!({"name": "bob"}))));
    assert!(again(&spawn("u1", json!({"name": "bob", "recipient": "bob"}))));
    for other in [
        spawn("u2", json!({"name": "bob"})),
        spawn("u1", json!({"name": "alice"})),
        spawn("u1", json!({})),
        json!({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_input": {"name": "bob"}}),
    ] {
        assert!(!again(&other), "{other}");
    }
    let mut message = first.clone();
    (message["tool_name"], message["tool_input"]) =
        (json!("SendMessage"), json!({"to": "bob", "message": "hi"}));
    let mut full = message.clone();
    full["tool_input"]["recipient"] = json!("bob");
    assert!(repeats((SETTINGS, &message), (SETTINGS, &full), 5));
    assert!(!repeats((SETTINGS, &full), (SETTINGS, &full), 5), "the complete input comes once");
    let mut result = first.clone();
    result["hook_event_name"] = json!("PostToolUse");
    assert!(!repeats((SETTINGS, &result), (SETTINGS, &result), 5), "only PreToolUse comes twice");
}
