//! A message as the Messages API streams it: server-sent events.

use std::fmt::Write;

use serde_json::{Value, json};

/// Spells a whole message as the events that build it up.
pub fn events(message: &Value) -> String {
    let mut begun = message.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    let mut out = String::new();
    event(&mut out, json!({"type": "message_start", "message": begun}));
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        let mut empty = block.clone();
        let delta = if block["type"] == "text" {
            empty["text"] = json!("");
            json!({"type": "text_delta", "text": block["text"]})
        } else {
            empty["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
        };
        event(&mut out, json!({"type": "content_block_start", "index": index, "content_block": empty}));
        event(&mut out, json!({"type": "content_block_delta", "index": index, "delta": delta}));
        event(&mut out, json!({"type": "content_block_stop", "index": index}));
    }
    let stop = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
    event(
        &mut out,
        json!({"type": "message_delta", "delta": stop, "usage": {"output_tokens": message["usage"]["output_tokens"]}}),
    );
    event(&mut out, json!({"type": "message_stop"}));
    out
}

fn event(out: &mut String, data: Value) {
    let name = data["type"].as_str().unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = write!(out, "event: {name}\ndata: {data}\n\n");
}
