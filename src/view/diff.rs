//! Text output of the changes between two moments.

use std::collections::BTreeMap;

use anstyle::Style;
use serde_json::Value;

use super::document::Document;
use super::format::{first_line, moment_since, name_style, text_field};
use super::line::{BLUE, GREEN, RED, bold, dim, plain, styled};
use super::message::message_text;
use crate::timeline::{Diff, RunData, Things};

/// The style and the sign of a change.
type Mark = (Style, &'static str);

const ADDED: Mark = (GREEN, "  +");
const REMOVED: Mark = (RED, "  -");
const CHANGED: Mark = (BLUE, "  ~");

/// Formats them: `+` for new, `-` for gone, `~` for changed.
pub fn diff(material: &RunData, diff: &Diff) -> Document {
    let started_at = &material.run.started_at;
    let mut document = Document::default();
    document.line([bold(material.run.name().unwrap_or("(no team)")), dim(&diff.run)]);
    document.line([plain(format!("from {}", moment_since(started_at, &diff.from)))]);
    document.line([plain(format!("to   {}", moment_since(started_at, &diff.to)))]);
    if diff.is_empty() {
        document.line([dim("nothing changed between them")]);
    }
    things("Tasks", &diff.tasks, task, &mut document);
    let prompt = |member: &Value| text_field(member, "prompt").unwrap_or_default().to_owned();
    things("Members", &diff.members, prompt, &mut document);
    messages(diff, &mut document);
    document
}

fn item((style, sign): Mark, name: &str, text: &str, document: &mut Document) {
    document.line([styled(style, sign), styled(name_style(name), name).width(4), plain(text)]);
}

fn things(title: &str, things: &Things, about: impl Fn(&Value) -> String, document: &mut Document) {
    let Things { new, gone, changed, titles } = things;
    if new.is_empty() && gone.is_empty() && changed.is_empty() {
        return;
    }
    document.line([bold(title)]);
    for (mark, part) in [(ADDED, new), (REMOVED, gone)] {
        for (name, thing) in part {
            item(mark, name, &first_line(&about(thing)), document);
        }
    }
    for (name, changes) in changed {
        let title = titles.get(name).map(|title| first_line(title)).unwrap_or_default();
        item(CHANGED, name, &title, document);
        for (field, change) in changes {
            let (field, from, to) = (field.replace('_', " "), value(&change.from), value(&change.to));
            document.line([plain(format!("        {field}: {from} → {to}"))]);
        }
    }
}

fn messages(diff: &Diff, document: &mut Document) {
    type Inboxes = BTreeMap<String, Vec<Value>>;
    let mail = &diff.mail;
    let parts: [(Mark, &str, &Inboxes); 3] =
        [(ADDED, "", &mail.new), (CHANGED, "read: ", &mail.read), (REMOVED, "", &mail.gone)];
    if parts.iter().any(|(_, _, part)| !part.is_empty()) {
        document.line([bold("Messages")]);
    }
    for (mark, word, part) in parts {
        for (inbox, message) in part.iter().flat_map(|(inbox, all)| all.iter().map(move |one| (inbox, one))) {
            let from = text_field(message, "from").unwrap_or_default();
            item(mark, inbox, &format!("{word}from {from}: {}", message_text(message, inbox)), document);
        }
    }
}

fn task(task: &Value) -> String {
    let owner = text_field(task, "owner").map(|owner| format!(" ({owner})")).unwrap_or_default();
    let status = text_field(task, "status").unwrap_or("unknown");
    format!("{status}{owner}: {}", text_field(task, "subject").unwrap_or_default())
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => first_line(text),
        Value::Array(all) if all.is_empty() => "none".to_owned(),
        Value::Array(all) => all.iter().map(self::value).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
