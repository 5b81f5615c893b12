//! Files with one JSON document: bounded reads, atomic replacement, and damage as a result of its own.

use std::fs::Metadata;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{allow_missing, exchange, if_exists, read_regular, write_atomic, write_synced};

/// Maximum size of such a file in bytes. A larger file is neither read nor written. The index of 100,000 files has about 25 MB.
pub const MAX_JSON_BYTES: u64 = 64 << 20;

pub trait JsonDocument: Serialize + DeserializeOwned {
    /// Checks what the type does not: the version, or names that become paths.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

impl JsonDocument for serde_json::Value {}

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

/// The document, if there is a file. A damaged file is cut off, or has another content.
pub type Content<T> = Result<Option<T>, Damage>;

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

impl<T: JsonDocument> JsonFile<T> {
    /// Reads the document. Follows no link, and does not wait for a pipe.
    pub fn read(&self) -> io::Result<Content<T>> {
        Ok(self.read_bytes()?.map(|(bytes, _)| self.parse(&bytes)).transpose())
    }

    /// The document, if there is one that can be read.
    pub fn known(&self) -> Option<T> {
        self.read().ok()?.ok()?
    }

    /// Reads the file without parsing it; `None` if there is none.
    pub fn read_bytes(&self) -> io::Result<Option<(Vec<u8>, Metadata)>> {
        if_exists(read_regular(&self.path, MAX_JSON_BYTES))
    }

    pub fn parse(&self, bytes: &[u8]) -> Result<T, Damage> {
        let parsed = serde_json::from_slice(bytes).map_err(|error| error.to_string());
        let checked = parsed.and_then(|document: T| document.check().map(|()| document));
        checked.map_err(|why| Damage { path: self.path.clone(), why })
    }

    /// Replaces the file atomically. A caller that changes a document holds the lock of its store.
    pub fn write(&self, document: &T) -> io::Result<()> {
        write_atomic(&self.path, &self.serialize(document)?)
    }

    /// Like [`JsonFile::write`], for state that can be made again: see [`exchange`].
    pub fn exchange(&self, document: &T) -> io::Result<()> {
        exchange(&self.path, &self.serialize(document)?).map(drop)
    }

    /// Like [`JsonFile::write`], and syncs the file to disk.
    pub fn write_synced(&self, document: &T) -> io::Result<()> {
        write_synced(&self.path, &self.serialize(document)?)
    }

    fn serialize(&self, document: &T) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(document)?;
        bytes.push(b'\n');
        // It could not be read again.
        if bytes.len() as u64 > MAX_JSON_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
    struct Counts {
        v: u64,
        names: Vec<String>,
    }

    impl JsonDocument for Counts {
        fn check(&self) -> Result<(), String> {
            if self.v == 1 { Ok(()) } else { Err(format!("unknown version {}", self.v)) }
        }
    }

    #[test]
    fn a_file_is_missing_valid_or_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let file = JsonFile::<Counts>::at(dir.path().join("counts.json"));
        assert!(matches!(file.read().unwrap(), Ok(None)));
        file.remove().unwrap();
        let mut counts = Counts { v: 1, names: vec!["alice".to_owned()] };
        file.write(&counts).unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"{\"v\":1,\"names\":[\"alice\"]}\n");
        assert!(matches!(file.read().unwrap(), Ok(Some(read)) if read == counts));
        std::fs::write(file.path(), "{\"v\":1,\"na").unwrap();
        let error = io::Error::from(file.read().unwrap().unwrap_err());
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let begin = format!("{} is damaged: EOF while parsing a string", file.path().display());
        assert!(error.to_string().starts_with(&begin), "{error}");
        std::fs::write(file.path(), "{\"v\":2,\"names\":[]}").unwrap();
        assert!(file.read().unwrap().unwrap_err().to_string().ends_with("unknown version 2"));
        counts.names.push("x".repeat(MAX_JSON_BYTES as usize));
        assert_eq!(file.write_synced(&counts).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        file.remove().unwrap();
        assert!(matches!(file.read().unwrap(), Ok(None)));
        std::fs::create_dir(file.path()).unwrap();
        assert!(file.read().is_err());
    }
}
