//! Agents that waited for an answer: for permission to use a tool, or for approval of a plan. Messages that were read late
//! or never, and messages to unknown names.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::scene::{Draft, Scene, task_names};
use super::stalls::millis;
use super::{IncidentKind, Remedy, Severity};
use crate::report::messages::{MessageRow, bare};
use crate::report::work::plan_waits;
use crate::timeline::{Entry, LoadedEvent};
use teamkeep_model::payload::EventKind as Event;
use teamkeep_model::time::{Timestamp, duration};
use teamkeep_model::words::{count, listed};

/// A request to the user or to the lead.
struct Request<'a> {
    kind: IncidentKind,
    agent: &'a str,
    at: Timestamp,
    /// The object of the request: `permission to use Bash`.
    what: String,
    entry: Option<&'a Entry>,
}

pub(super) fn waits(scene: &Scene<'_>) -> Vec<Draft> {
    let mut found: Vec<Draft> = Vec::new();
    let permissions = permission_requests(scene).into_iter().map(|request| {
        let until = answered(scene, &request).unwrap_or(scene.end).min(scene.end);
        (request, until)
    });
    let mut requests: Vec<(Request<'_>, i64)> = permissions.chain(plan_requests(scene)).collect();
    requests.sort_by_key(|(request, _)| request.at);
    for (request, until) in requests {
        let from = request.at.millis();
        if until - from < millis(scene.limits.waiting) {
            continue;
        }
        let is_same = |draft: &&mut Draft| {
            draft.kind == request.kind && draft.agents[0] == request.agent && draft.overlaps((from, until))
        };
        match found.iter_mut().find(is_same) {
            Some(known) => known.span.1 = known.span.1.max(until),
            None => found.push(wait(scene, &request, (from, until))),
        }
    }
    found
}

fn wait(scene: &Scene<'_>, request: &Request<'_>, span: (i64, i64)) -> Draft {
    let Request { kind, agent, at, what, entry } = request;
    let mut draft = Draft::new(*kind, Severity::Medium, span);
    draft.agent(agent);
    for task in scene.held(agent, at.millis() + 1) {
        draft.task(&task.id);
    }
    draft.keep_lost(scene);
    if let Some(entry) = entry {
        draft.step(entry, format!("{agent} asked for {what}"));
    }
    let lasts = scene.lasts(span.1);
    let was = if lasts { "has been waiting" } else { "waited" };
    let owned = if draft.tasks.is_empty() {
        String::new()
    } else {
        format!(", with {} in progress", task_names(&draft.tasks))
    };
    draft.summary = format!("{agent} {was} {} for {what}{owned}", duration(span.1 - span.0));
    if lasts {
        draft.severity = Severity::High;
        draft.advise(match kind {
            IncidentKind::WaitingApproval => format!("Approve or reject {agent}'s plan"),
            _ if *agent == scene.case.lead => format!("Answer {agent} in Claude Code"),
            _ => format!("Answer {agent}'s request in Claude Code"),
        });
    }
    draft
}

/// The requests of teammates to approve a plan, each with the end of the wait.
fn plan_requests<'a>(scene: &Scene<'a>) -> Vec<(Request<'a>, i64)> {
    let mut found = Vec::new();
    for agent in scene.case.teammates() {
        for (at, until) in plan_waits(scene.case, agent, scene.end) {
            let is_request = |entry: &&Entry| {
                let message = entry.message().filter(|_| entry.actor == agent && entry.at == at);
                message.is_some_and(|message| message.word == "plan_approval_request")
            };
            let entry = scene.case.entries.iter().find(is_request);
            let (kind, what) = (IncidentKind::WaitingApproval, "approval of its plan".to_owned());
            found.push((Request { kind, agent, at, what, entry }, until));
        }
    }
    found
}

fn permission_requests<'a>(scene: &Scene<'a>) -> Vec<Request<'a>> {
    let case = scene.case;
    let asked = case.data.events.iter().filter(|event| event.kind == Event::PermissionRequest);
    let mut requests: Vec<Request<'_>> = asked
        .map(|event| Request {
            kind: IncidentKind::WaitingPermission,
            agent: event.shown(&case.data.run),
            at: event.at,
            what: permission(event.tool_name()),
            entry: None,
        })
        .collect();
    requests.extend(
        case.data.events.iter().filter_map(noticed).filter(|notice| case.data.is_member(notice.agent)),
    );
    let by_mail = case
        .entries
        .iter()
        .filter(|entry| entry.message().is_some_and(|message| message.word == "permission_request"));
    requests.extend(by_mail.map(|entry| Request {
        kind: IncidentKind::WaitingPermission,
        agent: &entry.actor,
        at: entry.at,
        what: permission(requested_tool(entry).as_deref()),
        entry: Some(entry),
    }));
    requests
}

/// The notice in the lead's session about a teammate in a pane. The request itself is in the lead's inbox only until the
/// lead has read it.
fn noticed(event: &LoadedEvent) -> Option<Request<'_>> {
    let is_notice = event.kind == Event::Notification
        && event.text("notification_type") == Some("worker_permission_prompt");
    let (agent, tool) = event.text("message").filter(|_| is_notice)?.split_once(" needs permission for ")?;
    Some(Request {
        kind: IncidentKind::WaitingPermission,
        agent,
        at: event.at,
        what: permission(Some(tool)),
        entry: None,
    })
}

/// The tool in the notice that a teammate in a pane sends to the lead.
fn requested_tool(entry: &Entry) -> Option<String> {
    let notice: Value = serde_json::from_str(entry.text()?).ok()?;
    Some(notice.get("tool_name")?.as_str()?.to_owned())
}

fn permission(tool: Option<&str>) -> String {
    tool.map_or_else(|| "permission".to_owned(), |tool| format!("permission to use {tool}"))
}

/// When the request was answered: by a response, because the agent continued, or because it left.
fn answered(scene: &Scene<'_>, request: &Request<'_>) -> Option<i64> {
    let response = scene.case.entries.iter().find(|entry| {
        entry.at >= request.at
            && entry.message().is_some_and(|message| {
                message.word == "permission_response"
                    && message.to.as_deref().is_some_and(|to| to == request.agent)
            })
    });
    let response = response.map(|entry| entry.at.millis());
    let at = request.at.millis();
    let continued = scene.next_activity(request.agent, at);
    let stays = scene.case.team.stays(request.agent).iter();
    let left = stays.filter_map(|(_, left)| *left).map(Timestamp::millis).find(|left| *left >= at);
    response.into_iter().chain(continued).chain(left).min()
}

/// A message that waited for its recipient, and until when.
pub(super) struct Waiting<'a> {
    pub message: &'a MessageRow,
    entry: &'a Entry,
    until: i64,
    /// Whether it was read then; otherwise its recipient left, or the run ended.
    is_read: bool,
}

/// The messages that waited for longer than the threshold, by recipient.
pub(super) fn unread(scene: &Scene<'_>) -> Vec<Draft> {
    let mut by_recipient: BTreeMap<&str, Vec<Waiting<'_>>> = BTreeMap::new();
    for (message, entry) in sent(scene) {
        let to = bare(&message.to);
        if let Some(waiting) = waiting(scene, message, entry, to) {
            by_recipient.entry(to).or_default().push(waiting);
        }
    }
    by_recipient.into_iter().map(|(to, waiting)| of_recipient(scene, to, &waiting)).collect()
}

/// Number of a recipient's first messages in the chain; the last one is in it, too.
const MAX_FIRST: usize = 4;

fn of_recipient(scene: &Scene<'_>, to: &str, waiting: &[Waiting<'_>]) -> Draft {
    let from = waiting.iter().map(|one| one.message.at.millis()).min().unwrap_or_default();
    let until = waiting.iter().map(|one| one.until).max().unwrap_or_default();
    let never = waiting.iter().filter(|one| !one.is_read).count();
    let severity = if never == 0 { Severity::Low } else { Severity::Medium };
    let mut draft = Draft::new(IncidentKind::UnreadMessage, severity, (from, until));
    draft.agent(to);
    waiting.iter().for_each(|one| draft.agent(&one.message.from));
    draft.counted = waiting.iter().map(|one| one.message.id.clone()).collect();
    let last = waiting.len().saturating_sub(1);
    for (_, one) in waiting.iter().enumerate().filter(|(place, _)| *place < MAX_FIRST || *place == last) {
        let about = one.message.summary.as_ref().map(|summary| format!(": {summary}")).unwrap_or_default();
        let read = if one.is_read { "read after" } else { "not read for" };
        let time = duration(one.until - one.message.at.millis());
        draft.step(one.entry, format!("{} wrote to {to}, {read} {time}{about}", one.message.from));
    }
    let longest = waiting.iter().map(|one| one.until - one.message.at.millis()).max().unwrap_or_default();
    let (messages, time) = (count(waiting.len(), "message"), duration(longest));
    let were = if waiting.len() == 1 { "was" } else { "were" };
    let lasts = scene.lasts(until);
    draft.summary = match never {
        0 => format!("{to} read {messages} late, up to {time} after it was sent"),
        _ if lasts => format!("{messages} to {to} {were} not read for up to {time}"),
        _ if never == waiting.len() => format!("{messages} to {to} {were} never read"),
        _ => format!("{messages} to {to} {were} read late or never"),
    };
    if lasts && never > 0 {
        draft.advise(format!("Ask {to} to read its messages, or send them to another agent"));
    }
    draft
}

/// The messages of agents that were sent to one recipient, each with its entry.
fn sent<'a>(scene: &Scene<'a>) -> Vec<(&'a MessageRow, &'a Entry)> {
    // Each message entry has one row, in the same order.
    let entries = scene.case.entries.iter().filter(|entry| entry.message().is_some());
    let rows = scene.mail.messages.iter().zip(entries);
    rows.filter(|(row, _)| !row.automatic && row.kind == "message" && row.to != "*" && !row.blocked).collect()
}

fn waiting<'a>(
    scene: &Scene<'a>,
    message: &'a MessageRow,
    entry: &'a Entry,
    to: &str,
) -> Option<Waiting<'a>> {
    // Without the recipient's transcript, it is unknown.
    if message.refused.is_some() || message.delivered.is_none() && !is_known_unread(scene, entry, to) {
        return None;
    }
    let at = message.at.millis();
    let read = message.read_at.map(Timestamp::millis);
    if message.delivered == Some(true) && read.is_none() {
        return None;
    }
    let presence = scene.presence(to);
    // It was sent in one of the recipient's stays, or after the last one.
    let left = presence.iter().find(|(from, until)| *from <= at && at <= *until).map(|(_, until)| until);
    let until = read.or(left).unwrap_or(scene.end).max(at);
    let is_long = until - at >= millis(scene.limits.unread);
    is_long.then_some(Waiting { message, entry, until, is_read: read.is_some() })
}

/// In a running team: whether the recipient's transcript does not have the message yet.
fn is_known_unread(scene: &Scene<'_>, entry: &Entry, to: &str) -> bool {
    let heard = entry.message().is_some_and(|message| message.heard_by.iter().any(|name| name == to));
    !scene.case.is_over() && scene.case.has_transcript(to) && !heard
}

/// The messages to names that no agent of the run ever had.
pub(super) fn unknown_recipients(scene: &Scene<'_>) -> Vec<Draft> {
    let known = known_names(scene);
    let mut found: HashMap<&str, Draft> = HashMap::new();
    for (message, entry) in sent(scene) {
        let to = bare(&message.to);
        if known.contains(to) || known.contains(message.to.as_str()) {
            continue;
        }
        let at = message.at.millis();
        let severity = if message.refused.is_some() { Severity::Low } else { Severity::Medium };
        let new = || Draft::new(IncidentKind::UnknownRecipient, severity, (at, at));
        let draft = found.entry(to).or_insert_with(new);
        draft.severity = draft.severity.min(severity);
        draft.span.1 = at;
        draft.agent(&message.from);
        let fate = if message.refused.is_some() { "was rejected" } else { "reached no agent" };
        draft.step(entry, format!("{} wrote to {to}; the message {fate}", message.from));
        draft.summary = format!(
            "{} wrote to {to}, but no agent has that name ({})",
            listed(&draft.agents),
            count(draft.chain.len(), "message")
        );
    }
    let mut found: Vec<Draft> = found.into_values().collect();
    for draft in found.iter_mut().filter(|_| !scene.case.is_over()) {
        let there = scene.case.team.present().map(|member| member.name.as_str());
        let others = there.filter(|name| !draft.agents.iter().any(|sender| sender == name));
        let others: Vec<&str> = others.take(MAX_NAMES).collect();
        draft.remedy = either(&others).map(|names| Remedy::Advice(format!("Send it to {names}")));
    }
    found
}

/// Number of agents that a remedy names.
const MAX_NAMES: usize = 8;

fn either(names: &[&str]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(if others.is_empty() { (*last).to_owned() } else { format!("{} or {last}", others.join(", ")) })
}

/// The names and ids of all agents, and the words by which Claude Code addresses somebody without a name.
fn known_names<'a>(scene: &Scene<'a>) -> BTreeSet<&'a str> {
    let data = scene.case.data;
    let agents =
        data.events.iter().flat_map(|event| [event.actor().name.as_deref(), event.actor().id.as_deref()]);
    let transcripts = data.transcripts.all.iter().map(|transcript| transcript.by.as_str());
    let words = ["*", "main", "user", "unknown", "team-lead", scene.case.lead];
    agents.flatten().chain(transcripts).chain(scene.case.teammates()).chain(words).collect()
}
