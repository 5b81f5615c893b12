//! Imports a bundle. Nothing in it is trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;
use tar::{Archive as Tar, EntryType};

use super::{EVENTS, OBJECTS, RUN, SNAPSHOTS, TRANSCRIPTS};
use crate::verify::{DamageKind, Scope, Verifier};
use teamkeep_config::Config;
use teamkeep_history::{Range, Reader};
use teamkeep_model::event::SafeName;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{
    Archive, Change, ContentWriter, ExclusiveArchive, Imported, RunRecord, is_hash, is_run_id, put_transcript,
};
use teamkeep_store::log::{Logs, SegmentName};
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;
use teamkeep_system::os;
use teamkeep_system::paths::Paths;

const MAX_UNPACKED_BYTES: u64 = 4 << 30;
/// A larger file is not read into memory.
const MAX_BYTES: u64 = 1 << 28;

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
    let (bytes, _) = fs::read_regular(&files.join(RUN), MAX_BYTES)?;
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
        let (found, place) = if from.metadata()?.len() <= MAX_BYTES {
            contents.put(&fs::read_regular(&from, MAX_BYTES)?.0, places.get(&path).copied())?
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
            check(&transcript.object, put_transcript(dir, &fs::read_regular(&from, MAX_BYTES)?.0)?)?;
        }
    }
    Ok(contents.sync()?)
}
