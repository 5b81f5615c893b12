//! A git command that would replace commits of other agents, or lose their uncommitted changes.

use super::git_calls;
use crate::config::{Gate, Mode, Policy};
use crate::policy::git_history::OpenChange;
use crate::policy::{Case, FileHistory, Finding, GitCall, GitEffect, Paths, Reason};
use crate::sys::clock;

/// One finding for each kind of loss. The loop guard counts each kind on its own: blocked resets do not allow a clean.
pub fn judge(policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    let mode = policy.history_rewrite.mode;
    let Some(agent) = case.team.ledger.agent(&case.event) else { return Vec::new() };
    let files = &case.team.ledger.files;
    let mut found: Vec<Finding> = Vec::new();
    let calls = git_calls(case);
    let effects = calls.iter().enumerate().flat_map(|(index, call)| {
        let is_own =
            |before: &GitCall| before.root == call.root && before.effects.contains(&GitEffect::Commits);
        // A commit of the same line is the agent's own.
        let amends_own = calls[..index].iter().any(is_own);
        let effects = call.effects.iter().map(move |effect| (call, effect));
        effects.filter(move |(_, effect)| !amends_own || **effect != GitEffect::Amends)
    });
    for (call, effect) in effects {
        let Some((code, reason)) = loss(files, &agent, (call, effect), mode) else { continue };
        let files =
            if let GitEffect::Discards(_, files) = effect { format!(" {files:?}") } else { String::new() };
        let counted = Some(format!("{agent} {code}{files}"));
        if found.iter().all(|one| one.counted != counted) {
            let finding = Finding::new(Gate::HistoryRewrite, code, mode.into(), &agent, reason.finish());
            found.push(Finding { counted, ..finding });
        }
    }
    found
}

/// The code and the reason of what an effect would lose.
fn loss(
    files: &FileHistory,
    agent: &str,
    (call, effect): (&GitCall, &GitEffect<Paths>),
    mode: Mode,
) -> Option<(&'static str, Reason)> {
    let commits = files.commits_of_others(&call.root, agent);
    let reason = Reason::of(mode).then("git ").then(call.name);
    match (effect, commits.first()) {
        (GitEffect::Amends, Some((by, commit, true))) => {
            let reason = reason.then(" would replace the last commit, which ").name(by).then(" made at ");
            let reason = reason.then(&clock::moment(commit.at)).then(".");
            Some(("amend-of-others-commit", reason.instead("Make a new commit instead.")))
        }
        (GitEffect::Rewrites, Some((_, commit, _))) => {
            let names: Vec<&str> = commits.iter().map(|(by, _, _)| *by).collect();
            let reason = reason.then(" can replace or remove commits of ").names(&names);
            let reason = reason.then(", the last one made at ").then(&clock::moment(commit.at)).then(".");
            let advice = "Leave the commits as they are and add your own. If they must be replaced, agree with their authors with SendMessage first.";
            Some(("rewrite-of-others-commits", reason.instead(advice)))
        }
        (GitEffect::Discards(paths, which), _) => {
            let lost = files.affected_changes(&call.root, agent, *which, |path| paths.cover(path));
            let reason = (!lost.is_empty()).then(|| changes(reason.then(" would remove "), &lost))?;
            Some(("loss-of-others-changes", reason.instead(match mode {
                Mode::Block => "Name only your own files, or ask the others with SendMessage to commit first.",
                _ => "Name only your own files. If you remove changes of others, notify them with SendMessage.",
            })))
        }
        _ => None,
    }
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
