//! Changes that git does not show any more: the user or a script committed them, the file is gone, or git ignores it. The
//! history of files sees none of this.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use chrono::TimeDelta;

use super::file_log::FileLog;
use crate::policy::{Access, FileHistory, GitCall, GitEffect, Judged, Ledger};
use crate::sys::git::Git;

/// Maximum duration of the git commands in one working tree.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Age of the changes that are looked up: a younger one may not be on the disk yet.
const MIN_AGE: TimeDelta = TimeDelta::seconds(5);

/// The files whose changes by other agents git does not show, of those that the git commands of a tool call concern.
#[derive(Debug, Default)]
pub struct Unchanged {
    paths: Vec<String>,
    /// The last tool call before they were looked up.
    order: u64,
}

impl Unchanged {
    /// Do not hold a lock during this call: it waits for git.
    pub fn find(event: &Judged<'_>, log: &FileLog) -> Unchanged {
        let Some(Access::Git { calls, .. }) = event.access.filter(|_| event.kind.is_before_tool()) else {
            return Unchanged::default();
        };
        let is_about_files =
            |effect: &GitEffect<_>| matches!(effect, GitEffect::Stages(..) | GitEffect::Discards(..));
        let concerned: Vec<&GitCall> =
            calls.iter().filter(|call| call.effects.iter().any(is_about_files)).collect();
        let agent = Ledger::default().agent(event).filter(|_| !concerned.is_empty());
        let Some(agent) = agent else { return Unchanged::default() };
        let files = log.read(event.access);
        let mut unchanged = Unchanged { paths: Vec::new(), order: files.order };
        for root in concerned.iter().map(|call| call.root.as_str()).collect::<BTreeSet<_>>() {
            let open = files.open_files(root, &agent, event.at - MIN_AGE);
            // With `-x`, ignored files are removed, too.
            let cleans = concerned.iter().any(|call| call.root == root && call.name.starts_with("clean"));
            if !open.is_empty()
                && let Some(shown) = shown_files(root, &open, cleans.then_some("--ignored"))
            {
                unchanged
                    .paths
                    .extend(open.into_iter().filter(|path| !shown.contains(*path)).map(str::to_owned));
            }
        }
        unchanged
    }

    /// Counts the changes as committed, for one verdict: git can show the same file again.
    pub fn settle(&self, files: &mut FileHistory) {
        self.paths.iter().for_each(|path| files.settle(path, self.order));
    }
}

/// The files that git shows as changed or untracked, of these. `None` if git fails.
fn shown_files(root: &str, files: &[&str], more: Option<&str>) -> Option<BTreeSet<String>> {
    let mut git = Git::new(Path::new(root), TIMEOUT);
    git.disable_programs()?;
    let status = "--literal-pathspecs status --porcelain=v1 -z --no-renames --untracked-files=all --ignore-submodules=all";
    let args: Vec<&str> = status.split(' ').chain(more).chain(["--"]).chain(files.iter().copied()).collect();
    let shown = String::from_utf8(git.output(&args)?).ok()?;
    // Each entry is two letters, a space and the path from the root.
    let paths = shown.split('\0').filter_map(|entry| entry.get(3..));
    Some(paths.map(|path| format!("{root}/{path}")).collect())
}
