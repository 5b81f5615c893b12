//! Writes a run as a bundle. The same run always gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Read, Seek, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tar::Header;
use tempfile::{SpooledTempFile, spooled_tempfile};

use super::{EVENTS, OBJECTS, RUN, SNAPSHOTS, TRANSCRIPTS};
use teamkeep_history::timeline::RunCatalog;
use teamkeep_model::event::{Actor, Event, Recorded};
use teamkeep_redact::Redactor;
use teamkeep_store::archive::{
    Archive, Imported, Interval, RunRecord, Snapshot, StoredTranscript, hash as content_hash, worktree_of,
};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::{self, PRIVATE_FILE};

/// A larger transcript is not read from Claude Code's file, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// A larger file is buffered on the disk until its size is known.
const MEMORY_BYTES: usize = 16 << 20;

struct Exporter<'a, W: Write> {
    tar: tar::Builder<GzEncoder<W>>,
    archive: &'a Archive,
    run: &'a str,
    redactor: Option<&'a Redactor>,
    done: &'a mut dyn FnMut(u64),
    /// The hash and the size that each content has in the bundle: redaction changes both. `None` if it cannot be read.
    contents: BTreeMap<String, Option<StoredTranscript>>,
    written: BTreeSet<String>,
    problems: Vec<String>,
}

/// Writes a run. `done` is called with the number of bytes read. Returns why parts of it are missing.
pub fn export<W: Write>(
    catalog: &RunCatalog,
    run: &RunRecord,
    redactor: Option<&Redactor>,
    to: W,
    done: &mut dyn FnMut(u64),
) -> Result<(W, Vec<String>)> {
    let journal = catalog.archive.journal(&run.run);
    // Without name, time and system, which would make bundles of the same data differ.
    let gzip = GzBuilder::new().mtime(0).operating_system(255).write(to, Compression::default());
    let mut exporter = Exporter {
        tar: tar::Builder::new(gzip),
        archive: &catalog.archive,
        run: &run.run,
        redactor,
        done,
        contents: BTreeMap::new(),
        written: BTreeSet::new(),
        problems: journal.damage.into_iter().collect(),
    };
    let mut snapshots = Vec::new();
    for mut snapshot in journal.snapshots {
        if let Some(redactor) = redactor {
            redact_snapshot(redactor, &mut snapshot);
        }
        for change in &mut snapshot.changed {
            let Some(hash) = &change.object else { continue };
            match exporter.add_content(hash)? {
                Some(found) => (change.object, change.size) = (Some(found.object), found.size),
                // A short text could be guessed from its hash.
                None if redactor.is_some() => (change.object, change.size) = (None, 0),
                None => {}
            }
        }
        snapshots.extend(snapshot.line());
    }
    let transcripts = exporter.add_transcripts(run)?;
    let mut events = BufWriter::new(spooled_tempfile(MEMORY_BYTES));
    let errors = catalog.lines_of(run, |line| match redactor {
        Some(redactor) => events.write_all(&redact_event(redactor, &line.recorded)?),
        None => writeln!(events, "{}", line.text.trim_ascii()),
    })?;
    exporter.problems.extend(errors.first.iter().map(ToString::to_string));
    let events = events.into_inner().map_err(io::IntoInnerError::into_error)?;

    if catalog.archive.run(&run.run).is_none() {
        return Err(Error::new(format!("run {} was deleted meanwhile", run.run)));
    }
    let mut record = run.clone();
    if let Some(redactor) = redactor {
        redact_run(redactor, &mut record);
    }
    let (span, former) = (Interval::of(run, &catalog.runs), run.imported.clone().unwrap_or_default());
    let redacted = redactor.map(Redactor::counts).or(former.redacted);
    let imported = Imported { from: span.from, until: span.until, redacted, ..Imported::default() };
    record.imported = Some(imported);
    // It means nothing on another machine.
    (record.config_dir, record.shares_name) = (None, false);

    exporter.append(RUN, io::Cursor::new(serde_json::to_vec(&record).map_err(Error::from_json)?))?;
    exporter.append(SNAPSHOTS, io::Cursor::new(snapshots))?;
    exporter.append(EVENTS, events)?;
    let transcripts = serde_json::to_vec(&transcripts).map_err(Error::from_json)?;
    exporter.append(TRANSCRIPTS, io::Cursor::new(transcripts))?;
    Ok((exporter.tar.into_inner()?.finish()?, exporter.problems))
}

impl<W: Write> Exporter<'_, W> {
    fn append(&mut self, name: &str, mut part: impl Read + Seek) -> io::Result<u64> {
        let size = part.seek(io::SeekFrom::End(0))?;
        part.rewind()?;
        let mut header = Header::new_ustar();
        header.set_mode(PRIVATE_FILE);
        header.set_size(size);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        self.tar.append_data(&mut header, name, part)?;
        (self.done)(size);
        Ok(size)
    }

    fn add_object(&mut self, hash: String, part: impl Read + Seek) -> io::Result<StoredTranscript> {
        let mut part = part;
        let size = match self.written.insert(hash.clone()) {
            true => self.append(&format!("{OBJECTS}/{hash}"), part)?,
            false => part.seek(io::SeekFrom::End(0))?,
        };
        Ok(StoredTranscript { object: hash, size })
    }

    fn add_bytes(&mut self, bytes: Vec<u8>) -> io::Result<StoredTranscript> {
        let bytes = self.redactor.map(|redactor| redact_content(redactor, &bytes)).unwrap_or(bytes);
        self.add_object(content_hash(&bytes), io::Cursor::new(bytes))
    }

    /// Adds a content of the run, and returns what it is in the bundle; `None` if it cannot be read.
    fn add_content(&mut self, hash: &str) -> Result<Option<StoredTranscript>> {
        if let Some(known) = self.contents.get(hash) {
            return Ok(known.clone());
        }
        let added = match self.redactor {
            None => self.copied(hash).map(|part| self.add_object(hash.to_owned(), part)),
            Some(_) => {
                self.archive.content(self.run, hash).map_err(Error::from).map(|bytes| self.add_bytes(bytes))
            }
        };
        let added = match added {
            Ok(added) => Some(added?),
            Err(error) => {
                self.problems.push(format!("{error}; skipped"));
                None
            }
        };
        self.contents.insert(hash.to_owned(), added.clone());
        Ok(added)
    }

    fn copied(&self, hash: &str) -> Result<SpooledTempFile> {
        let (mut reader, mut part) =
            (self.archive.open_content(self.run, hash)?, spooled_tempfile(MEMORY_BYTES));
        io::copy(&mut reader, &mut part)?;
        reader.verify()?;
        Ok(part)
    }

    /// Adds the transcripts, from the archive or from Claude Code's files if those have more.
    fn add_transcripts(&mut self, run: &RunRecord) -> Result<BTreeMap<String, StoredTranscript>> {
        let mut named = BTreeMap::new();
        for (path, stored) in self.archive.longest_transcripts(run) {
            let name = self.redactor.map_or(path.clone(), |redactor| redactor.text(&path).into_owned());
            // The last part of the path identifies the owner; a second one of the same name gets a number.
            let numbered = (2..).map(|number| format!("{number}/{name}"));
            let free = std::iter::once(name.clone()).chain(numbered).find(|name| !named.contains_key(name));
            named.insert(free.unwrap_or(name), (path, stored));
        }
        let mut all = BTreeMap::new();
        for (name, (path, stored)) in named {
            let added = match stored {
                Some(stored) => match (self.add_content(&stored.object)?, self.redactor) {
                    (Some(added), _) => added,
                    (None, None) => stored,
                    (None, Some(_)) => continue,
                },
                None => match fs::read_regular(path.as_ref(), MAX_BYTES) {
                    Ok((bytes, _)) => self.add_bytes(bytes)?,
                    Err(error) => {
                        self.problems.push(format!("{error}; skipped"));
                        continue;
                    }
                },
            };
            all.insert(name, added);
        }
        Ok(all)
    }
}

fn redact_text(redactor: &Redactor, text: &mut String) {
    *text = redactor.text(text).into_owned();
}

fn redact_run(redactor: &Redactor, run: &mut RunRecord) {
    let own = [&mut run.team, &mut run.called, &mut run.lead_session, &mut run.ended_reason];
    let own = own.into_iter().flatten();
    let sessions = run.sessions.iter_mut();
    let sessions = sessions.flat_map(|one| [Some(&mut one.id), one.name.as_mut(), one.transcript.as_mut()]);
    own.chain(sessions.flatten()).for_each(|text| redact_text(redactor, text));
}

fn redact_snapshot(redactor: &Redactor, snapshot: &mut Snapshot) {
    // The work in a worktree is compressed: secrets in it cannot be found.
    snapshot.changed.retain(|change| worktree_of(&change.path).is_none());
    for change in &mut snapshot.changed {
        change.path = redactor.path(&change.path);
        change.skipped.iter_mut().for_each(|text| redact_text(redactor, text));
    }
    snapshot.gone.iter_mut().for_each(|path| *path = redactor.path(path));
}

/// A content of any kind, converted to valid UTF-8.
fn redact_content(redactor: &Redactor, bytes: &[u8]) -> Vec<u8> {
    redactor.content(&String::from_utf8_lossy(bytes)).into_owned().into_bytes()
}

/// One log line with its line break.
fn redact_event(redactor: &Redactor, recorded: &Recorded) -> io::Result<Vec<u8>> {
    let redact = |text: &Option<String>| text.as_ref().map(|text| redactor.text(text).into_owned());
    let actor = Actor {
        name: redact(&recorded.actor.name),
        id: redact(&recorded.actor.id),
        kind: recorded.actor.kind,
    };
    let verdict = recorded.verdict.as_deref().map(|verdict| redact_raw(redactor, verdict)).transpose()?;
    let payload = match recorded.malformed {
        Some(_) => redact_malformed(redactor, &recorded.payload)?,
        None => redact_raw(redactor, &recorded.payload)?,
    };
    let event = Event {
        v: recorded.v,
        at: recorded.at,
        id: &recorded.id,
        event: &recorded.event,
        session: redact(&recorded.session).as_deref(),
        team: redact(&recorded.team).as_deref(),
        actor: &actor,
        run: recorded.run.as_deref(),
        task_list: redact(&recorded.task_list).as_deref(),
        traceparent: recorded.traceparent.as_ref(),
        warning: redact(&recorded.warning).as_deref(),
        malformed: redact(&recorded.malformed).as_deref(),
        verdict: verdict.as_deref(),
        snapshots: None,
        plugin: false,
        payload: &payload,
    }
    .line()?;
    Ok(event)
}

fn redact_raw(redactor: &Redactor, raw: &RawValue) -> io::Result<Box<RawValue>> {
    Ok(RawValue::from_string(redactor.json(raw.get()).into_owned())?)
}

/// A payload that is not JSON is stored as text, or in base64 if it is not text; only the former can be redacted.
fn redact_malformed(redactor: &Redactor, payload: &RawValue) -> io::Result<Box<RawValue>> {
    let value: Value = serde_json::from_str(payload.get()).unwrap_or_default();
    let decoded = value.get("base64").and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok());
    let text = value.get("text").and_then(Value::as_str).map(|text| text.as_bytes().to_vec());
    let Some(bytes) = decoded.or(text) else { return redact_raw(redactor, payload) };
    let text = String::from_utf8(redact_content(redactor, &bytes)).unwrap_or_default();
    Ok(RawValue::from_string(json!({ "text": text }).to_string())?)
}
