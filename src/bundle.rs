//! A run as a single file for another machine: a compressed tar with the run's files, in which each content is a file of its own,
//! `objects/<hash>`.
//!
//! The same run always gives the same bytes. Nothing in an imported one is trusted: import unpacks it into a staging directory, verifies
//! it there as a run of a store, and moves it into the store.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tar::{Archive as Tar, EntryType, Header};
use tempfile::{SpooledTempFile, spooled_tempfile};

use crate::verify::{DamageKind, Scope, Verifier};
use teamkeep_config::Config;
use teamkeep_history::timeline::{RunCatalog, is_client_gone};
use teamkeep_history::{Range, Reader};
use teamkeep_model::event::{Actor, Event, Recorded, SafeName};
use teamkeep_model::time::Timestamp;
use teamkeep_redact::Redactor;
use teamkeep_store::archive::{
    Archive, Change, ContentWriter, EndedBy, ExclusiveArchive, Imported, Interval, RunRecord, Snapshot,
    StoredTranscript, hash as content_hash, is_hash, is_run_id, put_transcript, worktree_of,
};
use teamkeep_store::log::{Logs, SegmentName};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs::{self, PRIVATE_FILE};
use teamkeep_system::os;
use teamkeep_system::paths::Paths;

const RUN: &str = "run.json";
const SNAPSHOTS: &str = "snapshots.jsonl";
const EVENTS: &str = "events.jsonl";
const TRANSCRIPTS: &str = "transcripts.json";
const OBJECTS: &str = "objects";

/// A larger transcript is not read from Claude Code's file, in bytes.
const MAX_TRANSCRIPT_BYTES: u64 = 256 << 20;

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
    let mut last = run.started_at;
    let errors = catalog.lines_of(run, |line| {
        last = last.max(line.recorded.at);
        match redactor {
            Some(redactor) => events.write_all(&redact_event(redactor, &line.recorded)?),
            None => writeln!(events, "{}", line.text.trim_ascii()),
        }
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
    if run.ended_at.is_none() && is_client_gone(&catalog.archive, run) {
        // As the next session marks it here. On another machine nothing else shows it.
        (record.ended_at, record.ended_by) = (Some(last), Some(EndedBy::Crashed));
    }
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
                None => match fs::read_regular(path.as_ref(), MAX_TRANSCRIPT_BYTES) {
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

/// The redaction of a run. Ids of runs and events, times and hashes stay, because they hold the data together.
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

const MAX_UNPACKED_BYTES: u64 = 4 << 30;
/// A larger file is not read into memory.
const MAX_IN_MEMORY_BYTES: u64 = 1 << 28;

/// The store to which a run is added.
#[derive(Debug)]
pub struct ImportTarget<'a> {
    pub right: &'a ExclusiveArchive,
    pub paths: &'a Paths,
    pub config: &'a Config,
    pub now: Timestamp,
}

#[derive(Debug)]
pub struct ImportedRun {
    pub run: RunRecord,
    /// Number of events, without verdicts.
    pub events: u64,
    pub verdicts: u64,
    /// Number of contents that the file does not have.
    pub missing: usize,
}

/// Imports a run that unpacks to at most so many bytes. After an error, nothing of it is visible.
pub fn import(from: impl Read, target: &ImportTarget<'_>, max_size: Option<u64>) -> Result<ImportedRun> {
    let staging = target.right.staging()?;
    let paths = Paths { store: staging.dir.clone(), ..target.paths.clone() };
    let (archive, logs) = (Archive::open(paths.store.clone(), target.config), Logs::of(&paths));
    let files = staging.dir.join("files");
    unpack(from, &files, max_size.unwrap_or(MAX_UNPACKED_BYTES))?;
    let run = read_run(&files, target.now)?;
    let (Some(dir), Some(log)) = (archive.run_dir(&run.run), logs.run(&run.run)) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
    };
    if target.right.archive.run_dir(&run.run).is_some_and(|dir| dir.symlink_metadata().is_ok()) {
        return Err(Error::new(format!("run {} already exists", run.run))
            .hint("nothing was changed; to compare the two, import it into another TEAMKEEP_HOME"));
    }
    fs::private_dir(&archive.runs_dir())?;
    os::files::rename(&files, &dir)?;
    os::files::rename(&dir.join(EVENTS), &dir.join(SegmentName::Imported.to_string()))?;
    fs::write_atomic(&dir.join(RUN), &serde_json::to_vec(&run).map_err(Error::from_json)?)?;
    store_contents(&archive, &run.run, &dir)?;
    fs::allow_missing(fs_err::remove_dir_all(dir.join(OBJECTS)))?;

    let scope = Scope::Run(run.run.clone());
    let verifier = Verifier { archive: &archive, logs: &logs, paths: None, scope, against: &[] };
    let findings = verifier.run(&mut |_| ())?;
    if findings.count > findings.first.len() as u64 {
        return Err(Error::new(format!("{} contents or lines are missing or damaged", findings.count)));
    }
    let findings = findings.first;
    if let Some(found) = findings.iter().find(|found| found.kind != DamageKind::MissingContent) {
        let name = found.path.file_name().unwrap_or_default().to_string_lossy();
        let line = found.line.map(|line| format!(":{line}")).unwrap_or_default();
        return Err(Error::caused(format!("{name}{line} is invalid"), found.what.clone()));
    }
    let mut imported = ImportedRun { run, events: 0, verdicts: 0, missing: findings.len() };
    for line in Reader::of(std::slice::from_ref(&log), Range::default()) {
        match line.recorded.verdict {
            Some(_) => imported.verdicts += 1,
            None => imported.events += 1,
        }
        if let Some(other) = line.recorded.run.filter(|other| *other != imported.run.run) {
            return Err(Error::new(format!("an event belongs to run {other:?}")));
        }
    }
    // An error leaves the plain files, which are read as well.
    let _ = (archive.compress(&imported.run), log.compress());
    target.right.publish_run(&dir, &imported.run.run)?;
    Ok(imported)
}

fn unpack(from: impl Read, to: &Path, max_bytes: u64) -> Result<()> {
    let mut tar = Tar::new(GzDecoder::new(BufReader::new(from)).take(max_bytes));
    let unpacked = unpack_entries(&mut tar, to);
    let mut rest = tar.into_inner();
    // The rest must be the end, with the checksum of the whole.
    let unpacked = unpacked.and_then(|()| Ok(io::copy(&mut rest, &mut io::sink()).map(drop)?));
    if rest.limit() == 0 {
        return Err(Error::new(format!("it unpacks to more than {max_bytes} bytes"))
            .hint("nothing was imported; if you trust its source: --max-size \"16 GiB\""));
    }
    unpacked.map_err(|error| {
        error.within("not a complete teamkeep export").hint("to write one: teamkeep export RUN -o FILE")
    })
}

fn unpack_entries(tar: &mut Tar<impl Read>, to: &Path) -> Result<()> {
    let mut missing = BTreeSet::from([RUN, SNAPSHOTS, EVENTS, TRANSCRIPTS]);
    // Raw: a long name or an extension is then an entry of its own, which is rejected and never read into memory.
    for entry in tar.entries()?.raw(true) {
        let mut entry = entry?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        // No other name ever becomes a path.
        let is_object =
            name.strip_prefix(OBJECTS).and_then(|name| name.strip_prefix('/')).is_some_and(is_hash);
        if entry.header().entry_type() != EntryType::Regular || !(missing.remove(&*name) || is_object) {
            return Err(Error::new(format!("{name:?} is not a file that an export has")));
        }
        io::copy(&mut entry, &mut fs::create_private(&to.join(name))?)?;
    }
    missing.first().map_or(Ok(()), |name| Err(Error::new(format!("{name} is missing"))))
}

fn read_run(files: &Path, now: Timestamp) -> Result<RunRecord> {
    let invalid = |why: String| Error::caused(format!("{RUN} is invalid"), why);
    let (bytes, _) = fs::read_regular(&files.join(RUN), MAX_IN_MEMORY_BYTES)?;
    let run: RunRecord = serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
    if !is_run_id(&run.run) {
        return Err(invalid(format!("{:?} is not a valid run ID", run.run)));
    }
    let names = [&run.team, &run.lead_session];
    if let Some(name) = names.into_iter().flatten().find(|name| SafeName::new(name).is_none()) {
        return Err(invalid(format!("{name:?} is not a valid team or session name")));
    }
    let imported = Imported { at: now, ..run.imported.unwrap_or_default() };
    Ok(RunRecord { imported: Some(imported), ..run })
}

/// Stores the contents in the order of the journal: each is stored as the change of the one before.
fn store_contents(archive: &Archive, run: &str, dir: &Path) -> Result<()> {
    let object =
        |hash: &str| Some(dir.join(OBJECTS).join(hash)).filter(|path| is_hash(hash) && path.exists());
    let check = |hash: &str, found: String| match found == hash {
        true => Ok(()),
        false => Err(Error::new(format!("object {hash} is damaged"))),
    };
    let mut contents = ContentWriter::new(dir, "import", true);
    let (mut stored, mut places) = (BTreeSet::new(), BTreeMap::new());
    let changes = archive.journal(run).snapshots.into_iter().flat_map(|snapshot| snapshot.changed);
    for Change { path, object: hash, .. } in changes {
        let Some(hash) = hash.filter(|hash| !stored.contains(hash)) else { continue };
        let Some(from) = object(&hash) else { continue };
        let (found, place) = if from.metadata()?.len() <= MAX_IN_MEMORY_BYTES {
            contents.put(&fs::read_regular(&from, MAX_IN_MEMORY_BYTES)?.0, places.get(&path).copied())?
        } else {
            let (copied, place) = contents.put_file(&from, None)?;
            (copied.hash, place)
        };
        check(&hash, found)?;
        places.extend(place.map(|place| (path, place)));
        stored.insert(hash);
    }
    for transcript in archive.kept(run).into_values() {
        if let Some(from) = object(&transcript.object) {
            check(
                &transcript.object,
                put_transcript(dir, &fs::read_regular(&from, MAX_IN_MEMORY_BYTES)?.0)?,
            )?;
        }
    }
    Ok(contents.sync()?)
}
