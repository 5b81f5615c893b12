//! Text output of `teamkeep show`.

use serde_json::Value;

use super::document::Document;
use super::format::{count, first_line, moment_since, name_style, since, task_style, text_field};
use super::line::{Line, Span, bold, dim, plain, styled};
use super::message::message_text;
use crate::timeline::{Entry, Kind, RunData, State};

/// Formats a state.
pub fn state(material: &RunData, state: &State) -> Document {
    let page = Page { started_at: &material.run.started_at, state };
    let mut document = Document::default();
    document.line([bold(material.run.name().unwrap_or("(no team)")), dim(&state.run)]);
    match &state.at {
        Some(at) => {
            document.line([plain(format!("as of {}", moment_since(&material.run.started_at, at)))]);
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
    started_at: &'a str,
    state: &'a State,
}

impl Page<'_> {
    fn since(&self, at: &str) -> String {
        since(self.started_at, at).unwrap_or_default()
    }

    fn members(&self, document: &mut Document) {
        document.line(title("Members", self.state.members.len()));
        for (name, member) in &self.state.members {
            let role = [text_field(member, "agentType"), text_field(member, "model")];
            let role = role.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let prompt = first_line(text_field(member, "prompt").unwrap_or_default());
            let left = self.state.gone.members.get(name).map(|at| format!("left {}", self.since(at)));
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
        format!("{how} by {by} {}", self.since(&removal.at))
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

/// A name in its color.
fn indented(name: &str) -> Span {
    styled(name_style(name), format!("  {name}"))
}
