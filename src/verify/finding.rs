//! What is damaged, where, and what to do about it.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// What kind of damage it is. The names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A content that is not the one it is named by.
    DamagedObject,
    /// A content that a manifest names and that is not there.
    MissingObject,
    /// A line of a journal or of the log that cannot be read.
    DamagedLine,
    /// A file of ours that cannot be read or makes no sense.
    DamagedFile,
    /// An event whose id another one has.
    RepeatedId,
    /// Something that a newer program wrote.
    NewerVersion,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Kind] = &[
        Kind::DamagedObject,
        Kind::MissingObject,
        Kind::DamagedLine,
        Kind::DamagedFile,
        Kind::RepeatedId,
        Kind::NewerVersion,
    ];

    /// Its name.
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

/// One thing that is damaged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind it is.
    pub kind: Kind,
    /// The file.
    pub path: PathBuf,
    /// The line in it, from 1.
    pub line: Option<u64>,
    /// The run that it belongs to, where it belongs to one.
    pub run: Option<String>,
    /// What is wrong.
    pub what: String,
    /// What cannot be told for it: `<run> <path> <since>`, the first few.
    pub needed_by: Vec<String>,
    /// What to do.
    pub hint: String,
}

/// How many uses of a damaged content are named.
const USES: usize = 5;

impl Finding {
    /// Something wrong with a file as a whole.
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

    /// Notes what needs it.
    pub(super) fn used(&mut self, by: String) {
        if self.needed_by.len() < USES {
            self.needed_by.push(by);
        }
    }
}

/// How much was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Runs.
    pub runs: u64,
    /// Contents.
    pub objects: u64,
    /// Their bytes on disk.
    pub bytes: u64,
    /// Manifests: lines of journals.
    pub manifests: u64,
    /// Transcripts and notes beside them.
    pub transcripts: u64,
    /// Lines of the log, and of imported runs' events.
    pub events: u64,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Findings {
    /// How much was looked at.
    pub checked: Checked,
    /// The first of what is damaged.
    pub first: Vec<Finding>,
    /// How much is damaged in all.
    pub count: u64,
}

/// How many findings are kept word for word.
const KEPT: usize = 1_000;

impl Findings {
    /// Whether nothing is damaged.
    pub fn is_whole(&self) -> bool {
        self.count == 0
    }

    /// Notes one, and says where it is kept.
    pub(super) fn add(&mut self, finding: Finding) -> Option<usize> {
        self.count += 1;
        (self.first.len() < KEPT).then(|| {
            self.first.push(finding);
            self.first.len() - 1
        })
    }
}
