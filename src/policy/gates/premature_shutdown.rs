//! Stopping a teammate that has not finished.

use super::shutdown_request::{ShutdownAct, act, asked_to_stop, is_to_all};
use super::{actor, finding};
use crate::config::{Gate, Mode, Policy, PrematureShutdown};
use crate::model::TaskStatus;
use crate::policy::{Case, Decision, Finding, Part, PendingToolCall, Reason};
use crate::team::Task;

/// Why a member is unfinished.
enum OpenTask<'a> {
    Tasks(Vec<&'a Task>),
    Turn,
    Report,
}

/// The strictest finding, and of several the first.
pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    all(policy, case).into_iter().reduce(|one, other| if other.decision > one.decision { other } else { one })
}

/// The further findings for an action that stops several members. Allowing one of them does not allow the others.
pub fn others(policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    let Some((ShutdownAct::Ask, _)) = act(case) else { return Vec::new() };
    let first = judge(policy, case);
    let is_first = |finding: &Finding| first.as_ref().is_some_and(|first| first.about == finding.about);
    all(policy, case).into_iter().filter(|finding| !is_first(finding)).collect()
}

fn all(policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    let settings = &policy.premature_shutdown;
    let Some((act, whom)) = act(case) else { return absent(case).into_iter().collect() };
    match act {
        ShutdownAct::StopOne(_, certainly) => {
            return one_of(settings, case, (&act, certainly), &whom).into_iter().collect();
        }
        ShutdownAct::AgreeOne(named) => {
            let open = named.and_then(|name| Some((name, unfinished(settings, case, &act, name)?)));
            let certain = open.map(|(name, (mode, open))| objection(case, &act, (mode, name), &open));
            return certain.or_else(|| one_of(settings, case, (&act, true), &whom)).into_iter().collect();
        }
        _ => {}
    }
    let is_to_all = matches!(act, ShutdownAct::Ask) && is_to_all(case);
    let objects = |name| {
        let (mode, open) = unfinished(settings, case, &act, name)?;
        let counted = is_to_all.then(|| format!("* from {}", actor(case)));
        Some(Finding { counted, ..objection(case, &act, (mode, name), &open) })
    };
    let found: Vec<Finding> = whom.iter().copied().filter_map(objects).collect();
    if found.is_empty() { unseen(case, &act, &whom).into_iter().collect() } else { found }
}

/// The warning if a task list is unknown, so that open tasks cannot be checked.
fn unseen(case: &Case<'_>, act: &ShutdownAct<'_>, whom: &[&str]) -> Option<Finding> {
    let (task, name) = (case.team.missing.first()?, whom.first()?);
    let reason = reason_for(act, Mode::Warn, name)
        .then("; teamkeep cannot check open tasks: task ")
        .name(task)
        .then(" is not in a task list that hooks know.")
        .instead("Check TaskList for open work first.");
    Some(finding(Gate::PrematureShutdown, "task-list-unknown", Mode::Warn, name, reason))
}

/// Whom the event stops, if the gate cannot judge that without this part.
pub fn needs(policy: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    if !part.has_roster() && !part.has_tasks() {
        return None;
    }
    let Some((act, whom)) = act(case) else { return asked_to_stop(case).filter(|_| part.has_roster()) };
    if matches!(act, ShutdownAct::Delete) || (matches!(act, ShutdownAct::Ask) && is_to_all(case)) {
        return Some(actor(case).to_owned());
    }
    // Without a roster, it is unknown whether the word names a teammate.
    if whom.is_empty()
        && matches!(act, ShutdownAct::Stop)
        && case.names.teammates().is_empty()
        && part.has_roster()
    {
        return Some(actor(case).to_owned());
    }
    let settings = &policy.premature_shutdown;
    let counts = |name: &&&str| !is_free(settings, case, &act, name);
    whom.iter().find(counts).map(|name| (*name).to_owned())
}

fn objection(
    case: &Case<'_>,
    act: &ShutdownAct<'_>,
    (mode, name): (Mode, &str),
    open: &OpenTask<'_>,
) -> Finding {
    let code = match (act, open) {
        (ShutdownAct::Agree | ShutdownAct::AgreeOne(_), _) => "approval-with-open-work",
        (ShutdownAct::Ask, OpenTask::Report) => "shutdown-without-report",
        (ShutdownAct::Ask, _) => "shutdown-of-busy-teammate",
        (ShutdownAct::Stop | ShutdownAct::StopOne(..), OpenTask::Report) => "stop-without-report",
        (ShutdownAct::Stop | ShutdownAct::StopOne(..), _) => "stop-of-busy-teammate",
        (ShutdownAct::Delete, OpenTask::Report) => "deletion-without-report",
        (ShutdownAct::Delete, _) => "deletion-of-busy-team",
    };
    let about = if matches!(act, ShutdownAct::Delete) { actor(case) } else { name };
    finding(Gate::PrematureShutdown, code, mode, about, reason(act, mode, name, open))
}

/// The finding if one of several members is stopped and it is unknown which: it is blocked only if certainly one of
/// them is stopped and none has finished. A member that has left has finished.
fn one_of(
    settings: &PrematureShutdown,
    case: &Case<'_>,
    (act, certainly): (&ShutdownAct<'_>, bool),
    whom: &[&str],
) -> Option<Finding> {
    let there = whom.iter().filter(|name| !case.team.ledger.left.contains(**name));
    let open = there.filter_map(|name| Some((*name, unfinished(settings, case, act, name)?)));
    let open: Vec<_> = open.collect();
    let all_block = open.len() == whom.len() && open.iter().all(|(_, (mode, _))| *mode == Mode::Block);
    let (name, (mode, left)) = open.iter().max_by_key(|(_, (mode, _))| Decision::from(*mode))?;
    let mode = if certainly && all_block { *mode } else { Mode::Warn };
    Some(objection(case, act, (mode, name), left))
}

/// The warning about a request to an agent that has left the team or was never in it. It lists the teammates.
fn absent(case: &Case<'_>) -> Option<Finding> {
    let word = asked_to_stop(case).filter(|_| !case.team.members.is_empty())?;
    let is_coming = |began: &PendingToolCall| {
        began.spawns.as_ref().is_some_and(|(name, _)| case.names.is_meant(&word, name))
    };
    if case.team.ledger.begun.values().any(is_coming) {
        return None;
    }
    let reason = Reason::of(Mode::Warn).then("a shutdown request to ").name(&word);
    let has_left = case.team.ledger.left.contains(case.team.ledger.strip_team(&word));
    let reason = reason.then(if has_left { ", who has left the team." } else { ", who is not in the team." });
    let there = case.names.teammates();
    let reason = match there {
        [] => reason.then(" It has no teammates."),
        _ => reason.then(" Its teammates are ").names(there).then("."),
    };
    Some(finding(Gate::PrematureShutdown, "shutdown-of-absent-teammate", Mode::Warn, &word, reason))
}

/// Whether a teammate may stop whatever it works on.
fn is_free(settings: &PrematureShutdown, case: &Case<'_>, act: &ShutdownAct<'_>, name: &str) -> bool {
    let own = matches!(act, ShutdownAct::Agree | ShutdownAct::AgreeOne(_));
    settings.exempt.iter().any(|exempt| case.names.is_meant(exempt, name))
        || (own && case.team.ledger.of(name).approved_shutdown)
}

fn unfinished<'a>(
    settings: &PrematureShutdown,
    case: &Case<'a>,
    act: &ShutdownAct<'_>,
    name: &str,
) -> Option<(Mode, OpenTask<'a>)> {
    let team = case.team;
    let activity = team.ledger.of(name);
    let own = matches!(act, ShutdownAct::Agree | ShutdownAct::AgreeOne(_));
    if is_free(settings, case, act, name) {
        return None;
    }
    let mut tasks = case.names.owned(name, &TaskStatus::InProgress);
    if settings.pending {
        tasks.extend(case.names.owned(name, &TaskStatus::Pending));
    }
    if !tasks.is_empty() {
        return Some((settings.mode, OpenTask::Tasks(tasks)));
    }
    // An approval happens during a turn, and is itself the report.
    if own {
        return None;
    }
    if settings.open_turn && activity.turn {
        return Some((settings.mode, OpenTask::Turn));
    }
    let without = team.tasks.is_empty() && !team.ledger.tasked && settings.without_tasks != Mode::Off;
    (without && activity.has_unreported_work()).then_some((settings.without_tasks, OpenTask::Report))
}

fn reason_for(act: &ShutdownAct<'_>, mode: Mode, name: &str) -> Reason {
    let reason = Reason::of(mode);
    match act {
        ShutdownAct::Ask => reason.then("a shutdown request to ").name(name),
        ShutdownAct::Stop => reason.then("stopping ").name(name),
        ShutdownAct::StopOne(word, _) => {
            reason.then("stopping ").name(word).then(", which may be ").name(name)
        }
        ShutdownAct::Delete => reason.then("deleting the team of ").name(name),
        ShutdownAct::Agree => reason.then("approving your shutdown"),
        ShutdownAct::AgreeOne(_) => {
            reason.then("approving a shutdown that was not requested, perhaps of ").name(name)
        }
    }
}

fn reason(act: &ShutdownAct<'_>, mode: Mode, name: &str, open: &OpenTask<'_>) -> Reason {
    let reason = reason_for(act, mode, name);
    let reason = match open {
        OpenTask::Tasks(tasks) => {
            let still =
                if matches!(act, ShutdownAct::Agree) { " while you still own " } else { ", who still owns " };
            reason.then(still).tasks(tasks).then(".")
        }
        OpenTask::Turn => reason.then(", who is in the middle of a turn."),
        OpenTask::Report => reason.then(", who has sent no report since the last instruction."),
    };
    reason.instead(match (act, open) {
        (ShutdownAct::Agree | ShutdownAct::AgreeOne(_), _) => {
            "Complete the work, or return it (TaskUpdate: status pending, another owner), or answer with approve false and list the remaining work."
        }
        (_, OpenTask::Tasks(_)) => {
            "Wait until it is completed, or agree with the teammate to return or reassign it (TaskUpdate with another status or owner). Then try again."
        }
        (_, OpenTask::Turn) => "Wait for the end of the turn, then try again.",
        (_, OpenTask::Report) => "Ask for a report with SendMessage and wait for it, then try again.",
    })
}
