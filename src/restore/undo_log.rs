//! The records of restores, for undo: `restores/<id>.json` in the store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::list::List;
use crate::clock;
use crate::error::{Error, Result};
use crate::event::SafeName;
use crate::fs::{self, Content, Document, Flaw, JsonFile, Layout};

/// Format version.
const V: u8 = 1;
/// The flaw of a record that no restore of this version wrote.
const OTHER_RECORD: &str = "it is not a restore record of this version and ID";
/// How long to wait for another restore.
const TIMEOUT: Duration = Duration::from_secs(30);

/// One restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoRecord {
    /// Version of the format: 1.
    pub v: u8,
    /// The id for `--undo`.
    pub id: String,
    /// The time, RFC 3339.
    pub at: String,
    /// The run.
    pub run: String,
    /// Claude Code's directory.
    pub client: String,
    /// The list's name.
    pub list: String,
    /// The written files.
    pub tasks: Vec<Written>,
    /// The previous content of `.highwatermark`; `None` if it did not exist.
    pub highwatermark_before: Option<String>,
    /// Its new content.
    pub highwatermark_after: String,
    /// Whether the list's directory was created.
    #[serde(rename = "made_list")]
    pub created_list: bool,
}

impl Document for UndoRecord {
    /// Ten thousand tasks take about 2 MB.
    const MAX_BYTES: u64 = 64 << 20;
    const LAYOUT: Layout = Layout::Line;

    fn check(&self) -> std::result::Result<(), Flaw> {
        // Only names that a restore can write may be removed, whatever the file contains.
        let is_number = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        let sound =
            List::exact_match(&self.list).is_ok() && self.tasks.iter().all(|task| is_number(&task.id));
        if self.v == V && sound { Ok(()) } else { Err(Flaw::Value(OTHER_RECORD.to_owned())) }
    }
}

/// One written file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Its number in the list.
    pub id: String,
    /// Its id in the run.
    pub was: String,
    /// The BLAKE3 hash of its content.
    pub hash: String,
}

/// The records of all restores.
#[derive(Debug)]
pub struct UndoLog {
    dir: PathBuf,
}

impl UndoLog {
    /// The records in this directory, which need not exist.
    pub fn at(dir: PathBuf) -> UndoLog {
        UndoLog { dir }
    }

    /// Locks out other restores.
    ///
    /// # Errors
    /// Another restore does not end.
    pub fn lock(&self) -> Result<fs::Lock> {
        let path = self.dir.join(".lock");
        fs::lock(&path, TIMEOUT)?
            .ok_or_else(|| Error::new(format!("cannot lock {}: another restore is running", path.display())))
    }

    /// All records, oldest first, without unreadable ones.
    pub fn all(&self) -> Vec<UndoRecord> {
        let listing = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = listing.filter_map(|entry| entry.file_name().into_string().ok());
        let ids = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned));
        let mut all: Vec<UndoRecord> = ids.filter_map(|id| self.read(&id).ok().flatten()).collect();
        all.sort_by(|a, b| (&a.at, &a.id).cmp(&(&b.at, &b.id)));
        all
    }

    /// The restore record with this id.
    ///
    /// # Errors
    /// It does not exist or is invalid.
    pub fn find(&self, id: &str) -> Result<UndoRecord> {
        if let Some(record) = self.read(id)? {
            return Ok(record);
        }
        let error = Error::not_found(format!("no restore has the ID {id:?}"));
        let known = self.all();
        if known.is_empty() {
            return Err(error.hint("no restores are recorded"));
        }
        let recent = known.iter().rev().take(5);
        Err(recent.fold(error, |error, one| {
            error.hint(format!("{} restored tasks into {}, {}", one.id, one.list, clock::moment_of(&one.at)))
        }))
    }

    fn read(&self, id: &str) -> Result<Option<UndoRecord>> {
        let Some(file) = self.file(id) else { return Ok(None) };
        let cannot = |flaw| Error::caused(format!("cannot read {}", file.path().display()), flaw);
        match file.read()? {
            Content::Missing => Ok(None),
            Content::Valid(record) if record.id == id => Ok(Some(record)),
            Content::Valid(_) => Err(cannot(Flaw::Value(OTHER_RECORD.to_owned()))),
            Content::Damaged(damage) => Err(cannot(damage.flaw)),
        }
    }

    /// Writes and syncs a record.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write(&self, record: &UndoRecord) -> Result<()> {
        let file = self.file(&record.id).ok_or_else(|| Error::new("a restore has an invalid ID"))?;
        file.write_synced(record)?;
        Ok(())
    }

    /// Deletes a record.
    ///
    /// # Errors
    /// Deleting fails.
    pub fn forget(&self, id: &str) -> Result<()> {
        Ok(self.file(id).map_or(Ok(()), |file| file.remove())?)
    }

    /// An unused id.
    pub fn next(&self, run: &str, at: &str, directory: &Path) -> String {
        let known: Vec<String> = self.all().into_iter().map(|record| record.id).collect();
        let ids =
            (0_u64..).map(|count| hash(format!("{run} {at} {} {count}", directory.display()).as_bytes()));
        let mut ids = ids.map(|id| id[..8].to_owned());
        ids.find(|id| !known.contains(id)).unwrap_or_default()
    }

    fn file(&self, id: &str) -> Option<JsonFile<UndoRecord>> {
        SafeName::new(id).map(|id| JsonFile::at(self.dir.join(format!("{id}.json"))))
    }
}

/// The hash of a content.
pub(super) fn hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}
