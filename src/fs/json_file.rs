//! Files with one JSON document: bounded reads, atomic replacement, and damage as a result of its own.

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{read_regular, write_atomic};

/// The content of a file, and the rules for it.
pub trait Document: Serialize + DeserializeOwned {
    /// Maximum size of the file in bytes. A larger file is neither read nor written.
    const MAX_BYTES: u64;
    /// How the file is written.
    const LAYOUT: Layout = Layout::Compact;

    /// Checks what the type does not: the version, or names that become paths.
    ///
    /// # Errors
    /// The document cannot be used.
    fn check(&self) -> Result<(), Flaw> {
        Ok(())
    }
}

/// Any document.
impl Document for serde_json::Value {
    const MAX_BYTES: u64 = 1 << 28;
}

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Without whitespace.
    Compact,
    /// Without whitespace, and with a line break at the end.
    Line,
    /// Indented, for people.
    Pretty,
}

/// Why a document cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Flaw {
    /// It is not valid JSON, or fields are missing.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It has another format version.
    #[error("unknown version {0}")]
    Version(u64),
    /// It has a value that the store does not allow.
    #[error("{0}")]
    Value(String),
}

/// A file whose content cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{} is damaged: {flaw}", .path.display())]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    #[source]
    pub flaw: Flaw,
}

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, damage)
    }
}

/// The state of a file.
#[derive(Debug)]
pub enum Content<T> {
    /// There is no file.
    Missing,
    /// The document.
    Valid(T),
    /// The file is cut off, or has another content.
    Damaged(Damage),
}

impl<T> Content<T> {
    /// The document; `None` if there is no file.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn valid(self) -> Result<Option<T>, Damage> {
        match self {
            Content::Missing => Ok(None),
            Content::Valid(document) => Ok(Some(document)),
            Content::Damaged(damage) => Err(damage),
        }
    }
}

/// A file with one JSON document. Readers need no lock: a reader gets the former document or the new one.
pub struct JsonFile<T> {
    path: PathBuf,
    document: PhantomData<fn() -> T>,
}

impl<T> JsonFile<T> {
    /// The file at this path, which need not exist.
    pub fn at(path: impl Into<PathBuf>) -> JsonFile<T> {
        JsonFile { path: path.into(), document: PhantomData }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl<T: Document> JsonFile<T> {
    /// Reads the document. Follows no link, and does not wait for a pipe.
    ///
    /// # Errors
    /// The file cannot be read, is not a regular file, or is too large.
    pub fn read(&self) -> io::Result<Content<T>> {
        Ok(match self.read_bytes()? {
            None => Content::Missing,
            Some((bytes, _)) => self.parse(&bytes).map_or_else(Content::Damaged, Content::Valid),
        })
    }

    /// Reads the file without parsing it; `None` if there is none.
    ///
    /// # Errors
    /// See [`JsonFile::read`].
    pub fn read_bytes(&self) -> io::Result<Option<(Vec<u8>, Metadata)>> {
        match read_regular(&self.path, T::MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    /// Parses bytes of the file.
    ///
    /// # Errors
    /// The document cannot be used.
    pub fn parse(&self, bytes: &[u8]) -> Result<T, Damage> {
        parse(bytes).map_err(|flaw| Damage { path: self.path.clone(), flaw })
    }

    /// Replaces the file atomically and returns its bytes. With `durable`, it is synced to disk. A caller that changes a
    /// document holds the lock of its store.
    ///
    /// # Errors
    /// Writing fails, or the document is too large to be read again.
    pub fn write(&self, document: &T, durable: bool) -> io::Result<Vec<u8>> {
        let mut bytes = match T::LAYOUT {
            Layout::Compact | Layout::Line => serde_json::to_vec(document)?,
            Layout::Pretty => serde_json::to_vec_pretty(document)?,
        };
        if T::LAYOUT != Layout::Compact {
            bytes.push(b'\n');
        }
        self.write_bytes(&bytes, durable)?;
        Ok(bytes)
    }

    /// Replaces the file atomically by a serialized document.
    pub(super) fn write_bytes(&self, bytes: &[u8], durable: bool) -> io::Result<()> {
        if bytes.len() as u64 > T::MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        write_atomic(&self.path, bytes, durable)
    }

    /// Removes the file, if it exists.
    ///
    /// # Errors
    /// Removing fails.
    pub fn remove(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.path) {
            // A path that is not in a directory does not exist either.
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Err(super::with_path(error, "remove", &self.path))
            }
            _ => Ok(()),
        }
    }
}

/// Parses and checks a document.
pub(super) fn parse<T: Document>(bytes: &[u8]) -> Result<T, Flaw> {
    let document: T = serde_json::from_slice(bytes)?;
    document.check().map(|()| document)
}

impl<T> Clone for JsonFile<T> {
    fn clone(&self) -> JsonFile<T> {
        JsonFile::at(&self.path)
    }
}

impl<T> fmt::Debug for JsonFile<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("JsonFile").field(&self.path).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
    struct Counts {
        v: u64,
        names: Vec<String>,
    }

    impl Document for Counts {
        const MAX_BYTES: u64 = 100;
        const LAYOUT: Layout = Layout::Line;

        fn check(&self) -> Result<(), Flaw> {
            if self.v == 1 { Ok(()) } else { Err(Flaw::Version(self.v)) }
        }
    }

    #[test]
    fn a_file_is_missing_valid_or_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let file = JsonFile::<Counts>::at(dir.path().join("counts.json"));
        assert!(matches!(file.read().unwrap(), Content::Missing));
        file.remove().unwrap();
        let mut counts = Counts { v: 1, names: vec!["alice".to_owned()] };
        assert_eq!(file.write(&counts, false).unwrap(), b"{\"v\":1,\"names\":[\"alice\"]}\n");
        assert!(matches!(file.read().unwrap(), Content::Valid(read) if read == counts));
        std::fs::write(file.path(), "{\"v\":1,\"na").unwrap();
        let error = io::Error::from(file.read().unwrap().valid().unwrap_err());
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let begin = format!("{} is damaged: EOF while parsing a string", file.path().display());
        assert!(error.to_string().starts_with(&begin), "{error}");
        std::fs::write(file.path(), "{\"v\":2,\"names\":[]}").unwrap();
        assert!(file.read().unwrap().valid().unwrap_err().to_string().ends_with("unknown version 2"));
        counts.names.push("x".repeat(100));
        assert_eq!(file.write(&counts, true).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        file.remove().unwrap();
        assert!(matches!(file.read().unwrap(), Content::Missing));
        std::fs::create_dir(file.path()).unwrap();
        assert!(file.read().is_err());
    }
}
