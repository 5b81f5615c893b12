//! The facts about a tool call that the gates for shared files need. They are collected before the policy judges the call,
//! because gates read no disk and run no git.

use super::file_history::{FileState, GitCall};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// A tool has read or changed a file, which now has this state.
    Used {
        path: String,
        state: Option<FileState>,
        is_change: bool,
    },
    Edit(Edit),
    Git(GitAccess),
}

/// A file that a tool is about to change. Its path is absolute, with all links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    pub path: String,
    /// The file now; `None` if it does not exist.
    pub present: Option<FileState>,
    /// Whether the call replaces the whole file or a cell of a notebook, not only a text in it.
    pub is_whole: bool,
    /// Lines of the file that the new content does not have.
    pub lost: Vec<String>,
}

/// The effects of the git commands in a line of Bash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitAccess {
    /// The losses if it runs, as git shows them.
    pub losses: Vec<GitLoss>,
    /// Whether every part of the line is judged.
    pub is_complete: bool,
    /// Before a call that can make commits: the state of git.
    pub before: Option<GitCall>,
    /// After such a call: its commits and stash entries.
    pub made: Vec<String>,
    /// After a call: the files of agents that git no longer shows as changed, and those that it does.
    pub settled: Vec<String>,
    pub shown: Vec<String>,
}

/// A loss of recorded work by a git command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitLoss {
    /// Its subcommand and the decisive option: `reset --hard`.
    pub command: &'static str,
    /// The root of the working tree.
    pub root: String,
    pub what: Lost,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// Uncommitted changes of these files are lost.
    Changes(Vec<String>),
    /// Uncommitted changes of these files, which are not named, are added or committed.
    Adds(Vec<String>),
    /// These commits are replaced or removed.
    Commits(Vec<String>),
    /// These entries of the stash are removed.
    Stash(Vec<String>),
    /// The working tree is put on another branch, or removed. Other agents used files of it, and it has changes of some.
    Tree { used: Vec<String>, changed: Vec<String> },
}
