//! Compresses the journal and the large contents of a run that has ended. The plain file is removed when the compressed one
//! is on the disk and was read back. A process that is killed in between leaves both, and the next one continues.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::data::packed;
use super::{MAX_BYTES, RECIPES};
use crate::archive::file_tree::MAIN;
use crate::archive::run::RunRecord;
use crate::archive::store::Archive;
use crate::fs;

/// A file of one disk block does not get smaller.
const BLOCK: u64 = 4_096;

impl Archive {
    /// Compresses the journal and the large contents of a run that has ended.
    ///
    /// # Errors
    /// When reading or writing fails. Files that are not compressed by then are unchanged.
    pub fn compress(&self, run: &RunRecord) -> io::Result<()> {
        let Some(dir) = self.run_dir(&run.run) else { return Ok(()) };
        for path in plain(&dir) {
            let size = match path.symlink_metadata() {
                Ok(metadata) => metadata.len(),
                // Another process has just replaced it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            // No compressed file is read past `LARGEST`.
            if size <= BLOCK || size > MAX_BYTES {
                continue;
            }
            let temporary = fs::temporary_path(&packed(&path));
            let done = write(&path, &temporary).and_then(|()| self.replace(run, &path, &temporary, size));
            if !matches!(done, Ok(true)) {
                let _ = std::fs::remove_file(&temporary);
            }
            // Another process may replace it at any moment until the lock is taken.
            if path.symlink_metadata().is_ok() {
                done?;
            }
        }
        Ok(())
    }

    /// Replaces a plain file by the compressed one, unless the run continues or the file was written to meanwhile. Returns
    /// whether it was replaced.
    fn replace(&self, run: &RunRecord, path: &Path, temporary: &Path, size: u64) -> io::Result<bool> {
        let Some(subject) = run.subject() else { return Ok(false) };
        let Some(_lock) = self.lock(&subject)? else { return Ok(false) };
        let has_ended = self.run(&run.run).is_some_and(|now| now.ended_at.is_some());
        if !has_ended || path.symlink_metadata()?.len() != size {
            return Ok(false);
        }
        let goal = packed(path);
        std::fs::rename(temporary, &goal).map_err(|error| fs::with_path(error, "rename to", &goal))?;
        goal.parent().map_or(Ok(()), fs::sync)?;
        std::fs::remove_file(path).map_err(|error| fs::with_path(error, "remove", path))?;
        Ok(true)
    }
}

/// The uncompressed files of a run: its large contents, then their recipes, then the journal.
fn plain(run: &Path) -> Vec<PathBuf> {
    let listing = std::fs::read_dir(run.join("contents")).into_iter().flatten().flatten();
    let is_number = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.parse::<u32>().is_ok())
    };
    let mut files: Vec<PathBuf> = listing.map(|entry| entry.path()).filter(is_number).collect();
    files.sort();
    files.extend([RECIPES, MAIN].map(|name| run.join(name)));
    files.retain(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()));
    files
}

/// Writes a file compressed, brings it to the disk, and reads it back.
fn write(from: &Path, to: &Path) -> io::Result<()> {
    let file = fs::create_private(to)?;
    let mut gzip = flate2::write::GzEncoder::new(io::BufWriter::new(file), flate2::Compression::default());
    let mut plain = blake3::Hasher::new();
    each_part(fs::open_regular(from)?, |part| {
        plain.update(part);
        gzip.write_all(part)
    })
    .map_err(|error| fs::with_path(error, "write", to))?;
    let file = gzip.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all().map_err(|error| fs::with_path(error, "sync", to))?;
    let mut back = blake3::Hasher::new();
    let read = flate2::read::GzDecoder::new(io::BufReader::new(fs::open_regular(to)?));
    each_part(read, |part| {
        back.update(part);
        Ok(())
    })
    .map_err(|error| fs::with_path(error, "read", to))?;
    if plain.finalize() != back.finalize() {
        return Err(fs::with_path(io::ErrorKind::InvalidData.into(), "read back", to));
    }
    Ok(())
}

fn each_part(mut from: impl Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut part = vec![0; 64 << 10];
    loop {
        match from.read(&mut part)? {
            0 => return Ok(()),
            count => each(&part[..count])?,
        }
    }
}
