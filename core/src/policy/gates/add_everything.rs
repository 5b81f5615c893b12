//! A git command that would stage uncommitted changes of other agents without naming them.

use super::{git_calls, history_rewrite};
use crate::config::{Gate, Policy};
use crate::model::event::LEAD;
use crate::policy::git_history::OpenChange;
use crate::policy::{Case, Finding, GitEffect, Reason};

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let mode = policy.add_everything.mode;
    let agent = case.team.ledger.agent(&case.event)?;
    for (name, mut swept) in swept(case, &agent) {
        // At the end, the lead commits the work of teammates that have finished.
        swept.retain(|change| agent != LEAD || case.works(change.by));
        if !swept.is_empty() {
            let reason = Reason::of(mode).then("git ").then(name).then(" would add ");
            let reason =
                history_rewrite::changes(reason, &swept).instead("Add your own files by name instead.");
            let code = "add-of-others-changes";
            return Some(Finding::new(Gate::AddEverything, code, mode.into(), &agent, reason.finish()));
        }
    }
    None
}

/// Whether the result depends on the team's tasks.
pub fn needs_tasks(case: &Case<'_>) -> bool {
    let agent = case.team.ledger.agent(&case.event);
    agent.is_some_and(|agent| agent == LEAD && swept(case, LEAD).iter().any(|(_, swept)| !swept.is_empty()))
}

/// For each command that stages files: its name, and the changes of others among them.
fn swept<'a>(case: &Case<'a>, agent: &str) -> Vec<(&'static str, Vec<OpenChange<'a>>)> {
    let files = &case.team.ledger.files;
    let staged = git_calls(case).iter().flat_map(|call| {
        call.effects.iter().filter_map(move |effect| match effect {
            GitEffect::Stages(paths, which) => {
                let swept = files.affected_changes(&call.root, agent, *which, |path| paths.sweep(path));
                Some((call.name, swept))
            }
            _ => None,
        })
    });
    staged.collect()
}
