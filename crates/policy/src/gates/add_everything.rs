//! A git command that would stage or commit uncommitted changes of other agents without naming them.

use super::{git_losses, history_rewrite};
use crate::{Case, Finding, Lost, Reason};
use teamkeep_config::{Gate, Policy};
use teamkeep_model::event::LEAD;

pub(super) fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let mode = policy.add_everything.mode;
    let agent = case.team.ledger.agent(&case.event)?;
    for loss in git_losses(case) {
        let Lost::Adds(paths) = &loss.what else { continue };
        // At the end, the lead commits the work of teammates that have finished.
        let is_finished = |path: &&String| {
            let editors = case.team.ledger.files.editors(std::slice::from_ref(*path), &agent);
            agent == LEAD && !editors.iter().any(|name| case.works(name))
        };
        let paths: Vec<String> = paths.iter().filter(|path| !is_finished(path)).cloned().collect();
        let (verb, advice) = match loss.command.starts_with("commit") {
            true => (" would commit ", "Name your own files instead: git commit -- FILE…"),
            false => (" would add ", "Add your own files by name instead."),
        };
        let reason = Reason::default().then("git ").then(loss.command).then(verb);
        if let Some(reason) = history_rewrite::changes(reason, case, &agent, &loss.root, &paths) {
            let (code, reason) = ("add-of-others-changes", reason.instead(advice));
            return Some(Finding::new(Gate::AddEverything, code, mode.into(), &agent, reason));
        }
    }
    None
}
