//! A request to the model, read as a conversation: who asks, at which point of the script.

use std::collections::BTreeMap;

use serde_json::Value;

/// Where in the script a request stands.
pub struct Cue {
    /// Who asks: the part that the first prompt names with `part=`.
    pub part: String,
    /// What is being played: what the last prompt names with `act=`; empty for a teammate.
    pub act: String,
    /// How many answers the part has given in this act, those left out that have to be given again.
    pub turn: usize,
    /// How many have to be given again.
    pub again: usize,
    /// Requests to stop that the part has not answered yet, the oldest first.
    pub asked: Vec<String>,
    /// How many requests to stop it has answered.
    pub answered: usize,
}

/// What came of a tool's use, as the client told the model.
#[derive(Clone)]
pub struct Outcome {
    /// Whether it was refused or failed.
    pub failed: bool,
    /// What the model read.
    pub text: String,
}

/// Reads where the request stands; `None` for the client's own questions, that belong to no part.
pub fn cue(body: &Value) -> Option<Cue> {
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let messages = body["messages"].as_array().filter(|_| has_tools)?;
    let by = |role: &'static str| messages.iter().filter(move |message| message["role"] == role);
    let read: Vec<String> = by("user").map(text_of).collect();
    let part = read.iter().find_map(|text| word_after(text, "part="))?;
    let mut act = String::new();
    let (mut turn, mut again) = (0usize, 0);
    for message in messages {
        if message["role"] == "assistant" {
            turn += 1;
        } else if let Some(named) = word_after(&text_of(message), "act=") {
            (act, turn, again) = (named, 0, 0);
        } else if is_held_up(message) {
            (turn, again) = (turn.saturating_sub(1), again + 1);
        }
    }
    let said: String = by("assistant").map(Value::to_string).collect();
    let mut all: Vec<String> = Vec::new();
    for request in read.iter().flat_map(|text| requests_to(text, &part)) {
        if !all.contains(&request) {
            all.push(request);
        }
    }
    let (done, asked): (Vec<String>, Vec<String>) =
        all.into_iter().partition(|request| said.contains(request));
    Some(Cue { part, act, turn, again, asked, answered: done.len() })
}

/// What came of each tool use that the request tells of, by the use's id.
pub fn outcomes(body: &Value) -> BTreeMap<String, Outcome> {
    let blocks =
        body["messages"].as_array().into_iter().flatten().filter_map(|message| message["content"].as_array());
    blocks
        .flatten()
        .filter(|block| block["type"] == "tool_result")
        .filter_map(|block| {
            let text = flat(&block["content"]);
            // 2.1.330 reports a message that it did not send as a result like any other.
            let failed = block["is_error"] == true || text.starts_with("{\"success\":false");
            let outcome = Outcome { failed, text };
            Some((block["tool_use_id"].as_str()?.to_owned(), outcome))
        })
        .collect()
}

/// The last facts about the team in a request.
pub fn facts(body: &Value) -> Option<String> {
    last_after(body, FACTS)
}

/// The last warning of the budget in a request.
pub fn spent_warning(body: &Value) -> Option<String> {
    last_after(body, SPENT)
}

/// The text behind the last marker in a request, up to the end of the element or text that it is in.
fn last_after(body: &Value, marker: &str) -> Option<String> {
    let mut texts: Vec<&str> = Vec::new();
    let mut rest = vec![&body["system"], &body["messages"]];
    while let Some(value) = rest.pop() {
        match value {
            Value::String(text) => texts.push(text),
            Value::Array(values) => rest.extend(values.iter().rev()),
            Value::Object(values) => rest.extend(values.values()),
            _ => {}
        }
    }
    let text = texts.into_iter().rfind(|text| text.contains(marker))?;
    let (_, after) = text.rsplit_once(marker)?;
    Some(after.split("</").next().unwrap_or(after).to_owned())
}

/// How a warning of the budget begins.
const SPENT: &str = "Warning: the team spent ";

/// How the facts about a team begin.
const FACTS: &str = "Facts about the agent team";

/// Whether the client asks for a summary of the conversation.
pub fn is_compaction(body: &Value) -> bool {
    let mut messages = body["messages"].as_array().into_iter().flatten();
    messages.rfind(|message| message["role"] == "user").is_some_and(|last| text_of(last).contains(SUMMARIZE))
}

/// A piece of the client's request for a summary.
const SUMMARIZE: &str = "detailed summary of the conversation";

/// Whether a tool failed because another process of the client held a lock for too long: a busy machine, no fault of ours.
fn is_held_up(message: &Value) -> bool {
    let mut blocks = message["content"].as_array().into_iter().flatten();
    blocks.any(|block| {
        block["is_error"] == true && flat(&block["content"]).contains("Lock file is already being held")
    })
}

fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(block_text).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn block_text(block: &Value) -> String {
    match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        Some("tool_result") => flat(&block["content"]),
        _ => String::new(),
    }
}

fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(block_text).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// The last word behind a marker.
fn word_after(text: &str, marker: &str) -> Option<String> {
    let (_, after) = text.rsplit_once(marker)?;
    let word: String = after.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    (!word.is_empty()).then_some(word)
}

/// The ids of requests to stop `name` in a text: `shutdown-<milliseconds>@<name>`.
fn requests_to(text: &str, name: &str) -> Vec<String> {
    let after = text.split("shutdown-").skip(1);
    after
        .filter_map(|rest| {
            let (digits, rest) = rest.split_once('@')?;
            let numbered = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            (numbered && rest.starts_with(name)).then(|| format!("shutdown-{digits}@{name}"))
        })
        .collect()
}
