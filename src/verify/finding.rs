//! Findings: damaged data, its place, and a hint.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// The kind of damage. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An object whose content does not match its hash.
    DamagedObject,
    /// An object that is missing although a manifest names it.
    MissingObject,
    /// A line of a journal or of the log that cannot be read.
    DamagedLine,
    /// A file of the store that cannot be read or parsed.
    DamagedFile,
    /// An event with the same id as another one.
    RepeatedId,
    /// Data in a format of a newer teamkeep.
    NewerVersion,
}

impl Kind {
    pub const ALL: &[Kind] = &[
        Kind::DamagedObject,
        Kind::MissingObject,
        Kind::DamagedLine,
        Kind::DamagedFile,
        Kind::RepeatedId,
        Kind::NewerVersion,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Kind::DamagedObject => "damaged-object",
            Kind::MissingObject => "missing-object",
            Kind::DamagedLine => "damaged-line",
            Kind::DamagedFile => "damaged-file",
            Kind::RepeatedId => "repeated-id",
            Kind::NewerVersion => "newer-version",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub kind: Kind,
    pub path: PathBuf,
    /// The line number, from 1.
    pub line: Option<u64>,
    /// The run, if the data belongs to one.
    pub run: Option<String>,
    pub what: String,
    /// The states that cannot be shown because of it: `<run> <path> <since>`, the first few.
    pub needed_by: Vec<String>,
    pub hint: String,
}

/// The hint for data of a newer teamkeep.
pub(super) const UPGRADE: &str = "written by a newer teamkeep; upgrade to read it";

/// Maximum number of uses to list for a damaged object.
const USES: usize = 5;

impl Finding {
    /// A problem with a file as a whole.
    pub(super) fn new(kind: Kind, path: &Path, what: impl Into<String>, hint: &str) -> Finding {
        let (path, what, hint) = (path.to_owned(), what.into(), hint.to_owned());
        Finding { kind, path, line: None, run: None, what, needed_by: Vec::new(), hint }
    }

    pub(super) fn of_run(mut self, run: &str) -> Finding {
        self.run = Some(run.to_owned());
        self
    }

    pub(super) fn at(mut self, line: u64) -> Finding {
        self.line = Some(line);
        self
    }

    /// Adds a state that needs the damaged object.
    pub(super) fn add_use(&mut self, by: String) {
        if self.needed_by.len() < USES {
            self.needed_by.push(by);
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifyStats {
    pub runs: u64,
    pub objects: u64,
    /// Size of the objects on disk, in bytes.
    pub bytes: u64,
    /// Manifests: lines of journals.
    pub manifests: u64,
    /// Transcripts, and notes about them.
    pub transcripts: u64,
    pub events: u64,
}

#[derive(Debug, Default)]
pub struct Findings {
    pub checked: VerifyStats,
    pub first: Vec<Finding>,
    pub count: u64,
}

/// Maximum number of findings to keep.
const MAX_KEPT: usize = 1_000;

impl Findings {
    pub fn is_ok(&self) -> bool {
        self.count == 0
    }

    /// Adds a finding and returns its index if it was kept.
    pub(super) fn add(&mut self, finding: Finding) -> Option<usize> {
        self.count += 1;
        (self.first.len() < MAX_KEPT).then(|| {
            self.first.push(finding);
            self.first.len() - 1
        })
    }
}
