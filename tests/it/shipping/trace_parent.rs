//! The trace context of a hook call.

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::Sandbox;

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn recorded(config: &str, parent: &str) -> Value {
    let sandbox = Sandbox::new();
    sandbox.configure(config);
    let payload = json!({"session_id": SESSION, "hook_event_name": "Stop"});
    let result = sandbox.feed("stop", payload.to_string().as_bytes(), &[("TRACEPARENT", parent)]);
    assert_eq!((result.code, result.out.as_str(), result.err.as_str()), (Some(0), "", ""));
    let log = sandbox.log();
    assert_eq!(log.len(), 1);
    log[0].clone()
}

#[test]
fn a_valid_one_is_recorded_also_without_texts() {
    for config in ["", "[privacy]\nrecord = \"metadata\"\n"] {
        assert_eq!(recorded(config, VALID)["traceparent"], VALID);
    }
}

#[test]
fn any_other_value_is_not_recorded() {
    let long = format!("{VALID}{}", "0".repeat(60_000));
    for other in [
        "",
        "1",
        &long,
        &VALID.to_uppercase(),
        &VALID.replacen("00-", "ff-", 1),
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "\",\"event\":\"Forged\",\"x\":\"00-4bf92f3577b34da6a3ce92-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-\n1",
    ] {
        let event = recorded("", other);
        assert_eq!((event.get("traceparent"), &event["event"]), (None, &json!("Stop")), "{other:.80}");
    }
}

#[test]
fn no_other_output_has_it() {
    let outputs = |parent: Option<&str>| {
        let sandbox = Sandbox::new();
        let lead = Lead::of(&sandbox, SESSION);
        lead.roster(1_000, &["alice"]);
        let env: Vec<(&str, &str)> = parent.iter().map(|parent| ("TRACEPARENT", *parent)).collect();
        for event in ["UserPromptSubmit", "Stop"] {
            sandbox.hook(lead.payload(event, json!({"prompt": "go"})), &env);
        }
        let commands = [&["log"][..], &["log", "--json"], &["report"], &["show", "--json"]];
        commands.map(|command| sandbox.printed(command).replace(&sandbox.home().display().to_string(), "~"))
    };
    let with = outputs(Some(VALID));
    assert!(with.iter().all(|output| !output.contains("4bf92f3577b34da6")));
}
