//! Validates an unpacked bundle and imports it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::collect::gather;
use super::{EVENTS, Manifest, Part, RUN, SNAPSHOTS, TRANSCRIPTS, hash_of, object, staged_path};
use crate::timeline::RunCatalog;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::model::event::SafeName;
use teamkeep_core::store::archive::{
    Change, ContentWriter, ExclusiveArchive, Imported, RunRecord, Snapshot, Staging, StoredTranscript,
    put_transcript,
};
use teamkeep_core::store::log::{self, Lines, Position, Raw, SegmentName};
use teamkeep_core::sys::clock::Timestamp;
use teamkeep_core::sys::fs;

const MAX_BYTES: u64 = 1 << 28;

/// A validated bundle that is not imported yet.
#[derive(Debug)]
pub struct UnpackedBundle {
    pub manifest: Manifest,
    pub run: RunRecord,
    /// Number of events, without verdicts.
    pub events: u64,
    pub verdicts: u64,
    staging: Staging,
    transcripts: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportOutcome {
    New,
    /// The same run already existed; this many of its lost or damaged contents were repaired.
    Existing {
        repaired: usize,
    },
}

impl UnpackedBundle {
    pub(super) fn of(manifest: Manifest, staging: Staging) -> Result<UnpackedBundle> {
        let path = |name: &str| staged_path(&staging.dir, name);
        let run = read_run(&path(RUN), &manifest)?;
        let mut needed = BTreeSet::new();
        each_line(&path(SNAPSHOTS), SNAPSHOTS, |raw| {
            let bytes = raw.bytes.ok_or("the line is too long")?;
            let snapshot = Snapshot::parse(&bytes).map_err(|error| error.to_string())?;
            needed.extend(snapshot.changed.iter().filter_map(|change| change.object.clone()));
            match snapshot.v {
                0 | 1 => snapshot.flaw().map_or(Ok(()), Err),
                newer => Err(format!("format version {newer}")),
            }
        })?;
        let (mut events, mut verdicts) = (0, 0);
        let mut ids: HashSet<String> = HashSet::new();
        each_line(&path(EVENTS), EVENTS, |raw| {
            let Some(line) = log::parse(raw.bytes).map_err(|error| error.to_string())? else { return Ok(()) };
            match line.recorded.verdict {
                Some(_) => verdicts += 1,
                None => events += 1,
            }
            match &line.recorded.run {
                Some(other) if *other != run.run => Err(format!("it belongs to run {other:?}")),
                _ if ids.contains(&line.recorded.id) => {
                    Err(format!("event {:?} occurs twice", line.recorded.id))
                }
                _ => {
                    let flaw = line.recorded.flaw();
                    ids.insert(line.recorded.id);
                    flaw.map_or(Ok(()), Err)
                }
            }
        })?;
        let stored: BTreeMap<String, StoredTranscript> = read_json(&path(TRANSCRIPTS), TRANSCRIPTS)?;
        let transcripts: BTreeSet<String> = stored.into_values().map(|stored| stored.object).collect();
        needed.extend(transcripts.iter().cloned());
        let contents: BTreeSet<&str> =
            manifest.entries.iter().filter_map(|part| hash_of(&part.name)).collect();
        let is_known = |hash: &String| contents.contains(hash.as_str()) || manifest.missing.contains(hash);
        if let Some(missing) = needed.iter().find(|hash| !is_known(hash)) {
            return Err(Error::new(format!("missing object {missing:?}")));
        }
        if let Some(other) = contents.iter().find(|hash| !needed.contains(**hash)) {
            return Err(Error::new(format!("object {other} is not referenced")));
        }
        Ok(UnpackedBundle { manifest, run, events, verdicts, staging, transcripts })
    }

    /// Imports it. After an error, nothing of it is visible.
    pub fn install(
        self,
        catalog: &RunCatalog,
        archive: &ExclusiveArchive,
        now: Timestamp,
    ) -> Result<ImportOutcome> {
        let dir = archive.archive.run_dir(&self.run.run);
        if dir.is_some_and(|dir| dir.symlink_metadata().is_ok()) {
            self.check_same(catalog)?;
            return Ok(ImportOutcome::Existing { repaired: self.repair(archive)? });
        }
        self.stage_contents()?;
        let imported = Imported {
            at: now,
            from: self.manifest.from,
            until: self.manifest.until,
            redacted: self.manifest.redacted.clone(),
        };
        let record = RunRecord { imported: Some(imported), ..self.run.clone() };
        let bytes = serde_json::to_vec(&record).map_err(Error::from_json)?;
        let path = self.path(RUN);
        fs::write_atomic(&path, &bytes)?;
        if let Some(dir) = path.parent() {
            fs_err::rename(self.path(EVENTS), dir.join(SegmentName::Imported.to_string()))?;
            archive.publish_run(dir, &self.run.run)?;
        }
        // An error leaves the plain files, which are read as well.
        let _ = archive.archive.compress(&record);
        let _ = catalog.logs.run(&record.run).map(|log| log.compress());
        Ok(ImportOutcome::New)
    }

    fn path(&self, name: &str) -> PathBuf {
        staged_path(&self.staging.dir, name)
    }

    /// Writes the contents into the staged run, in the order of the journal: each is stored as the change of the one before.
    fn stage_contents(&self) -> Result<()> {
        let dir = self.staging.dir.join("run");
        let mut contents = ContentWriter::new(&dir, "import", true);
        let mut stored: BTreeSet<String> = BTreeSet::new();
        let mut places: BTreeMap<String, u64> = BTreeMap::new();
        for raw in Lines::open(&self.path(SNAPSHOTS), Position::default())? {
            let Ok(snapshot) = Snapshot::parse(&raw?.bytes.unwrap_or_default()) else { continue };
            for Change { path, object: hash, .. } in snapshot.changed {
                let Some(hash) = hash.filter(|hash| !stored.contains(hash)) else { continue };
                let staged = self.path(&object(&hash));
                let Ok(size) = staged.metadata().map(|there| there.len()) else { continue };
                let place = match size <= MAX_BYTES {
                    true => {
                        contents.put(&fs::read_regular(&staged, MAX_BYTES)?.0, places.get(&path).copied())?.1
                    }
                    false => contents.put_file(&staged, None)?.1,
                };
                places.extend(place.map(|place| (path, place)));
                stored.insert(hash);
            }
        }
        for hash in &self.transcripts {
            let staged = self.path(&object(hash));
            if staged.exists() {
                put_transcript(&dir, &fs::read_regular(&staged, MAX_BYTES)?.0)?;
            }
        }
        Ok(contents.sync()?)
    }

    /// Stores the contents that the recorded run lost, and returns how many there were.
    fn repair(&self, archive: &ExclusiveArchive) -> Result<usize> {
        let run = &self.run.run;
        let Some(dir) = archive.archive.run_dir(run) else { return Ok(0) };
        let mut contents = ContentWriter::new(&dir, "repair", false);
        let mut repaired = 0;
        for hash in self.manifest.entries.iter().filter_map(|part| hash_of(&part.name)) {
            if archive.archive.content(run, hash).is_err() {
                let staged = self.path(&object(hash));
                match self.transcripts.contains(hash) {
                    true => drop(put_transcript(&dir, &fs::read_regular(&staged, MAX_BYTES)?.0)?),
                    false => drop(contents.put_file(&staged, None)?),
                }
                repaired += 1;
            }
        }
        contents.sync()?;
        Ok(repaired)
    }

    /// Checks that the recorded run is the same, except for lost contents.
    fn check_same(&self, catalog: &RunCatalog) -> Result<()> {
        let run = &self.run.run;
        let differs = |why: &str| Error::new(format!("run {run} already exists, and {why}"));
        let Some(recorded) = catalog.runs.iter().find(|other| other.run == *run) else {
            return Err(differs("its recorded data is damaged").hint(format!("teamkeep verify {run}")));
        };
        let recorded = gather(catalog, recorded, None, None, &mut |_| ())?.manifest;
        let is_description = |part: &&Part| hash_of(&part.name).is_none();
        let [one, other] = [&recorded, &self.manifest].map(|one| one.entries.iter().filter(is_description));
        if one.eq(other) {
            return Ok(());
        }
        let why = match (&recorded.redacted, &self.manifest.redacted) {
            (None, Some(_)) => "the existing one is not redacted",
            (Some(_), None) => "the existing one is redacted",
            _ => "the existing one differs: it may have continued since",
        };
        let hint = "nothing was changed; to compare the two, import it into another TEAMKEEP_HOME";
        Err(differs(why).hint(hint))
    }
}

fn read_run(path: &Path, manifest: &Manifest) -> Result<RunRecord> {
    let run: RunRecord = read_json(path, RUN)?;
    let names = [run.team.as_deref(), run.lead_session.as_deref(), Some(run.run.as_str())];
    let unsafe_name = names.into_iter().flatten().find(|name| SafeName::new(name).is_none());
    let why = match run.flaw() {
        _ if run.v != 1 => Some(format!("format version {}", run.v)),
        _ if run.run != manifest.run => Some(format!("it belongs to run {:?}", run.run)),
        _ if run.imported.is_some() => Some("it is marked as imported".to_owned()),
        None => unsafe_name.map(|name| format!("{name:?} is not a valid team or session name")),
        flaw => flaw,
    };
    why.map_or(Ok(run), |why| Err(Error::caused(format!("{RUN} is invalid"), why)))
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path, name: &str) -> Result<T> {
    let (bytes, _) = fs::read_regular(path, MAX_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|error| Error::caused(format!("{name} is invalid"), error))
}

fn each_line(
    path: &Path,
    name: &str,
    mut check: impl FnMut(Raw) -> std::result::Result<(), String>,
) -> Result<()> {
    let mut lines = Lines::open(path, Position::default())?;
    while let Some(raw) = lines.next() {
        check(raw?)
            .map_err(|why| Error::caused(format!("{name}:{} is invalid", lines.position.lines), why))?;
    }
    Ok(())
}
