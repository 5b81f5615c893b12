//! Whatever stands on stdin, it is recorded, said on one line, and never blocks the client.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::sandbox::{CommandResult, Sandbox, below, kebab};

const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

/// Our own failure: exit 1, one line for a person, and nothing that the client would take for an answer.
fn is_told(result: &CommandResult) -> &str {
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""), "{result:?}");
    let line = result.err.strip_suffix('\n').unwrap();
    let prefixes = ["teamkeep: ", "error: "];
    assert!(prefixes.iter().any(|prefix| line.starts_with(prefix)) && !line.contains('\n'), "{line}");
    line
}

/// Nothing wrong: exit 0 without a word.
fn is_quiet(result: &CommandResult) {
    assert_eq!((result.code, result.out.as_str(), result.err.as_str()), (Some(0), "", ""));
}

/// Nothing that keeps the client from going on: exit 0, one line for whoever runs the hook by hand, and no answer.
fn says(result: &CommandResult) -> &str {
    assert_eq!((result.code, result.out.as_str()), (Some(0), ""), "{result:?}");
    let line = result.err.strip_suffix('\n').unwrap();
    let line = line.strip_prefix("teamkeep: ").unwrap();
    assert!(!line.contains('\n'), "{line}");
    line
}

/// Feeds this to a Stop hook and gives what is said of it and what is recorded.
fn malformed(stdin: &[u8]) -> (String, Value) {
    let sandbox = Sandbox::new();
    let result = sandbox.feed("stop", stdin, &[]);
    let mut log = sandbox.log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["event"], "Stop", "the command line names it");
    (is_told(&result).to_owned(), log.remove(0))
}

#[test]
fn an_empty_stdin_is_recorded() {
    let (result, event) = malformed(b"");
    assert_eq!(
        result,
        "teamkeep: the payload on stdin is not a JSON object (stdin was empty); its text was recorded"
    );
    assert_eq!((&event["malformed"], &event["payload"]), (&json!("stdin was empty"), &json!({"text": ""})));
    assert_eq!(event["actor"], json!({"name": null, "id": null, "kind": "unknown"}), "nobody said anything");
}

#[test]
fn text_that_is_not_json_is_recorded_verbatim() {
    let (result, event) = malformed(b"hello\nthere");
    assert!(result.contains("invalid JSON at line 1 column 1"), "{result}");
    assert_eq!(event["payload"], json!({"text": "hello\nthere"}));
}

#[test]
fn json_array_is_recorded_but_is_not_a_payload() {
    let (result, event) = malformed(b"[1, {\"session_id\": \"x\"}]");
    assert!(result.contains("not a JSON object"), "{result}");
    assert_eq!(event["payload"], json!([1, {"session_id": "x"}]));
}

#[test]
fn a_truncated_payload_is_recorded_as_far_as_it_goes() {
    let cut = br#"{"session_id": "s1", "tool_input": {"command": "l"#;
    let (result, event) = malformed(cut);
    assert_eq!((&event["session"], &event["actor"]["kind"]), (&json!("s1"), &json!("unknown")));
    assert!(result.contains("invalid JSON: it ends too early, at line 1 column 49"), "{result}");
    assert_eq!(event["payload"]["text"].as_str().unwrap().as_bytes(), cut);
}

#[test]
fn payload_of_100_mib_is_recorded_up_to_the_limit() {
    let sandbox = Sandbox::new();
    let mut payload = br#"{"hook_event_name": "Stop", "text": ""#.to_vec();
    payload.resize(100 << 20, b'x');
    let result = sandbox.feed("stop", &payload, &[]);
    assert!(
        is_told(&result).contains("larger than 16777216 bytes; only the first 16777216 were recorded"),
        "{}",
        result.err
    );
    let log = sandbox.log();
    assert!(log[0]["payload"]["text"].as_str().unwrap().as_bytes() == &payload[..16 << 20]);
}

#[test]
fn invalid_utf_8_is_recorded_in_base64() {
    let (result, event) = malformed(b"{\"a\": \"\xff\"}");
    assert!(result.contains("invalid UTF-8"), "{result}");
    assert_eq!(event["payload"], json!({"base64": "eyJhIjogIv8ifQ=="}));
}

#[test]
fn deeply_nested_json_is_recorded_as_text() {
    for depth in [200, 100_000] {
        let (result, event) = malformed("[".repeat(depth).as_bytes());
        assert!(result.contains("invalid JSON: it ends too early"), "{result}");
        assert_eq!(event["payload"]["text"].as_str().unwrap().len(), depth);
    }
}

#[test]
fn too_deep_json_is_recorded_with_a_note_and_its_event_is_known() {
    let sandbox = Sandbox::new();
    let payload =
        format!("{{\"tool_input\":{}{},\"hook_event_name\":\"Stop\"}}", "[".repeat(5_000), "]".repeat(5_000));
    let result = sandbox.feed("", payload.as_bytes(), &[]);
    assert!(says(&result).contains("too deep or too large"), "{}", result.err);
    assert!(sandbox.diagnostics().contains("too deep or too large"), "{}", sandbox.diagnostics());
    assert!(sandbox.printed(&["log", "--raw", "--json"]).contains(&payload));
}

#[test]
fn an_unknown_event_is_recorded_and_allowed() {
    let sandbox = Sandbox::new();
    let leap = br#"{"hook_event_name":"QuantumLeap","session_id":"s1","n":1.0e400}"#;
    let result = sandbox.feed("quantum-leap", leap, &[]);
    assert_eq!(says(&result), "unknown event QuantumLeap; recorded without changes");
    let event = &sandbox.log()[0];
    assert_eq!((&event["event"], &event["session"]), (&json!("QuantumLeap"), &json!("s1")));
    assert_eq!(event.get("warning"), None);
    assert!(
        sandbox.printed(&["log", "--raw", "--json"]).contains("\"n\":1.0e400},\"chain\":\"1:"),
        "as it was written"
    );
}

#[test]
fn a_payload_without_any_field_is_recorded() {
    let sandbox = Sandbox::new();
    assert_eq!(
        says(&sandbox.feed("stop", b"{}", &[])),
        "the payload has no session_id; recorded without changes"
    );
    let event = &sandbox.log()[0];
    assert_eq!(
        (&event["event"], &event["session"], &event["payload"]),
        (&json!("Stop"), &Value::Null, &json!({}))
    );
    assert_eq!((event.get("malformed"), event.get("warning")), (None, None));
    let result = sandbox.feed("", b"{}", &[]);
    assert_eq!(
        says(&result),
        "the payload names no event and the payload has no session_id; recorded without changes"
    );
}

#[test]
fn fields_of_the_wrong_type_are_recorded_and_count_as_missing() {
    let sandbox = Sandbox::new();
    let wrong = json!({"hook_event_name": ["Stop"], "session_id": 7, "transcript_path": {}, "tool_name": 1,
        "tool_input": "x", "tool_response": [], "agent_id": false, "team_name": null, "cwd": 0});
    for event in ["session-start", "session-end", "pre-tool-use", "post-tool-use", "teammate-idle", "stop"] {
        let result = sandbox.feed(event, wrong.to_string().as_bytes(), &[]);
        assert_eq!(
            (result.code, result.err.as_str()),
            (Some(0), "teamkeep: session_id is not a string; team_name is not a string\n"),
            "{event}"
        );
    }
    let log = sandbox.log();
    assert_eq!(log.len(), 6);
    assert!(log.iter().all(|event| event["session"] == Value::Null && event["payload"] == wrong));
}

#[test]
fn an_event_that_differs_from_the_command_line_is_noted() {
    let sandbox = Sandbox::new();
    let stopped = br#"{"hook_event_name":"SubagentStop","session_id":"s1"}"#;
    assert_eq!(
        says(&sandbox.feed("stop", stopped, &[])),
        "called as stop, but the payload names SubagentStop"
    );
    is_quiet(&sandbox.feed("subagent-stop", stopped, &[]));
    let log = sandbox.log();
    assert_eq!(
        (&log[0]["event"], &log[0]["warning"]),
        (&json!("SubagentStop"), &json!("called as stop, but the payload names SubagentStop"))
    );
    assert_eq!(log[1].get("warning"), None);
}

/// Names that lead out of our directories are recorded, and become no path.
fn escapes(payload: Value) -> Value {
    let sandbox = Sandbox::new();
    let kept = sandbox.home().join("kept");
    std::fs::write(&kept, "mine").unwrap();
    let event = kebab(payload["hook_event_name"].as_str().unwrap());
    let result = sandbox.feed(&event, payload.to_string().as_bytes(), &[]);
    assert!(says(&result).ends_with(" is not a valid name"), "{}", result.err);
    let mut log = sandbox.log();
    let outside = |path: &std::path::PathBuf| !path.starts_with(sandbox.keep(""));
    let mut found: Vec<_> = below(sandbox.home().parent().unwrap()).into_iter().filter(outside).collect();
    found.sort();
    let expected = ["home", "home/.claude", "home/kept", "home/parser", "teamkeep.toml"];
    assert_eq!(found, expected.map(|path| sandbox.home().parent().unwrap().join(path)).as_slice());
    assert!(!below(&sandbox.keep("")).iter().any(|path| path.ends_with("x.json")));
    log.remove(0)
}

#[test]
fn team_name_with_path_traversal_is_not_used_as_a_path() {
    let event = escapes(
        json!({"hook_event_name": "TeammateIdle", "session_id": SESSION, "team_name": "../../etc", "teammate_name": "alice"}),
    );
    assert_eq!(
        (&event["team"], &event["warning"]),
        (&Value::Null, &json!("team_name \"../../etc\" is not a valid name"))
    );
}

#[test]
fn session_id_with_path_traversal_is_not_used_as_a_path() {
    for kind in ["Stop", "SubagentStart", "SessionEnd"] {
        let event = escapes(
            json!({"hook_event_name": kind, "session_id": "../x", "agent_id": "a1", "agent_type": "Explore"}),
        );
        assert_eq!(
            (&event["session"], &event["warning"]),
            (&json!("../x"), &json!("session_id \"../x\" is not a valid name"))
        );
    }
}

#[test]
fn endless_stdin_times_out() {
    let sandbox = Sandbox::new();
    sandbox.configure("[hook]\nstdin-patience = \"50ms\"\n");
    let mut command = sandbox.command(&["hook", "stop"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut held = child.stdin.take().unwrap();
    held.write_all(b"{\"half\"").unwrap();
    let result = CommandResult::from(child.wait_with_output().unwrap());
    drop(held);
    assert!(is_told(&result).contains("stdin did not end within 50 ms"), "{}", result.err);
    assert_eq!(sandbox.log()[0]["payload"], json!({"text": "{\"half\""}));
}

#[test]
fn an_invalid_configuration_stops_commands_that_remove_data_and_no_others() {
    let sandbox = Sandbox::new();
    sandbox.configure("[log]\nkeep = 3\n");
    is_quiet(&sandbox.feed("stop", br#"{"hook_event_name":"Stop","session_id":"s1"}"#, &[]));
    assert_eq!(sandbox.library().archive.runs().0.len(), 0);
    let noted = sandbox.diagnostics();
    assert!(
        noted.contains("teamkeep.toml:2:8: error[wrong-type]: `log.keep`: expected a duration"),
        "{noted}"
    );
    let result = sandbox.run(&["teams"]);
    assert_eq!(result.code, Some(0));
    assert!(result.err.contains("teamkeep.toml:2:8"), "{}", result.err);
    let result = sandbox.run(&["prune", "--keep", "1"]);
    assert!(result.code == Some(1) && result.err.contains("teamkeep.toml:2:8"), "{result:?}");
    sandbox.configure("");
    let log = sandbox.log();
    assert_eq!(
        (log.len(), &log[0]["event"], &log[1]["verdict"]["code"]),
        (2, &json!("Stop"), &json!("policy-unusable"))
    );
}

#[test]
fn the_response_at_session_start_is_one_json_object() {
    let sandbox = Sandbox::new();
    let start =
        json!({"hook_event_name": "SessionStart", "session_id": SESSION, "source": "startup"}).to_string();
    let result = sandbox.feed("session-start", start.as_bytes(), &[]);
    let (teams, tasks) = (sandbox.client("teams"), sandbox.client("tasks"));
    let answer: Value = serde_json::from_str(&result.out).unwrap();
    let expected =
        json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "watchPaths": [teams, tasks]}});
    assert_eq!((result.code, answer), (Some(0), expected));
    sandbox.configure("[hook]\nwatch = false\n");
    is_quiet(&sandbox.feed("session-start", start.as_bytes(), &[]));
    assert_eq!(sandbox.log().len(), 2);
}

#[test]
fn session_id_that_is_not_a_string_is_recorded_with_a_warning() {
    let sandbox = Sandbox::new();
    let result = sandbox.feed("stop", br#"{"hook_event_name":"Stop","session_id":17}"#, &[]);
    assert_eq!(says(&result), "session_id is not a string");
    let event = &sandbox.log()[0];
    assert_eq!((&event["session"], &event["warning"]), (&Value::Null, &json!("session_id is not a string")));
}
