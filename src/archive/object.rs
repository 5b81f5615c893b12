//! Contents by hash: `objects/<first digit>/<other digits>`, or the same with `.gz`.
//!
//! There are only sixteen directories: with more, most contents of a new store would first have to create theirs.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::object_info::ObjectInfo;
use super::pack::Packs;
use crate::error::{Error, Result};
use crate::fs;

/// The directory of the objects.
#[derive(Debug, Clone)]
pub struct Objects {
    root: PathBuf,
    packs: Packs,
}

/// How thoroughly [`Objects::put`] checks that a content is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// An existing file with the same name and size is not read.
    Usual,
    /// An existing file is compared.
    Compared,
    /// An existing file is compared and synced to disk. Its name is synced by [`Objects::sync_names`].
    Durable,
}

impl Objects {
    /// The objects below this directory.
    pub fn new(root: PathBuf) -> Objects {
        let packs = Packs::new(root.with_file_name("runs"));
        Objects { root, packs }
    }

    /// Stores a content and returns its hash. An existing file is not written again, unless it is truncated or, with
    /// more care, has another content.
    ///
    /// # Errors
    /// When an I/O operation fails.
    pub fn put(&self, bytes: &[u8], care: Durability) -> io::Result<String> {
        let hash = hash(bytes);
        let path = self.path(&hash).ok_or(io::ErrorKind::InvalidInput)?;
        match std::fs::symlink_metadata(&path) {
            Ok(there)
                if there.is_file()
                    && there.len() == bytes.len() as u64
                    && (care == Durability::Usual || contents_equal(&path, bytes)) =>
            {
                if care == Durability::Durable {
                    fs::sync(&path)?;
                }
            }
            _ if care == Durability::Usual => fs::write_atomic(&path, bytes)?,
            _ => fs::write_synced(&path, bytes)?,
        }
        Ok(hash)
    }

    /// Syncs the names of stored contents to disk.
    ///
    /// # Errors
    /// When an I/O operation fails.
    pub fn sync_names(&self) -> io::Result<()> {
        let listing = match std::fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for entry in listing {
            fs::sync(&entry?.path())?;
        }
        fs::sync(&self.root)
    }

    /// Stores a content in compressed form (gzip) and returns the hash of the uncompressed one.
    ///
    /// # Errors
    /// When an I/O operation fails.
    pub fn put_compressed(&self, bytes: &[u8]) -> io::Result<String> {
        let hash = hash(bytes);
        let path = self.path(&hash).ok_or(io::ErrorKind::InvalidInput)?;
        let compressed = path.with_extension("gz");
        if path.exists() || compressed.exists() {
            return Ok(hash);
        }
        let mut gzip = flate2::read::GzEncoder::new(bytes, flate2::Compression::default());
        let mut packed = Vec::new();
        gzip.read_to_end(&mut packed)?;
        fs::write_atomic(&compressed, &packed)?;
        Ok(hash)
    }

    /// Reads a content and checks its hash.
    ///
    /// # Errors
    /// When it is missing, cannot be read, or is damaged.
    pub fn get(&self, hash: &str) -> Result<Vec<u8>> {
        let path =
            self.path(hash).ok_or_else(|| Error::new(format!("{hash:?} is not a valid object hash")))?;
        let bytes = match fs::read_regular(&path, MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match unpack(&path.with_extension("gz"))
            {
                Err(missing) => return self.get_packed(hash, missing.into()),
                bytes => bytes?,
            },
            other => other?.0,
        };
        if self::hash(&bytes) != hash {
            return self.get_packed(hash, ObjectError::OtherHash(path).into());
        }
        Ok(bytes)
    }

    /// Reads a content that a run stores as a delta; returns `missing` if no run has it.
    fn get_packed(&self, hash: &str, missing: Error) -> Result<Vec<u8>> {
        self.packs.get(hash).map_or(Err(missing), |read| Ok(read?))
    }

    /// Whether a content is stored, as an object or in a run.
    pub fn is_there(&self, hash: &str) -> bool {
        !self.stored(hash).is_empty() || self.packs.has(hash)
    }

    /// Reads a content that a run stores as a delta, and returns its size; `None` if no run has it.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub fn check_packed(&self, hash: &str) -> Option<Result<u64>> {
        let read = self.packs.get(hash)?;
        Some(read.map(|bytes| bytes.len() as u64).map_err(Into::into))
    }

    /// Announces that contents of this run will be read next.
    pub(super) fn expect(&self, run: &str) {
        self.packs.expect(run);
    }

    /// Whether an object of this hash and size is stored. The content is not checked.
    pub(super) fn has(&self, hash: &str, size: usize) -> bool {
        let found = self.path(hash).and_then(|path| path.symlink_metadata().ok());
        found.is_some_and(|found| found.is_file() && found.len() == size as u64)
    }

    /// Opens a content for reading in pieces. Only [`Reading::verify`] at the end checks that it is intact.
    ///
    /// # Errors
    /// When it is missing or cannot be opened.
    pub fn open(&self, hash: &str) -> Result<VerifyingReader> {
        let path =
            self.path(hash).ok_or_else(|| Error::new(format!("{hash:?} is not a valid object hash")))?;
        let from: Box<dyn Read> = match fs::open_regular(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match unpacker(&path.with_extension("gz")) {
                    Err(missing) => Box::new(io::Cursor::new(self.get_packed(hash, missing.into())?)),
                    gzip => Box::new(gzip?),
                }
            }
            // A power failure may have left an incomplete file. A run may store the content as well.
            Ok(file) if file.metadata().is_ok_and(|metadata| metadata.len() == 0) => {
                Box::new(io::Cursor::new(self.get(hash)?))
            }
            other => Box::new(other?),
        };
        Ok(VerifyingReader { from, hasher: blake3::Hasher::new(), hash: hash.to_owned(), path })
    }

    /// Opens one of the files of a content.
    pub(super) fn reading(&self, stored: &ObjectInfo) -> io::Result<VerifyingReader> {
        let (path, hash) = (stored.path.clone(), stored.hash.clone());
        let from: Box<dyn Read> = match stored.packed {
            true => Box::new(unpacker(&path)?),
            false => Box::new(fs::open_regular(&path)?),
        };
        Ok(VerifyingReader { from, hasher: blake3::Hasher::new(), hash, path })
    }

    /// The path of an object; `None` if the hash is not valid.
    pub(super) fn path(&self, hash: &str) -> Option<PathBuf> {
        is_hash(hash).then(|| self.root.join(&hash[..1]).join(&hash[1..]))
    }

    /// Whether a text is a valid hash: 64 lower-case hexadecimal digits.
    pub fn is_hash(text: &str) -> bool {
        is_hash(text)
    }

    /// The directory of the objects.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

/// Whether a file has exactly this content.
fn contents_equal(path: &Path, bytes: &[u8]) -> bool {
    fs::read_regular(path, bytes.len() as u64).is_ok_and(|(there, _)| there == bytes)
}

/// Why a stored content cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Its content has another hash than its name.
    #[error("{} is damaged: its content has another hash", .0.display())]
    OtherHash(PathBuf),
}

impl From<ObjectError> for Error {
    fn from(error: ObjectError) -> Error {
        match error {
            ObjectError::Io(error) => error.into(),
            ObjectError::OtherHash(_) => Error::new(error.to_string()),
        }
    }
}

/// A content being read.
pub struct VerifyingReader {
    from: Box<dyn Read>,
    hasher: blake3::Hasher,
    hash: String,
    path: PathBuf,
}

impl Read for VerifyingReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.hasher.update(&into[..count]);
        Ok(count)
    }
}

impl VerifyingReader {
    /// Reads the rest and checks the hash.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub fn verify(mut self) -> std::result::Result<(), ObjectError> {
        io::copy(&mut self, &mut io::sink()).map_err(|error| fs::with_path(error, "read", &self.path))?;
        if self.hasher.finalize().to_hex().as_str() != self.hash {
            return Err(ObjectError::OtherHash(self.path));
        }
        Ok(())
    }
}

/// The hash of a content.
pub(super) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

pub(super) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Maximum size of an object, in bytes.
pub(super) const MAX_BYTES: u64 = 2 << 30;

fn unpack(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    unpacker(path)?.read_to_end(&mut bytes).map_err(|error| fs::with_path(error, "unpack", path))?;
    Ok(bytes)
}

fn unpacker(path: &Path) -> io::Result<impl Read + use<>> {
    let file = fs::open_regular(path)?;
    Ok(flate2::read::GzDecoder::new(io::BufReader::new(file)).take(MAX_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_comes_back_and_a_damaged_one_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::new(dir.path().to_owned());
        let hash = objects.put(b"state", Durability::Durable).unwrap();
        assert_eq!(objects.get(&hash).unwrap(), b"state");
        let path = objects.path(&hash).unwrap();
        std::fs::write(&path, "stat").unwrap();
        assert!(objects.get(&hash).unwrap_err().to_string().contains("damaged"));
        objects.put(b"state", Durability::Usual).unwrap();
        assert_eq!(objects.get(&hash).unwrap(), b"state", "a content that was cut is written again");
        std::fs::write(&path, "stale").unwrap();
        objects.put(b"state", Durability::Durable).unwrap();
        assert_eq!(
            objects.get(&hash).unwrap(),
            b"state",
            "and one that says something else, where it matters"
        );
    }

    #[test]
    fn a_compressed_content_reads_like_any_other() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::new(dir.path().to_owned());
        let text = b"transcript ".repeat(1000);
        let hash = objects.put_compressed(&text).unwrap();
        assert_eq!(objects.get(&hash).unwrap(), text);
        let mut reading = objects.open(&hash).unwrap();
        let mut first = [0; 10];
        reading.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"transcript");
        reading.verify().unwrap();
        let other = objects.put(b"other", Durability::Usual).unwrap();
        std::fs::copy(objects.path(&other).unwrap(), objects.path(&hash).unwrap()).unwrap();
        assert!(objects.open(&hash).unwrap().verify().unwrap_err().to_string().contains("damaged"));
        std::fs::remove_file(objects.path(&hash).unwrap()).unwrap();
        assert!(std::fs::metadata(objects.path(&hash).unwrap().with_extension("gz")).unwrap().len() < 1000);
    }

    #[test]
    fn what_is_no_hash_becomes_no_path() {
        let objects = Objects::new("/nowhere".into());
        for bad in ["", "../../etc/passwd", "AB", &"g".repeat(64)] {
            assert!(
                objects.get(bad).unwrap_err().to_string().contains("is not a valid object hash"),
                "{bad}"
            );
        }
    }
}
