//! Closes events into the runs that they belong to: copies them there, compressed. Removes lines that no run needs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Needs, Recording};
use crate::store::archive::Archive;
use crate::store::chain::ChainHash;
use crate::store::log::{
    Contents, ExclusiveLog, LineHeader, Lines, LinkedLines, Mark, Position, RemovedLines, Sealed, Segment,
    SegmentName, part_name,
};
use crate::sys::fs::{self, Draft};

/// How many runs are written at once: each needs a file and a window of the compressor.
const AT_ONCE: usize = 32;

/// Copies the lines of a segment, compressed, into the ended runs that they belong to; with `only`, into these runs only.
/// Complete parts are not written again. After success, everything is on the disk. Returns the runs that have lines in it,
/// each with the hash of these lines.
pub fn close(
    log: &Path,
    segment: &SegmentName,
    archive: &Archive,
    needs: &Needs<'_>,
    only: Option<&BTreeSet<String>>,
) -> io::Result<BTreeMap<String, ChainHash>> {
    let path = log.join(segment.as_str());
    let name = part_name(segment);
    let mut hashes: BTreeMap<String, ChainHash> = BTreeMap::new();
    each_line(&path, needs, &mut |run, line| {
        let hash = hashes.entry(run).or_default();
        *hash = hash.with_line(line);
        Ok(())
    })?;
    let part = |run: &str| archive.run_dir(run).map(|dir| dir.join(&name));
    let is_missing = |(run, hash): &(&String, &ChainHash)| {
        let is_there = || part(run).is_some_and(|part| hash_of(&part).is_ok_and(|there| there == **hash));
        only.is_none_or(|only| only.contains(*run)) && !is_there()
    };
    let runs: Vec<&String> = hashes.iter().filter(is_missing).map(|(run, _)| run).collect();
    for runs in runs.chunks(AT_ONCE) {
        let mut writers: BTreeMap<&str, PartWriter> = BTreeMap::new();
        for run in runs {
            // Skip a run that was removed meanwhile.
            if let Some(writer) = part(run).map(PartWriter::create).transpose()?.flatten() {
                writers.insert(run, writer);
            }
        }
        each_line(&path, needs, &mut |run, line| match writers.get_mut(run.as_str()) {
            Some(writer) => writer.to.write_all(line).and_then(|()| writer.to.write_all(b"\n")),
            None => Ok(()),
        })?;
        writers.into_values().try_for_each(PartWriter::finish)?;
    }
    Ok(hashes)
}

/// Calls `each` for every line that is closed into a run. A line that cannot be read does not belong to a run.
fn each_line(
    path: &Path,
    needs: &Needs<'_>,
    each: &mut dyn FnMut(String, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    for raw in Lines::open(path, Position::default())? {
        let Some(bytes) = raw?.bytes else { continue };
        let Ok(header) = serde_json::from_slice::<LineHeader<'_>>(&bytes) else { continue };
        if let Some(run) = needs.closes_into(header.run.as_deref(), header.session.as_deref(), header.at) {
            each(run, &bytes)?;
        }
    }
    Ok(())
}

/// The hash of all lines of a part.
fn hash_of(part: &Path) -> io::Result<ChainHash> {
    Lines::open_packed(part)?
        .try_fold(ChainHash::START, |hash, raw| Ok(hash.with_line(&raw?.bytes.unwrap_or_default())))
}

struct PartWriter {
    path: PathBuf,
    to: GzEncoder<BufWriter<Draft>>,
}

impl PartWriter {
    /// Starts a part; `None` if the run's directory was removed. The directory is not created again.
    fn create(path: PathBuf) -> io::Result<Option<PartWriter>> {
        let draft = fs::if_exists(Draft::create_in_existing(&path))?;
        let to = draft.map(|draft| GzEncoder::new(BufWriter::new(draft), Compression::default()));
        Ok(to.map(|to| PartWriter { path, to }))
    }

    fn finish(self) -> io::Result<()> {
        let draft = self.to.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        // The directory is missing if the run was removed.
        fs::allow_missing(draft.rename_synced(&self.path))
    }
}

/// Rewrites a closed segment without the lines of these sessions that name no run, atomically and under the log's lock. Returns
/// how many bytes were removed. It is unchanged if it is written to or has another size than planned.
pub(super) fn remove_lines(
    log: &Path,
    segment: &Segment,
    sessions: &BTreeSet<String>,
    record: &Recording,
) -> io::Result<u64> {
    let path = segment.path(log);
    let Copied { draft, left, lines } = copy_without(&path, sessions)?;
    let busy = || fs::with_path(io::ErrorKind::ResourceBusy.into(), "rewrite", &path);
    // A line that was appended since would be lost.
    let is_closed = |exclusive: &ExclusiveLog| {
        let length = path.symlink_metadata().map(|there| there.len())?;
        let is_closed = exclusive.current().as_ref() != Some(&segment.name) && length == segment.size;
        if is_closed { Ok(()) } else { Err(busy()) }
    };
    let exclusive = record.take(log)?.ok_or_else(busy)?;
    is_closed(&exclusive)?;
    let removed = RemovedLines { segment: segment.name.to_string(), lines, ..RemovedLines::default() };
    let exclusive = record.record_removed(exclusive, vec![removed])?.ok_or_else(busy)?;
    is_closed(&exclusive)?;
    draft.rename_synced(&path)?;
    Contents::remove(log, &segment.name);
    Ok(segment.size.saturating_sub(left))
}

struct Copied {
    draft: Draft,
    /// In bytes.
    left: u64,
    /// The lines that were left out.
    lines: Vec<LinkedLines>,
}

/// Copies a segment without the lines of these sessions that name no run.
fn copy_without(path: &Path, sessions: &BTreeSet<String>) -> io::Result<Copied> {
    let mut source = fs::open_regular(path)?;
    let mut to = BufWriter::new(Draft::create(path)?);
    let (mut left, mut lines) = (0, Vec::new());
    for raw in Lines::open(path, Position::default())? {
        let raw = raw?;
        let bytes = raw.bytes.as_deref().unwrap_or_default();
        let header = serde_json::from_slice::<LineHeader<'_>>(bytes).ok();
        let is_removed = header.is_some_and(|header| {
            header.run.is_none() && sessions.contains(header.session.as_deref().unwrap_or_default())
        });
        let mut line = (&mut source).take(raw.size);
        if is_removed {
            if let Some(Mark::Chained(link)) = Sealed::read(bytes).map(|sealed| sealed.mark) {
                LinkedLines::push(&mut lines, link);
            }
            io::copy(&mut line, &mut io::sink())?;
        } else {
            left += io::copy(&mut line, &mut to)?;
        }
    }
    let draft = to.into_inner().map_err(io::IntoInnerError::into_error)?;
    draft.sync()?;
    Ok(Copied { draft, left, lines })
}
