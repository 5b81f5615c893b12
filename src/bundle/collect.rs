//! Collects the parts of a run in a fixed order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use super::pack::{Bundle, TempBuffer};
use super::redact_entries as redact;
use super::{EVENTS, Manifest, Part, RUN, SNAPSHOTS, TRANSCRIPTS, object};
use crate::redact::Redactor;
use crate::timeline::RunCatalog;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::{
    Archive, Interval, RunRecord, Snapshot, StoredTranscript, hash as content_hash, worktree_of,
};
use teamkeep_core::sys::fs;

/// A larger transcript is read from Claude Code's file, in bytes.
const MAX_BYTES: u64 = 256 << 20;

struct Collector<'a> {
    archive: &'a Archive,
    run: &'a str,
    redactor: Option<&'a Redactor>,
    done: &'a mut dyn FnMut(u64),
    buffer: TempBuffer,
    collected: BTreeSet<String>,
    problems: Vec<String>,
    missing: BTreeSet<String>,
    /// The name and size of each content in the bundle; redaction changes both.
    renamed: BTreeMap<String, (String, u64)>,
}

/// Collects a run. Data is buffered in `dir`, or in the directory for temporary files; `done` is called with the number of
/// bytes read.
pub fn gather(
    catalog: &RunCatalog,
    run: &RunRecord,
    redactor: Option<&Redactor>,
    dir: Option<&Path>,
    done: &mut dyn FnMut(u64),
) -> Result<Bundle> {
    let mut journal = catalog.archive.journal(&run.run);
    if redactor.is_some() {
        // The work in a worktree is compressed: secrets in it cannot be found.
        for snapshot in &mut journal.snapshots {
            snapshot.changed.retain(|change| worktree_of(&change.path).is_none());
        }
    }
    let mut collector = Collector {
        archive: &catalog.archive,
        run: &run.run,
        redactor,
        done,
        buffer: TempBuffer::new(dir)?,
        collected: BTreeSet::new(),
        problems: journal.damage.iter().cloned().collect(),
        missing: BTreeSet::new(),
        renamed: BTreeMap::new(),
    };
    // Contents come last in the bundle and are collected first, because the journal needs their names.
    let changes = journal.snapshots.iter().flat_map(|snapshot| &snapshot.changed);
    let names: BTreeSet<&String> = changes.filter_map(|change| change.object.as_ref()).collect();
    for name in names {
        collector.add_content(name)?;
    }
    let transcripts = collector.add_transcripts(run)?;
    let Collector { mut buffer, mut problems, missing, renamed, done, .. } = collector;
    let contents = buffer.parts.len();

    let mut record = redactor.map_or_else(|| run.clone(), |redactor| redact::run(redactor, run));
    record.imported = None;
    // It means nothing on another machine.
    (record.config_dir, record.shares_name) = (None, false);
    buffer.add(RUN, |out| write_json(out, &record))?;
    buffer.add(SNAPSHOTS, |out| {
        for snapshot in &journal.snapshots {
            write_json(&mut *out, &bundled(snapshot, redactor, &renamed))?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })?;
    let errors = buffer.add(EVENTS, |out| {
        catalog.lines_of(run, |line| {
            done(line.text.len() as u64 + 1);
            match redactor {
                Some(redactor) => out.write_all(&redact::event(redactor, &line.recorded)?)?,
                None => {
                    out.write_all(line.text.trim_ascii().as_bytes()).and_then(|()| out.write_all(b"\n"))?
                }
            }
            Ok(())
        })
    })?;
    problems.extend(errors.first.iter().map(ToString::to_string));
    buffer.add(TRANSCRIPTS, |out| write_json(out, &transcripts))?;

    let mut offset = 0;
    let offsets = buffer.parts.iter().map(|part| {
        offset += part.size;
        (part.clone(), offset - part.size)
    });
    let mut order: Vec<(Part, u64)> = offsets.collect();
    order[..contents].sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    order.rotate_left(contents);
    let (entries, offsets) = order.into_iter().unzip();

    let span = Interval::of(run, &catalog.runs);
    let redacted = run.imported.as_ref().and_then(|imported| imported.redacted.clone());
    let manifest = Manifest {
        v: 1,
        run: record.run,
        team: record.team,
        started_at: record.started_at,
        from: span.from,
        until: span.until,
        redacted: redactor.map(Redactor::counts).or(redacted),
        missing,
        entries,
    };
    Ok(Bundle { manifest, problems, buffer, offsets })
}

/// A snapshot as a bundle has it: redacted, and each content is an object.
fn bundled(
    snapshot: &Snapshot,
    redactor: Option<&Redactor>,
    renamed: &BTreeMap<String, (String, u64)>,
) -> Snapshot {
    let mut snapshot =
        redactor.map_or_else(|| snapshot.clone(), |redactor| redact::snapshot(redactor, snapshot));
    snapshot.v = 1;
    for change in snapshot.changed.iter_mut().filter(|_| redactor.is_some()) {
        if let Some((hash, size)) = change.object.as_ref().and_then(|hash| renamed.get(hash)) {
            (change.object, change.size) = (Some(hash.clone()), *size);
        }
    }
    snapshot
}

impl Collector<'_> {
    fn add_content(&mut self, hash: &str) -> Result<()> {
        if self.renamed.contains_key(hash) || self.collected.contains(hash) || self.missing.contains(hash) {
            return Ok(());
        }
        let parts = self.buffer.parts.len();
        let (archive, run) = (self.archive, self.run);
        let added = match self.redactor {
            None => self.buffer.add(object(hash), |out| {
                let mut reader = archive.open_content(run, hash)?;
                let size = io::copy(&mut reader, out)?;
                reader.verify()?;
                Ok(size)
            }),
            Some(redactor) => {
                let read = archive.content(run, hash).map_err(Error::from);
                read.and_then(|bytes| self.add_bytes(hash, &redact::content(redactor, &bytes)))
            }
        };
        match added {
            Ok(size) => {
                (self.done)(size);
                if self.redactor.is_none() {
                    self.collected.insert(hash.to_owned());
                }
            }
            Err(error) => {
                self.buffer.truncate(parts)?;
                self.problems.push(format!("{error}; skipped"));
                self.missing.insert(hash.to_owned());
            }
        }
        Ok(())
    }

    /// Adds a content from memory once, and records its name.
    fn add_bytes(&mut self, of: &str, bytes: &[u8]) -> Result<u64> {
        let hash = content_hash(bytes);
        let size = bytes.len() as u64;
        if self.collected.insert(hash.clone()) {
            self.buffer.add(object(&hash), |out| Ok(out.write_all(bytes)?))?;
        }
        self.renamed.insert(of.to_owned(), (hash, size));
        Ok(size)
    }

    /// Adds the transcripts, from the archive or from Claude Code's files if those have more.
    fn add_transcripts(&mut self, run: &RunRecord) -> Result<BTreeMap<String, StoredTranscript>> {
        let mut all = BTreeMap::new();
        let mut stored = self.archive.kept(&run.run);
        for path in self.archive.transcripts(run) {
            let Some(name) = path.to_str() else { continue };
            let size = path.symlink_metadata().map(|metadata| metadata.len()).unwrap_or_default();
            if stored.get(name).is_some_and(|stored| stored.size >= size) {
                continue;
            }
            let bytes = match fs::read_regular(&path, MAX_BYTES) {
                Ok((bytes, _)) => bytes,
                Err(error) => {
                    self.problems.push(format!("{error}; skipped"));
                    continue;
                }
            };
            stored.remove(name);
            let bytes = self.redactor.map(|redactor| redact::content(redactor, &bytes)).unwrap_or(bytes);
            let object = content_hash(&bytes);
            (self.done)(bytes.len() as u64);
            let size = self.add_bytes(&object, &bytes)?;
            all.insert(self.transcript_name(name, &all), StoredTranscript { object, size });
        }
        for (name, StoredTranscript { object, size }) in stored {
            self.add_content(&object)?;
            let (object, size) = self.renamed.get(&object).cloned().unwrap_or((object, size));
            all.insert(self.transcript_name(&name, &all), StoredTranscript { object, size });
        }
        Ok(all)
    }

    /// The name for a transcript's path, whose last part identifies the owner; a second one of the same name gets a
    /// number.
    fn transcript_name(&self, path: &str, taken: &BTreeMap<String, StoredTranscript>) -> String {
        let name = self.redactor.map_or_else(|| path.to_owned(), |redactor| redactor.text(path).into_owned());
        let numbered = (2..).map(|number| format!("{number}/{name}"));
        std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains_key(name)).unwrap_or(name)
    }
}

fn write_json(mut out: impl Write, value: &impl serde::Serialize) -> Result<()> {
    serde_json::to_writer(&mut out, value).map_err(Error::from_json)
}

/// The home directories of the run's users: Claude Code's directory is in one.
pub fn homes(run: &RunRecord) -> Vec<String> {
    let paths = run.sessions.iter().filter_map(|session| session.transcript.as_deref());
    let homes = paths.filter_map(|path| path.split_once("/.claude/").map(|(home, _)| home.to_owned()));
    homes.filter(|home| home.starts_with('/')).collect::<BTreeSet<String>>().into_iter().collect()
}
