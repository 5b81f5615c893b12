//! Restores the work of removed git worktrees as branches of a repository.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use teamkeep_history::timeline::{RunData, project};
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{Archive, worktree_of};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::git::Git;
use teamkeep_system::worktree::Header;

/// Maximum duration of the git commands for all branches.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The first part of the names of the branches.
const PREFIX: &str = "teamkeep";
/// Maximum length of a worktree's name in the name of a branch: a reference is a file.
const MAX_CHARS: usize = 48;
/// Digits of the commit in the name of a branch.
const SHORT: usize = 8;

#[derive(Debug, Serialize)]
pub struct WorktreePlan {
    pub v: u8,
    pub run: String,
    pub team: Option<String>,
    /// The moment; `None` for the last state of each worktree.
    pub at: Option<Timestamp>,
    pub branches: Vec<WorktreeBranch>,
    pub done: bool,
    /// The directory in which the lead worked.
    #[serde(skip)]
    project: Option<String>,
}

/// The branch with the work of one worktree.
#[derive(Debug, Serialize)]
pub struct WorktreeBranch {
    /// The name of the worktree's directory.
    pub name: String,
    /// When the work was recorded.
    pub at: Timestamp,
    pub branch: String,
    pub commit: String,
    /// The commits that the repository must have.
    pub bases: Vec<String>,
    /// Whether the branch was there before, with the work.
    #[serde(skip)]
    pub existed: bool,
    #[serde(skip)]
    object: String,
}

impl WorktreePlan {
    /// Makes a plan for the worktree with this name, or for all.
    ///
    /// # Errors
    /// No worktree has the name; the work cannot be read.
    pub fn of(
        archive: &Archive,
        data: &RunData,
        at: Option<Timestamp>,
        name: Option<&str>,
    ) -> Result<WorktreePlan> {
        let states = at.map_or_else(|| data.journal.last(), |at| data.journal.at(at));
        let work = states
            .into_iter()
            .filter_map(|(path, state)| Some((worktree_of(&path)?.to_string(), state.object?, state.at)));
        let work: Vec<_> = work.collect();
        let mut branches = Vec::new();
        for (worktree, object, at) in
            work.iter().filter(|(worktree, ..)| name.is_none_or(|name| name == worktree))
        {
            let header = Header::parse(&archive.content(&data.run.run, object)?).ok_or_else(|| {
                Error::new(format!("the recorded work of worktree {worktree} is not a valid bundle"))
            })?;
            let short = header.commit.get(..SHORT).unwrap_or_default();
            let branch = format!("{PREFIX}/{}-{short}", in_branch(worktree));
            let Header { commit, bases } = header;
            let (name, object) = (worktree.clone(), object.clone());
            branches.push(WorktreeBranch { name, at: *at, branch, commit, bases, existed: false, object });
        }
        if let Some(name) = name.filter(|_| branches.is_empty()) {
            let known: Vec<&str> = work.iter().map(|(worktree, ..)| worktree.as_str()).collect();
            let error = Error::not_found(format!("no work of a worktree {name} was recorded"));
            return Err(error.suggest("worktree", name, &known));
        }
        let (run, team) = (data.run.run.clone(), data.run.team.clone());
        Ok(WorktreePlan { v: 1, run, team, at, branches, done: false, project: project(data) })
    }

    /// Creates the branches in the repository around a directory. An existing branch is not changed.
    ///
    /// # Errors
    /// There is no repository, or it lacks a commit on which the work is based; git fails.
    pub fn write(&mut self, archive: &Archive, repository: &Path) -> Result<()> {
        if self.branches.is_empty() {
            return Ok(());
        }
        let mut git = Git::new(repository, TIMEOUT);
        let place = self.project.as_ref().map(|project| format!(": {project}")).unwrap_or_default();
        let hint = &format!("run the command in the repository in which the team worked{place}");
        if git.output(&["rev-parse", "--git-dir"]).is_none() {
            return Err(Error::new("the current directory is not in a git repository").hint(hint));
        }
        git.disable_programs()
            .ok_or_else(|| Error::new("cannot read the configuration of the repository"))?;
        let lacks = |commit: &str| git.output(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_none();
        for work in &self.branches {
            if let Some(base) = work.bases.iter().find(|base| lacks(base)) {
                let what = format!("the work of worktree {} is based on commit {base}", work.name);
                return Err(Error::new(format!("{what}, which is not in this repository")).hint(hint));
            }
        }
        for work in &mut self.branches {
            work.existed = work.create(archive, &self.run, &git)? == Creation::Existed;
        }
        self.done = true;
        Ok(())
    }
}

/// The name of a worktree in the name of a branch, which git restricts.
fn in_branch(worktree: &str) -> String {
    let allowed = |char: char| char.is_alphanumeric() || "+-_".contains(char);
    let mut name = String::new();
    for char in worktree.chars().take(MAX_CHARS) {
        let is_dot = char == '.' && !name.is_empty() && !name.ends_with('.');
        name.push(if is_dot || allowed(char) { char } else { '-' });
    }
    name
}

#[derive(Debug, PartialEq, Eq)]
enum Creation {
    Created,
    Existed,
}

impl WorktreeBranch {
    fn create(&self, archive: &Archive, run: &str, git: &Git) -> Result<Creation> {
        let reference = format!("refs/heads/{}", self.branch);
        let exists = |reference: &str| git.output(&["rev-parse", "--verify", "--quiet", reference]).is_some();
        if exists(&reference) {
            let has_work = git.output(&["merge-base", "--is-ancestor", &self.commit, &reference]).is_some();
            return if has_work { Ok(Creation::Existed) } else { Err(self.is_taken(&self.branch)) };
        }
        // A reference is a file: it cannot be in another one.
        if exists(&format!("refs/heads/{PREFIX}")) {
            return Err(self.is_taken(PREFIX));
        }
        let failed = || {
            Error::new(format!("cannot create branch {}: git failed", self.branch)).hint(
                "to get the work as a git bundle, run the command with --files DIR instead of --worktrees",
            )
        };
        let mut file = tempfile::NamedTempFile::new()
            .map_err(|error| Error::caused("cannot create a temporary file", error))?;
        file.write_all(&archive.content(run, &self.object)?)?;
        let path = file.path().to_str().ok_or_else(failed)?;
        git.output(&["bundle", "unbundle", path]).ok_or_else(failed)?;
        git.output(&["update-ref", &reference, &self.commit, ""]).ok_or_else(failed)?;
        Ok(Creation::Created)
    }

    fn is_taken(&self, by: &str) -> Error {
        let why = format!("branch {by} exists and does not have the work");
        Error::new(format!("cannot create branch {}: {why}", self.branch))
            .hint(format!("rename it: git branch -m {by} NAME"))
    }
}
