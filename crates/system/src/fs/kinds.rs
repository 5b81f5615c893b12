//! How a file is opened, and what a directory lists.

use std::ffi::OsString;

/// How to open a file. Only [`OpenMode::ReadLinked`] follows a link. No mode waits for a pipe. A new file is private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    Read,
    ReadLinked,
    /// Write a file that does not exist.
    Create,
    /// Read and write a file, which is created if missing.
    Lock,
    /// Read and append to a file, which is created if missing.
    Append,
    /// Read and append to a file that does not exist.
    AppendNew,
    /// Write a file that exists.
    Overwrite,
}

/// A name in a directory.
#[derive(Debug)]
pub struct Named {
    pub name: OsString,
    pub kind: EntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Directory,
    /// A link or a special file.
    Other,
    /// Some file systems do not report it.
    Unknown,
}

/// Identifies a file while it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    pub device: u64,
    pub inode: u64,
}
