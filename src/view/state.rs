//! Text output of `teamkeep show`.

use anstyle::Style;
use serde_json::Value;

use super::describe::message_text;
use super::document::Document;
use super::line::{BLUE, GREEN, RED, Span, bold, dim, plain, styled};
use super::values::{
    actor, blocked_by, count, first_line, moment_since, name_style, since, task_style, text_field,
};
use teamkeep_history::timeline::{Diff, RunData, State, Things};

/// With these, the state of a large team fits into forty lines.
const SHOWN_MEMBERS: usize = 8;
const SHOWN_TASKS: usize = 12;
const SHOWN_INBOXES: usize = 8;
const HOW: &str = "(show them with --full)";

/// The members, tasks and messages of a run at a moment; without `is_full`, only the first of each, and of an inbox the last
/// message.
pub fn state(data: &RunData, state: &State, is_full: bool) -> Document {
    let most = |number| if is_full { usize::MAX } else { number };
    let started_at = data.run.started_at;
    let since = |at| since(started_at, at);
    let mut document = Document::default();
    document.line([bold(data.run.name().unwrap_or("(no team)")), dim(&state.run)]);
    document.line([plain(match state.at {
        Some(at) => format!("as of {}", moment_since(started_at, at)),
        None => "last recorded state".to_owned(),
    })]);
    for path in &state.torn {
        document.line([dim(format!("{path} was half-written; its previous content is shown"))]);
    }
    for (path, flaw) in &state.invalid {
        document.line([dim(format!("{path} is not shown: it was {flaw}"))]);
    }
    // A session without a team has no roster and no inboxes; an empty list would be misleading.
    let has_team = data.run.team.is_some();
    if !has_team && state.members.is_empty() && state.tasks.is_empty() && state.inboxes.is_empty() {
        document.line([dim("a session without a team; `log` shows what it did")]);
    }
    if has_team || !state.members.is_empty() {
        document.line(title("Members", state.members.len()));
    }
    for (name, member) in state.members.iter().take(most(SHOWN_MEMBERS)) {
        let role = [text_field(member, "agentType"), text_field(member, "model")];
        let prompt = first_line(text_field(member, "prompt").unwrap_or_default());
        let left = state.gone.members.get(name).map(|at| format!("left {}", since(*at)));
        let about = [
            dim(role.into_iter().flatten().collect::<Vec<_>>().join(", ")),
            plain(prompt),
            dim(left.unwrap_or_default()),
        ];
        document.line([indented(name).width(14)].into_iter().chain(separated(about)).collect::<Vec<_>>());
    }
    document.and_more(state.members.len().saturating_sub(most(SHOWN_MEMBERS)), HOW);
    if has_team || !state.tasks.is_empty() {
        document.line(title("Tasks", state.tasks.len()));
    }
    let is_done = |task: &Value| matches!(text_field(task, "status"), Some("completed" | "deleted"));
    let mut tasks: Vec<(&String, &Value)> = state.tasks.iter().collect();
    // Of many, those that are not done come first.
    let is_long = tasks.len() > most(SHOWN_TASKS);
    tasks.sort_by_key(|(id, task)| (is_long && is_done(task), id.parse().unwrap_or(u64::MAX)));
    for (id, task) in tasks.into_iter().take(most(SHOWN_TASKS)) {
        let status = text_field(task, "status").unwrap_or("unknown");
        let owner = text_field(task, "owner").unwrap_or("-");
        let removed = state.gone.tasks.get(id).map(|removal| {
            let how = if removal.is_deletion { "deleted" } else { "erased" };
            format!("{how} by {} {}", actor(&removal.by), since(removal.at))
        });
        let columns = [
            plain(format!("  {id}")).width(4),
            styled(task_style(status), status).width(12),
            styled(name_style(owner), owner).width(10),
        ];
        let about = [
            plain(first_line(text_field(task, "subject").unwrap_or_default())),
            dim(blockers(state, task)),
            dim(removed.unwrap_or_default()),
        ];
        document.line(columns.into_iter().chain(separated(about)).collect::<Vec<_>>());
    }
    document.and_more(state.tasks.len().saturating_sub(most(SHOWN_TASKS)), HOW);
    let worktrees = data.worktrees(state.at);
    if !worktrees.is_empty() {
        document.line(title("Worktrees", worktrees.len()));
    }
    for (name, at) in &worktrees {
        document.line([indented(name), dim(format!("work recorded {}", since(*at)))]);
    }
    if has_team || !state.inboxes.is_empty() {
        document.line(title("Inboxes", state.inboxes.len()));
        if state.at.is_none() {
            document.line([dim("  from snapshots, may be incomplete; `log` has every message")]);
        }
    }
    for (owner, messages) in state.inboxes.iter().take(most(SHOWN_INBOXES)) {
        document.line([indented(owner).width(14), plain(count(messages.len(), "message"))]);
        for message in messages.iter().skip(messages.len().saturating_sub(most(1))) {
            let from = text_field(message, "from").unwrap_or("unknown");
            let from_name = styled(name_style(from), from).width(10);
            document.line([dim("    from"), from_name, plain(message_text(message, owner))]);
        }
    }
    document.and_more(state.inboxes.len().saturating_sub(most(SHOWN_INBOXES)), HOW);
    document
}

/// The dependencies that are not completed. Claude Code keeps the ids of completed tasks in `blockedBy`.
fn blockers(state: &State, task: &Value) -> String {
    let ids = task.get("blockedBy").and_then(Value::as_array).into_iter().flatten();
    let is_open =
        |id: &&str| state.tasks.get(*id).is_some_and(|task| text_field(task, "status") != Some("completed"));
    blocked_by(&ids.filter_map(Value::as_str).filter(is_open).collect::<Vec<_>>())
}

/// Pieces of text with dots between them.
fn separated(pieces: [Span; 3]) -> impl Iterator<Item = Span> {
    let pieces = pieces.into_iter().filter(|piece| !piece.text().is_empty()).enumerate();
    pieces.flat_map(|(place, piece)| [(place > 0).then(|| dim("·")), Some(piece)].into_iter().flatten())
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
pub fn diff(data: &RunData, diff: &Diff) -> Document {
    let started_at = data.run.started_at;
    let mut document = Document::default();
    document.line([bold(data.run.name().unwrap_or("(no team)")), dim(&diff.run)]);
    document.line([plain(format!("from {}", moment_since(started_at, diff.from)))]);
    document.line([plain(format!("to   {}", moment_since(started_at, diff.to)))]);
    if diff.is_empty() {
        document.line([dim("nothing changed between them")]);
    }
    things("Tasks", &diff.tasks, task, &mut document);
    let prompt = |member: &Value| text_field(member, "prompt").unwrap_or_default().to_owned();
    things("Members", &diff.members, prompt, &mut document);
    let messages = &diff.mail;
    let parts =
        [(ADDED, "", &messages.new), (CHANGED, "read: ", &messages.read), (REMOVED, "", &messages.gone)];
    if parts.iter().any(|(_, _, part)| !part.is_empty()) {
        document.line([bold("Messages")]);
    }
    for (mark, prefix, part) in parts {
        for (inbox, message) in part.iter().flat_map(|(inbox, all)| all.iter().map(move |one| (inbox, one))) {
            let from = text_field(message, "from").unwrap_or_default();
            let text = format!("{prefix}from {from}: {}", message_text(message, inbox));
            document.line(item(mark, inbox, &text));
        }
    }
    document
}

fn item((style, sign): Mark, name: &str, text: &str) -> [Span; 3] {
    [styled(style, sign), styled(name_style(name), name).width(4), plain(text)]
}

fn things(title: &str, things: &Things, about: impl Fn(&Value) -> String, document: &mut Document) {
    let Things { new, gone, changed, titles } = things;
    if !new.is_empty() || !gone.is_empty() || !changed.is_empty() {
        document.line([bold(title)]);
    }
    for (mark, part) in [(ADDED, new), (REMOVED, gone)] {
        for (name, thing) in part {
            document.line(item(mark, name, &first_line(&about(thing))));
        }
    }
    for (name, changes) in changed {
        let title = titles.get(name).map(|title| first_line(title)).unwrap_or_default();
        document.line(item(CHANGED, name, &title));
        for (field, change) in changes {
            let (field, from, to) = (field.replace('_', " "), value(&change.from), value(&change.to));
            document.line([plain(format!("        {field}: {from} → {to}"))]);
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
