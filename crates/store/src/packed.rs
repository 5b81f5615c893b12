//! Files that do not change any more and are stored compressed. The plain file is removed when the compressed one is on the disk
//! and was read back. A process that is killed in between leaves both, readers take the plain one, and the next process
//! continues.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use teamkeep_system::fs::{self, Draft};
use teamkeep_system::os;

/// A file of one disk block does not get smaller.
const DISK_BLOCK: u64 = 4_096;
/// A larger file stays plain: the last four bytes of a compressed one are its size.
pub const MAX_BYTES: u64 = 1 << 31;

/// The path of the compressed file of a plain one.
pub fn packed(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".gz");
    path.with_file_name(name)
}

/// Opens the compressed file of a plain one, and decompresses it.
pub fn open_packed(path: &Path) -> io::Result<impl Read + Send + use<>> {
    let file = fs::open_regular(&packed(path))?;
    Ok(GzDecoder::new(io::BufReader::new(file)).take(MAX_BYTES))
}

/// Opens a file that may be compressed, to read it from its beginning.
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    match fs::open_regular(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Box::new(open_packed(path)?)),
        other => Ok(Box::new(other?)),
    }
}

/// The content of the compressed file of a plain one.
pub fn unpack(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open_packed(path)?.read_to_end(&mut bytes);
    read.map_err(|error| fs::with_path(error, "unpack", &packed(path)))?;
    Ok(bytes)
}

/// The content of the compressed file of a plain one, up to the first damage.
pub(crate) fn unpack_intact(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match open_packed(path)?.read_to_end(&mut bytes) {
        Err(error) if bytes.is_empty() => Err(fs::with_path(error, "unpack", &packed(path))),
        _ => Ok(bytes),
    }
}

/// Decompresses a file that was compressed when its run had ended: the run continues. The plain file is read first from
/// now on, so it is synced to the disk.
pub(crate) fn thaw(path: &Path) -> io::Result<()> {
    if path.symlink_metadata().is_ok() || packed(path).symlink_metadata().is_err() {
        return Ok(());
    }
    fs::write_synced(path, &unpack(path)?)
}

/// The uncompressed size of a file that may be compressed; `None` if the file is missing or not a regular file.
pub fn plain_size(path: &Path) -> Option<u64> {
    if let Ok(metadata) = path.symlink_metadata() {
        return metadata.is_file().then_some(metadata.len());
    }
    let file = fs::open_regular(&packed(path)).ok()?;
    let mut size = [0; 4];
    let start = file.metadata().ok()?.len().checked_sub(4)?;
    os::files::read_exact_at(&file, &mut size, start).ok()?;
    Some(u32::from_le_bytes(size).into())
}

/// Compresses a file, unless that saves nothing. `replace` gets the compressed file and the size of the plain one, and puts it in
/// the place of the plain one. Another process may have done that already.
pub fn compress(path: &Path, replace: impl FnOnce(Draft, u64) -> io::Result<()>) -> io::Result<()> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(()) };
    if !metadata.is_file() || !(DISK_BLOCK + 1..=MAX_BYTES).contains(&metadata.len()) {
        return Ok(());
    }
    let compressed = draft(path).and_then(|draft| replace(draft, metadata.len()));
    if path.symlink_metadata().is_ok() { compressed } else { Ok(()) }
}

/// Puts a compressed file in the place of the plain one.
pub fn replace(path: &Path, draft: Draft) -> io::Result<()> {
    draft.rename_synced(&packed(path))?;
    fs_err::remove_file(path)
}

/// Writes a file compressed, syncs it to the disk, and reads it back.
fn draft(from: &Path) -> io::Result<Draft> {
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
