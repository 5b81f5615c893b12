//! The gates for stopping an agent: premature-shutdown and protect-lead.

use std::collections::HashSet;

use crate::observe::stopped;
use crate::{Case, Decision, FinalText, Finding, Reason, Sent, TeammateRef};
use teamkeep_config::{Gate, Mode, Policy, PrematureShutdown};
use teamkeep_model::event::{ActorKind, LEAD};
use teamkeep_model::payload::{Message, MessageKind};
use teamkeep_model::team::Task;
use teamkeep_model::unicode::fold;
use teamkeep_model::{TaskStatus, Tool};

/// Stopping a teammate that has not finished: the findings, one for each member. Allowing one of them does not allow the others.
pub(super) fn premature_shutdown(policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    let Some(shutdown) = Shutdown::of(policy, case) else { return Vec::new() };
    let found = match (&shutdown.absent, shutdown.stops) {
        (Some(to), _) => return absent_finding(case, to).into_iter().collect(),
        (None, Stops::All) => shutdown.each(),
        (None, Stops::One | Stops::AtMostOne) => shutdown.one_of().into_iter().collect(),
    };
    if found.is_empty() { shutdown.unknown_list().into_iter().collect() } else { found }
}

/// Whom the event stops; the actor if that cannot be known when files of the team are unreadable.
pub(super) fn subject(policy: &Policy, case: &Case<'_>) -> Option<String> {
    let shutdown = Shutdown::of(policy, case)?;
    // A team without a roster may have any teammate, and one without tasks any owner.
    let is_unknown = shutdown.names.is_empty() && case.team.members.is_empty();
    if shutdown.act == Act::Delete || shutdown.counted.is_some() || is_unknown {
        return Some(case.actor().to_owned());
    }
    shutdown.names.iter().find(|name| !shutdown.is_free(name)).map(|name| (*name).to_owned())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    /// A shutdown request.
    Request,
    /// TaskStop.
    Stop,
    /// TeamDelete.
    Delete,
    /// An approval of a shutdown.
    Approve,
}

/// How many of the named members an action stops.
#[derive(Clone, Copy)]
enum Stops {
    All,
    /// One, and it is unknown which.
    One,
    /// One, or another agent.
    AtMostOne,
}

/// Why a member is unfinished.
enum OpenWork<'a> {
    Tasks(Vec<&'a Task>),
    Turn,
    /// No report since its last instruction.
    Report,
    /// The answer of its last turn is the only report. Only a reader can judge whether the work is complete.
    Answer(&'a FinalText),
}

/// An action that stops members.
struct Shutdown<'c, 'a> {
    settings: &'c PrematureShutdown,
    case: &'c Case<'a>,
    act: Act,
    stops: Stops,
    /// The members that it stops, without the lead, which is another gate's concern.
    names: Vec<&'a str>,
    /// The recipient of a request that reaches no one, as written in the payload.
    absent: Option<String>,
    /// The name to count a request to everyone under.
    counted: Option<String>,
    /// The teammate that the request names which an approval is for. It matters if several could approve: [`Self::one_of`].
    named: Option<&'a str>,
}

impl<'c, 'a> Shutdown<'c, 'a> {
    /// The action, if the event stops a member.
    fn of(policy: &'c Policy, case: &'c Case<'a>) -> Option<Shutdown<'c, 'a>> {
        let payload = case.event.payload;
        let (mut absent, mut counted, mut named) = (None, None, None);
        let (act, (stops, mut names)) = match payload.tool()? {
            Tool::TeamDelete => (Act::Delete, (Stops::All, workers(case))),
            Tool::TaskStop => (Act::Stop, stop(case, stopped(payload.tool_input())?)),
            Tool::SendMessage => {
                let sent = Sent::of(payload)?;
                match (&sent.message.kind, sent.message.to.as_deref()) {
                    (MessageKind::ShutdownRequest, Some("*")) => {
                        counted = Some(format!("* from {}", case.actor()));
                        (Act::Request, (Stops::All, case.teammates()))
                    }
                    (MessageKind::ShutdownRequest, Some(to)) if !to.trim().is_empty() => {
                        let names = case.recipients(to);
                        absent = names.is_empty().then(|| to.to_owned());
                        (Act::Request, (Stops::All, names))
                    }
                    (MessageKind::ShutdownResponse { approve: true }, _) => {
                        named = sent.message.asked().and_then(|name| case.member(name));
                        (Act::Approve, approve(case, &sent, named)?)
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        names.retain(|name| *name != LEAD);
        let settings = &policy.premature_shutdown;
        Some(Shutdown { settings, case, act, stops, names, absent, counted, named })
    }

    fn each(&self) -> Vec<Finding> {
        let unfinished = self.names.iter().filter_map(|name| Some((name, self.unfinished(name)?)));
        let finding = |(name, (mode, open)): (&&str, (Mode, OpenWork<'_>))| Finding {
            counted: self.counted.clone(),
            ..self.finding_for(mode, name, &open)
        };
        unfinished.map(finding).collect()
    }

    /// The finding if one of several members is stopped and it is unknown which: it is blocked only if certainly one of
    /// them is stopped and none has finished. A member that has left has finished.
    fn one_of(&self) -> Option<Finding> {
        if let Some((name, (mode, work))) = self.named.and_then(|name| Some((name, self.unfinished(name)?))) {
            return Some(self.finding_for(mode, name, &work));
        }
        let there = self.names.iter().filter(|name| !self.case.team.ledger.has_left(name));
        let open: Vec<_> = there.filter_map(|name| Some((*name, self.unfinished(name)?))).collect();
        let all_block =
            open.len() == self.names.len() && open.iter().all(|(_, (mode, _))| *mode == Mode::Block);
        let (name, (mode, work)) = open.iter().max_by_key(|(_, (mode, _))| Decision::from(*mode))?;
        let mode = if matches!(self.stops, Stops::One) && all_block { *mode } else { Mode::Warn };
        Some(self.finding_for(mode, name, work))
    }

    /// The warning if a task list is unknown, so that open tasks cannot be checked.
    fn unknown_list(&self) -> Option<Finding> {
        let (task, name) = (self.case.team.missing.first()?, self.names.first()?);
        let reason = self
            .reason(name)
            .then("; teamkeep cannot check open tasks: task ")
            .name(task)
            .then(" is not in a task list that hooks know.")
            .instead("Check TaskList for open work first.");
        Some(Finding::new(Gate::PrematureShutdown, "task-list-unknown", Decision::Warn, name, reason))
    }

    /// Whether a teammate may stop whatever it works on.
    fn is_free(&self, name: &str) -> bool {
        self.settings.exempt.iter().any(|exempt| self.case.refers_to(exempt, name))
            || (self.act == Act::Approve && self.case.team.ledger.of(name).shutdown_permitted)
    }

    fn unfinished(&self, name: &str) -> Option<(Mode, OpenWork<'a>)> {
        let Shutdown { settings, case, .. } = self;
        let (team, activity) = (case.team, case.team.ledger.of(name));
        if self.is_free(name) {
            return None;
        }
        let mut tasks = case.owned(name, &TaskStatus::InProgress);
        if settings.pending {
            tasks.extend(case.owned(name, &TaskStatus::Pending));
        }
        if !tasks.is_empty() {
            return Some((settings.mode, OpenWork::Tasks(tasks)));
        }
        // An approval happens during a turn, and is itself the report.
        if self.act == Act::Approve {
            return None;
        }
        if settings.open_turn && team.ledger.works(name) {
            return Some((settings.mode, OpenWork::Turn));
        }
        if !team.tasks.is_empty() || team.ledger.tasked || settings.without_tasks == Mode::Off {
            return None;
        }
        if activity.has_unreported_work(team.delivers_answers) {
            return Some((settings.without_tasks, OpenWork::Report));
        }
        let is_newest = |answer: &&FinalText| answer.is_all && activity.last_message < Some(answer.at);
        let answer = activity.answer.as_ref().filter(|_| team.delivers_answers).filter(is_newest)?;
        activity.last_instruction().map(|_| (Mode::Warn, OpenWork::Answer(answer)))
    }

    fn finding_for(&self, mode: Mode, name: &str, open: &OpenWork<'_>) -> Finding {
        let code = match (self.act, open) {
            (Act::Approve, _) => "approval-with-open-work",
            (Act::Request, OpenWork::Report) => "shutdown-without-report",
            (Act::Request, OpenWork::Answer(_)) => "shutdown-after-answer",
            (Act::Request, _) => "shutdown-of-busy-teammate",
            (Act::Stop, OpenWork::Report) => "stop-without-report",
            (Act::Stop, OpenWork::Answer(_)) => "stop-after-answer",
            (Act::Stop, _) => "stop-of-busy-teammate",
            (Act::Delete, OpenWork::Report) => "deletion-without-report",
            (Act::Delete, OpenWork::Answer(_)) => "deletion-after-answer",
            (Act::Delete, _) => "deletion-of-busy-team",
        };
        let reason = self.reason(name);
        let (reason, advice) = match open {
            OpenWork::Tasks(tasks) => {
                let is_own = matches!((self.act, self.stops), (Act::Approve, Stops::All));
                let owning = if is_own { " while still owning " } else { ", who still owns " };
                (
                    reason.then(owning).tasks(tasks).then("."),
                    "Wait until it is completed, or agree with the teammate to return or reassign it (TaskUpdate with another status or owner). Then try again.",
                )
            }
            OpenWork::Turn => (
                reason.then(", who is in the middle of a turn."),
                "Wait for the end of the turn, then try again.",
            ),
            OpenWork::Report => {
                let reason = reason.then(", who has sent no report since the last instruction.");
                let reason = match self.case.team.ledger.of(name).answer.as_ref() {
                    Some(answer) if self.case.team.delivers_answers => {
                        reason.then(" The last answer before that instruction: ").answer(answer)
                    }
                    Some(answer) => reason.then(" No agent received its last answer: ").answer(answer),
                    None => reason,
                };
                (reason, "Ask for a report with SendMessage and wait for it, then try again.")
            }
            OpenWork::Answer(answer) => (
                reason.then(", who sent no message in the last turn. The final answer: ").answer(answer),
                "If the work is not complete, send an instruction with SendMessage instead.",
            ),
        };
        let advice = match self.act {
            Act::Approve => {
                "Complete the work, or return it (TaskUpdate: status pending, another owner), or answer with approve false and list the remaining work."
            }
            _ => advice,
        };
        let about = if self.act == Act::Delete { self.case.actor() } else { name };
        Finding::new(Gate::PrematureShutdown, code, mode.into(), about, reason.instead(advice))
    }

    /// The start of a reason: the action.
    fn reason(&self, name: &str) -> Reason {
        let reason = Reason::default();
        match (self.act, self.stops) {
            (Act::Request, _) => reason.then("a shutdown request to ").name(name),
            (Act::Stop, Stops::All) => reason.then("stopping ").name(name),
            (Act::Stop, _) => {
                let id = stopped(self.case.event.payload.tool_input()).unwrap_or_default();
                reason.then("stopping ").name(id).then(", which may be ").name(name)
            }
            (Act::Delete, _) => reason.then("deleting the team of ").name(name),
            (Act::Approve, Stops::All) => reason.then("approving the shutdown"),
            (Act::Approve, _) => {
                reason.then("approving a shutdown that was not requested, perhaps of ").name(name)
            }
        }
    }
}

/// The warning about a request to an agent that has left the team or was never in it. It lists the teammates.
fn absent_finding(case: &Case<'_>, to: &str) -> Option<Finding> {
    let ledger = &case.team.ledger;
    let mut coming = ledger.pending.values().filter_map(|call| call.spawns.as_ref());
    if case.team.members.is_empty() || coming.any(|(name, _)| case.refers_to(to, name)) {
        return None;
    }
    let has_left = case.has_left(to);
    let reason = Reason::default().then("a shutdown request to ").name(to);
    let reason = reason.then(if has_left { ", who has left the team." } else { ", who is not in the team." });
    let reason = match case.teammates().as_slice() {
        [] => reason.then(" It has no teammates."),
        there => reason.then(" Its teammates are ").names(there).then("."),
    };
    let code = "shutdown-of-absent-teammate";
    Some(Finding::new(Gate::PrematureShutdown, code, Decision::Warn, to, reason))
}

/// The teammate that approves its shutdown. 2.1.47 names no agent in tool events, and stops any teammate that
/// approves, even without a request. The name in the request's id then proves nothing.
fn approve<'a>(case: &Case<'a>, sent: &Sent, named: Option<&'a str>) -> Option<(Stops, Vec<&'a str>)> {
    let (actor, asked) = (case.event.actor, sent.message.asked());
    let own = actor.name.as_deref().filter(|name| !case.event.is_nameless() || asked != Some(*name));
    let sender = sent.from.as_deref().or(own).and_then(|name| case.member(name));
    if sender.is_none() && (asked == Some(LEAD) || actor.kind == ActorKind::Lead) {
        return None;
    }
    let requested = named.filter(|name| case.team.ledger.of(name).stopping);
    Some(match sender.or(requested) {
        Some(name) => (Stops::All, vec![name]),
        None => (Stops::One, case.teammates()),
    })
}

/// The teammates and all other owners of unfinished work, without members that have left.
fn workers<'a>(case: &Case<'a>) -> Vec<&'a str> {
    let mut names = case.teammates();
    let mut known: HashSet<&str> = names.iter().copied().collect();
    let unfinished = case.team.tasks.values().filter(|task| !task.is_done());
    let owners = unfinished.filter_map(|task| case.owner(task));
    names.extend(owners.filter(|owner| known.insert(owner) && !case.team.ledger.has_left(owner)));
    names
}

/// The target of TaskStop. The id of a background task does not always identify the teammate, nor whether it is one.
fn stop<'a>(case: &Case<'a>, id: &'a str) -> (Stops, Vec<&'a str>) {
    if let Some(name) = case.member(id) {
        return (Stops::All, vec![name]);
    }
    if case.has_left(id) {
        return (Stops::All, Vec::new());
    }
    match case.team.ledger.unnamed(id) {
        Some(TeammateRef::Among([name])) => (Stops::All, vec![name]),
        Some(TeammateRef::Among(all)) => (Stops::One, all.iter().map(String::as_str).collect()),
        Some(TeammateRef::Any) => (Stops::One, case.teammates()),
        // Ids of teammates start with this character, ids of shells and subagents do not.
        None if id.starts_with('t') && id.chars().all(|c| c.is_ascii_alphanumeric()) => {
            (Stops::AtMostOne, case.teammates())
        }
        None => (Stops::All, Vec::new()),
    }
}

/// Stopping the lead, which ends the whole team.
pub(super) fn protect_lead(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let (mode, message) = (policy.protect_lead.mode, Sent::of(case.event.payload)?.message);
    let (code, action, advice) = match message.kind {
        MessageKind::ShutdownRequest if asks_lead(case, &message) => (
            "shutdown-of-lead",
            "a shutdown request to team-lead",
            "Send it to the intended teammate, or send the lead a plain message that you are done.",
        ),
        MessageKind::ShutdownResponse { approve: true } if is_lead(case, &message) => (
            "shutdown-approved-by-lead",
            "approving a shutdown as team-lead",
            "Answer with approve false. The user ends the lead's session.",
        ),
        _ => return None,
    };
    let reason = Reason::default().then(action).then(" would stop the lead and end the whole team.");
    let reason = reason.instead(advice);
    Some(Finding::new(Gate::ProtectLead, code, mode.into(), case.actor(), reason))
}

fn asks_lead(case: &Case<'_>, message: &Message) -> bool {
    match message.to.as_deref() {
        Some("*") => case.event.actor.kind == ActorKind::Teammate,
        to => to.is_some_and(|to| case.recipients(to).contains(&LEAD)) || names_lead(message),
    }
}

/// Whether the lead would approve its own shutdown: the actor is the lead, the request names it, or the call names no
/// agent although this version names every teammate. The last ignores the name in the request.
fn is_lead(case: &Case<'_>, message: &Message) -> bool {
    case.event.actor.kind == ActorKind::Lead
        || names_lead(message)
        || (case.event.is_nameless() && case.team.ledger.names_agents)
}

fn names_lead(message: &Message) -> bool {
    message.asked().is_some_and(|name| fold(name) == LEAD)
}
