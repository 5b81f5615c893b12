//! Data files: the changed bytes of contents, one after the other. A file only grows. When its run has ended, it is
//! compressed as a whole, as are the recipes and the journal. The plain file is removed when the compressed one is on the
//! disk and was read back. A process that is killed in between leaves both, and the next one continues.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use fs_err::File;
use fs_err::os::unix::fs::FileExt;

use super::recipe::Extents;
use super::{MAX_BYTES, RECIPES};
use crate::store::archive::directory::Archive;
use crate::store::archive::journal_points::MAIN;
use crate::store::archive::run::RunRecord;
use crate::sys::fs::{self, Draft};

/// A file of the pack, open for reading.
#[derive(Debug)]
pub(super) enum Data {
    /// A file that may still grow, and its blocks that were read last, by number.
    Plain(File, VecDeque<(u64, Vec<u8>)>),
    /// The decompressed content of a compressed file, in memory.
    Unpacked(Vec<u8>),
}

/// Number of bytes to read at once when short ranges are needed.
const BLOCK: u64 = 32 << 10;
/// How many blocks are cached: the ranges of a content are not in the order of the file.
const BLOCKS: usize = 8;
/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 64 << 20;

impl Data {
    /// Opens the file at this path, or the compressed one beside it.
    pub fn open(path: &Path) -> io::Result<Data> {
        match fs::open_regular(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => unpack(path).map(Data::Unpacked),
            other => Ok(Data::Plain(other?, VecDeque::new())),
        }
    }

    /// Reads ranges of the file.
    pub fn read(&mut self, extents: &Extents) -> io::Result<Vec<u8>> {
        let size = usize::try_from(extents.size()).map_err(io::Error::other)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size)?;
        for range in &extents.0 {
            let (mut at, length) = (range.start, range.end - range.start);
            if let Data::Plain(file, _) = self
                && length >= BLOCK
            {
                let before = bytes.len();
                bytes.resize(before + length as usize, 0);
                file.read_exact_at(&mut bytes[before..], at)?;
                continue;
            }
            while at < range.end {
                let part = self.part(at)?;
                let count = part.len().min((range.end - at) as usize);
                if count == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                bytes.extend_from_slice(&part[..count]);
                at += count as u64;
            }
        }
        Ok(bytes)
    }

    /// The line that begins at an offset, with its end; `None` if it is incomplete.
    pub fn line(&mut self, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            let part = self.part(offset + line.len() as u64)?;
            if part.is_empty() || line.len() > MAX_LINE_BYTES {
                return Ok(None);
            }
            line.extend(part.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default());
        }
        Ok(Some(line))
    }

    /// Some bytes from an offset on; none at the end of the file.
    fn part(&mut self, at: u64) -> io::Result<&[u8]> {
        let (file, blocks) = match self {
            Data::Plain(file, blocks) => (file, blocks),
            Data::Unpacked(all) => {
                return Ok(usize::try_from(at).ok().and_then(|at| all.get(at..)).unwrap_or_default());
            }
        };
        let (number, begin) = (at / BLOCK, (at % BLOCK) as usize);
        let known = blocks.iter().position(|(known, block)| *known == number && begin < block.len());
        let position = match known {
            Some(position) => position,
            None => {
                // The last block may have grown since it was read.
                blocks.retain(|(known, _)| *known != number);
                blocks.truncate(BLOCKS - 1);
                blocks.push_front((number, fs::read_at_most(file, BLOCK as usize, number * BLOCK)?));
                0
            }
        };
        Ok(blocks[position].1.get(begin..).unwrap_or_default())
    }
}

/// The path of the compressed file of a plain one.
pub(in crate::store::archive) fn packed(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".gz");
    path.with_file_name(name)
}

/// Opens the compressed file of a plain one, and decompresses it.
pub(in crate::store::archive) fn open_packed(path: &Path) -> io::Result<impl Read + use<>> {
    let file = fs::open_regular(&packed(path))?;
    Ok(GzDecoder::new(io::BufReader::new(file)).take(MAX_BYTES))
}

/// The content of the compressed file of a plain one.
pub(in crate::store::archive) fn unpack(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open_packed(path)?.read_to_end(&mut bytes);
    read.map_err(|error| fs::with_path(error, "unpack", &packed(path)))?;
    Ok(bytes)
}

/// Opens a file that may be compressed, to read it from its beginning.
pub(in crate::store::archive) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    match fs::open_regular(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Box::new(open_packed(path)?)),
        other => Ok(Box::new(other?)),
    }
}

/// Decompresses a file that was compressed when its run had ended: the run continues. The plain file is read first from
/// now on, so it is synced to the disk.
pub(in crate::store::archive) fn thaw(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok() || packed(path).symlink_metadata().is_err() {
        return Ok(());
    }
    fs::write_synced(path, &unpack(path)?)
}

/// The uncompressed size of a file that may be compressed; `None` if the file is missing or not a regular file.
pub(in crate::store::archive) fn plain_size(path: &Path) -> Option<u64> {
    if let Ok(metadata) = path.symlink_metadata() {
        return metadata.is_file().then_some(metadata.len());
    }
    let file = fs::open_regular(&packed(path)).ok()?;
    // The last four bytes of a gzip file are that size. No file of 4 GiB is compressed.
    let mut size = [0; 4];
    file.read_exact_at(&mut size, file.metadata().ok()?.len().checked_sub(4)?).ok()?;
    Some(u32::from_le_bytes(size).into())
}

/// A file of one disk block does not get smaller.
const DISK_BLOCK: u64 = 4_096;

impl Archive {
    /// Compresses the journal and the large contents of a run that has ended. After an error, the files that are not
    /// compressed are unchanged.
    pub fn compress(&self, run: &RunRecord) -> io::Result<()> {
        let Some(dir) = self.run_dir(&run.run) else { return Ok(()) };
        for path in plain_files(&dir) {
            // Another process may replace it at any moment until the lock is taken.
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if (DISK_BLOCK + 1..=MAX_BYTES).contains(&metadata.len()) {
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

/// The uncompressed files of a run: its large contents, then their recipes, then the journal.
fn plain_files(run: &Path) -> Vec<PathBuf> {
    let is_number = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.parse::<u32>().is_ok())
    };
    let data = fs::entries(&run.join("contents")).map(|entry| entry.path());
    let mut files: Vec<PathBuf> = data.filter(is_number).collect();
    files.sort();
    files.extend([RECIPES, MAIN].map(|name| run.join(name)));
    files.retain(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()));
    files
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
