//! Install records: the previous content of the settings, and the installed one. Only commands write them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::sys::fs::{self, Document, JsonFile, Layout};

/// Format version.
const V: u32 = 1;

/// One settings file with teamkeep's hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub v: u32,
    /// When it was installed.
    pub at: String,
    /// The settings file.
    pub settings: String,
    /// The hash of the installed content.
    pub after: String,
    /// The hash of the content without teamkeep's hooks, which is kept here; `None` if there was no file.
    pub original: Option<String>,
    /// Whether the file's directory was created.
    pub made_directory: bool,
    /// Whether the directory's own parent was created, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub made_parent: bool,
    /// The program that the hooks run.
    pub command: String,
    /// The version of Claude Code, if it was known.
    pub client: Option<String>,
    /// The hash of the skill that was installed beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    #[serde(default, skip_serializing_if = "AddedVariables::is_empty")]
    pub variables: AddedVariables,
}

/// The variables that `install --enable-teams` added under `env`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedVariables {
    pub names: Vec<String>,
    /// Whether `env` was added with them.
    pub with_env: bool,
}

impl AddedVariables {
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl Document for Record {
    const MAX_BYTES: u64 = 64 * 1024;
    const LAYOUT: Layout = Layout::Line;

    fn check(&self) -> Result<(), String> {
        if self.v == V { Ok(()) } else { Err(format!("unknown version {}", self.v)) }
    }
}

impl Record {
    pub fn new(at: String, settings: &Path, after: &[u8]) -> Record {
        Record {
            v: V,
            at,
            settings: settings.display().to_string(),
            after: hash(after),
            original: None,
            made_directory: false,
            made_parent: false,
            command: String::new(),
            client: None,
            skill: None,
            variables: AddedVariables::default(),
        }
    }

    /// Whether this content is the installed one.
    pub fn has_installed(&self, content: &[u8]) -> bool {
        self.after == hash(content)
    }
}

/// The records of all settings files, in a directory that need not exist.
#[derive(Debug)]
pub struct Records {
    dir: PathBuf,
}

impl Records {
    pub fn at(dir: PathBuf) -> Records {
        Records { dir }
    }

    /// The install record of a settings file. An unreadable record counts as none: the hooks can be removed without it.
    pub fn find(&self, real: &Path) -> Option<Record> {
        read(&self.file(real))
    }

    pub fn all(&self) -> impl Iterator<Item = Record> {
        let all = fs::entries(&self.dir).map(|entry| entry.path());
        all.filter(|path| path.extension().is_some_and(|kind| kind == "json"))
            .filter_map(|path| read(&JsonFile::at(path)))
    }

    /// The file that an install locks.
    pub fn lock_path(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// The file with the install record of a settings file.
    pub fn file(&self, real: &Path) -> JsonFile<Record> {
        JsonFile::at(self.dir.join(format!("{}.json", key(real))))
    }

    /// The file with a saved content of a settings file, by the content's hash.
    pub fn backup(&self, real: &Path, content: &str) -> PathBuf {
        self.dir.join(format!("{}-{}.bak", key(real), short(content)))
    }
}

fn read(file: &JsonFile<Record>) -> Option<Record> {
    file.read().ok()?.valid().ok()?
}

/// The hash of a content of a settings file.
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn key(real: &Path) -> String {
    short(&hash(real.as_os_str().as_encoded_bytes()))
}

/// A short hash for a file name. A value from a record is never used as a path.
fn short(hash: &str) -> String {
    hash.chars().filter(char::is_ascii_hexdigit).take(16).collect()
}
