//! Runs the checks in order and keeps their state.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::finding::{Finding, Findings, Kind};
use super::{derived_files, events, runs};
use crate::archive::{Archive, ObjectError, ObjectInfo, Objects};
use crate::error::Result;
use crate::log;

/// The part of the store to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The whole store.
    All,
    /// One run: its files, the objects that they need, and the log of its time.
    Run(String),
}

/// Checks a store.
#[derive(Debug)]
pub struct Verifier<'a> {
    /// The archive.
    pub archive: &'a Archive,
    /// The event log's directory.
    pub log: &'a Path,
    /// The directory with the state of sessions.
    pub sessions: &'a Path,
    /// The directory with the state of the gates.
    pub policy: &'a Path,
    /// The part to check.
    pub scope: Scope,
}

/// The result for an object; damage refers to a finding by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Whole,
    Missing(Option<usize>),
    Damaged(Option<usize>),
}

/// A hash as bytes.
type Hash = [u8; 32];

/// The state of a check.
#[derive(Default)]
pub(super) struct Way {
    pub findings: Findings,
    objects: HashMap<Hash, Found>,
}

/// Number of attempts while other processes add and remove runs.
const MAX_ATTEMPTS: u32 = 3;

/// The hint for a lost object.
const LOST: &str =
    "only these states are lost; if you have an export of the run, restore them with `teamkeep import FILE`";

/// The hint for an unreadable directory of runs.
const UNLISTED: &str = "restore the directory; until then no run can be shown or pruned";

impl Verifier<'_> {
    /// Approximate number of bytes to check.
    pub fn size(&self) -> u64 {
        let mut bytes = 0;
        if self.scope == Scope::All {
            // Errors are reported later, by the check itself.
            let _ = self.archive.objects.each(|stored| {
                bytes += stored.size;
                Ok(())
            });
        }
        let segments = log::list(self.log).unwrap_or_default();
        bytes + segments.iter().map(|segment| segment.size).sum::<u64>()
    }

    /// Checks everything in the scope and calls `done` with the number of bytes read. Repeats checks with findings if
    /// runs were added or removed in the meantime: prune removes a run before its objects.
    ///
    /// # Errors
    /// When a directory of the store cannot be listed.
    pub fn run(&self, done: &mut dyn FnMut(u64)) -> Result<Findings> {
        for _ in 1..MAX_ATTEMPTS {
            let before = self.names();
            let findings = self.look(done)?;
            if findings.is_ok() || self.names() == before {
                return Ok(findings);
            }
        }
        self.look(done)
    }

    /// The existing runs in the scope.
    fn names(&self) -> Vec<String> {
        match self.restrict_to() {
            None => self.archive.run_names(),
            Some(run) => {
                let dir = self.archive.run_dir(run).filter(|dir| dir.symlink_metadata().is_ok());
                dir.map(|_| run.to_owned()).into_iter().collect()
            }
        }
    }

    fn look(&self, done: &mut dyn FnMut(u64)) -> Result<Findings> {
        let mut way = Way::default();
        let names = match &self.scope {
            Scope::All => {
                self.archive.objects.each(|stored| {
                    done(stored.size);
                    way.look(&self.archive.objects, &stored);
                    Ok(())
                })?;
                if let Some(why) = self.archive.why_unlisted() {
                    let path = self.archive.runs_path();
                    let what = format!("cannot list the runs: {why}");
                    way.findings.add(Finding::new(Kind::DamagedFile, &path, what, UNLISTED));
                }
                self.archive.run_names()
            }
            Scope::Run(run) => vec![run.clone()],
        };
        for run in &names {
            runs::check(self, run, &mut way, done);
        }
        derived_files::check(self, &mut way);
        events::check(self, &mut way, done)?;
        Ok(way.findings)
    }

    /// The run to check, if the scope is a single run.
    pub(super) fn restrict_to(&self) -> Option<&str> {
        match &self.scope {
            Scope::All => None,
            Scope::Run(run) => Some(run),
        }
    }
}

impl Way {
    /// Checks one object.
    fn look(&mut self, objects: &Objects, stored: &ObjectInfo) -> Found {
        self.findings.checked.objects += 1;
        self.findings.checked.bytes += stored.size;
        let found = match objects.check(stored) {
            Ok(()) => Found::Whole,
            Err(error) => {
                let what = match error {
                    ObjectError::OtherHash(_) => "its content has another hash".to_owned(),
                    ObjectError::Io(error) => error.to_string(),
                };
                let finding = Finding::new(Kind::DamagedObject, &stored.path, what, LOST);
                Found::Damaged(self.findings.add(finding))
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
    pub fn require_object(
        &mut self,
        verifier: &Verifier<'_>,
        hash: &str,
        place: Place<'_>,
        done: &mut dyn FnMut(u64),
    ) {
        let Some(key) = bytes_of(hash) else {
            let what = format!("{hash:?} is not a valid object hash");
            let finding = Finding::new(Kind::DamagedLine, place.file, what, LOST).of_run(place.run);
            self.findings.add(Finding { line: place.line, ..finding });
            return;
        };
        let known = self.objects.get(&key).copied();
        let found = known.unwrap_or_else(|| self.fetch(verifier, hash, key, &place, done));
        if let Found::Missing(Some(at)) | Found::Damaged(Some(at)) = found
            && let Some(finding) = self.findings.first.get_mut(at)
        {
            finding.used(format!("{} {}", place.run, place.what));
            finding.run.get_or_insert_with(|| place.run.to_owned());
        }
    }

    /// Records the result of checking an object that a run stores as a delta.
    fn look_packed(&mut self, checked: Result<u64>, hash: &str, place: &Place<'_>) -> Found {
        self.findings.checked.objects += 1;
        match checked {
            Ok(size) => {
                self.findings.checked.bytes += size;
                Found::Whole
            }
            Err(error) => {
                let what = format!("object {hash} is damaged: {error}");
                let finding = Finding::new(Kind::DamagedObject, place.file, what, LOST).of_run(place.run);
                Found::Damaged(self.findings.add(Finding { line: place.line, ..finding }))
            }
        }
    }

    /// Checks an object that was not checked yet.
    fn fetch(
        &mut self,
        verifier: &Verifier<'_>,
        hash: &str,
        key: Hash,
        place: &Place<'_>,
        done: &mut dyn FnMut(u64),
    ) -> Found {
        let objects = &verifier.archive.objects;
        // A hook call may have written it after the list was read.
        let mut found = None;
        for stored in objects.stored(hash) {
            done(stored.size);
            let state = self.look(objects, &stored);
            found.get_or_insert(state);
        }
        let packed = || Some(self.look_packed(objects.check_packed(hash)?, hash, place));
        let found = found.or_else(packed).unwrap_or_else(|| {
            let what = format!("object {hash} is missing");
            let finding = Finding::new(Kind::MissingObject, place.file, what, LOST).of_run(place.run);
            Found::Missing(self.findings.add(Finding { line: place.line, ..finding }))
        });
        self.objects.insert(key, found);
        found
    }
}

/// A state that needs an object.
#[derive(Debug, Clone)]
pub(super) struct Place<'a> {
    pub run: &'a str,
    pub file: &'a PathBuf,
    pub line: Option<u64>,
    /// The file's path and the time of the state.
    pub what: String,
}

fn bytes_of(hash: &str) -> Option<Hash> {
    let mut bytes = Hash::default();
    if !Objects::is_hash(hash) {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(hash.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}
