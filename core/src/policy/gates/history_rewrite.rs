//! A git command that would replace commits of other agents, or lose their uncommitted changes.

use super::git_calls;
use crate::config::{Gate, Mode, Policy};
use crate::policy::git_history::OpenChange;
use crate::policy::{Case, Finding, GitCall, GitEffect, Reason};
use crate::sys::clock;

pub fn judge(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let mode = policy.history_rewrite.mode;
    let agent = case.team.ledger.agent(&case.event)?;
    let files = &case.team.ledger.files;
    let finding = |code, reason: Reason| {
        Some(Finding::new(Gate::HistoryRewrite, code, mode.into(), &agent, reason.finish()))
    };
    let calls = git_calls(case);
    for (index, call) in calls.iter().enumerate() {
        let is_own =
            |before: &GitCall| before.root == call.root && before.effects.contains(&GitEffect::Commits);
        let commits = files.commits_of_others(&call.root, &agent);
        let reason = || Reason::of(mode).then("git ").then(call.name);
        for effect in &call.effects {
            match (effect, commits.first()) {
                // A commit of the same line is the agent's own.
                (GitEffect::Amends, Some((by, commit, true))) if !calls[..index].iter().any(is_own) => {
                    let reason =
                        reason().then(" would replace the last commit, which ").name(by).then(" made at ");
                    let reason = reason.then(&clock::moment(commit.at)).then(".");
                    return finding("amend-of-others-commit", reason.instead("Make a new commit instead."));
                }
                (GitEffect::Rewrites, Some((_, commit, _))) => {
                    let names: Vec<&str> = commits.iter().map(|(by, _, _)| *by).collect();
                    let reason = reason().then(" can replace or remove commits of ").names(&names);
                    let reason =
                        reason.then(", the last one made at ").then(&clock::moment(commit.at)).then(".");
                    let advice = "Leave the commits as they are and add your own. If they must be replaced, agree with their authors with SendMessage first.";
                    return finding("rewrite-of-others-commits", reason.instead(advice));
                }
                (GitEffect::Discards(paths, which), _) => {
                    let lost = files.lost_changes(&call.root, &agent, (paths, *which));
                    if !lost.is_empty() {
                        let reason = reason().then(" would remove ");
                        return finding("loss-of-others-changes", changes(reason, &lost).instead(match mode {
                            Mode::Block => "Name only your own files, or ask the others with SendMessage to commit first.",
                            _ => "Name only your own files. If you remove changes of others, notify them with SendMessage.",
                        }));
                    }
                }
                _ => {}
            }
        }
    }
    None
}

/// Adds uncommitted changes: whose, and the first few files.
pub(super) fn changes(reason: Reason, changes: &[OpenChange<'_>]) -> Reason {
    const MAX_FILES: usize = 3;
    let mut names: Vec<&str> = changes.iter().map(|change| change.by).collect();
    names.sort_unstable();
    names.dedup();
    let mut paths: Vec<&str> = changes.iter().map(|change| change.path).collect();
    paths.dedup();
    let mut reason = reason.then("uncommitted changes of ").names(&names).then(": ");
    for (index, path) in paths.iter().take(MAX_FILES).enumerate() {
        reason = reason.then(if index > 0 { ", " } else { "" }).path(path);
    }
    match paths.len().saturating_sub(MAX_FILES) {
        0 => reason.then("."),
        more => reason.then(&format!(" and {more} more.")),
    }
}
