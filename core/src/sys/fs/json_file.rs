//! Files with one JSON document: bounded reads, atomic replacement, and damage as a result of its own.

use std::fs::Metadata;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::FileExt;
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::read::regular;
use super::{Appender, allow_missing, if_exists, open, read_regular, write_atomic, write_synced};

pub trait Document: Serialize + DeserializeOwned {
    /// Maximum size of the file in bytes. A larger file is neither read nor written.
    const MAX_BYTES: u64;
    const LAYOUT: Layout = Layout::Compact;

    /// Checks what the type does not: the version, or names that become paths.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

impl Document for serde_json::Value {
    const MAX_BYTES: u64 = 1 << 28;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    Compact,
    /// Without whitespace, and with a line break at the end.
    Line,
    /// Indented, for people.
    Pretty,
}

#[derive(Debug, thiserror::Error)]
#[error("{} is damaged: {why}", .path.display())]
pub struct Damage {
    pub path: PathBuf,
    pub why: String,
}

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, damage)
    }
}

#[derive(Debug)]
pub enum Content<T> {
    Missing,
    Valid(T),
    /// The file is cut off, or has another content.
    Damaged(Damage),
}

impl<T> Content<T> {
    pub fn valid(self) -> Result<Option<T>, Damage> {
        match self {
            Content::Missing => Ok(None),
            Content::Valid(document) => Ok(Some(document)),
            Content::Damaged(damage) => Err(damage),
        }
    }
}

/// A file with one JSON document. Readers need no lock: a reader gets the former document or the new one.
#[derive(Debug, Clone)]
pub struct JsonFile<T> {
    path: PathBuf,
    document: PhantomData<fn() -> T>,
}

impl<T> JsonFile<T> {
    pub fn at(path: impl Into<PathBuf>) -> JsonFile<T> {
        JsonFile { path: path.into(), document: PhantomData }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl<T: Document> JsonFile<T> {
    /// Reads the document. Follows no link, and does not wait for a pipe.
    pub fn read(&self) -> io::Result<Content<T>> {
        Ok(match self.read_bytes()? {
            None => Content::Missing,
            Some((bytes, _)) => self.parse(&bytes).map_or_else(Content::Damaged, Content::Valid),
        })
    }

    /// Reads the file without parsing it; `None` if there is none.
    pub fn read_bytes(&self) -> io::Result<Option<(Vec<u8>, Metadata)>> {
        if_exists(read_regular(&self.path, T::MAX_BYTES))
    }

    pub fn parse(&self, bytes: &[u8]) -> Result<T, Damage> {
        let parsed = serde_json::from_slice(bytes).map_err(|error| error.to_string());
        let checked = parsed.and_then(|document: T| document.check().map(|()| document));
        checked.map_err(|why| Damage { path: self.path.clone(), why })
    }

    /// Replaces the file atomically and returns its bytes. A caller that changes a document holds the lock of its store.
    pub fn write(&self, document: &T) -> io::Result<Vec<u8>> {
        let bytes = self.serialize(document)?;
        write_atomic(&self.path, &bytes)?;
        Ok(bytes)
    }

    /// Like [`JsonFile::write`], and syncs the file to disk.
    pub fn write_synced(&self, document: &T) -> io::Result<()> {
        write_synced(&self.path, &self.serialize(document)?)
    }

    fn serialize(&self, document: &T) -> io::Result<Vec<u8>> {
        let mut bytes = match T::LAYOUT {
            Layout::Compact | Layout::Line => serde_json::to_vec(document)?,
            Layout::Pretty => serde_json::to_vec_pretty(document)?,
        };
        if T::LAYOUT != Layout::Compact {
            bytes.push(b'\n');
        }
        check_size::<T>(&bytes).map(|()| bytes)
    }

    pub fn remove(&self) -> io::Result<()> {
        let removed = fs_err::remove_file(&self.path);
        // A path that is not in a directory does not exist either.
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotADirectory;
        if removed.as_ref().is_err_and(is_missing) { Ok(()) } else { allow_missing(removed) }
    }
}

/// These documents as lines of JSON.
pub fn json_lines<T: Serialize>(documents: &[T]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for document in documents {
        serde_json::to_writer(&mut lines, document)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// A document that is too large could not be read again.
fn check_size<T: Document>(bytes: &[u8]) -> io::Result<()> {
    if bytes.len() as u64 > T::MAX_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
}

/// Up to this size in bytes the file is only appended to.
const MAX_APPENDED_BYTES: u64 = 64 << 10;
/// How many bytes of the end of a file are read first. Most versions are shorter.
const FIRST_READ_BYTES: u64 = 4 << 10;
/// In a file of large versions, at least this many are appended before it is replaced.
const MIN_APPENDED_VERSIONS: u64 = 32;

#[derive(Debug)]
pub struct LastVersion<T> {
    /// The document; `None` if the file has no complete version.
    pub document: Option<T>,
    /// Why later content of the file cannot be used, if there is any.
    pub damage: Option<Damage>,
    size: u64,
}

impl<T: Document> JsonFile<T> {
    /// Reads the last version. Follows no link, and does not wait for a pipe.
    pub fn read_last(&self) -> io::Result<LastVersion<T>> {
        let path = self.path();
        let Some(file) = if_exists(open(path, OFlags::NOFOLLOW))? else {
            return Ok(LastVersion { document: None, damage: None, size: 0 });
        };
        let size = regular(&file)?.len();
        if size > T::MAX_BYTES {
            let what = format!("{} is larger than {} bytes", path.display(), T::MAX_BYTES);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        let read = |start: u64| {
            let mut bytes = vec![0; (size - start) as usize];
            file.read_exact_at(&mut bytes, start).map(|()| bytes)
        };
        let mut length = FIRST_READ_BYTES;
        loop {
            let start = size.saturating_sub(length);
            let (document, damage) = self.last_version(&read(start)?);
            // Its line may begin before the part that was read.
            if document.is_some() || start == 0 {
                return Ok(LastVersion { document, damage, size });
            }
            length *= 16;
        }
    }

    fn last_version(&self, bytes: &[u8]) -> (Option<T>, Option<Damage>) {
        let mut damage = None;
        let lines = bytes.split(|byte| *byte == b'\n').rev().filter(|line| !line.trim_ascii().is_empty());
        for line in lines {
            match self.parse(line) {
                Ok(document) => return (Some(document), damage),
                Err(damaged) => damage = damage.or(Some(damaged)),
            }
        }
        (None, damage)
    }

    /// Appends a version to the file, whose lock the caller holds and whose last version is `last`, which an error leaves
    /// unchanged.
    pub fn append_version(&self, document: &T, last: &LastVersion<T>) -> io::Result<()> {
        let mut line = serde_json::to_vec(document)?;
        line.push(b'\n');
        let length = line.len() as u64;
        let limit = length.saturating_mul(MIN_APPENDED_VERSIONS).clamp(MAX_APPENDED_BYTES, T::MAX_BYTES);
        // A damaged file is replaced, so that the damage is reported once.
        if last.size == 0 || last.damage.is_some() || last.size + length > limit {
            return check_size::<T>(&line).and_then(|()| write_atomic(&self.path, &line));
        }
        // A file of version 0.1 has no line break.
        Appender::open(self.path())?.append_line(&line).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
    struct Counts {
        v: u64,
        names: Vec<String>,
    }

    impl Document for Counts {
        const MAX_BYTES: u64 = 100;
        const LAYOUT: Layout = Layout::Line;

        fn check(&self) -> Result<(), String> {
            if self.v == 1 { Ok(()) } else { Err(format!("unknown version {}", self.v)) }
        }
    }

    #[test]
    fn a_file_is_missing_valid_or_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let file = JsonFile::<Counts>::at(dir.path().join("counts.json"));
        assert!(matches!(file.read().unwrap(), Content::Missing));
        file.remove().unwrap();
        let mut counts = Counts { v: 1, names: vec!["alice".to_owned()] };
        assert_eq!(file.write(&counts).unwrap(), b"{\"v\":1,\"names\":[\"alice\"]}\n");
        assert!(matches!(file.read().unwrap(), Content::Valid(read) if read == counts));
        std::fs::write(file.path(), "{\"v\":1,\"na").unwrap();
        let error = io::Error::from(file.read().unwrap().valid().unwrap_err());
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let begin = format!("{} is damaged: EOF while parsing a string", file.path().display());
        assert!(error.to_string().starts_with(&begin), "{error}");
        std::fs::write(file.path(), "{\"v\":2,\"names\":[]}").unwrap();
        assert!(file.read().unwrap().valid().unwrap_err().to_string().ends_with("unknown version 2"));
        counts.names.push("x".repeat(100));
        assert_eq!(file.write_synced(&counts).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        file.remove().unwrap();
        assert!(matches!(file.read().unwrap(), Content::Missing));
        std::fs::create_dir(file.path()).unwrap();
        assert!(file.read().is_err());
    }

    #[test]
    fn the_last_complete_version_counts_whatever_a_writer_left() {
        let dir = tempfile::tempdir().unwrap();
        let journal = JsonFile::<Value>::at(dir.path().join("counts.json"));
        let last = || journal.read_last().unwrap();
        let append = |document: Value| journal.append_version(&document, &last()).unwrap();
        assert!(last().document.is_none() && last().damage.is_none());
        append(json!({"n": 1}));
        append(json!({"n": 2}));
        assert_eq!(std::fs::read(journal.path()).unwrap(), b"{\"n\":1}\n{\"n\":2}\n");
        std::fs::write(journal.path(), "{\"n\":1}\n{\"n\":2}\n{\"n\":").unwrap();
        assert_eq!((last().document, last().damage.is_some()), (Some(json!({"n": 2})), true));
        append(json!({"n": 3}));
        assert_eq!(std::fs::read(journal.path()).unwrap(), b"{\"n\":3}\n");
        std::fs::write(journal.path(), "{\"n\":4}    ").unwrap();
        assert_eq!((last().document, last().damage.is_some()), (Some(json!({"n": 4})), false), "version 0.1");
        append(json!({"n": 5}));
        assert_eq!(last().document, Some(json!({"n": 5})));
        std::fs::write(journal.path(), "torn").unwrap();
        assert!(last().document.is_none() && last().damage.is_some());
    }

    #[test]
    fn a_long_file_is_replaced_and_a_long_version_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let journal = JsonFile::<Value>::at(dir.path().join("counts.json"));
        let size = || journal.path().metadata().unwrap().len();
        let append =
            |document: &Value| journal.append_version(document, &journal.read_last().unwrap()).unwrap();
        let small = json!("x".repeat(1_000));
        (0..65).for_each(|_| append(&small));
        assert!(size() > 60_000);
        append(&small);
        assert!(size() < 2_000, "replaced");
        let large = json!("y".repeat(100_000));
        (0..3).for_each(|_| append(&large));
        assert!(size() > 300_000);
        assert_eq!(journal.read_last().unwrap().document, Some(large));
    }
}
