//! `manifest.json`: what a bundle holds.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::archive::Objects;
use crate::error::{Error, Result};

/// The version that this program writes and reads.
const VERSION: u64 = 1;

/// The name of the first entry.
pub(super) const MANIFEST: &str = "manifest.json";
/// What a run is.
pub(super) const RUN: &str = "run.json";
/// Its journal.
pub(super) const SNAPSHOTS: &str = "snapshots.jsonl";
/// Its lines of the log.
pub(super) const EVENTS: &str = "events.jsonl";
/// Which transcripts it has.
pub(super) const TRANSCRIPTS: &str = "transcripts.json";
/// Before the hash of a content.
const OBJECTS: &str = "objects/";

/// What a bundle holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the format: 1.
    pub v: u64,
    /// The run's id.
    pub run: String,
    /// Its team.
    pub team: Option<String>,
    /// The first hook call that saw it, RFC 3339.
    pub started_at: String,
    /// Its part of its sessions' transcripts: from when.
    pub from: Option<String>,
    /// And until when.
    pub until: Option<String>,
    /// What was taken out of its texts, by name; `None` where everything is as it was recorded.
    pub redacted: Option<BTreeMap<String, u64>>,
    /// Contents that its journal names and that were lost before.
    #[serde(default)]
    pub missing: BTreeSet<String>,
    /// The other entries, in their order.
    pub entries: Vec<Part>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The BLAKE3 hash of its bytes, in hexadecimal.
    pub hash: String,
}

/// The name of a content's entry.
pub(super) fn object(hash: &str) -> String {
    format!("{OBJECTS}{hash}")
}

/// The hash in the name of a content's entry.
pub(super) fn hash_of(name: &str) -> Option<&str> {
    name.strip_prefix(OBJECTS)
}

impl Manifest {
    /// Reads one, and shows that it can be what it says.
    ///
    /// # Errors
    /// When it is none, a newer program wrote it, or a name in it is none that a bundle has.
    pub fn parse(bytes: &[u8], largest: u64) -> Result<Manifest> {
        let no = |why: &dyn std::fmt::Display| Error::caused("its manifest makes no sense", why);
        let value: Value = serde_json::from_slice(bytes).map_err(|error| no(&error))?;
        match value.get("v").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(newer) if newer > VERSION => {
                return Err(Error::new(format!(
                    "it is of format version {newer}, and this program reads {VERSION}"
                ))
                .hint("a newer teamkeep wrote it, and is needed to read it"));
            }
            _ => return Err(no(&"it has no version")),
        }
        let manifest: Manifest = serde_json::from_value(value).map_err(|error| no(&error))?;
        let is_run = manifest.run.len() == 16 && manifest.run.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_run {
            return Err(no(&format!("{:?} is no id of a run", manifest.run)));
        }
        let mut names = BTreeSet::new();
        let mut size = 0u64;
        for part in &manifest.entries {
            check_name(&part.name)?;
            if !names.insert(part.name.as_str()) {
                return Err(Error::new(format!("it has two entries called {:?}", part.name)));
            }
            if !Objects::is_hash(&part.hash) || hash_of(&part.name).is_some_and(|hash| hash != part.hash) {
                return Err(no(&format!("{:?} is not the hash of {}", part.hash, part.name)));
            }
            size = size.saturating_add(part.size);
        }
        if let Some(lacks) = [RUN, SNAPSHOTS, EVENTS, TRANSCRIPTS].iter().find(|name| !names.contains(**name))
        {
            return Err(Error::new(format!("it has no {lacks}")));
        }
        if let Some(bad) = manifest.missing.iter().find(|hash| !Objects::is_hash(hash)) {
            return Err(no(&format!("{bad:?} is no hash of an object")));
        }
        if size > largest {
            return Err(too_large(size, largest));
        }
        Ok(manifest)
    }
}

/// What is said of more than is wanted.
pub(super) fn too_large(size: u64, largest: u64) -> Error {
    let what = format!("it unpacks to {size} bytes or more, and {largest} are the most that is taken");
    Error::new(what).hint("if you trust where it comes from: --max-size \"16 GiB\"")
}

/// Shows that an entry's name is one that a bundle has. No other ever becomes a path.
pub(super) fn check_name(name: &str) -> Result<()> {
    let known = [RUN, SNAPSHOTS, EVENTS, TRANSCRIPTS].contains(&name);
    if known || hash_of(name).is_some_and(Objects::is_hash) {
        return Ok(());
    }
    let shown: String = name.chars().take(200).collect();
    let why = match () {
        () if name.starts_with('/') => "leads to another place: it is absolute",
        () if name.split(['/', '\\']).any(|part| part == "..") => "leads out of the bundle",
        () => "is none that a bundle has",
    };
    Err(Error::new(format!("the name {shown:?} {why}")))
}
