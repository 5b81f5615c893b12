//! What was restored, so that it can be taken back: `restores/<id>.json` in our own store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::list::List;
use crate::error::{Error, Result};
use crate::event::SafeName;
use crate::fs;

/// The version of the format.
const V: u8 = 1;
/// A record of ten thousand tasks has some 2 MB.
const LARGEST: u64 = 64 << 20;
/// How long another restore may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// One restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the format: 1.
    pub v: u8,
    /// What `--undo` calls it.
    pub id: String,
    /// When it was, RFC 3339.
    pub at: String,
    /// The run.
    pub run: String,
    /// The client's directory.
    pub client: String,
    /// The list's name.
    pub list: String,
    /// The files that were written.
    pub tasks: Vec<Written>,
    /// What `.highwatermark` said; `None` when it was not there.
    pub highwatermark_before: Option<String>,
    /// What it was made to say.
    pub highwatermark_after: String,
    /// Whether the list's directory was made for it.
    pub made_list: bool,
}

/// One file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Its number in the list.
    pub id: String,
    /// What the run calls it.
    pub was: String,
    /// The BLAKE3 hash of its content.
    pub hash: String,
}

/// The records of all restores.
#[derive(Debug)]
pub struct Records {
    dir: PathBuf,
}

impl Records {
    /// The records in this directory, which need not exist.
    pub fn at(dir: PathBuf) -> Records {
        Records { dir }
    }

    /// Keeps other restores out while it is held.
    ///
    /// # Errors
    /// When another one does not come to its end.
    pub fn lock(&self) -> Result<fs::Lock> {
        let path = self.dir.join(".lock");
        fs::lock(&path, PATIENCE)?
            .ok_or_else(|| Error::new(format!("cannot lock {}: another restore is running", path.display())))
    }

    /// All of them, the oldest first. One that cannot be read is passed over.
    pub fn all(&self) -> Vec<Record> {
        let listing = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = listing.filter_map(|entry| entry.file_name().into_string().ok());
        let ids = names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned));
        let mut all: Vec<Record> = ids.filter_map(|id| self.read(&id).ok().flatten()).collect();
        all.sort_by(|a, b| (&a.at, &a.id).cmp(&(&b.at, &b.id)));
        all
    }

    /// The record of this id.
    ///
    /// # Errors
    /// When there is none, or it makes no sense.
    pub fn find(&self, id: &str) -> Result<Record> {
        if let Some(record) = self.read(id)? {
            return Ok(record);
        }
        let error = Error::not_found(format!("no restore is called {id:?}"));
        let known = self.all();
        if known.is_empty() {
            return Err(error.hint("nothing that was restored is left to be undone"));
        }
        let recent = known.iter().rev().take(5);
        Err(recent.fold(error, |error, one| {
            error.hint(format!("{} put tasks into {}, {}", one.id, one.list, one.at))
        }))
    }

    fn read(&self, id: &str) -> Result<Option<Record>> {
        let Some(path) = self.path(id) else { return Ok(None) };
        let bytes = match fs::read_regular(&path, LARGEST) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other?.0,
        };
        let failed = || format!("cannot read {}", path.display());
        let record: Record =
            serde_json::from_slice(&bytes).map_err(|error| Error::caused(failed(), error))?;
        // What is not ours to write is not ours to remove, whatever somebody put here.
        let is_number = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        let sound =
            List::exactly(&record.list).is_ok() && record.tasks.iter().all(|task| is_number(&task.id));
        if record.v != V || record.id != id || !sound {
            return Err(Error::caused(failed(), "it is no record of this version and id"));
        }
        Ok(Some(record))
    }

    /// Writes a record; it is on the disk when this returns.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, record: &Record) -> Result<()> {
        let path = self.path(&record.id).ok_or_else(|| Error::new("a restore has no proper id"))?;
        let mut bytes = serde_json::to_vec(record).map_err(Error::from_json)?;
        bytes.push(b'\n');
        Ok(fs::write_atomic(&path, &bytes, true)?)
    }

    /// Forgets a restore.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn forget(&self, id: &str) -> Result<()> {
        let Some(path) = self.path(id) else { return Ok(()) };
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::from(fs::named(error, "remove", &path)))
            }
            _ => Ok(()),
        }
    }

    /// An id that no record has yet.
    pub fn next(&self, run: &str, at: &str, directory: &Path) -> String {
        let known: Vec<String> = self.all().into_iter().map(|record| record.id).collect();
        let ids =
            (0_u64..).map(|count| hash(format!("{run} {at} {} {count}", directory.display()).as_bytes()));
        let mut ids = ids.map(|id| id[..8].to_owned());
        ids.find(|id| !known.contains(id)).unwrap_or_default()
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        SafeName::new(id).map(|id| self.dir.join(format!("{id}.json")))
    }
}

/// The hash of a content.
pub(super) fn hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}
