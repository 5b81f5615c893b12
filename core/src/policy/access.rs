//! The files that a tool call uses. They are resolved before the policy judges the call, because gates do not read the disk.

use super::git::GitEffect;
use crate::config::pattern::{is_plain, matches};

/// The use of files by a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    Reads(Place),
    Changes(Place),
    Git {
        calls: Vec<GitCall>,
        /// Whether every part of the command line is understood.
        is_complete: bool,
    },
}

/// A file, and the git working tree that it is in. Two worktrees of a repository are different places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Its absolute path with all links resolved.
    pub path: String,
    /// Length of the root of the working tree at the start of the path, in bytes; 0 outside of one.
    pub root_len: usize,
    /// Whether it does not exist.
    pub is_new: bool,
}

/// A git command with an effect, in a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitCall {
    pub root: String,
    /// Its subcommand and the decisive option: `reset --hard`.
    pub name: &'static str,
    pub effects: Vec<GitEffect<Paths>>,
}

/// Absolute paths of files, of directories with everything in them, or globs for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths(pub Vec<String>);

impl Place {
    /// The path below the root of the working tree.
    pub fn shown(&self) -> &str {
        below_root(&self.path, self.root_len)
    }
}

/// The path below the root of its working tree.
pub(super) fn below_root(path: &str, root_len: usize) -> &str {
    path.get(root_len..).unwrap_or(path).trim_start_matches('/')
}

impl Paths {
    /// Whether a file is one of these, or below one.
    pub fn cover(&self, file: &str) -> bool {
        let is_glob_of =
            |path: &str| !is_plain(path) && (matches(path, file) || matches(&format!("{path}/*"), file));
        // As in git, `app/[id]` is that directory, too.
        let covers = |path: &String| is_below(file, path) || file == path || is_glob_of(path);
        self.0.iter().any(covers)
    }

    /// Whether a file is covered although it is not named.
    pub fn sweep(&self, file: &str) -> bool {
        self.cover(file) && !self.0.iter().any(|path| path == file)
    }
}

fn is_below(file: &str, directory: &str) -> bool {
    let rest = file.strip_prefix(directory);
    rest.is_some_and(|rest| rest.starts_with('/') || (directory.ends_with('/') && !rest.is_empty()))
}
