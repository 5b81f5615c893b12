//! Files that are compressed when their run has ended: the journal, the contents and their list. The plain file is removed
//! when the compressed one is on the disk and was read back. A process that is killed in between leaves both, readers take
//! the plain one, and the next process continues.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use fs_err::os::unix::fs::FileExt;

use super::contents::{self, MAX_BYTES};
use super::directory::Archive;
use super::journal_points::MAIN;
use super::run::RunRecord;
use crate::sys::fs::{self, Draft};

/// A file of one disk block does not get smaller.
const DISK_BLOCK: u64 = 4_096;

/// The path of the compressed file of a plain one.
pub(super) fn packed(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".gz");
    path.with_file_name(name)
}

/// Opens the compressed file of a plain one, and decompresses it.
pub(super) fn open_packed(path: &Path) -> io::Result<impl Read + use<>> {
    let file = fs::open_regular(&packed(path))?;
    Ok(GzDecoder::new(io::BufReader::new(file)).take(MAX_BYTES))
}

/// The content of the compressed file of a plain one.
pub(super) fn unpack(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open_packed(path)?.read_to_end(&mut bytes);
    read.map_err(|error| fs::with_path(error, "unpack", &packed(path)))?;
    Ok(bytes)
}

/// The content of the compressed file of a plain one, up to the first damage.
pub(super) fn unpack_intact(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match open_packed(path)?.read_to_end(&mut bytes) {
        Err(error) if bytes.is_empty() => Err(fs::with_path(error, "unpack", &packed(path))),
        _ => Ok(bytes),
    }
}

/// Opens a file that may be compressed, to read it from its beginning.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    match fs::open_regular(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Box::new(open_packed(path)?)),
        other => Ok(Box::new(other?)),
    }
}

/// Decompresses a file that was compressed when its run had ended: the run continues. The plain file is read first from
/// now on, so it is synced to the disk.
pub(super) fn thaw(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok() || packed(path).symlink_metadata().is_err() {
        return Ok(());
    }
    fs::write_synced(path, &unpack(path)?)
}

/// The uncompressed size of a file that may be compressed; `None` if the file is missing or not a regular file.
pub(super) fn plain_size(path: &Path) -> Option<u64> {
    if let Ok(metadata) = path.symlink_metadata() {
        return metadata.is_file().then_some(metadata.len());
    }
    let file = fs::open_regular(&packed(path)).ok()?;
    // The last four bytes of a gzip file are that size. No file of 4 GiB is compressed.
    let mut size = [0; 4];
    file.read_exact_at(&mut size, file.metadata().ok()?.len().checked_sub(4)?).ok()?;
    Some(u32::from_le_bytes(size).into())
}

impl Archive {
    /// Compresses the contents and the journal of a run that has ended. After an error, the files that are not compressed
    /// are unchanged.
    pub fn compress(&self, run: &RunRecord) -> io::Result<()> {
        let Some(dir) = self.run_dir(&run.run) else { return Ok(()) };
        for path in [contents::DATA, contents::LIST, MAIN].map(|name| dir.join(name)) {
            // Another process may replace it at any moment until the lock is taken.
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if metadata.is_file() && (DISK_BLOCK + 1..=MAX_BYTES).contains(&metadata.len()) {
                let compressed =
                    compress(&path).and_then(|draft| self.replace(run, &path, draft, metadata.len()));
                if path.symlink_metadata().is_ok() {
                    compressed?;
                }
            }
        }
        Ok(())
    }

    /// Replaces a plain file of this size by the compressed one, unless the run continues or the file was written to
    /// meanwhile.
    fn replace(&self, run: &RunRecord, path: &Path, draft: Draft, size: u64) -> io::Result<()> {
        let Some(subject) = run.subject() else { return Ok(()) };
        let Some(_lock) = self.lock(&subject)? else { return Ok(()) };
        let has_ended = self.run(&run.run).is_some_and(|now| now.ended_at.is_some());
        if has_ended && path.symlink_metadata()?.len() == size {
            draft.rename_synced(&packed(path))?;
            fs_err::remove_file(path)?;
        }
        Ok(())
    }
}

/// Writes a file compressed, syncs it to the disk, and reads it back.
fn compress(from: &Path) -> io::Result<Draft> {
    let to = io::BufWriter::new(Draft::create(&packed(from))?);
    let mut gzip = GzEncoder::new(to, flate2::Compression::default());
    let written = hash_parts(fs::open_regular(from)?, |part| gzip.write_all(part))?;
    let draft = gzip.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    draft.sync()?;
    let file = io::BufReader::new(fs::open_regular(draft.path())?);
    let read = hash_parts(GzDecoder::new(file), |_| Ok(()));
    let read = read.map_err(|error| fs::with_path(error, "read", draft.path()))?;
    match written == read {
        true => Ok(draft),
        false => Err(fs::with_path(io::ErrorKind::InvalidData.into(), "read back", draft.path())),
    }
}

/// The hash of everything that is read, after calling `each` for each part.
fn hash_parts(
    mut from: impl Read,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<blake3::Hash> {
    let (mut hasher, mut part) = (blake3::Hasher::new(), vec![0; 64 << 10]);
    loop {
        match from.read(&mut part)? {
            0 => return Ok(hasher.finalize()),
            count => {
                hasher.update(&part[..count]);
                each(&part[..count])?;
            }
        }
    }
}
