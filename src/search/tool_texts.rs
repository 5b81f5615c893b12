//! The text of a tool call, which hooks and transcripts record in the same form.

use serde_json::Value;

use super::document::{Author, Document, Kind, strings};
use teamkeep_core::model::Tool;

/// A tool call: the name of the tool, its ID and its input.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    pub tool: &'a str,
    pub id: &'a str,
    pub input: &'a Value,
}

impl Call<'_> {
    pub fn document(&self, author: &Author) -> Option<Document> {
        let field = |key: &str| self.input.get(key).and_then(Value::as_str).unwrap_or_default();
        let (kind, title, text) = match Tool::named(self.tool) {
            Tool::SendMessage => (Kind::Message, field_of(self.input, &["to", "recipient"]), self.message()),
            Tool::TaskCreate | Tool::TaskUpdate => {
                let id = field_of(self.input, &["taskId"]);
                let title = if id.is_empty() { id } else { format!("#{id}") };
                (Kind::Task, title, joined([field("subject"), field("description")]))
            }
            Tool::Agent => {
                (Kind::Prompt, field("name").to_owned(), joined([field("description"), field("prompt")]))
            }
            _ => (Kind::Tool, self.tool.to_owned(), strings(self.input)),
        };
        Some(Document { key: self.id.to_owned(), ..author.document(kind, &title, text)? })
    }

    /// The summary and the text of a message.
    fn message(&self) -> String {
        let text = |key: &str| self.input.get(key).map(strings).unwrap_or_default();
        let (summary, body) = (text("summary"), text("message"));
        let body = if body.is_empty() { joined([&text("content"), &text("reason")]) } else { body };
        if body.starts_with(&summary) { body } else { joined([&summary, &body]) }
    }
}

/// The result of a call. Those of the team's own tools only repeat the input.
pub fn result(author: &Author, tool: &str, response: &Value) -> Option<Document> {
    let is_of_team = matches!(
        Tool::named(tool),
        Tool::SendMessage | Tool::TaskCreate | Tool::TaskUpdate | Tool::Agent | Tool::TeamCreate
    );
    let text = if is_of_team { String::new() } else { strings(response) };
    author.document(Kind::Result, tool, text)
}

/// The first of these fields that is a string.
fn field_of(input: &Value, keys: &[&str]) -> String {
    let found = keys.iter().find_map(|key| input.get(*key)?.as_str());
    found.unwrap_or_default().to_owned()
}

/// Texts, one below the other, without those that are empty.
pub fn joined<const N: usize>(texts: [&str; N]) -> String {
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
