//! A run as a single file for another machine: a compressed tar whose first entry lists the others.
//!
//! Export: [`gather`] → [`Bundle::write`]. Import: [`unpack`] into a staging directory, and `install`
//! into the store only when everything is valid.

mod collect;
mod import;
mod pack;
mod redact_entries;
mod unpack;

pub use collect::{gather, homes};
pub use import::ImportOutcome;
pub use pack::Bundle;
pub use unpack::unpack;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use teamkeep_core::error::{Cause, Error, Result};
use teamkeep_core::store::archive::is_hash;
use teamkeep_core::sys::clock::Timestamp;

const VERSION: u64 = 1;

const MANIFEST: &str = "manifest.json";
const RUN: &str = "run.json";
const SNAPSHOTS: &str = "snapshots.jsonl";
const EVENTS: &str = "events.jsonl";
const TRANSCRIPTS: &str = "transcripts.json";
/// Prefix of a content's hash.
const OBJECTS: &str = "objects/";

/// `manifest.json`: the list of a bundle's content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub v: u64,
    pub run: String,
    pub team: Option<String>,
    /// The first hook call of the run, RFC 3339.
    pub started_at: Timestamp,
    /// Start of its part of its sessions' transcripts.
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// The number of redactions by pattern; `None` without redaction.
    pub redacted: Option<BTreeMap<String, u64>>,
    /// Contents that its journal names and that were already lost.
    #[serde(default)]
    pub missing: BTreeSet<String>,
    pub entries: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub name: String,
    pub size: u64,
    /// BLAKE3, in hexadecimal.
    pub hash: String,
}

/// The entry name of a content.
fn object(hash: &str) -> String {
    format!("{OBJECTS}{hash}")
}

/// The hash in the entry name of a content.
fn hash_of(name: &str) -> Option<&str> {
    name.strip_prefix(OBJECTS)
}

/// The path of a part in a staging directory. Its name was checked.
fn staged_path(dir: &Path, name: &str) -> PathBuf {
    match hash_of(name) {
        Some(hash) => dir.join("objects").join(hash),
        None => dir.join("run").join(name),
    }
}

impl Manifest {
    pub fn parse(bytes: &[u8], max_bytes: u64) -> Result<Manifest> {
        let invalid = |why: Cause| Error::caused("its manifest is invalid", why);
        let value: Value = serde_json::from_slice(bytes).map_err(|error| invalid(error.into()))?;
        match value.get("v").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(newer) if newer > VERSION => {
                return Err(Error::new(format!(
                    "its format version is {newer}, but this program reads up to version {VERSION}"
                ))
                .hint("upgrade teamkeep: a newer version wrote the file"));
            }
            _ => return Err(invalid("it has no version".into())),
        }
        let manifest: Manifest = serde_json::from_value(value).map_err(|error| invalid(error.into()))?;
        let is_run = manifest.run.len() == 16 && manifest.run.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_run {
            return Err(invalid(format!("{:?} is not a valid run ID", manifest.run).into()));
        }
        let mut names = BTreeSet::new();
        let mut size = 0u64;
        for part in &manifest.entries {
            check_name(&part.name)?;
            if !names.insert(part.name.as_str()) {
                return Err(Error::new(format!("it has two entries named {:?}", part.name)));
            }
            if !is_hash(&part.hash) || hash_of(&part.name).is_some_and(|hash| hash != part.hash) {
                return Err(invalid(format!("{:?} is not the hash of {}", part.hash, part.name).into()));
            }
            size = size.saturating_add(part.size);
        }
        if let Some(missing) =
            [RUN, SNAPSHOTS, EVENTS, TRANSCRIPTS].iter().find(|name| !names.contains(**name))
        {
            return Err(Error::new(format!("{missing} is missing")));
        }
        if let Some(bad) = manifest.missing.iter().find(|hash| !is_hash(hash)) {
            return Err(invalid(format!("{bad:?} is not a valid hash").into()));
        }
        if size > max_bytes {
            return Err(too_large(size, max_bytes));
        }
        Ok(manifest)
    }
}

fn too_large(size: u64, max_bytes: u64) -> Error {
    let what = format!("its unpacked size is at least {size} bytes; the maximum is {max_bytes}");
    Error::new(what).hint("if you trust its source: --max-size \"16 GiB\"")
}

/// Checks that an entry's name is one that a bundle has. No other name ever becomes a path.
fn check_name(name: &str) -> Result<()> {
    let known = [RUN, SNAPSHOTS, EVENTS, TRANSCRIPTS].contains(&name);
    if known || hash_of(name).is_some_and(is_hash) {
        return Ok(());
    }
    let shown: String = name.chars().take(200).collect();
    let why = match () {
        () if name.starts_with('/') => "is an absolute path",
        () if name.split(['/', '\\']).any(|part| part == "..") => "points outside of the export",
        () => "is not a valid name in an export",
    };
    Err(Error::new(format!("the name {shown:?} {why}")))
}
