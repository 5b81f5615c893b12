//! The gates for files that agents share: edit-collision, history-rewrite and add-everything.

use std::collections::BTreeSet;

use crate::ledger::mark;
use crate::{Access, Case, Edit, Finding, GitLoss, Lost, MAX_LISTED, Reason};
use teamkeep_config::{Gate, Mode, Policy};
use teamkeep_model::TaskStatus;
use teamkeep_model::event::LEAD;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_model::words::and_more;

/// Editing a file that changed after the agent last read or wrote it.
pub(super) fn edit_collision(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
    let mode = policy.edit_collision.mode;
    let agent = case.team.ledger.agent(&case.event)?;
    let Conflict { edit, seen_before, by } = conflict(case)?;
    let (mode, code) = match by {
        // An agent that never looked at the file may not know the change, but nothing that it knew is outdated: this counts
        // only while the other agent works.
        Some((name, _)) if !seen_before && !case.works(name) => return None,
        // Claude Code replaces a text only if the file has it once, and reports others itself before the hook (2.1.332). So
        // nothing of the other's is lost, but the agent should know that the rest of the file is not what it read.
        Some(_) if !edit.is_whole => (Mode::Warn, "edit-beside-changes"),
        // A formatter changes files after each edit.
        None if !edit.is_whole => return None,
        Some(_) if !seen_before => (mode, "edit-of-file-in-use"),
        _ => (mode, "edit-of-changed-file"),
    };
    let mut reason = Reason::default().then("editing ").path(&edit.path).then(", which ");
    reason = match by {
        Some((name, at)) => reason.name(name).then(" changed at ").then(&time::moment(at)),
        None => reason.then("a command, a formatter or the user changed"),
    };
    reason = reason.then(if seen_before { ", after this agent last read it." } else { "." });
    if let Some((name, _)) = by {
        let tasks = case.owned(name, &TaskStatus::InProgress);
        if !tasks.is_empty() {
            reason = reason.then(" ").name(name).then(" is working on ").tasks(&tasks).then(".");
        } else if case.works(name) {
            reason = reason.then(" ").name(name).then(" is still working.");
        }
    }
    for (index, line) in edit.lost.iter().enumerate() {
        reason = reason.then(if index == 0 { " Your content does not have: " } else { ", " }).quote(line);
    }
    let advice = match code {
        "edit-beside-changes" => {
            "Your edit is in another place. Read the file again before you rely on the rest of it."
        }
        _ => "Read the file again before you edit it, and keep the changes of others.",
    };
    // Each file has its own count: an agent that read one again is not allowed to overwrite the next.
    let counted = Some(format!("{agent} {}", mark(&edit.path)));
    let reason = reason.instead(advice);
    Some(Finding { counted, ..Finding::new(Gate::EditCollision, code, mode.into(), &agent, reason) })
}

/// A file that is not as the agent knows it.
struct Conflict<'a> {
    edit: &'a Edit,
    /// Whether the agent read or wrote it before.
    seen_before: bool,
    /// The other agent that changed it since, and when; `None` if no Edit or Write of an agent did.
    by: Option<(&'a str, Timestamp)>,
}

fn conflict<'a>(case: &Case<'a>) -> Option<Conflict<'a>> {
    let Some(Access::Edit(edit)) = case.event.access else { return None };
    let (agent, files) = (case.team.ledger.agent(&case.event)?, &case.team.ledger.files);
    let present = edit.present.as_ref()?;
    let used = files.of(&edit.path, &agent);
    let by = files.changed_by(&edit.path, &agent, used.map(|used| used.at));
    let seen = used.and_then(|used| used.seen.as_ref());
    let is_conflict = seen.map_or(by.is_some(), |seen| !seen.is_same(present));
    is_conflict.then_some(Conflict { edit, seen_before: seen.is_some(), by })
}

/// The losses by the git commands that an event is about to run.
fn git_losses<'a>(case: &Case<'a>) -> &'a [GitLoss] {
    match case.event.access {
        Some(Access::Git(git)) => &git.losses,
        _ => &[],
    }
}

/// A git command that would replace commits of other agents, or lose their uncommitted changes, stash entries or worktrees. One
/// finding for each kind of loss. The loop guard counts each kind on its own: blocked resets do not allow a clean.
pub(super) fn history_rewrite(policy: &Policy, case: &Case<'_>) -> Vec<Finding> {
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
fn changes(reason: Reason, case: &Case<'_>, agent: &str, root: &str, paths: &[String]) -> Option<Reason> {
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

/// A git command that would stage or commit uncommitted changes of other agents without naming them.
pub(super) fn add_everything(policy: &Policy, case: &Case<'_>) -> Option<Finding> {
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
        if let Some(reason) = changes(reason, case, &agent, &loss.root, &paths) {
            let (code, reason) = ("add-of-others-changes", reason.instead(advice));
            return Some(Finding::new(Gate::AddEverything, code, mode.into(), &agent, reason));
        }
    }
    None
}
