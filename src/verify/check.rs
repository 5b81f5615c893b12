//! A check in progress: its findings, and which objects are intact.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use super::chain::ChainCheck;
use super::journals::JournalChecks;
use super::{Finding, Findings, Kind, Scope, Verifier};
use teamkeep_core::store::archive::{ObjectError, ObjectInfo, Objects};
use teamkeep_core::store::chain::ChainHash;
use teamkeep_core::store::log::{Lines, Position, Raw};

/// The hint for a lost object.
const LOST: &str =
    "only these states are lost; if you have an export of the run, restore them with `teamkeep import FILE`";

/// How long to wait for the end of the last line, which may be being written.
const WRITE_TIME: Duration = Duration::from_millis(100);

/// Maximum number of uses to list for a damaged object.
const MAX_USES: usize = 5;

pub(super) struct Check<'a> {
    pub verifier: &'a Verifier<'a>,
    pub findings: Findings,
    pub chain: ChainCheck,
    pub journals: JournalChecks,
    /// The hash of each copy of a segment, by segment and run.
    pub copies: HashMap<(String, String), ChainHash>,
    /// The objects that a manifest or a list of transcripts names.
    needed: HashSet<blake3::Hash>,
    /// The index of the finding about each object that was checked; `None` if it is intact.
    objects: HashMap<blake3::Hash, Option<usize>>,
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
        let (findings, journals) = (Findings::default(), JournalChecks::default());
        let (chain, needed) = (ChainCheck::default(), HashSet::new());
        let (copies, objects) = (HashMap::new(), HashMap::new());
        Check { verifier, findings, chain, journals, copies, needed, objects, done }
    }

    /// How many objects no run needs.
    pub fn unneeded_objects(&self) -> u64 {
        self.objects.keys().filter(|hash| !self.needed.contains(hash)).count() as u64
    }

    /// The run to check, if the scope is a single run.
    pub fn single_run(&self) -> Option<&'a str> {
        match &self.verifier.scope {
            Scope::All => None,
            Scope::Run(run) => Some(run),
        }
    }

    /// Checks one file of an object. Returns the index of the finding if it is damaged.
    pub fn object(&mut self, stored: &ObjectInfo) -> Option<usize> {
        (self.done)(stored.size);
        self.findings.checked.objects += 1;
        self.findings.checked.bytes += stored.size;
        let checked = self.verifier.archive.objects.check(stored);
        let found = checked.err().and_then(|error| {
            let what = match error {
                ObjectError::OtherHash(_) => "its content has another hash".to_owned(),
                ObjectError::Io(error) => error.to_string(),
            };
            self.findings.add(Finding::new(Kind::DamagedObject, &stored.path, what, LOST))
        });
        // If a content is stored in two files, the uncompressed one is read.
        if let Some(hash) = parsed(&stored.hash)
            && (!stored.packed || !self.objects.contains_key(&hash))
        {
            self.objects.insert(hash, found);
        }
        found
    }

    /// Notes that a state needs an object, and records a finding if the object is lost.
    pub fn require_object(&mut self, hash: &str, of: &ObjectUse<'_>) {
        let Some(key) = parsed(hash) else {
            let what = format!("{hash:?} is not a valid object hash");
            self.findings.add(of.finding(Kind::DamagedLine, what));
            return;
        };
        self.needed.insert(key);
        let known = self.objects.get(&key).copied();
        let found = known.unwrap_or_else(|| self.find_object(hash, of));
        self.objects.insert(key, found);
        if let Some(finding) = found.and_then(|at| self.findings.first.get_mut(at)) {
            if finding.needed_by.len() < MAX_USES {
                finding.needed_by.push(format!("{} {}", of.run, of.what));
            }
            finding.run.get_or_insert_with(|| of.run.to_owned());
        }
    }

    /// Checks an object that was not checked yet. Returns the index of the finding if it is lost.
    fn find_object(&mut self, hash: &str, of: &ObjectUse<'_>) -> Option<usize> {
        let objects = &self.verifier.archive.objects;
        // A hook call may have written it after the list was read.
        let files: Vec<_> = objects.stored(hash).iter().map(|stored| self.object(stored)).collect();
        if let Some(found) = files.first() {
            return *found;
        }
        let Some(checked) = objects.check_packed(hash) else {
            return self.findings.add(of.finding(Kind::MissingObject, format!("object {hash} is missing")));
        };
        self.findings.checked.objects += 1;
        match checked {
            Ok(size) => {
                self.findings.checked.bytes += size;
                None
            }
            Err(error) => {
                let what = format!("object {hash} is damaged: {error}");
                self.findings.add(of.finding(Kind::DamagedObject, what))
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

fn parsed(hash: &str) -> Option<blake3::Hash> {
    // Upper-case digits are valid for blake3, but not in the store.
    blake3::Hash::from_hex(hash).ok().filter(|_| Objects::is_hash(hash))
}
