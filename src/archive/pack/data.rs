//! Data files: the changed bytes of contents, one after the other. A file only grows, and is compressed as a whole when its
//! run has ended.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::FileExt;
use fs_err::{File, OpenOptions};

use super::extents::Extents;
use crate::fs;

/// A data file, open for reading.
#[derive(Debug)]
pub(super) enum Data {
    /// A file that may still grow.
    Plain(File),
    /// The decompressed content of a compressed file, in memory.
    Unpacked(Vec<u8>),
}

impl Data {
    /// Opens the file at this path, or the compressed one beside it.
    pub fn open(path: &Path) -> io::Result<Data> {
        match fs::open_regular(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => unpack(path).map(Data::Unpacked),
            other => other.map(Data::Plain),
        }
    }

    /// Reads ranges of the file.
    pub fn read(&self, extents: &Extents) -> io::Result<Vec<u8>> {
        let size = usize::try_from(extents.size()).map_err(io::Error::other)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size)?;
        let mut blocks = Blocks::default();
        for range in extents.iter() {
            let (start, length) = (range.start, (range.end - range.start) as usize);
            match self {
                Data::Unpacked(all) => {
                    let part = usize::try_from(start).ok().and_then(|start| all.get(start..)?.get(..length));
                    bytes.extend_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
                }
                Data::Plain(file) if length >= BLOCK || extents.iter().len() == 1 => {
                    let before = bytes.len();
                    bytes.resize(before + length, 0);
                    file.read_exact_at(&mut bytes[before..], start)?;
                }
                Data::Plain(file) => blocks.read(file, start, length, &mut bytes)?,
            }
        }
        Ok(bytes)
    }
}

/// Number of bytes to read at once when many short ranges are needed.
const BLOCK: usize = 64 << 10;
/// How many blocks are cached: the ranges of a content are not in the order of the file.
const BLOCKS: usize = 16;

/// The blocks that were read last.
#[derive(Default)]
struct Blocks(VecDeque<(u64, Vec<u8>)>);

impl Blocks {
    fn read(&mut self, file: &File, mut at: u64, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let mut left = length;
        while left > 0 {
            let number = at / BLOCK as u64;
            let begin = (at % BLOCK as u64) as usize;
            let place = match self.0.iter().position(|(known, _)| *known == number) {
                Some(place) => place,
                None => {
                    self.0.truncate(BLOCKS - 1);
                    self.0.push_front((number, block(file, number * BLOCK as u64)?));
                    0
                }
            };
            let block = self.0.get(place).map_or(&[][..], |(_, block)| block);
            let part = block.get(begin..block.len().min(begin + left)).filter(|part| !part.is_empty());
            let part = part.ok_or(io::ErrorKind::UnexpectedEof)?;
            into.extend_from_slice(part);
            at += part.len() as u64;
            left -= part.len();
        }
        Ok(())
    }
}

/// Reads a block; the last one of a file is shorter.
fn block(file: &File, start: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; BLOCK];
    let mut length = 0;
    while length < BLOCK {
        match file.read_at(&mut bytes[length..], start + length as u64)? {
            0 => break,
            count => length += count,
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// The name of the compressed file of a plain one.
pub(in crate::archive) fn packed(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".gz");
    path.with_file_name(name)
}

/// The content of the compressed file beside this path.
pub(super) fn unpack(path: &Path) -> io::Result<Vec<u8>> {
    let path = packed(path);
    let mut bytes = Vec::new();
    let gzip = flate2::read::GzDecoder::new(io::BufReader::new(fs::open_regular(&path)?));
    gzip.take(super::MAX_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| fs::with_path(error, "unpack", &path))?;
    Ok(bytes)
}

/// Decompresses a file that was compressed when its run had ended: the run continues. The plain file is read first from
/// now on, so it is brought to the disk.
pub(in crate::archive) fn thaw(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok() || packed(path).symlink_metadata().is_err() {
        return Ok(());
    }
    fs::write_synced(path, &unpack(path)?)
}

/// Opens a file that may be compressed, to read it from its beginning.
pub(in crate::archive) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    match fs::open_regular(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = io::BufReader::new(fs::open_regular(&packed(path))?);
            Ok(Box::new(flate2::read::GzDecoder::new(file)))
        }
        other => Ok(Box::new(other?)),
    }
}

/// The size of a file that may be compressed, without compression; `None` when there is no such file.
pub(in crate::archive) fn plain_size(path: &Path) -> Option<u64> {
    if let Ok(metadata) = path.symlink_metadata() {
        return metadata.is_file().then_some(metadata.len());
    }
    let file = fs::open_regular(&packed(path)).ok()?;
    // The last four bytes of a gzip file are that size. No file of 4 GiB is compressed.
    let mut size = [0; 4];
    file.read_exact_at(&mut size, file.metadata().ok()?.len().checked_sub(4)?).ok()?;
    Some(u32::from_le_bytes(size).into())
}

/// Appends to a data file, and returns the offset of the new bytes. The caller holds the run's lock. If not all bytes can
/// be written, the file is truncated again. No recipe names bytes that a killed writer left.
pub(super) fn append(path: &Path, parts: &[&[u8]], is_new: bool, durable: bool) -> io::Result<u64> {
    let mut file = fs::open_private(OpenOptions::new().append(true).create_new(is_new), path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(fs::with_path(io::ErrorKind::InvalidInput.into(), "append to", path));
    }
    let written = parts.iter().try_for_each(|part| file.write_all(part));
    if let Err(error) = written {
        let _ = file.set_len(metadata.len());
        return Err(fs::with_path(error, "write to", path));
    }
    if durable {
        file.sync_all().map_err(|error| fs::with_path(error, "sync", path))?;
    }
    Ok(metadata.len())
}
