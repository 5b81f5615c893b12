//! Evaluates the gates and rules over one event. The completion check runs commands, so it is judged where they can run
//! (`crates/hook/src/enforcement/mod.rs`).
//!
//! A new gate needs:
//! 1. In `crates/config/src/policy.rs`: a variant of [`Gate`], a field of `Policy` and a section at the same place of the order, and
//!    the answers of the gate's methods (`mode`, [`Gate::event`], `needs_tasks`, `max_blocks`). If its only key is `mode`, its
//!    section is a line of `only_mode!`.
//! 2. Its defaults in `crates/config/src/default.toml`, and `ProjectRule::of` in `crates/config/src/project.rs` for keys other than
//!    `mode` that a project may set.
//! 3. A function in a file here, and a line in [`findings`] and in [`subject_of`]. If it needs the team's files after a tool has run,
//!    it is also named in [`reads_team`], and with a state of its own in that file.
//! 4. If it judges tools that no hook is installed for: `add_gate` in `crates/settings/src/needs.rs`. If `explain` cannot judge it
//!    without the working tree: `src/commands/policy/explain.rs`.
//! 5. Tests in `crates/policy/src/tests`, and a section of `docs/reference/policy.md`. The reference of the configuration and its
//!    schema are generated, and snapshots that list all gates, such as those of `explain`, fail until they have the new one.

pub mod budget;
mod end_of_turn;
mod shared_files;
mod shutdown;
pub mod tasks;
mod team_size;

use super::verdict::can_block_on_failure;
use super::{
    Access, Case, Decision, Finding, JudgedEvent, MAX_TEXT_CHARS, POLICY_FAILED, Reason, Rules, escaped,
};
use teamkeep_config::{Gate, Mode, OnError, Policy};
use teamkeep_model::payload::EventKind;

/// The findings for an event, strictest first, then in the order of the gates and of the file. At an event that cannot
/// be blocked, only the rules that name it are evaluated, and they only warn.
pub fn judge(policy: &Policy, rules: &Rules<'_>, case: &Case<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    if case.event.kind.can_be_blocked() {
        let gates: Vec<Gate> =
            Gate::ALL.into_iter().filter(|gate| judges(*gate, policy, &case.event)).collect();
        gates.iter().for_each(|gate| found.extend(findings(*gate, policy, case)));
        found.extend(unreadable_finding(&gates, policy, case, &found));
    }
    found.extend(rules.judge(policy.on_error, case));
    found.retain(|finding| finding.decision != Decision::Allow);
    found.sort_by_key(|finding| std::cmp::Reverse(finding.decision));
    found
}

/// Whether a gate is on and judges the event. A gate does not check the event again, only which tool it is.
fn judges(gate: Gate, policy: &Policy, event: &JudgedEvent<'_>) -> bool {
    let is_on = gate.mode(policy).is_some_and(|mode| mode != Mode::Off);
    is_on && gate.judges(event.kind, event.payload.tool())
}

/// The findings of a gate for an event that it judges. Completion checks run commands, and rules are evaluated together:
/// neither is done here.
fn findings(gate: Gate, policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    let finding = match gate {
        Gate::PrematureShutdown => return shutdown::premature_shutdown(policy, case),
        Gate::ProtectLead => shutdown::protect_lead(policy, case),
        Gate::IdleWithWork => end_of_turn::idle_with_work(policy, case),
        Gate::UnfinishedDependencies => tasks::unfinished_dependencies(policy, case),
        Gate::ReportBeforeIdle => end_of_turn::report_before_idle(policy, case),
        Gate::TeamSize => team_size::judge(policy, case),
        Gate::LeadStopsEarly => end_of_turn::lead_stops_early(policy, case),
        Gate::EditCollision => shared_files::edit_collision(policy, case),
        Gate::HistoryRewrite => return shared_files::history_rewrite(policy, case),
        Gate::AddEverything => shared_files::add_everything(policy, case),
        Gate::Budget => return budget::judge(policy, case),
        Gate::CompletionCheck | Gate::Rule => None,
    };
    finding.into_iter().collect()
}

/// Whether a hook call reads the team's files for an event: a gate that is on or a rule judges it, and the loop guard counts by
/// the state of the work. It is the most expensive part of a call, and most tool calls do not concern a team.
pub fn reads_team(policy: &Policy, rules: &Rules<'_>, event: &JudgedEvent<'_>) -> bool {
    let uses_files = match event.access {
        Some(Access::Edit(_)) => true,
        Some(Access::Git(git)) => !git.losses.is_empty(),
        Some(Access::Used { .. }) | None => false,
    };
    let needs_files = |gate: Gate| judges(gate, policy, event) && (uses_files || !gate.guards_files());
    let by_gate = match event.kind {
        kind if kind.is_before_tool() => Gate::ALL.into_iter().any(needs_files),
        EventKind::PostToolUse => budget::changes_tasks(policy, event),
        kind => kind.can_be_blocked(),
    };
    by_gate || rules.concern(event)
}

/// The agent that the event is about, if the gate, which judges the event, does it by the team's files.
fn subject_of(gate: Gate, policy: &Policy, case: &Case<'_>) -> Option<String> {
    let actor = || case.actor().to_owned();
    match gate {
        Gate::PrematureShutdown => shutdown::subject(policy, case),
        Gate::IdleWithWork | Gate::ReportBeforeIdle => end_of_turn::blockable_idler(case).map(str::to_owned),
        Gate::UnfinishedDependencies => tasks::update(case).map(|_| actor()),
        Gate::TeamSize => team_size::spawned(case).filter(|_| policy.team_size.most > 0).map(|_| actor()),
        Gate::LeadStopsEarly => end_of_turn::is_lead(case).then(actor),
        Gate::ProtectLead | Gate::CompletionCheck | Gate::Rule => None,
        // They read the team's files only to describe a conflict.
        Gate::EditCollision | Gate::HistoryRewrite | Gate::AddEverything | Gate::Budget => None,
    }
}

/// One finding for all gates that judge the event by the team's files, if one of these cannot be read: not judged. A gate that
/// blocks the event by what can be read still does. The finding is the strictest gate's, and the loop guard counts it like any other.
fn unreadable_finding(
    gates: &[Gate],
    policy: &Policy,
    case: &Case<'_>,
    found: &[Finding],
) -> Option<Finding> {
    let missing = case.team.unreadable.first()?;
    let blocks = |gate: Gate| found.iter().any(|one| one.gate == gate && one.decision == Decision::Block);
    let gates = gates.iter().rev().filter_map(|gate| {
        let mode = gate.mode(policy).filter(|_| !blocks(*gate))?;
        Some((*gate, mode, subject_of(*gate, policy, case)?))
    });
    // Of equally strict gates, the first.
    let (gate, gate_mode, about) = gates.max_by_key(|(_, mode, _)| Decision::from(*mode))?;
    let may_block = policy.on_error == OnError::Block && can_block_on_failure(case.event.kind);
    let mode = if may_block { gate_mode } else { Mode::Warn };
    let reason = Reason::default().then("the policy cannot judge this, because teamkeep cannot read ");
    let reason = match missing.path.as_str() {
        "" => reason.then("the team's files"),
        path => reason.quote(path),
    };
    let reason = reason.then(&format!(" ({}).", escaped(&missing.why, MAX_TEXT_CHARS)));
    let reason = reason.instead(match mode {
        Mode::Block => {
            "on-error = \"block\" blocks the action for it. Report this to the user, who can restore the file."
        }
        _ => "Check TaskList first, and report this to the user.",
    });
    Some(Finding::new(gate, POLICY_FAILED, mode.into(), &about, reason))
}
