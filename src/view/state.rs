//! Text output of `teamkeep show`.

use std::collections::BTreeMap;

use anstyle::Style;
use serde_json::Value;

use super::describe::message_text;
use super::document::Document;
use super::format::{count, first_line, moment_since, name_style, since, task_style, text_field};
use super::line::{BLUE, GREEN, Line, RED, Span, bold, dim, plain, styled};
use crate::timeline::{Diff, Entry, Kind, RunData, State, Things};
use teamkeep_core::sys::clock::Timestamp;

pub fn state(material: &RunData, state: &State) -> Document {
    let page = Page { started_at: material.run.started_at, state };
    let mut document = Document::default();
    document.line([bold(material.run.name().unwrap_or("(no team)")), dim(&state.run)]);
    match state.at {
        Some(at) => {
            document.line([plain(format!("as of {}", moment_since(material.run.started_at, at)))]);
        }
        None => document.line([plain("last recorded state")]),
    }
    for path in &state.torn {
        document.line([dim(format!("{path} was half-written; its previous content is shown"))]);
    }
    // A session without a team has no roster and no inboxes; an empty list would be misleading.
    let team = material.run.team.is_some();
    if !team && state.members.is_empty() && state.tasks.is_empty() && state.inboxes.is_empty() {
        document.line([dim("a session without a team; `replay` shows what it did")]);
    }
    if team || !state.members.is_empty() {
        page.members(&mut document);
    }
    if team || !state.tasks.is_empty() {
        page.tasks(&mut document);
    }
    if team || !state.inboxes.is_empty() {
        page.inboxes(&mut document);
    }
    document
}

struct Page<'a> {
    started_at: Timestamp,
    state: &'a State,
}

impl Page<'_> {
    fn since(&self, at: Timestamp) -> String {
        since(self.started_at, at)
    }

    fn members(&self, document: &mut Document) {
        document.line(title("Members", self.state.members.len()));
        for (name, member) in &self.state.members {
            let role = [text_field(member, "agentType"), text_field(member, "model")];
            let role = role.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let prompt = first_line(text_field(member, "prompt").unwrap_or_default());
            let left = self.state.gone.members.get(name).map(|at| format!("left {}", self.since(*at)));
            document.remarked([indented(name).width(14), dim(role), plain(prompt)], left);
        }
    }

    fn tasks(&self, document: &mut Document) {
        document.line(title("Tasks", self.state.tasks.len()));
        for (id, task) in &self.state.tasks {
            let status = text_field(task, "status").unwrap_or("unknown");
            let owner = text_field(task, "owner").unwrap_or("-");
            let line = Line::from([
                plain(format!("  {id}")).width(4),
                styled(task_style(status), status).width(12),
                styled(name_style(owner), owner).width(10),
                plain(first_line(text_field(task, "subject").unwrap_or_default())),
                dim(self.blockers(task)),
            ]);
            let removed = self.state.gone.removals.get(id).map(|removal| self.removed(removal));
            document.remarked(line, removed);
        }
    }

    /// The dependencies that are not completed. Claude Code keeps the ids of completed tasks in `blockedBy`.
    fn blockers(&self, task: &Value) -> String {
        let ids = task.get("blockedBy").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let is_open = |id: &&str| {
            self.state.tasks.get(*id).is_some_and(|task| text_field(task, "status") != Some("completed"))
        };
        let ids: Vec<&str> = ids.iter().filter_map(Value::as_str).filter(is_open).collect();
        if ids.is_empty() { String::new() } else { format!("(blocked by {})", ids.join(", ")) }
    }

    fn removed(&self, removal: &Entry) -> String {
        let how = if removal.kind() == Kind::TaskDeleted { "deleted" } else { "erased" };
        let by = if removal.actor == "client" { "Claude Code" } else { &removal.actor };
        format!("{how} by {by} {}", self.since(removal.at))
    }

    fn inboxes(&self, document: &mut Document) {
        document.line(title("Inboxes", self.state.inboxes.len()));
        if self.state.at.is_none() {
            document.line([dim("  from snapshots, may be incomplete; `replay` has every message")]);
        }
        for (owner, messages) in &self.state.inboxes {
            document.line([indented(owner).width(14), plain(count(messages.len(), "message"))]);
            for message in messages {
                let from = text_field(message, "from").unwrap_or("unknown");
                document.line([
                    dim("    from"),
                    styled(name_style(from), from).width(10),
                    plain(message_text(message, owner)),
                ]);
            }
        }
    }
}

fn title(name: &str, number: usize) -> [Span; 2] {
    [bold(name), dim(format!("({number})"))]
}

fn indented(name: &str) -> Span {
    styled(name_style(name), format!("  {name}"))
}

/// The style and the sign of a change.
type Mark = (Style, &'static str);

const ADDED: Mark = (GREEN, "  +");
const REMOVED: Mark = (RED, "  -");
const CHANGED: Mark = (BLUE, "  ~");

/// Formats them: `+` for new, `-` for gone, `~` for changed.
pub fn diff(material: &RunData, diff: &Diff) -> Document {
    let started_at = material.run.started_at;
    let mut document = Document::default();
    document.line([bold(material.run.name().unwrap_or("(no team)")), dim(&diff.run)]);
    document.line([plain(format!("from {}", moment_since(started_at, diff.from)))]);
    document.line([plain(format!("to   {}", moment_since(started_at, diff.to)))]);
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
