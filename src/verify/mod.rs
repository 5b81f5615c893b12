//! Checks the store for damage and for changes by others: every content against its hash, every manifest, every event in the
//! logs, and the chains that link them.
//!
//! Changes nothing, and keeps only hashes and ids in memory, regardless of the size of the store.

mod logs;
mod runs;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

pub use logs::{ChainStats, LogHead};
use teamkeep_store::archive::Archive;
use teamkeep_store::chain::ChainPoint;
use teamkeep_store::log::{EventLog, Lines, Logs};
use teamkeep_system::error::Result;
use teamkeep_system::fs;
use teamkeep_system::paths::Paths;

/// The part of the store to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    /// One run.
    Run(String),
}

/// Checks a store.
#[derive(Debug)]
pub struct Verifier<'a> {
    pub archive: &'a Archive,
    pub logs: &'a Logs,
    /// `None` if the files that teamkeep can write again are not checked.
    pub paths: Option<&'a Paths>,
    pub scope: Scope,
    /// Heads of logs that were noted earlier, and must still be in their chains.
    pub against: &'a [LogHead],
}

teamkeep_model::named_enum! {
    /// The kind of damage. The names are stable.
    pub enum DamageKind {
        /// A content that does not match its hash.
        DamagedContent = "damaged-content",
        /// A content that is missing although a manifest names it.
        MissingContent = "missing-content",
        /// A line of a journal or of the log that cannot be read.
        DamagedLine = "damaged-line",
        /// A line of a journal or of the log that ends too early, because its writer was killed. It is a note.
        CutLine = "cut-line",
        /// A file of the store that cannot be read or parsed.
        DamagedFile = "damaged-file",
        /// An event with the same id as another one.
        RepeatedId = "repeated-id",
        /// A line of the log that does not match its hash, or does not continue the one before it.
        AlteredLine = "altered-line",
        /// A line of the log in another place than the one that it was written to, or without one.
        MisplacedLine = "misplaced-line",
        /// Lines of the chain that are missing, also at the end.
        MissingLines = "missing-lines",
        /// A chain without a head, or a line before which it was missing.
        MissingHead = "missing-head",
        /// A head that is not in the chain: the one of the log, or one that was noted earlier.
        HeadMismatch = "head-mismatch",
        /// A head that was noted earlier, of a line or a log that retention or `prune` may have removed.
        RemovedHead = "removed-head",
        /// A journal that is not as events name it.
        AlteredJournal = "altered-journal",
        /// A journal, or its end, that no event names, because its writer was killed. It is a note.
        UnnamedJournal = "unnamed-journal",
        /// Data in a format of a newer teamkeep.
        NewerVersion = "newer-version",
    }
}

impl DamageKind {
    /// Whether the data was changed by others, and can be read nevertheless.
    fn is_alteration(self) -> bool {
        match self {
            DamageKind::AlteredLine
            | DamageKind::MisplacedLine
            | DamageKind::MissingLines
            | DamageKind::MissingHead
            | DamageKind::HeadMismatch
            | DamageKind::RemovedHead
            | DamageKind::AlteredJournal
            // These two are notes.
            | DamageKind::CutLine
            | DamageKind::UnnamedJournal => true,
            DamageKind::DamagedContent
            | DamageKind::MissingContent
            | DamageKind::DamagedLine
            | DamageKind::DamagedFile
            | DamageKind::RepeatedId
            | DamageKind::NewerVersion => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    pub kind: DamageKind,
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
const UPGRADE: &str = "written by a newer teamkeep; upgrade to read it";

impl Damage {
    /// A problem with a file as a whole.
    fn new(kind: DamageKind, path: &Path, what: impl Into<String>, hint: &str) -> Damage {
        let (path, what, hint) = (path.to_owned(), what.into(), hint.to_owned());
        Damage { kind, path, line: None, run: None, what, needed_by: Vec::new(), hint }
    }

    fn of_run(self, run: &str) -> Damage {
        Damage { run: Some(run.to_owned()), ..self }
    }

    fn at(self, line: u64) -> Damage {
        Damage { line: Some(line), ..self }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct VerifyStats {
    pub runs: u64,
    /// The contents that manifests and lists of transcripts name.
    pub contents: u64,
    /// Their size, in bytes.
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
    pub chain: ChainStats,
    pub first: Vec<Damage>,
    pub count: u64,
    /// Lines that killed writers left, which are not damage.
    pub notes: Vec<Damage>,
}

/// Maximum number of findings to keep.
const MAX_KEPT: usize = 1_000;

impl Findings {
    pub fn is_ok(&self) -> bool {
        self.count == 0
    }

    /// Whether everything can be read: others may have changed it.
    pub fn is_readable(&self) -> bool {
        self.count == self.first.len() as u64 && self.first.iter().all(|finding| finding.kind.is_alteration())
    }

    /// Whether nothing but contents is missing.
    pub fn lacks_only_contents(&self) -> bool {
        self.count == self.first.len() as u64
            && self.first.iter().all(|finding| finding.kind == DamageKind::MissingContent)
    }

    /// Adds a finding and returns its index if it was kept.
    fn add(&mut self, finding: Damage) -> Option<usize> {
        if matches!(finding.kind, DamageKind::CutLine | DamageKind::UnnamedJournal) {
            if self.notes.len() < MAX_KEPT {
                self.notes.push(finding);
            }
            return None;
        }
        self.count += 1;
        (self.first.len() < MAX_KEPT).then(|| {
            self.first.push(finding);
            self.first.len() - 1
        })
    }
}

/// Number of attempts while other processes add and remove runs.
const MAX_ATTEMPTS: u32 = 3;

/// The hint for an unreadable directory of runs.
const UNLISTED: &str = "restore the directory; until then no run can be shown or pruned";

impl Verifier<'_> {
    /// Approximate number of bytes to check.
    pub fn size(&self) -> u64 {
        let runs: u64 = match self.scope {
            Scope::All => self.run_names().iter().map(|run| self.archive.run_size(run)).sum(),
            Scope::Run(_) => 0,
        };
        runs + self.logs.segments().iter().map(|segment| segment.size).sum::<u64>()
    }

    /// Checks everything in the scope and calls `done` with the number of bytes read. Repeats checks with findings if
    /// runs were added or removed in the meantime. Fails when a directory of the store cannot be listed.
    pub fn run(&self, done: &mut dyn FnMut(u64)) -> Result<Findings> {
        for _ in 1..MAX_ATTEMPTS {
            let before = self.run_names();
            let findings = self.check(done)?;
            if findings.is_ok() || self.run_names() == before {
                return Ok(findings);
            }
        }
        self.check(done)
    }

    /// The runs in the scope.
    fn run_names(&self) -> Vec<String> {
        match &self.scope {
            Scope::All => self.archive.run_names(),
            Scope::Run(run) => vec![run.clone()],
        }
    }

    fn scoped_logs(&self) -> io::Result<Vec<EventLog>> {
        match &self.scope {
            Scope::All => self.logs.all(),
            Scope::Run(run) => Ok(self.logs.run(run).into_iter().collect()),
        }
    }

    fn check(&self, done: &mut dyn FnMut(u64)) -> Result<Findings> {
        let runs = self.run_names();
        let (findings, named, contents) = (Findings::default(), HashMap::new(), HashMap::new());
        let mut check = Check { verifier: self, findings, named, contents, done };
        if self.scope == Scope::All
            && let Some(why) = self.archive.why_unlisted()
        {
            let what = format!("cannot list the runs: {why}");
            check.add(Damage::new(DamageKind::DamagedFile, &self.archive.runs_dir(), what, UNLISTED));
        }
        // A journal is written before the event that names it, and read after it.
        check.logs();
        runs.iter().for_each(|run| check.run(run));
        check.state_files();
        Ok(check.findings)
    }
}

/// States of a journal, each with the ID of the event that names it.
type NamedStates = BTreeMap<ChainPoint, String>;

/// A check in progress.
struct Check<'a> {
    verifier: &'a Verifier<'a>,
    findings: Findings,
    /// The states that events name, by run and name of the journal.
    named: HashMap<String, BTreeMap<String, NamedStates>>,
    /// The index of the finding about each content of the run that is being checked; `None` if it is intact.
    contents: HashMap<String, Option<usize>>,
    /// Called with the number of bytes read.
    done: &'a mut dyn FnMut(u64),
}

impl Check<'_> {
    fn add(&mut self, finding: Damage) {
        self.findings.add(finding);
    }

    /// Calls `each` for each line of a file with its number, keeping only one in memory.
    fn each_line(
        &mut self,
        path: &Path,
        mut lines: Lines,
        mut each: impl FnMut(&mut Self, u64, Vec<u8>),
    ) -> io::Result<()> {
        while let Some(raw) = lines.next() {
            let raw = raw.map_err(|error| fs::with_path(error, "read", path))?;
            (self.done)(raw.size);
            // A line that is too long is damaged, even if it begins like an event.
            let line = raw.bytes.unwrap_or_else(|| b"too long for a line".to_vec());
            each(self, lines.position.lines, line);
        }
        Ok(())
    }
}
