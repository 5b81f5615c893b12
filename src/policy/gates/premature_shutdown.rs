//! Stopping a teammate that has not finished.

use super::{PREMATURE_SHUTDOWN, actor, finding, teammates};
use crate::config::{Mode, Policy, PrematureShutdown};
use crate::event::LEAD;
use crate::payload::{Kind, Message, MessageKind};
use crate::policy::ledger::spelled;
use crate::policy::observe::stopped;
use crate::policy::{Facts, Finding, Reason};
use crate::team::Task;

/// An act that ends members.
enum Act {
    /// The lead asks them to stop.
    Ask,
    /// TaskStop ends one at once.
    Stop,
    /// TeamDelete takes the team away.
    Delete,
    /// A teammate agrees to stop.
    Agree,
}

/// Why a member has not finished.
enum Open<'a> {
    Tasks(Vec<&'a Task>),
    Turn,
    Report,
}

/// Of several the first that is hardest.
pub fn judge(policy: &Policy, facts: &Facts<'_>) -> Option<Finding> {
    all(policy, facts)
        .into_iter()
        .reduce(|one, other| if other.decision > one.decision { other } else { one })
}

/// What else there is to find where everybody is asked at once: who lets one of them go does not let the others go.
pub fn others(policy: &Policy, facts: &Facts<'_>) -> Vec<Finding> {
    let Some((Act::Ask, _)) = act(facts) else { return Vec::new() };
    let first = judge(policy, facts);
    let is_first = |finding: &Finding| first.as_ref().is_some_and(|first| first.about == finding.about);
    all(policy, facts).into_iter().filter(|finding| !is_first(finding)).collect()
}

fn all(policy: &Policy, facts: &Facts<'_>) -> Vec<Finding> {
    let settings = &policy.premature_shutdown;
    let Some((act, whom)) = act(facts) else { return Vec::new() };
    let objects = |name| {
        let (mode, open) = unfinished(settings, facts, &act, name)?;
        Some(objection(facts, &act, (mode, name), &open))
    };
    whom.into_iter().filter_map(objects).collect()
}

fn objection(facts: &Facts<'_>, act: &Act, (mode, name): (Mode, &str), open: &Open<'_>) -> Finding {
    let code = match (act, open) {
        (Act::Agree, _) => "approval-with-open-work",
        (Act::Ask, Open::Report) => "shutdown-without-report",
        (Act::Ask, _) => "shutdown-of-busy-teammate",
        (Act::Stop, Open::Report) => "stop-without-report",
        (Act::Stop, _) => "stop-of-busy-teammate",
        (Act::Delete, Open::Report) => "deletion-without-report",
        (Act::Delete, _) => "deletion-of-busy-team",
    };
    let about = if matches!(act, Act::Delete) { actor(facts) } else { name };
    finding(PREMATURE_SHUTDOWN, code, mode, about, reason(act, mode, name, open))
}

/// What is done to whom, if it is anything that ends a member. The lead is another gate's concern.
fn act<'a>(facts: &Facts<'a>) -> Option<(Act, Vec<&'a str>)> {
    let payload = facts.event.payload;
    if facts.event.kind != Kind::PreToolUse {
        return None;
    }
    let (act, whom) = match payload.tool()? {
        "TeamDelete" => (Act::Delete, teammates(facts)),
        "TaskStop" => {
            let ledger = &facts.team.ledger;
            let name = |word| member(facts, word).unwrap_or_else(|| ledger.named(word));
            (Act::Stop, stopped(payload.tool_input()).map(name).collect())
        }
        "SendMessage" => {
            let message = Message::of(payload.tool_input(), payload.tool_response())?;
            match (&message.kind, message.to.as_deref()) {
                (MessageKind::ShutdownRequest, Some("*")) => (Act::Ask, teammates(facts)),
                (MessageKind::ShutdownRequest, Some(to)) => (Act::Ask, vec![member(facts, to)?]),
                (MessageKind::ShutdownResponse { approve: true }, _) => {
                    let own = facts.event.actor.name.as_deref().filter(|name| has(facts, name));
                    let name = own.or_else(|| member(facts, message.asked()?))?;
                    (Act::Agree, vec![name])
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    Some((act, whom.into_iter().filter(|name| *name != LEAD).collect()))
}

/// The member that a word of the payload means, as the state of the team spells it: whoever is not there has no work.
fn member<'a>(facts: &Facts<'a>, word: &str) -> Option<&'a str> {
    let name = facts.team.ledger.named(word);
    let roster = || facts.team.members.iter().map(String::as_str);
    let owners = || facts.team.tasks.values().filter_map(|task| task.owner.as_deref());
    let doers = || facts.team.ledger.members.keys().map(String::as_str);
    // The roster's spelling first: who was once spoken to by another is in the ledger by it.
    spelled(name, roster).or_else(|| spelled(name, owners)).or_else(|| spelled(name, doers))
}

fn has(facts: &Facts<'_>, name: &str) -> bool {
    member(facts, name).is_some()
}

/// The tasks that somebody owns in a status, also where the owner is spelled in another case than any member.
fn owned<'a>(facts: &Facts<'a>, name: &'a str, status: &'a str) -> impl Iterator<Item = &'a Task> {
    let team = facts.team;
    team.tasks.values().filter(move |task| {
        let owner = task.owner.as_deref().unwrap_or_default();
        let same = owner == name
            || (owner.to_lowercase() == name.to_lowercase()
                && !team.members.iter().any(|member| member == owner));
        same && task.status.as_deref() == Some(status)
    })
}

fn unfinished<'a>(
    settings: &PrematureShutdown,
    facts: &Facts<'a>,
    act: &Act,
    name: &'a str,
) -> Option<(Mode, Open<'a>)> {
    let team = facts.team;
    let deeds = team.ledger.of(name);
    let own = matches!(act, Act::Agree);
    if settings.exempt.iter().any(|exempt| exempt == name) || (own && deeds.let_go) {
        return None;
    }
    let pending = owned(facts, name, "pending").filter(|_| settings.pending);
    let tasks: Vec<&Task> = owned(facts, name, "in_progress").chain(pending).collect();
    if !tasks.is_empty() {
        return Some((settings.mode, Open::Tasks(tasks)));
    }
    // Who answers is in a turn, and its answer is its report.
    if own {
        return None;
    }
    if settings.open_turn && deeds.turn {
        return Some((settings.mode, Open::Turn));
    }
    let without = team.tasks.is_empty() && !team.ledger.tasked && settings.without_tasks != Mode::Off;
    (without && deeds.owes_report()).then_some((settings.without_tasks, Open::Report))
}

fn reason(act: &Act, mode: Mode, name: &str, open: &Open<'_>) -> Reason {
    let reason = Reason::of(mode);
    let reason = match act {
        Act::Ask => reason.then("a shutdown request to ").name(name),
        Act::Stop => reason.then("stopping ").name(name),
        Act::Delete => reason.then("deleting the team of ").name(name),
        Act::Agree => reason.then("approving your shutdown"),
    };
    let reason = match open {
        Open::Tasks(tasks) => {
            let still = if matches!(act, Act::Agree) { " while you still own " } else { ", who still owns " };
            reason.then(still).tasks(tasks).then(".")
        }
        Open::Turn => reason.then(", who is in the midst of a turn."),
        Open::Report => reason.then(", who has sent no report since the last instruction."),
    };
    reason.instead(match (act, open) {
        (Act::Agree, _) => {
            "Complete the work, or give it back (TaskUpdate: status pending, another owner), or answer with approve false and say what is left."
        }
        (_, Open::Tasks(_)) => {
            "Wait until it is completed, or settle with the teammate what becomes of it and say so with TaskUpdate (another status or owner); then try again."
        }
        (_, Open::Turn) => "Wait for the end of the turn, then try again.",
        (_, Open::Report) => "Ask for a report with SendMessage and wait for it, then try again.",
    })
}
