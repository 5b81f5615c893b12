//! The texts of an event of the log.

use serde_json::Value;

use super::document::{Author, Document, Kind};
use super::tool_texts::{Call, joined, result};
use teamkeep_core::client::payload::{Kind as EventKind, Payload};
use teamkeep_core::model::event::Recorded;

/// The texts of one event. `is_new` reports whether a tool call was not indexed before: PreToolUse and PostToolUse have the
/// same input.
pub fn documents(recorded: &Recorded, mut is_new: impl FnMut(&str) -> bool) -> Vec<Document> {
    let author = Author { agent: recorded.actor.shown().to_owned(), at: recorded.at };
    if let Some(verdict) = &recorded.verdict {
        return verdict_text(&author, verdict.get()).into_iter().collect();
    }
    let payload = Payload::fields_of(&recorded.payload);
    let text = |key: &str| payload.text(key).unwrap_or_default();
    let one =
        |kind: Kind, title: &str, text: String| author.document(kind, title, text).into_iter().collect();
    match EventKind::named(&recorded.event) {
        EventKind::UserPromptSubmit => one(Kind::Prompt, "", text("prompt").to_owned()),
        EventKind::Stop | EventKind::SubagentStop => {
            one(Kind::Reply, "", text("last_assistant_message").to_owned())
        }
        EventKind::TaskCreated | EventKind::TaskCompleted => {
            let id = payload.field("task_id").and_then(Value::as_str).unwrap_or_default();
            let text = joined([text("task_subject"), text("task_description")]);
            one(Kind::Task, &format!("#{id}"), text)
        }
        EventKind::PreToolUse | EventKind::PostToolUse | EventKind::PostToolUseFailure => {
            let id = payload.tool_use_id().unwrap_or_default();
            let tool = payload.tool_name().unwrap_or_default();
            let call = Call { tool, id, input: payload.tool_input() };
            let call = if is_new(id) { call.document(&author) } else { None };
            let failure = || author.document(Kind::Result, tool, text("error").to_owned());
            let result = result(&author, tool, payload.tool_response()).or_else(failure);
            let result = result.map(|result| Document { key: id.to_owned(), ..result });
            call.into_iter().chain(result).collect()
        }
        _ => match payload.text("compact_summary") {
            Some(summary) => one(Kind::Reply, "compaction", summary.to_owned()),
            None => Vec::new(),
        },
    }
}

fn verdict_text(author: &Author, verdict: &str) -> Option<Document> {
    let verdict: Value = serde_json::from_str(verdict).ok()?;
    let field = |key: &str| verdict.get(key).and_then(Value::as_str).unwrap_or_default();
    let gate = if field("rule").is_empty() { field("gate") } else { field("rule") };
    author.document(
        Kind::Verdict,
        &joined([field("decision"), gate]).replace('\n', " "),
        field("reason").to_owned(),
    )
}
