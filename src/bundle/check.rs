//! Validates the content of a bundle before it is imported.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::manifest::{EVENTS, Manifest, RUN, SNAPSHOTS, TRANSCRIPTS, hash_of};
use super::staging::place;
use super::unpack::UnpackedBundle;
use crate::archive::{RunRecord, Snapshot, Staging, StoredTranscript};
use crate::error::{Error, Result};
use crate::event::SafeName;
use crate::fs;
use crate::log::{self, Lines, Position, Raw};

/// Maximum size in bytes of a file that is read into memory.
const MAX_BYTES: u64 = 1 << 28;

/// Validates everything.
pub(super) fn check(manifest: Manifest, staging: Staging) -> Result<UnpackedBundle> {
    let path = |name: &str| place(staging.path(), name);
    let run = record(&path(RUN), &manifest)?;
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
    each_line(&path(EVENTS), EVENTS, |raw| {
        let Some(line) = log::parse(raw).map_err(|error| error.to_string())? else { return Ok(()) };
        match line.recorded.verdict {
            Some(_) => verdicts += 1,
            None => events += 1,
        }
        match &line.recorded.run {
            Some(other) if *other != run.run => Err(format!("it belongs to run {other:?}")),
            _ => line.recorded.flaw().map_or(Ok(()), Err),
        }
    })?;
    let kept: BTreeMap<String, StoredTranscript> = json(&path(TRANSCRIPTS), TRANSCRIPTS)?;
    let transcripts: BTreeSet<String> = kept.into_values().map(|kept| kept.object).collect();
    let there: BTreeSet<&str> = manifest.entries.iter().filter_map(|part| hash_of(&part.name)).collect();
    needed.extend(transcripts.iter().cloned());
    let is_there = |hash: &String| there.contains(hash.as_str()) || manifest.missing.contains(hash);
    if let Some(lacks) = needed.iter().find(|hash| !is_there(hash)) {
        return Err(Error::new(format!("missing object {lacks:?}")));
    }
    if let Some(alien) = there.iter().find(|hash| !needed.contains(**hash)) {
        return Err(Error::new(format!("object {alien} is not referenced")));
    }
    Ok(UnpackedBundle { manifest, run, events, verdicts, staging, transcripts })
}

fn record(path: &Path, manifest: &Manifest) -> Result<RunRecord> {
    let run: RunRecord = json(path, RUN)?;
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

fn json<T: serde::de::DeserializeOwned>(path: &Path, name: &str) -> Result<T> {
    let (bytes, _) = fs::read_regular(path, MAX_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|error| Error::caused(format!("{name} is invalid"), error))
}

fn each_line(
    path: &Path,
    name: &str,
    mut each: impl FnMut(Raw) -> std::result::Result<(), String>,
) -> Result<()> {
    let mut lines = Lines::open(path, Position::default())?;
    while let Some(raw) = lines.next().map_err(|error| fs::with_path(error, "read", path))? {
        each(raw).map_err(|why| Error::caused(format!("{name}:{} is invalid", lines.position.lines), why))?;
    }
    Ok(())
}
