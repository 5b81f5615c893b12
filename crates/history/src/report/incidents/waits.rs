//! Agents that waited for an answer: for permission to use a tool, or for approval of a plan.

use serde_json::Value;

use super::scene::{Draft, Scene, task_names};
use super::stalls::millis;
use super::{IncidentKind, Severity};
use crate::report::work::plan_waits;
use crate::timeline::{Entry, LoadedEvent};
use teamkeep_model::payload::EventKind as Event;
use teamkeep_model::time::{Timestamp, duration};

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
