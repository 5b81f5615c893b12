//! The files that a tool call uses. They are resolved before the policy judges the call, because gates do not read the disk.

/// The use of files by a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    Reads(Place),
    Changes(Place),
}

/// A file, and the git working tree that it is in. Two worktrees of a repository are different places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Its absolute path with all links resolved.
    pub path: String,
    /// Length of the root of the working tree at the start of the path, in bytes; 0 outside of one.
    pub root_len: usize,
}

impl Place {
    /// The path below the root of the working tree.
    pub fn shown(&self) -> &str {
        self.path.get(self.root_len..).unwrap_or(&self.path).trim_start_matches('/')
    }
}
