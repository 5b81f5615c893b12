//! A git command that would replace commits of other agents, or lose their uncommitted changes, stash entries or worktrees.

use std::collections::BTreeSet;

use super::git_losses;
use crate::{Case, Finding, GitLoss, Lost, MAX_LISTED, Reason};
use teamkeep_config::{Gate, Mode, Policy};
use teamkeep_model::words::and_more;

/// One finding for each kind of loss. The loop guard counts each kind on its own: blocked resets do not allow a clean.
pub(super) fn judge(policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
    let mode = policy.history_rewrite.mode;
    let Some(agent) = case.team.ledger.agent(&case.event) else { return Vec::new() };
    let mut found: Vec<Finding> = Vec::new();
    for loss in git_losses(case) {
        let Some((code, reason)) = finding(case, &agent, loss, mode) else { continue };
        if found.iter().all(|one| one.code != code) {
            let counted = Some(format!("{agent} {code}"));
            let finding = Finding::new(Gate::HistoryRewrite, code, mode.into(), &agent, reason);
            found.push(Finding { counted, ..finding });
        }
    }
    found
}

/// The code and the reason of a loss, if it concerns another agent.
fn finding(case: &Case<'_>, agent: &str, loss: &GitLoss, mode: Mode) -> Option<(&'static str, Reason)> {
    let files = &case.team.ledger.files;
    let reason = Reason::default().then("git ").then(loss.command);
    let makers = |made: &[String]| -> Vec<&str> {
        made.iter().filter_map(|one| files.maker(one)).filter(|by| *by != agent).collect()
    };
    Some(match &loss.what {
        Lost::Changes(paths) => {
            let advice = match mode {
                Mode::Block => {
                    "Name only your own files, or ask the others with SendMessage to commit first."
                }
                _ => {
                    "Name only your own files. If you remove changes of others, notify them with SendMessage."
                }
            };
            let reason = changes(reason.then(" would remove "), case, agent, &loss.root, paths)?;
            ("loss-of-others-changes", reason.instead(advice))
        }
        Lost::Commits(commits) => {
            let makers = makers(commits);
            let names: Vec<&str> = makers.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
            let (first, count) = (names.first()?, makers.len());
            match loss.command {
                "commit --amend" => {
                    let reason =
                        reason.then(" would replace the last commit, which ").name(first).then(" made.");
                    ("amend-of-others-commit", reason.instead("Make a new commit instead."))
                }
                _ => {
                    let commits = if count == 1 {
                        " would replace or remove a commit of "
                    } else {
                        " would replace or remove commits of "
                    };
                    let advice = "Leave the commits as they are and add your own. If they must be replaced, agree with their authors with SendMessage first.";
                    (
                        "rewrite-of-others-commits",
                        reason.then(commits).names(&names).then(".").instead(advice),
                    )
                }
            }
        }
        Lost::Stash(entries) => {
            let makers: BTreeSet<&str> = makers(entries).into_iter().collect();
            makers.first()?;
            let names: Vec<&str> = makers.into_iter().collect();
            let reason = reason.then(" would take a stash entry of ").names(&names);
            let advice =
                "All worktrees of a repository share one stash. Name your own entry: see git stash list.";
            ("stash-of-another-agent", reason.then(".").instead(advice))
        }
        Lost::Tree { used, changed } => {
            let mut names = files.users(used, agent);
            names.retain(|name| case.works(name));
            names.extend(files.editors(changed, agent));
            names.first()?;
            let names: Vec<&str> = names.into_iter().collect();
            match loss.command.starts_with("worktree") {
                true => {
                    let reason = reason.then(" would remove the worktree of ").names(&names).then(".");
                    ("removal-of-others-worktree", reason.instead("Ask with SendMessage first, or leave it."))
                }
                false => {
                    let reason =
                        reason.then(" would switch the branch of this working tree, which others use: ");
                    let reason = reason.names(&names).then(".");
                    let advice = "Use another working tree (git worktree add), or stay on this branch.";
                    ("switch-of-shared-tree", reason.instead(advice))
                }
            }
        }
        Lost::Adds(_) => return None,
    })
}

/// Adds uncommitted changes: whose, and the first few files. `None` if they are not another agent's.
pub(super) fn changes(
    reason: Reason,
    case: &Case<'_>,
    agent: &str,
    root: &str,
    paths: &[String],
) -> Option<Reason> {
    let files = &case.team.ledger.files;
    let is_others = |path: &&String| !files.editors(std::slice::from_ref(*path), agent).is_empty();
    let paths: Vec<&String> = paths.iter().filter(is_others).collect();
    let names = files.editors(&paths.iter().map(|path| (*path).clone()).collect::<Vec<_>>(), agent);
    names.first()?;
    let names: Vec<&str> = names.into_iter().collect();
    let mut reason = reason.then("uncommitted changes of ").names(&names).then(": ");
    for (index, path) in paths.iter().take(MAX_LISTED).enumerate() {
        let shown = path.strip_prefix(root).unwrap_or(path).trim_start_matches('/');
        reason = reason.then(if index > 0 { ", " } else { "" }).path(shown);
    }
    Some(reason.then(&and_more(paths.len().saturating_sub(MAX_LISTED))).then("."))
}
