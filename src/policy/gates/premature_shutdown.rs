//! Stopping a teammate that has not finished.

use super::ending::{Act, act, asked_to_stop, is_to_all};
use super::{PREMATURE_SHUTDOWN, actor, finding};
use crate::config::{Mode, Policy, PrematureShutdown};
use crate::policy::{Began, Case, Decision, Finding, Part, Reason};
use crate::team::Task;

/// Why a member is unfinished.
enum Open<'a> {
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
    let Some((Act::Ask, _)) = act(case) else { return Vec::new() };
    let first = judge(policy, case);
    let is_first = |finding: &Finding| first.as_ref().is_some_and(|first| first.about == finding.about);
    all(policy, case).into_iter().filter(|finding| !is_first(finding)).collect()
}

fn all(policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    let settings = &policy.premature_shutdown;
    let Some((act, whom)) = act(case) else { return absent(case).into_iter().collect() };
    match act {
        Act::StopOne(_, certainly) => {
            return one_of(settings, case, (&act, certainly), &whom).into_iter().collect();
        }
        Act::AgreeOne(named) => {
            let open = named.and_then(|name| Some((name, unfinished(settings, case, &act, name)?)));
            let certain = open.map(|(name, (mode, open))| objection(case, &act, (mode, name), &open));
            return certain.or_else(|| one_of(settings, case, (&act, true), &whom)).into_iter().collect();
        }
        _ => {}
    }
    let is_to_all = matches!(act, Act::Ask) && is_to_all(case);
    let objects = |name| {
        let (mode, open) = unfinished(settings, case, &act, name)?;
        let counted = is_to_all.then(|| format!("* from {}", actor(case)));
        Some(Finding { counted, ..objection(case, &act, (mode, name), &open) })
    };
    let found: Vec<Finding> = whom.iter().copied().filter_map(objects).collect();
    if found.is_empty() { unseen(case, &act, &whom).into_iter().collect() } else { found }
}

/// The warning if a task list is unknown, so that open tasks cannot be checked.
fn unseen(case: &Case<'_>, act: &Act<'_>, whom: &[&str]) -> Option<Finding> {
    let (task, name) = (case.team.missing.first()?, whom.first()?);
    let reason = reason_for(act, Mode::Warn, name)
        .then("; teamkeep cannot check open tasks: task ")
        .name(task)
        .then(" is not in a task list that hooks know.")
        .instead("Check TaskList for open work first.");
    Some(finding(PREMATURE_SHUTDOWN, "task-list-unknown", Mode::Warn, name, reason))
}

/// Whom the event stops, if the gate cannot judge that without this part.
pub fn needs(policy: &Policy, case: &Case<'_>, part: &Part) -> Option<String> {
    if !part.has_roster() && !part.has_tasks() {
        return None;
    }
    let Some((act, whom)) = act(case) else { return asked_to_stop(case).filter(|_| part.has_roster()) };
    if matches!(act, Act::Delete) || (matches!(act, Act::Ask) && is_to_all(case)) {
        return Some(actor(case).to_owned());
    }
    // Without a roster, it is unknown whether the word names a teammate.
    if whom.is_empty() && matches!(act, Act::Stop) && case.names.teammates().is_empty() && part.has_roster() {
        return Some(actor(case).to_owned());
    }
    let settings = &policy.premature_shutdown;
    let counts = |name: &&&str| !is_free(settings, case, &act, name);
    whom.iter().find(counts).map(|name| (*name).to_owned())
}

fn objection(case: &Case<'_>, act: &Act<'_>, (mode, name): (Mode, &str), open: &Open<'_>) -> Finding {
    let code = match (act, open) {
        (Act::Agree | Act::AgreeOne(_), _) => "approval-with-open-work",
        (Act::Ask, Open::Report) => "shutdown-without-report",
        (Act::Ask, _) => "shutdown-of-busy-teammate",
        (Act::Stop | Act::StopOne(..), Open::Report) => "stop-without-report",
        (Act::Stop | Act::StopOne(..), _) => "stop-of-busy-teammate",
        (Act::Delete, Open::Report) => "deletion-without-report",
        (Act::Delete, _) => "deletion-of-busy-team",
    };
    let about = if matches!(act, Act::Delete) { actor(case) } else { name };
    finding(PREMATURE_SHUTDOWN, code, mode, about, reason(act, mode, name, open))
}

/// The finding if one of several members is stopped and it is unknown which: it is blocked only if certainly one of
/// them is stopped and none has finished. A member that has left has finished.
fn one_of(
    settings: &PrematureShutdown,
    case: &Case<'_>,
    (act, certainly): (&Act<'_>, bool),
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
    let is_coming =
        |began: &Began| began.spawns.as_ref().is_some_and(|(name, _)| case.names.is_meant(&word, name));
    if case.team.ledger.begun.values().any(is_coming) {
        return None;
    }
    let reason = Reason::of(Mode::Warn).then("a shutdown request to ").name(&word);
    let has_left = case.team.ledger.left.contains(case.team.ledger.bare(&word));
    let reason = reason.then(if has_left { ", who has left the team." } else { ", who is not in the team." });
    let there = case.names.teammates();
    let reason = match there {
        [] => reason.then(" It has no teammates."),
        _ => reason.then(" Its teammates are ").names(there).then("."),
    };
    Some(finding(PREMATURE_SHUTDOWN, "shutdown-of-absent-teammate", Mode::Warn, &word, reason))
}

/// Whether a teammate may stop whatever it works on.
fn is_free(settings: &PrematureShutdown, case: &Case<'_>, act: &Act<'_>, name: &str) -> bool {
    let own = matches!(act, Act::Agree | Act::AgreeOne(_));
    settings.exempt.iter().any(|exempt| case.names.is_meant(exempt, name))
        || (own && case.team.ledger.of(name).let_go)
}

fn unfinished<'a>(
    settings: &PrematureShutdown,
    case: &Case<'a>,
    act: &Act<'_>,
    name: &str,
) -> Option<(Mode, Open<'a>)> {
    let team = case.team;
    let deeds = team.ledger.of(name);
    let own = matches!(act, Act::Agree | Act::AgreeOne(_));
    if is_free(settings, case, act, name) {
        return None;
    }
    let mut tasks = case.names.owned(name, "in_progress");
    if settings.pending {
        tasks.extend(case.names.owned(name, "pending"));
    }
    if !tasks.is_empty() {
        return Some((settings.mode, Open::Tasks(tasks)));
    }
    // An approval happens during a turn, and is itself the report.
    if own {
        return None;
    }
    if settings.open_turn && deeds.turn {
        return Some((settings.mode, Open::Turn));
    }
    let without = team.tasks.is_empty() && !team.ledger.tasked && settings.without_tasks != Mode::Off;
    (without && deeds.owes_report()).then_some((settings.without_tasks, Open::Report))
}

fn reason_for(act: &Act<'_>, mode: Mode, name: &str) -> Reason {
    let reason = Reason::of(mode);
    match act {
        Act::Ask => reason.then("a shutdown request to ").name(name),
        Act::Stop => reason.then("stopping ").name(name),
        Act::StopOne(word, _) => reason.then("stopping ").name(word).then(", which may be ").name(name),
        Act::Delete => reason.then("deleting the team of ").name(name),
        Act::Agree => reason.then("approving your shutdown"),
        Act::AgreeOne(_) => {
            reason.then("approving a shutdown that was not requested, perhaps of ").name(name)
        }
    }
}

fn reason(act: &Act<'_>, mode: Mode, name: &str, open: &Open<'_>) -> Reason {
    let reason = reason_for(act, mode, name);
    let reason = match open {
        Open::Tasks(tasks) => {
            let still = if matches!(act, Act::Agree) { " while you still own " } else { ", who still owns " };
            reason.then(still).tasks(tasks).then(".")
        }
        Open::Turn => reason.then(", who is in the middle of a turn."),
        Open::Report => reason.then(", who has sent no report since the last instruction."),
    };
    reason.instead(match (act, open) {
        (Act::Agree | Act::AgreeOne(_), _) => {
            "Complete the work, or return it (TaskUpdate: status pending, another owner), or answer with approve false and list the remaining work."
        }
        (_, Open::Tasks(_)) => {
            "Wait until it is completed, or agree with the teammate to return or reassign it (TaskUpdate with another status or owner). Then try again."
        }
        (_, Open::Turn) => "Wait for the end of the turn, then try again.",
        (_, Open::Report) => "Ask for a report with SendMessage and wait for it, then try again.",
    })
}
