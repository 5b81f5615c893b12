//! Collects the parts of a run in a fixed order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use super::manifest::{EVENTS, Manifest, Part, RUN, SNAPSHOTS, TRANSCRIPTS, object};
use super::redact_entries::RedactingWriter;
use super::temp_buffer::TempBuffer;
use crate::archive::{Archive, RunRecord, StoredTranscript};
use crate::clock;
use crate::error::{Error, Result};
use crate::fs;
use crate::timeline::{Interval, RunCatalog};

/// A run's parts.
#[derive(Debug)]
pub struct Bundle {
    /// The content of the bundle.
    pub manifest: Manifest,
    /// The items that could not be read and are missing.
    pub problems: Vec<String>,
    pub(super) head: TempBuffer,
    pub(super) contents: TempBuffer,
    /// The contents by name: offset and size in their spool.
    pub(super) order: Vec<(Part, u64)>,
}

/// A larger transcript is read from Claude Code's file, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// The collection in progress.
struct BundleBuilder<'a> {
    archive: &'a Archive,
    cleaner: Option<&'a RedactingWriter>,
    done: &'a mut dyn FnMut(u64),
    spool: TempBuffer,
    /// The hashes of the collected contents.
    held: BTreeSet<String>,
    problems: Vec<String>,
    missing: BTreeSet<String>,
    /// The name and size of each content in the bundle; redaction changes both.
    renamed: BTreeMap<String, (String, u64)>,
}

/// Collects a run. Data is spooled in `dir`, or in the directory for temporary files; `done` is called with the number
/// of bytes read.
///
/// # Errors
/// Writing fails, or the log's directory cannot be read.
pub fn gather(
    library: &RunCatalog,
    run: &RunRecord,
    cleaner: Option<&RedactingWriter>,
    dir: Option<&Path>,
    done: &mut dyn FnMut(u64),
) -> Result<Bundle> {
    let journal = library.archive.journal(&run.run);
    let span = Interval::of(run, &library.runs);
    let mut gathering = BundleBuilder {
        archive: &library.archive,
        cleaner,
        done,
        spool: TempBuffer::new(dir)?,
        held: BTreeSet::new(),
        problems: journal.damage.iter().cloned().collect(),
        missing: BTreeSet::new(),
        renamed: BTreeMap::new(),
    };
    // Contents come last in the bundle and are collected first, because the journal needs their names.
    let names: BTreeSet<&String> = journal
        .snapshots
        .iter()
        .flat_map(|snapshot| &snapshot.changed)
        .filter_map(|change| change.object.as_ref())
        .collect();
    for name in names {
        gathering.content(name)?;
    }
    let kept = gathering.transcripts(run)?;

    let clean = cleaner.map(|cleaner| cleaner.run(run));
    let mut record = clean.unwrap_or_else(|| run.clone());
    record.imported = None;
    let mut parts = TempBuffer::new(dir)?;
    parts.add(RUN.to_owned(), |out| json_to(out, &record))?;
    parts.add(SNAPSHOTS.to_owned(), |out| -> Result<()> {
        for snapshot in &journal.snapshots {
            let mut snapshot = gathering.renamed_in(snapshot);
            // A bundle stores each content as an object.
            snapshot.v = 1;
            json_to(&mut *out, &snapshot)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })?;
    let problems = parts.add(EVENTS.to_owned(), |out| {
        library.lines_of(run, |line| {
            (gathering.done)(line.text.len() as u64 + 1);
            let text = line.text.trim_ascii();
            match cleaner {
                Some(cleaner) => out.write_all(&cleaner.event(&line.recorded)?)?,
                None => out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n"))?,
            }
            Ok(())
        })
    })?;
    gathering.problems.extend(problems.first.iter().map(ToString::to_string));
    parts.add(TRANSCRIPTS.to_owned(), |out| json_to(out, &kept))?;
    let order = gathering.order();
    let entries = parts.parts.iter().chain(order.iter().map(|(part, _)| part)).cloned().collect();

    let stamp = |time: Option<clock::Time>| time.map(clock::stamp);
    let redacted = run.imported.as_ref().and_then(|imported| imported.redacted.clone());
    let manifest = Manifest {
        v: 1,
        run: record.run,
        team: record.team,
        started_at: record.started_at,
        from: stamp(span.from),
        until: stamp(span.until),
        redacted: cleaner.map(RedactingWriter::counts).or(redacted),
        missing: gathering.missing,
        entries,
    };
    let (problems, contents) = (gathering.problems, gathering.spool);
    Ok(Bundle { manifest, problems, head: parts, contents, order })
}

impl BundleBuilder<'_> {
    /// Adds a content of the archive under its new name.
    fn content(&mut self, hash: &str) -> Result<()> {
        if self.renamed.contains_key(hash) || self.held.contains(hash) || self.missing.contains(hash) {
            return Ok(());
        }
        let parts = self.spool.parts.len();
        let objects = &self.archive.objects;
        let added = match self.cleaner {
            None => self.spool.add(object(hash), |out| -> Result<u64> {
                let mut reading = objects.open(hash)?;
                let size = io::copy(&mut reading, out)?;
                reading.verify()?;
                Ok(size)
            }),
            Some(cleaner) => objects.get(hash).and_then(|bytes| self.put(hash, &cleaner.content(&bytes))),
        };
        match added {
            Ok(size) => {
                (self.done)(size);
                if self.cleaner.is_none() {
                    self.held.insert(hash.to_owned());
                }
            }
            Err(error) => {
                self.spool.rewind(parts)?;
                self.problems.push(format!("{error}; skipped"));
                self.missing.insert(hash.to_owned());
            }
        }
        Ok(())
    }

    /// Adds a content from memory once, and records its name.
    fn put(&mut self, of: &str, bytes: &[u8]) -> Result<u64> {
        let hash = blake3::hash(bytes).to_hex().to_string();
        let (name, size) = (object(&hash), bytes.len() as u64);
        if self.held.insert(hash.clone()) {
            self.spool.add(name, |out| out.write_all(bytes))?;
        }
        self.renamed.insert(of.to_owned(), (hash, size));
        Ok(size)
    }

    /// Adds the transcripts, from the archive or from Claude Code's files if those have more.
    fn transcripts(&mut self, run: &RunRecord) -> Result<BTreeMap<String, StoredTranscript>> {
        let mut all = BTreeMap::new();
        let mut kept = self.archive.kept(&run.run);
        for path in self.archive.transcripts(run) {
            let Some(name) = path.to_str() else { continue };
            let size = path.symlink_metadata().map(|metadata| metadata.len()).unwrap_or_default();
            if kept.get(name).is_some_and(|kept| kept.size >= size) {
                continue;
            }
            let bytes = match fs::read_regular(&path, MAX_BYTES) {
                Ok((bytes, _)) => bytes,
                Err(error) => {
                    self.problems.push(format!("{error}; skipped"));
                    continue;
                }
            };
            kept.remove(name);
            let clean = self.cleaner.map(|cleaner| cleaner.content(&bytes));
            let bytes = clean.unwrap_or(bytes);
            let hash = blake3::hash(&bytes).to_hex().to_string();
            (self.done)(bytes.len() as u64);
            let size = self.put(&hash, &bytes)?;
            all.insert(self.named(name, &all), StoredTranscript { object: hash, size });
        }
        for (name, file) in kept {
            self.content(&file.object)?;
            let (object, size) =
                self.renamed.get(&file.object).cloned().unwrap_or((file.object.clone(), file.size));
            all.insert(self.named(&name, &all), StoredTranscript { object, size });
        }
        Ok(all)
    }

    /// The name for a transcript's path; a second one of the same name gets a number.
    fn named(&self, path: &str, taken: &BTreeMap<String, StoredTranscript>) -> String {
        let clean = self.cleaner.map_or_else(|| path.to_owned(), |cleaner| cleaner.transcript(path));
        let free = (2..).map(|n| format!("{n}/{clean}"));
        std::iter::once(clean.clone()).chain(free).find(|name| !taken.contains_key(name)).unwrap_or(clean)
    }

    fn renamed_in(&self, snapshot: &crate::archive::Snapshot) -> crate::archive::Snapshot {
        let Some(cleaner) = self.cleaner else { return snapshot.clone() };
        let mut snapshot = cleaner.snapshot(snapshot);
        for change in &mut snapshot.changed {
            if let Some((hash, size)) = change.object.as_ref().and_then(|hash| self.renamed.get(hash)) {
                (change.object, change.size) = (Some(hash.clone()), *size);
            }
        }
        snapshot
    }

    /// The contents by name, with offsets.
    fn order(&self) -> Vec<(Part, u64)> {
        let mut offset = 0;
        let mut order: Vec<(Part, u64)> = Vec::new();
        for part in &self.spool.parts {
            order.push((part.clone(), offset));
            offset += part.size;
        }
        order.sort_by(|one, other| one.0.name.cmp(&other.0.name));
        order
    }
}

fn json_to(mut out: impl Write, value: &impl serde::Serialize) -> Result<()> {
    serde_json::to_writer(&mut out, value).map_err(Error::from_json)
}

/// The home directories of the run's users: Claude Code's directory is in one.
pub fn homes(run: &RunRecord) -> Vec<String> {
    let paths = run.sessions.iter().filter_map(|session| session.transcript.as_deref());
    let homes = paths.filter_map(|path| path.split_once("/.claude/").map(|(home, _)| home.to_owned()));
    homes.filter(|home| home.starts_with('/')).collect::<BTreeSet<String>>().into_iter().collect()
}
