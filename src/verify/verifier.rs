//! The order in which it is looked, and what is remembered on the way.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::finding::{Finding, Findings, Kind};
use super::{caches, events, runs};
use crate::archive::{Archive, Objects, Stored};
use crate::error::Result;
use crate::log;

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All of the record.
    All,
    /// One run: its files, what they need, and the log of its time.
    Run(String),
}

/// Looks at a record.
#[derive(Debug)]
pub struct Verifier<'a> {
    /// The archive.
    pub archive: &'a Archive,
    /// The event log's directory.
    pub log: &'a Path,
    /// The directory of what is remembered of sessions.
    pub sessions: &'a Path,
    /// What to look at.
    pub scope: Scope,
}

/// What became of a content; a finding is named by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Whole,
    Missing(Option<usize>),
    Damaged(Option<usize>),
}

/// A hash as bytes: half of its text.
type Hash = [u8; 32];

/// What is remembered on the way.
#[derive(Default)]
pub(super) struct Way {
    pub findings: Findings,
    objects: HashMap<Hash, Found>,
}

/// How often it is looked at a record whose runs come and go.
const LOOKS: u32 = 3;

/// What helps a content that is lost.
const LOST: &str =
    "only these states are lost; if there is an export of the run, `teamkeep import FILE` brings them back";

/// What helps where the runs are not to be had.
const UNLISTED: &str = "bring the directory back; until then no run can be told, and nothing is pruned";

impl Verifier<'_> {
    /// How many bytes there are to look at, about.
    pub fn size(&self) -> u64 {
        let mut bytes = 0;
        if self.scope == Scope::All {
            // What cannot be listed is told when it is looked at.
            let _ = self.archive.objects.each(|stored| {
                bytes += stored.size;
                Ok(())
            });
        }
        let segments = log::list(self.log).unwrap_or_default();
        bytes + segments.iter().map(|segment| segment.size).sum::<u64>()
    }

    /// Looks at everything. `done` is told of bytes as they are read. What is amiss is looked at again where runs came
    /// or went meanwhile: a prune takes a run before its contents.
    ///
    /// # Errors
    /// When a directory of the record cannot be listed.
    pub fn run(&self, done: &mut dyn FnMut(u64)) -> Result<Findings> {
        for _ in 1..LOOKS {
            let before = self.names();
            let findings = self.look(done)?;
            if findings.is_whole() || self.names() == before {
                return Ok(findings);
            }
        }
        self.look(done)
    }

    /// The existing runs of the scope.
    fn names(&self) -> Vec<String> {
        match self.only() {
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
                    let what = format!("the runs cannot be listed: {why}");
                    way.findings.add(Finding::new(Kind::DamagedFile, &path, what, UNLISTED));
                }
                self.archive.run_names()
            }
            Scope::Run(run) => vec![run.clone()],
        };
        for run in &names {
            runs::check(self, run, &mut way, done);
        }
        caches::check(self, &mut way);
        events::check(self, &mut way, done)?;
        Ok(way.findings)
    }

    /// The one run that is looked at.
    pub(super) fn only(&self) -> Option<&str> {
        match &self.scope {
            Scope::All => None,
            Scope::Run(run) => Some(run),
        }
    }
}

impl Way {
    /// Looks at one content.
    fn look(&mut self, objects: &Objects, stored: &Stored) -> Found {
        self.findings.checked.objects += 1;
        self.findings.checked.bytes += stored.size;
        let found = match objects.check(stored) {
            Ok(()) => Found::Whole,
            Err(error) => {
                let what = match error.to_string() {
                    what if what.contains("another hash") => "its content has another hash".to_owned(),
                    what => what,
                };
                let finding = Finding::new(Kind::DamagedObject, &stored.path, what, LOST);
                Found::Damaged(self.findings.add(finding))
            }
        };
        // Of two files with the same content, the plain one is read.
        if let Some(hash) = bytes_of(&stored.hash)
            && (!stored.packed || !self.objects.contains_key(&hash))
        {
            self.objects.insert(hash, found);
        }
        found
    }

    /// Notes that something needs a content, and what if that is lost.
    pub fn need(&mut self, verifier: &Verifier<'_>, hash: &str, place: Place<'_>, done: &mut dyn FnMut(u64)) {
        let Some(key) = bytes_of(hash) else {
            let what = format!("{hash:?} is no hash of an object");
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

    /// Notes the result of checking a content that a run stores as a change of another one.
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

    /// Looks for a content that was not looked at yet.
    fn fetch(
        &mut self,
        verifier: &Verifier<'_>,
        hash: &str,
        key: Hash,
        place: &Place<'_>,
        done: &mut dyn FnMut(u64),
    ) -> Found {
        let objects = &verifier.archive.objects;
        // All of them were listed, but a hook may have written since.
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

/// Where a content is needed.
#[derive(Debug, Clone)]
pub(super) struct Place<'a> {
    pub run: &'a str,
    pub file: &'a PathBuf,
    pub line: Option<u64>,
    /// The path that it was the content of, and since when.
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
