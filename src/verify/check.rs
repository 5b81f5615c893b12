//! A check in progress: its findings, and which objects are intact.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use super::finding::{Finding, Findings, Kind};
use teamkeep_core::store::archive::{Archive, ObjectError, ObjectInfo, Objects};
use teamkeep_core::store::log::{Lines, Position, Raw};

/// The part of the store to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    /// One run: its files, the objects that they need, and the log of its time.
    Run(String),
}

/// Checks a store.
#[derive(Debug)]
pub struct Verifier<'a> {
    pub archive: &'a Archive,
    /// The event log's directory.
    pub log: &'a Path,
    /// The directory with the state of sessions.
    pub sessions: &'a Path,
    /// The directory with the state of the gates.
    pub policy: &'a Path,
    pub scope: Scope,
}

/// The result for an object; damage refers to a finding by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Intact,
    Missing(Option<usize>),
    Damaged(Option<usize>),
}

/// A hash as bytes.
type Hash = [u8; 32];

/// The hint for a lost object.
const LOST: &str =
    "only these states are lost; if you have an export of the run, restore them with `teamkeep import FILE`";

/// How long to wait for the end of the last line, which may be being written.
const WRITE_TIME: Duration = Duration::from_millis(100);

pub(super) struct Check<'a> {
    pub verifier: &'a Verifier<'a>,
    pub findings: Findings,
    objects: HashMap<Hash, Found>,
    /// Called with the number of bytes read.
    done: &'a mut dyn FnMut(u64),
}

/// A state that needs an object.
#[derive(Debug, Clone)]
pub(super) struct ObjectUse<'a> {
    pub run: &'a str,
    pub file: &'a Path,
    pub line: Option<u64>,
    /// The file's path and the time of the state.
    pub what: String,
}

impl ObjectUse<'_> {
    fn finding(&self, kind: Kind, what: String) -> Finding {
        let finding = Finding::new(kind, self.file, what, LOST).of_run(self.run);
        Finding { line: self.line, ..finding }
    }
}

impl<'a> Check<'a> {
    pub fn new(verifier: &'a Verifier<'a>, done: &'a mut dyn FnMut(u64)) -> Check<'a> {
        Check { verifier, findings: Findings::default(), objects: HashMap::new(), done }
    }

    /// The run to check, if the scope is a single run.
    pub fn single_run(&self) -> Option<&'a str> {
        match &self.verifier.scope {
            Scope::All => None,
            Scope::Run(run) => Some(run),
        }
    }

    /// Adds a finding and returns its index if it was kept.
    pub fn add(&mut self, finding: Finding) -> Option<usize> {
        self.findings.add(finding)
    }

    /// Checks one file of an object.
    pub fn object(&mut self, stored: &ObjectInfo) {
        self.check_file(stored);
    }

    fn check_file(&mut self, stored: &ObjectInfo) -> Found {
        (self.done)(stored.size);
        self.findings.checked.objects += 1;
        self.findings.checked.bytes += stored.size;
        let found = match self.verifier.archive.objects.check(stored) {
            Ok(()) => Found::Intact,
            Err(error) => {
                let what = match error {
                    ObjectError::OtherHash(_) => "its content has another hash".to_owned(),
                    ObjectError::Io(error) => error.to_string(),
                };
                Found::Damaged(self.add(Finding::new(Kind::DamagedObject, &stored.path, what, LOST)))
            }
        };
        // If a content is stored in two files, the uncompressed one is read.
        if let Some(hash) = bytes_of(&stored.hash)
            && (!stored.packed || !self.objects.contains_key(&hash))
        {
            self.objects.insert(hash, found);
        }
        found
    }

    /// Notes that a state needs an object, and records a finding if the object is lost.
    pub fn require_object(&mut self, hash: &str, of: &ObjectUse<'_>) {
        let Some(key) = bytes_of(hash) else {
            self.add(of.finding(Kind::DamagedLine, format!("{hash:?} is not a valid object hash")));
            return;
        };
        let known = self.objects.get(&key).copied();
        let found = known.unwrap_or_else(|| self.find_object(hash, of));
        self.objects.insert(key, found);
        if let Found::Missing(Some(at)) | Found::Damaged(Some(at)) = found
            && let Some(finding) = self.findings.first.get_mut(at)
        {
            finding.add_use(format!("{} {}", of.run, of.what));
            finding.run.get_or_insert_with(|| of.run.to_owned());
        }
    }

    /// Checks an object that was not checked yet.
    fn find_object(&mut self, hash: &str, of: &ObjectUse<'_>) -> Found {
        let objects = &self.verifier.archive.objects;
        // A hook call may have written it after the list was read.
        let mut found = None;
        for stored in objects.stored(hash) {
            let state = self.check_file(&stored);
            found.get_or_insert(state);
        }
        if let Some(found) = found {
            return found;
        }
        let Some(checked) = objects.check_packed(hash) else {
            let what = format!("object {hash} is missing");
            return Found::Missing(self.add(of.finding(Kind::MissingObject, what)));
        };
        self.findings.checked.objects += 1;
        match checked {
            Ok(size) => {
                self.findings.checked.bytes += size;
                Found::Intact
            }
            Err(error) => {
                let what = format!("object {hash} is damaged: {error}");
                Found::Damaged(self.add(of.finding(Kind::DamagedObject, what)))
            }
        }
    }

    /// Calls `each` for each line of a file with its number, keeping only one in memory. Returns why reading stopped, if
    /// it failed.
    pub fn each_line(
        &mut self,
        path: &Path,
        mut each: impl FnMut(&mut Self, u64, Vec<u8>),
    ) -> Option<String> {
        if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Some(format!("{} is not a regular file", path.display()));
        }
        let is_packed = path.extension().is_some_and(|kind| kind == "gz");
        let opened =
            if is_packed { Lines::open_packed(path) } else { Lines::open(path, Position::default()) };
        let mut lines = match opened {
            Ok(lines) => lines,
            // Pruned after it was listed.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => return Some(error.to_string()),
        };
        loop {
            let before = lines.position;
            let mut raw = match lines.next() {
                None => return None,
                Some(Ok(raw)) => raw,
                Some(Err(error)) => return Some(format!("cannot read {}: {error}", path.display())),
            };
            if !raw.whole && !is_packed {
                std::thread::sleep(WRITE_TIME);
                raw = read_again(path, before).unwrap_or(raw);
            }
            (self.done)(lines.position.offset - before.offset);
            // A line that is too long is damaged, even if it begins like an event.
            let line = raw.bytes.unwrap_or_else(|| b"too long for a line".to_vec());
            each(self, before.lines + 1, line);
        }
    }
}

fn read_again(path: &Path, from: Position) -> Option<Raw> {
    Lines::open(path, from).ok()?.next()?.ok()
}

fn bytes_of(hash: &str) -> Option<Hash> {
    // Upper-case digits are valid for blake3, but not in the store.
    Objects::is_hash(hash).then(|| blake3::Hash::from_hex(hash).ok().map(Into::into)).flatten()
}
