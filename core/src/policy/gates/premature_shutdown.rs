//! Stopping a teammate that has not finished.

use std::collections::HashSet;

use super::{actor, finding};
use crate::client::payload::{Kind, MessageKind};
use crate::client::team::Task;
use crate::config::{Gate, Mode, Policy, PrematureShutdown};
use crate::model::event::{ActorKind, LEAD};
use crate::model::{TaskStatus, Tool};
use crate::policy::observe::{shutdown_recipient, stopped};
use crate::policy::{Case, Decision, Finding, Part, PendingToolCall, Reason, Sent, TeammateRef};

/// The strictest finding, and of several the first.
pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    all(policy, case).into_iter().reduce(|one, other| if other.decision > one.decision { other } else { one })
}

/// The further findings for a request to several members. Allowing one of them does not allow the others.
pub fn others(policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    if shutdown_recipient(&case.event).is_none() {
        return Vec::new();
    }
    let Some(first) = judge(policy, case) else { return Vec::new() };
    all(policy, case).into_iter().filter(|finding| finding.about != first.about).collect()
}

/// Whom the event stops, if the gate cannot judge that without this part.
pub fn needs(policy: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    if !part.has_roster() && !part.has_tasks() {
        return None;
    }
    let Some(shutdown) = Shutdown::of(policy, case) else {
        return named_recipient(case).filter(|_| part.has_roster());
    };
    // Without a roster, it is unknown whether the text names a teammate.
    let is_unknown = matches!(shutdown.act, Act::Stop)
        && shutdown.names.is_empty()
        && case.names.teammates().is_empty()
        && part.has_roster();
    if matches!(shutdown.act, Act::Delete | Act::AskAll) || is_unknown {
        return Some(actor(case).to_owned());
    }
    shutdown.names.iter().find(|name| !shutdown.is_free(name)).map(|name| (*name).to_owned())
}

fn all(policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    match Shutdown::of(policy, case) {
        Some(shutdown) => shutdown.findings(),
        None => absent(case).into_iter().collect(),
    }
}

/// An action that stops members.
enum Act<'a> {
    /// A shutdown request to one name.
    Ask,
    /// A shutdown request to everyone.
    AskAll,
    /// TaskStop of one member.
    Stop,
    /// TaskStop with an id that belongs to one of several members.
    StopOne(&'a str),
    /// The same, and the id may belong to none.
    StopPerhaps(&'a str),
    /// TeamDelete.
    Delete,
    /// A teammate's approval of its shutdown.
    Approve,
    /// An approval without a request, perhaps of the teammate in its `request_id`.
    ApproveOne(Option<&'a str>),
}

/// Why a member is unfinished.
enum OpenWork<'a> {
    Tasks(Vec<&'a Task>),
    Turn,
    Report,
}

struct Shutdown<'c, 'a> {
    settings: &'c PrematureShutdown,
    case: &'c Case<'a>,
    act: Act<'a>,
    /// The members that it stops, without the lead, which is another gate's concern.
    names: Vec<&'a str>,
}

impl<'c, 'a> Shutdown<'c, 'a> {
    /// The action, if the event stops a member.
    fn of(policy: &'c Policy, case: &'c Case<'a>) -> Option<Shutdown<'c, 'a>> {
        let payload = case.event.payload;
        if case.event.kind != Kind::PreToolUse {
            return None;
        }
        let (act, mut names) = match payload.tool()? {
            Tool::TeamDelete => (Act::Delete, workers(case)),
            Tool::TaskStop => stop(case, stopped(payload.tool_input())?),
            Tool::SendMessage => {
                let sent = Sent::of(payload)?;
                match (&sent.message.kind, sent.message.to.as_deref()) {
                    (MessageKind::ShutdownRequest, Some("*")) => {
                        (Act::AskAll, case.names.teammates().to_vec())
                    }
                    (MessageKind::ShutdownRequest, Some(to)) => (Act::Ask, case.names.recipients(to)),
                    (MessageKind::ShutdownResponse { approve: true }, _) => approve(case, &sent)?,
                    _ => return None,
                }
            }
            _ => return None,
        };
        if matches!(act, Act::Ask) && names.is_empty() {
            return None;
        }
        names.retain(|name| *name != LEAD);
        Some(Shutdown { settings: &policy.premature_shutdown, case, act, names })
    }

    fn findings(&self) -> Vec<Finding> {
        match self.act {
            Act::StopOne(_) | Act::StopPerhaps(_) => return self.one_of().into_iter().collect(),
            Act::ApproveOne(named) => {
                let open = named.and_then(|name| Some((name, self.unfinished(name)?)));
                let certain = open.map(|(name, (mode, open))| self.object(mode, name, &open));
                return certain.or_else(|| self.one_of()).into_iter().collect();
            }
            _ => {}
        }
        let object = |name: &&str| {
            let (mode, open) = self.unfinished(name)?;
            let counted = matches!(self.act, Act::AskAll).then(|| format!("* from {}", actor(self.case)));
            Some(Finding { counted, ..self.object(mode, name, &open) })
        };
        let found: Vec<Finding> = self.names.iter().filter_map(object).collect();
        if found.is_empty() { self.unknown_list().into_iter().collect() } else { found }
    }

    /// The warning if a task list is unknown, so that open tasks cannot be checked.
    fn unknown_list(&self) -> Option<Finding> {
        let (task, name) = (self.case.team.missing.first()?, self.names.first()?);
        let reason = self
            .reason(Mode::Warn, name)
            .then("; teamkeep cannot check open tasks: task ")
            .name(task)
            .then(" is not in a task list that hooks know.")
            .instead("Check TaskList for open work first.");
        Some(finding(Gate::PrematureShutdown, "task-list-unknown", Mode::Warn, name, reason))
    }

    /// The finding if one of several members is stopped and it is unknown which: it is blocked only if certainly one of
    /// them is stopped and none has finished. A member that has left has finished.
    fn one_of(&self) -> Option<Finding> {
        let certainly = !matches!(self.act, Act::StopPerhaps(_));
        let there = self.names.iter().filter(|name| !self.case.team.ledger.left.contains(**name));
        let open: Vec<_> = there.filter_map(|name| Some((*name, self.unfinished(name)?))).collect();
        let all_block =
            open.len() == self.names.len() && open.iter().all(|(_, (mode, _))| *mode == Mode::Block);
        let (name, (mode, work)) = open.iter().max_by_key(|(_, (mode, _))| Decision::from(*mode))?;
        let mode = if certainly && all_block { *mode } else { Mode::Warn };
        Some(self.object(mode, name, work))
    }

    fn is_approval(&self) -> bool {
        matches!(self.act, Act::Approve | Act::ApproveOne(_))
    }

    /// Whether a teammate may stop whatever it works on.
    fn is_free(&self, name: &str) -> bool {
        self.settings.exempt.iter().any(|exempt| self.case.names.refers_to(exempt, name))
            || (self.is_approval() && self.case.team.ledger.of(name).approved_shutdown)
    }

    fn unfinished(&self, name: &str) -> Option<(Mode, OpenWork<'a>)> {
        let Shutdown { settings, case, .. } = self;
        let (team, activity) = (case.team, case.team.ledger.of(name));
        if self.is_free(name) {
            return None;
        }
        let mut tasks = case.names.owned(name, &TaskStatus::InProgress);
        if settings.pending {
            tasks.extend(case.names.owned(name, &TaskStatus::Pending));
        }
        if !tasks.is_empty() {
            return Some((settings.mode, OpenWork::Tasks(tasks)));
        }
        // An approval happens during a turn, and is itself the report.
        if self.is_approval() {
            return None;
        }
        if settings.open_turn && activity.turn {
            return Some((settings.mode, OpenWork::Turn));
        }
        let without = team.tasks.is_empty() && !team.ledger.tasked && settings.without_tasks != Mode::Off;
        (without && activity.has_unreported_work()).then_some((settings.without_tasks, OpenWork::Report))
    }

    fn object(&self, mode: Mode, name: &str, open: &OpenWork<'_>) -> Finding {
        let code = match (&self.act, open) {
            (Act::Approve | Act::ApproveOne(_), _) => "approval-with-open-work",
            (Act::Ask | Act::AskAll, OpenWork::Report) => "shutdown-without-report",
            (Act::Ask | Act::AskAll, _) => "shutdown-of-busy-teammate",
            (Act::Stop | Act::StopOne(_) | Act::StopPerhaps(_), OpenWork::Report) => "stop-without-report",
            (Act::Stop | Act::StopOne(_) | Act::StopPerhaps(_), _) => "stop-of-busy-teammate",
            (Act::Delete, OpenWork::Report) => "deletion-without-report",
            (Act::Delete, _) => "deletion-of-busy-team",
        };
        let reason = self.reason(mode, name);
        let reason = match open {
            OpenWork::Tasks(tasks) => {
                let is_own = matches!(self.act, Act::Approve);
                let owning = if is_own { " while you still own " } else { ", who still owns " };
                reason.then(owning).tasks(tasks).then(".")
            }
            OpenWork::Turn => reason.then(", who is in the middle of a turn."),
            OpenWork::Report => reason.then(", who has sent no report since the last instruction."),
        };
        let advice = match open {
            _ if self.is_approval() => {
                "Complete the work, or return it (TaskUpdate: status pending, another owner), or answer with approve false and list the remaining work."
            }
            OpenWork::Tasks(_) => {
                "Wait until it is completed, or agree with the teammate to return or reassign it (TaskUpdate with another status or owner). Then try again."
            }
            OpenWork::Turn => "Wait for the end of the turn, then try again.",
            OpenWork::Report => "Ask for a report with SendMessage and wait for it, then try again.",
        };
        let about = if matches!(self.act, Act::Delete) { actor(self.case) } else { name };
        finding(Gate::PrematureShutdown, code, mode, about, reason.instead(advice))
    }

    /// The start of a reason: the action.
    fn reason(&self, mode: Mode, name: &str) -> Reason {
        let reason = Reason::of(mode);
        match self.act {
            Act::Ask | Act::AskAll => reason.then("a shutdown request to ").name(name),
            Act::Stop => reason.then("stopping ").name(name),
            Act::StopOne(id) | Act::StopPerhaps(id) => {
                reason.then("stopping ").name(id).then(", which may be ").name(name)
            }
            Act::Delete => reason.then("deleting the team of ").name(name),
            Act::Approve => reason.then("approving your shutdown"),
            Act::ApproveOne(_) => {
                reason.then("approving a shutdown that was not requested, perhaps of ").name(name)
            }
        }
    }
}

/// The recipient of a shutdown request to one name, as written in the payload.
fn named_recipient(case: &Case<'_>) -> Option<String> {
    shutdown_recipient(&case.event).filter(|to| to != "*" && !to.trim().is_empty())
}

/// The warning about a request to an agent that has left the team or was never in it. It lists the teammates.
fn absent(case: &Case<'_>) -> Option<Finding> {
    let to = named_recipient(case).filter(|_| !case.team.members.is_empty())?;
    let ledger = &case.team.ledger;
    let is_coming = |began: &PendingToolCall| {
        began.spawns.as_ref().is_some_and(|(name, _)| case.names.refers_to(&to, name))
    };
    if ledger.begun.values().any(is_coming) {
        return None;
    }
    let has_left = ledger.left.contains(ledger.strip_team(&to));
    let reason = Reason::of(Mode::Warn).then("a shutdown request to ").name(&to);
    let reason = reason.then(if has_left { ", who has left the team." } else { ", who is not in the team." });
    let reason = match case.names.teammates() {
        [] => reason.then(" It has no teammates."),
        there => reason.then(" Its teammates are ").names(there).then("."),
    };
    Some(finding(Gate::PrematureShutdown, "shutdown-of-absent-teammate", Mode::Warn, &to, reason))
}

/// The teammate that approves its shutdown. 2.1.47 names no agent in tool events, and stops any teammate that
/// approves, even without a request. The name in the request's id then proves nothing.
fn approve<'a>(case: &Case<'a>, sent: &Sent) -> Option<(Act<'a>, Vec<&'a str>)> {
    let (actor, asked) = (case.event.actor, sent.message.asked());
    let nameless = case.event.is_nameless();
    let own = actor.name.as_deref().filter(|name| !nameless || asked != Some(*name));
    if let Some(name) = sent.from.as_deref().or(own).and_then(|name| case.names.member(name)) {
        return Some((Act::Approve, vec![name]));
    }
    if asked == Some(LEAD) || actor.kind == ActorKind::Lead {
        return None;
    }
    let named = asked.and_then(|name| case.names.member(name));
    Some(match named.filter(|name| case.team.ledger.of(name).stopping) {
        Some(name) => (Act::Approve, vec![name]),
        None => (Act::ApproveOne(named), case.names.teammates().to_vec()),
    })
}

/// The teammates and all other owners of unfinished work, without members that have left.
fn workers<'a>(case: &Case<'a>) -> Vec<&'a str> {
    let team = case.team;
    let mut names = case.names.teammates().to_vec();
    let mut known: HashSet<&str> = names.iter().copied().collect();
    let unfinished = team.tasks.values().filter(|task| !task.is_done());
    let owners = unfinished.filter_map(|task| case.names.owner(task));
    names.extend(owners.filter(|owner| known.insert(owner) && !team.ledger.left.contains(*owner)));
    names
}

/// The target of TaskStop. The id of a background task does not always identify the teammate, nor whether it is one.
fn stop<'a>(case: &Case<'a>, id: &'a str) -> (Act<'a>, Vec<&'a str>) {
    if let Some(name) = case.names.member(id) {
        return (Act::Stop, vec![name]);
    }
    match case.team.ledger.unnamed(id) {
        Some(TeammateRef::One(name)) => (Act::Stop, vec![name]),
        Some(TeammateRef::Among(all)) => (Act::StopOne(id), all.iter().map(String::as_str).collect()),
        Some(TeammateRef::Any) => (Act::StopOne(id), case.names.teammates().to_vec()),
        // Ids of teammates start with this character, ids of shells and subagents do not.
        None if id.starts_with('t') && id.chars().all(|c| c.is_ascii_alphanumeric()) => {
            (Act::StopPerhaps(id), case.names.teammates().to_vec())
        }
        None => (Act::Stop, Vec::new()),
    }
}
