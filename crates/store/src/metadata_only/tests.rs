use super::*;
use serde_json::json;

fn reduced(value: Value) -> Value {
    let raw = serde_json::value::to_raw_value(&value).unwrap();
    serde_json::from_str(payload(&raw).get()).unwrap()
}

fn text(text: &str) -> String {
    digest_placeholder(text.as_bytes())
}

#[test]
fn a_placeholder_has_size_and_hash() {
    let hash = blake3::hash("grün".as_bytes()).to_hex().to_string();
    assert_eq!(text("grün"), format!("[text: 5 bytes, blake3 {hash}]"));
    assert_eq!(
        (byte_len(&text("grün")), byte_len("[text: 5 bytes, blake3 x]"), byte_len("")),
        (Some(5), None, None)
    );
}

#[test]
fn names_and_ids_of_a_message_are_kept() {
    let sent = json!({
        "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "SendMessage", "tool_use_id": "u", "cwd": "/home/dev/a b",
        "transcript_path": "/t.jsonl", "agent_id": "a1",
        "tool_input": {"to": "bob", "summary": "a secret", "message": {"type": "shutdown_request", "reason": "done"}},
        "tool_response": {"success": true, "msg_id": "m", "routing": {"sender": "alice", "target": "@bob", "content": "a secret"}},
        "n": 7, "none": null,
    });
    let mut kept = sent.clone();
    kept["tool_input"]["summary"] = json!(text("a secret"));
    kept["tool_input"]["message"]["reason"] = json!(text("done"));
    kept["tool_response"]["routing"]["content"] = json!(text("a secret"));
    assert_eq!(reduced(sent), kept);
}

#[test]
fn every_input_of_other_tools_is_text() {
    let used = json!({"tool_name": "Bash", "tool_input": {"name": "x", "command": "ls", "id": 3}, "tool_response": "out"});
    let kept = json!({"tool_name": "Bash", "tool_input": {"name": text("x"), "command": text("ls"), "id": 3}, "tool_response": text("out")});
    assert_eq!(reduced(used), kept);
}

#[test]
fn prompts_and_last_messages_are_replaced_and_states_are_kept() {
    for (whole, kept) in [
        (json!({"prompt": "go"}), json!({"prompt": text("go")})),
        (
            json!({"last_assistant_message": "ok", "name": "a\nb"}),
            json!({"last_assistant_message": text("ok"), "name": text("a\nb")}),
        ),
        (
            json!({"hook_event_name": "SessionEnd", "reason": "other"}),
            json!({"hook_event_name": "SessionEnd", "reason": "other"}),
        ),
        (
            json!({"hook_event_name": "Stop", "reason": "other"}),
            json!({"hook_event_name": "Stop", "reason": text("other")}),
        ),
        (
            json!({"hook_event_name": "FileChanged", "file_path": "/a"}),
            json!({"hook_event_name": "FileChanged", "file_path": "/a"}),
        ),
        (
            json!({"unheard": "of", "list": ["a", ["b"]]}),
            json!({"unheard": text("of"), "list": [text("a"), [text("b")]]}),
        ),
    ] {
        assert_eq!(reduced(whole), kept);
    }
}

#[test]
fn only_the_texts_of_a_notice_are_replaced() {
    let notice = r#"{"type":"idle_notification","from":"bob","result":"a secret","completedTaskId":"1"}"#;
    let mail = json!([{"from": "bob", "text": notice, "read": false}, {"from": "bob", "text": r#"{"type":"note","name":"x"}"#}]);
    let kept: Value =
        serde_json::from_slice(&file("teams/t/inboxes/a.json", mail.to_string().as_bytes())).unwrap();
    let inner: Value = serde_json::from_str(kept[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        inner,
        json!({"type": "idle_notification", "from": "bob", "result": text("a secret"), "completedTaskId": "1"})
    );
    assert_eq!(kept[1]["text"], text(r#"{"type":"note","name":"x"}"#), "what no client writes is a text");
}

#[test]
fn the_state_of_a_task_and_the_keys_of_its_metadata_are_kept() {
    let task = json!({"id": "1", "subject": "a", "status": "pending", "owner": "bob", "blockedBy": ["2"],
        "metadata": {"_internal": true, "name": "x"}});
    let kept: Value = serde_json::from_slice(&file("tasks/t/1.json", task.to_string().as_bytes())).unwrap();
    let mut wanted = task;
    wanted["subject"] = json!(text("a"));
    wanted["metadata"]["name"] = json!(text("x"));
    assert_eq!(kept, wanted);
}

#[test]
fn a_file_that_is_not_json_is_replaced_unless_it_is_a_counter() {
    assert_eq!(
        &*file("tasks/t/1.json", b"{\"subject\":\"sec"),
        json!(text("{\"subject\":\"sec")).to_string().as_bytes()
    );
    assert_eq!(&*file("tasks/t/.highwatermark", b"12\n"), b"12\n");
    assert_eq!(&*file("tasks/t/.session-list", b"a secret"), json!(text("a secret")).to_string().as_bytes());
    let raw = RawValue::from_string(r#"{"text":"a secret"}"#.to_owned()).unwrap();
    assert_eq!(malformed_payload(&raw).get(), json!({"text": text("a secret")}).to_string());
    let raw = RawValue::from_string("[1]".to_owned()).unwrap();
    assert_eq!(malformed_payload(&raw).get(), json!({"text": text("[1]")}).to_string());
}

#[test]
fn a_placeholder_is_not_replaced_again() {
    let once = reduced(json!({"prompt": "go", "tool_name": "Bash", "tool_input": {"a": "b"}}));
    assert_eq!(reduced(once.clone()), once);
}
