//! Closes events into the runs that they belong to: copies them there, compressed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::needs::Needs;
use crate::archive::Archive;
use crate::fs;
use crate::log::{LineHeader, Lines, Position, SegmentName, part_name};

/// How many runs are written at once: each needs a file and a window of the compressor.
const AT_ONCE: usize = 32;

/// Lines and bytes.
type Measure = (u64, u64);

/// Copies the lines of a segment, compressed, into the ended runs that they belong to; with `only`, into these runs only.
/// Parts that already exist and are complete are not written again. When this returns without an error, everything is on the
/// disk; a process that is killed before leaves temporary files and complete parts.
///
/// # Errors
/// When the segment cannot be read, or the disk refuses.
pub fn close(
    log: &Path,
    segment: &SegmentName,
    archive: &Archive,
    needs: &Needs<'_>,
    only: Option<&BTreeSet<String>>,
) -> io::Result<()> {
    let path = log.join(segment.as_str());
    let name = part_name(segment);
    let mut measures: BTreeMap<String, Measure> = BTreeMap::new();
    each_line(&path, needs, &mut |run, line| {
        let measure = measures.entry(run).or_default();
        *measure = (measure.0 + 1, measure.1 + line.len() as u64);
        Ok(())
    })?;
    let part = |run: &str| archive.run_dir(run).map(|dir| dir.join(&name));
    measures.retain(|run, measure| {
        let wanted = only.is_none_or(|only| only.contains(run));
        let is_there = || part(run).is_some_and(|part| measured(&part).is_ok_and(|there| there == *measure));
        wanted && !is_there()
    });
    let runs: Vec<String> = measures.into_keys().collect();
    for runs in runs.chunks(AT_ONCE) {
        let mut writers: BTreeMap<&str, Writer> = BTreeMap::new();
        for run in runs {
            // Skip a run that was removed meanwhile.
            if let Some(writer) = part(run).map(Writer::create).transpose()?.flatten() {
                writers.insert(run, writer);
            }
        }
        each_line(&path, needs, &mut |run, line| match writers.get_mut(run.as_str()) {
            Some(writer) => writer.write(line),
            None => Ok(()),
        })?;
        writers.into_values().try_for_each(Writer::finish)?;
    }
    Ok(())
}

/// Calls `each` for every line that is closed into a run. A line that cannot be read does not belong to a run.
fn each_line(
    path: &Path,
    needs: &Needs<'_>,
    each: &mut dyn FnMut(String, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut lines = Lines::open(path, Position::default())?;
    while let Some(raw) = lines.next().map_err(|error| fs::with_path(error, "read", path))? {
        let Some(bytes) = raw.bytes else { continue };
        let Ok(glance) = serde_json::from_slice::<LineHeader<'_>>(&bytes) else { continue };
        if let Some(run) = needs.closes_into(glance.run.as_deref(), glance.session.as_deref(), &glance.at) {
            each(run, &bytes)?;
        }
    }
    Ok(())
}

/// The content of a part.
fn measured(part: &Path) -> io::Result<Measure> {
    let mut lines = Lines::open_packed(part)?;
    let mut bytes = 0;
    while let Some(raw) = lines.next()? {
        bytes += raw.bytes.map_or(0, |bytes| bytes.len() as u64);
    }
    Ok((lines.position.lines, bytes))
}

/// A part that is being written: a temporary file in the run's directory until it is complete and on the disk.
struct Writer {
    path: PathBuf,
    temporary: PathBuf,
    to: GzEncoder<BufWriter<File>>,
}

impl Writer {
    /// Starts a part; `None` if the run's directory was removed. The directory is not created again.
    fn create(path: PathBuf) -> io::Result<Option<Writer>> {
        let temporary = fs::temporary_path(&path);
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(fs::PRIVATE_FILE).open(&temporary) {
            Ok(file) => {
                let to = GzEncoder::new(BufWriter::new(file), Compression::default());
                Ok(Some(Writer { path, temporary, to }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fs::with_path(error, "create", &temporary)),
        }
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let written = self.to.write_all(line).and_then(|()| self.to.write_all(b"\n"));
        written.map_err(|error| fs::with_path(error, "write", &self.temporary))
    }

    fn finish(self) -> io::Result<()> {
        let Writer { path, temporary, to } = self;
        let synced = to
            .finish()
            .and_then(|buffer| buffer.into_inner().map_err(io::IntoInnerError::into_error))
            .and_then(|file| file.sync_all())
            .map_err(|error| fs::with_path(error, "write", &temporary));
        let placed = synced.and_then(|()| match std::fs::rename(&temporary, &path) {
            // The run was removed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(fs::with_path(error, "rename to", &path)),
            Ok(()) => path.parent().map_or(Ok(()), fs::sync),
        });
        placed.inspect_err(|_| {
            let _ = std::fs::remove_file(&temporary);
        })
    }
}
