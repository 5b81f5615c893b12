//! The texts of an event of the log, and of a tool call, which hooks and transcripts record in the same form.

use serde_json::Value;

use super::document::{Author, SearchText, TextKind, strings};
use teamkeep_model::Tool;
use teamkeep_model::event::Recorded;
use teamkeep_model::payload::{EventKind, Payload};

/// The texts of one event. PreToolUse and PostToolUse have the same input.
pub(super) fn documents(recorded: &Recorded) -> Vec<SearchText> {
    let author = Author { agent: recorded.actor.shown().to_owned(), at: recorded.at };
    if let Some(verdict) = &recorded.verdict {
        return verdict_text(&author, verdict.get()).into_iter().collect();
    }
    let payload = Payload::fields_of(&recorded.payload);
    let text = |key: &str| payload.text(key).unwrap_or_default();
    let one =
        |kind: TextKind, title: &str, text: String| author.document(kind, title, text).into_iter().collect();
    match EventKind::named(&recorded.event) {
        EventKind::UserPromptSubmit => one(TextKind::Prompt, "", text("prompt").to_owned()),
        EventKind::Stop | EventKind::SubagentStop => {
            one(TextKind::Reply, "", text("last_assistant_message").to_owned())
        }
        EventKind::TaskCreated | EventKind::TaskCompleted => {
            let id = payload.field("task_id").and_then(Value::as_str).unwrap_or_default();
            let text = joined([text("task_subject"), text("task_description")]);
            one(TextKind::Task, &format!("#{id}"), text)
        }
        EventKind::PreToolUse
        | EventKind::PreSkillShellCommand
        | EventKind::PostToolUse
        | EventKind::PostToolUseFailure => {
            let id = payload.tool_use_id().unwrap_or_default();
            let tool = payload.tool_name().unwrap_or_default();
            let call = CalledTool { tool, id, input: payload.tool_input() };
            let call = call.document(&author);
            let failure = || author.document(TextKind::Result, tool, text("error").to_owned());
            let result = result(&author, tool, payload.tool_response()).or_else(failure);
            let result = result.map(|result| SearchText { key: id.to_owned(), ..result });
            call.into_iter().chain(result).collect()
        }
        _ => match payload.text("compact_summary") {
            Some(summary) => one(TextKind::Reply, "compaction", summary.to_owned()),
            None => Vec::new(),
        },
    }
}

fn verdict_text(author: &Author, verdict: &str) -> Option<SearchText> {
    let verdict: Value = serde_json::from_str(verdict).ok()?;
    let field = |key: &str| verdict.get(key).and_then(Value::as_str).unwrap_or_default();
    let gate = if field("rule").is_empty() { field("gate") } else { field("rule") };
    author.document(
        TextKind::Verdict,
        &joined([field("decision"), gate]).replace('\n', " "),
        field("reason").to_owned(),
    )
}

/// A tool call: the name of the tool, its ID and its input.
#[derive(Debug, Clone, Copy)]
pub(super) struct CalledTool<'a> {
    pub tool: &'a str,
    pub id: &'a str,
    pub input: &'a Value,
}

impl CalledTool<'_> {
    pub(super) fn document(&self, author: &Author) -> Option<SearchText> {
        let field = |key: &str| self.input.get(key).and_then(Value::as_str).unwrap_or_default();
        let (kind, title, text) = match Tool::named(self.tool) {
            Tool::SendMessage => {
                (TextKind::Message, field_of(self.input, &["to", "recipient"]), self.message())
            }
            Tool::TaskCreate | Tool::TaskUpdate => {
                let id = field_of(self.input, &["taskId"]);
                let title = if id.is_empty() { id } else { format!("#{id}") };
                (TextKind::Task, title, joined([field("subject"), field("description")]))
            }
            Tool::Agent => {
                (TextKind::Prompt, field("name").to_owned(), joined([field("description"), field("prompt")]))
            }
            _ => (TextKind::Tool, self.tool.to_owned(), strings(self.input)),
        };
        Some(SearchText { key: self.id.to_owned(), ..author.document(kind, &title, text)? })
    }

    /// The summary and the text of a message.
    fn message(&self) -> String {
        let text = |key: &str| self.input.get(key).map(strings).unwrap_or_default();
        let (summary, body) = (text("summary"), text("message"));
        let body = if body.is_empty() { joined([&text("content"), &text("reason")]) } else { body };
        if body.starts_with(&summary) { body } else { joined([&summary, &body]) }
    }
}

/// The result of a call. Those of the team's own tools are left out.
fn result(author: &Author, tool: &str, response: &Value) -> Option<SearchText> {
    if is_repeated(tool) { None } else { author.document(TextKind::Result, tool, strings(response)) }
}

/// Whether the results of a tool only repeat the input.
pub(super) fn is_repeated(tool: &str) -> bool {
    matches!(
        Tool::named(tool),
        Tool::SendMessage | Tool::TaskCreate | Tool::TaskUpdate | Tool::Agent | Tool::TeamCreate
    )
}

/// The first of these fields that is a string.
fn field_of(input: &Value, keys: &[&str]) -> String {
    let found = keys.iter().find_map(|key| input.get(*key)?.as_str());
    found.unwrap_or_default().to_owned()
}

/// Texts, one below the other, without those that are empty.
pub(super) fn joined<const N: usize>(texts: [&str; N]) -> String {
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
