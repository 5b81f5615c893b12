//! One manifest: what changed between two looks at a team's files.

use serde::{Deserialize, Serialize};

use crate::clock;

/// One line of a run's journal. It holds only what changed; a state is the sum of the lines before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[derive(Default)]
pub struct Snapshot {
    /// Version of the format: 1, or 2 where contents are named that `contents.jsonl` has.
    pub v: u8,
    /// The hook call's moment, RFC 3339; never before the line above it.
    pub at: String,
    /// The id of the event whose hook call looked.
    pub event: String,
    /// Files that are new or changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Change>,
    /// Files that were there before and are no longer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Whether the team's directory was there: only in the line in which that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_dir: Option<bool>,
}

/// A file's new state.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// Below the client's directory: `teams/<team>/inboxes/alice.json`.
    pub path: String,
    /// The content's hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Size in bytes.
    pub size: u64,
    /// Whether it was no whole JSON even when read again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub torn: bool,
    /// Why the content was not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

impl Snapshot {
    /// What makes no sense in it.
    pub fn flaw(&self) -> Option<String> {
        if self.v == 0 {
            return Some("it has no version".to_owned());
        }
        if clock::parse(&self.at).is_none() {
            return Some(format!("{:?} is no time", self.at));
        }
        let paths = self.changed.iter().map(|change| &change.path).chain(&self.gone);
        let mut bad = paths.filter(|path| !is_inside(path));
        bad.next().map(|path| format!("{path:?} is no path below the client's directory"))
    }
}

/// Whether a path leads below the directory that it begins in.
fn is_inside(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.contains('\0'))
}
