//! Contents by hash: `objects/<first digit>/<other digits>`, or the same with `.gz`.
//!
//! There are only sixteen directories: with more, most contents of a new store would first have to create theirs.

use std::io::{self, Cursor, Read};
use std::path::PathBuf;

use super::index::CapturedFile;
use super::pack::{self, Packs, StoredContents};
use crate::error::{Error, Result};
use crate::sys::fs;

/// Maximum size of an object, in bytes.
pub(super) const MAX_BYTES: u64 = 2 << 30;

/// The directory of the objects.
#[derive(Debug, Clone)]
pub struct Objects {
    pub(super) root: PathBuf,
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

/// An object's file on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The hash in its name.
    pub hash: String,
    pub path: PathBuf,
    /// On disk, in bytes.
    pub size: u64,
    /// Whether it is compressed.
    pub packed: bool,
}

impl Objects {
    pub fn new(root: PathBuf) -> Objects {
        let packs = Packs::new(root.with_file_name("runs"));
        Objects { root, packs }
    }

    /// Stores a content and returns its hash. An existing file is not written again, unless it is truncated or, as far
    /// as it is compared, has another content.
    pub fn put(&self, bytes: &[u8], durability: Durability) -> io::Result<String> {
        let hash = hash(bytes);
        let path = self.path(&hash).ok_or(io::ErrorKind::InvalidInput)?;
        let is_equal = || fs::read_regular(&path, bytes.len() as u64).is_ok_and(|(there, _)| there == bytes);
        match (self.has(&hash, bytes.len()), durability) {
            (true, Durability::Usual) => {}
            (true, Durability::Compared) if is_equal() => {}
            (true, Durability::Durable) if is_equal() => fs::sync(&path)?,
            (false, Durability::Usual) => fs::write_atomic(&path, bytes)?,
            _ => fs::write_synced(&path, bytes)?,
        }
        Ok(hash)
    }

    /// Syncs the names of stored contents to disk.
    pub fn sync_names(&self) -> io::Result<()> {
        let Some(mut listing) = fs::if_exists(fs_err::read_dir(&self.root))? else { return Ok(()) };
        listing.try_for_each(|entry| fs::sync(&entry?.path()))?;
        fs::sync(&self.root)
    }

    /// Stores a content in compressed form (gzip) and returns the hash of the uncompressed one.
    pub fn put_compressed(&self, bytes: &[u8]) -> io::Result<String> {
        let hash = hash(bytes);
        let path = self.path(&hash).ok_or(io::ErrorKind::InvalidInput)?;
        let compressed = pack::packed(&path);
        if !path.exists() && !compressed.exists() {
            let mut packed = Vec::new();
            flate2::read::GzEncoder::new(bytes, flate2::Compression::default()).read_to_end(&mut packed)?;
            fs::write_atomic(&compressed, &packed)?;
        }
        Ok(hash)
    }

    /// Reads a content and checks its hash.
    pub fn get(&self, hash: &str) -> Result<Vec<u8>> {
        let path = self.valid_path(hash)?;
        // Most contents of the run that is being read are in its pack: no two failed opens for each of them.
        if let Some(bytes) = self.packs.get_expected(hash) {
            return Ok(bytes);
        }
        let bytes = match fs::read_regular(&path, MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match pack::unpack(&path) {
                Err(missing) => return self.get_packed(hash, missing.into()),
                bytes => bytes?,
            },
            other => other?.0,
        };
        match self::hash(&bytes) == hash {
            true => Ok(bytes),
            false => self.get_packed(hash, ObjectError::OtherHash(path).into()),
        }
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
    pub fn check_packed(&self, hash: &str) -> Option<Result<u64>> {
        Some(self.packs.get(hash)?.map(|bytes| bytes.len() as u64).map_err(Into::into))
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

    /// Opens a content for reading in pieces. Only [`VerifyingReader::verify`] at the end checks that it is intact.
    pub fn open(&self, hash: &str) -> Result<VerifyingReader> {
        let (from, path) = (self.open_unchecked(hash)?, self.valid_path(hash)?);
        Ok(VerifyingReader { from, hasher: blake3::Hasher::new(), hash: hash.to_owned(), path })
    }

    /// Opens a content for reading in pieces, which may be damaged.
    pub fn open_unchecked(&self, hash: &str) -> Result<Box<dyn Read>> {
        let path = self.valid_path(hash)?;
        Ok(match fs::open_regular(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match pack::open_packed(&path) {
                Err(missing) => Box::new(Cursor::new(self.get_packed(hash, missing.into())?)),
                gzip => Box::new(gzip?),
            },
            // A power failure may have left an incomplete file. A run may store the content as well.
            Ok(file) if file.metadata().is_ok_and(|metadata| metadata.len() == 0) => {
                Box::new(Cursor::new(self.get(hash)?))
            }
            other => Box::new(other?),
        })
    }

    /// Checks that a file has the content that its name claims, in bounded memory.
    pub fn check(&self, stored: &ObjectInfo) -> std::result::Result<(), ObjectError> {
        let path = stored.path.clone();
        let from: Box<dyn Read> = match stored.packed {
            true => Box::new(pack::open_packed(&path.with_extension(""))?),
            false => Box::new(fs::open_regular(&path)?),
        };
        VerifyingReader { from, hasher: blake3::Hasher::new(), hash: stored.hash.clone(), path }.verify()
    }

    /// Calls `each` for every object. Skips files that do not belong to teamkeep and temporary files of killed writers.
    pub fn each(&self, mut each: impl FnMut(ObjectInfo) -> io::Result<()>) -> io::Result<()> {
        for digit in "0123456789abcdef".chars() {
            for entry in fs::list(&self.root.join(digit.to_string()))? {
                let Ok(name) = entry.file_name().into_string() else { continue };
                let (rest, packed) = name.strip_suffix(".gz").map_or((&*name, false), |rest| (rest, true));
                let hash = format!("{digit}{rest}");
                // Without metadata, it was pruned in the meantime.
                if Objects::is_hash(&hash)
                    && let Ok(metadata) = entry.metadata()
                {
                    each(ObjectInfo { hash, path: entry.path(), size: metadata.len(), packed })?;
                }
            }
        }
        Ok(())
    }

    /// The files of an object: none, one, or both the plain and the compressed one.
    pub fn stored(&self, hash: &str) -> Vec<ObjectInfo> {
        let Some(plain) = self.path(hash) else { return Vec::new() };
        let both = [(pack::packed(&plain), true), (plain, false)];
        let there = both.into_iter().rev().filter_map(|(path, packed)| {
            let size = path.symlink_metadata().ok()?.len();
            Some(ObjectInfo { hash: hash.to_owned(), path, size, packed })
        });
        there.collect()
    }

    /// The path of an object; `None` if the hash is not valid.
    pub(super) fn path(&self, hash: &str) -> Option<PathBuf> {
        Objects::is_hash(hash).then(|| self.root.join(&hash[..1]).join(&hash[1..]))
    }

    fn valid_path(&self, hash: &str) -> Result<PathBuf> {
        self.path(hash).ok_or_else(|| Error::new(format!("{hash:?} is not a valid object hash")))
    }

    /// Whether a text is a valid hash: 64 lower-case hexadecimal digits.
    pub fn is_hash(text: &str) -> bool {
        text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }
}

/// Why a stored content cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    #[error(transparent)]
    Io(#[from] io::Error),
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
    pub fn verify(mut self) -> std::result::Result<(), ObjectError> {
        io::copy(&mut self, &mut io::sink()).map_err(|error| fs::with_path(error, "read", &self.path))?;
        match self.hasher.finalize().to_hex().as_str() == self.hash {
            true => Ok(()),
            false => Err(ObjectError::OtherHash(self.path)),
        }
    }
}

/// The last captured contents of a run's files. Reading is fastest in the order of the paths.
pub struct Contents<'a> {
    pub(super) objects: &'a Objects,
    pub(super) stored: Option<StoredContents>,
}

impl Contents<'_> {
    /// The last complete content of a file, if it can be read.
    pub fn get(&mut self, seen: &CapturedFile) -> Option<Vec<u8>> {
        let hash = seen.content()?;
        let stored = self.stored.as_mut().zip(seen.recipe);
        let latest = stored.and_then(|(stored, recipe)| stored.get(recipe).ok());
        // The recipe may be the one of an earlier content.
        let latest = latest.map(|latest| latest.bytes).filter(|bytes| self::hash(bytes) == hash);
        latest.or_else(|| self.objects.get(hash).ok())
    }
}

/// The hash of a content.
pub(super) fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_read_back_and_a_damaged_one_is_an_error() {
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
    fn an_invalid_hash_does_not_become_a_path() {
        let objects = Objects::new("/nowhere".into());
        for bad in ["", "../../etc/passwd", "AB", &"g".repeat(64)] {
            assert!(
                objects.get(bad).unwrap_err().to_string().contains("is not a valid object hash"),
                "{bad}"
            );
        }
    }
}
