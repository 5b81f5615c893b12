//! Reads the contents of a run, and its transcripts, by their hashes.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use super::contents::{ContentError, RunContents, hash, is_hash, transcript_path};
use super::directory::Archive;
use crate::packed;
use teamkeep_system::error::Result;
use teamkeep_system::fs;

impl Archive {
    /// The contents of a run, for many reads.
    pub fn contents(&self, run: &str) -> RunContents {
        // Nothing is below the directory of an invalid ID.
        RunContents::new(self.run_dir(run).unwrap_or_else(|| self.runs_dir()))
    }

    /// The run's directory. An invalid ID or hash is that of a missing content.
    fn dir_of_content(&self, run: &str, hash: &str) -> std::result::Result<PathBuf, ContentError> {
        let missing = || ContentError::Missing { hash: hash.to_owned(), dir: self.runs_dir().join(run) };
        self.run_dir(run).filter(|_| is_hash(hash)).ok_or_else(missing)
    }

    /// Reads a content of a run, or one of its transcripts, and checks its hash.
    pub fn content(&self, run: &str, hash: &str) -> std::result::Result<Vec<u8>, ContentError> {
        let dir = self.dir_of_content(run, hash)?;
        let error = match self.open_runs.with(run, &dir, |contents| contents.get(hash)) {
            Ok(bytes) => return Ok(bytes),
            Err(error) => error,
        };
        let mut bytes = Vec::new();
        match transcript(&dir, hash)? {
            Some(mut reader) => reader.read_to_end(&mut bytes)?,
            None => return Err(error),
        };
        match self::hash(&bytes) == hash {
            true => Ok(bytes),
            false => Err(ContentError::Damaged { hash: hash.to_owned(), dir }),
        }
    }

    /// Opens a content of a run, or one of its transcripts, for reading in pieces. Only [`VerifyingReader::verify`] at the
    /// end checks that it is intact.
    pub fn open_content(&self, run: &str, hash: &str) -> Result<VerifyingReader> {
        let dir = self.dir_of_content(run, hash)?;
        let from: Box<dyn Read> = match transcript(&dir, hash)? {
            Some(reader) => reader,
            None => match self.open_runs.with(run, &dir, |contents| contents.open(hash))? {
                Some(reader) => reader,
                None => Box::new(Cursor::new(self.content(run, hash)?)),
            },
        };
        Ok(VerifyingReader { from, hasher: blake3::Hasher::new(), hash: hash.to_owned(), dir })
    }
}

/// The archived transcript of this hash.
fn transcript(dir: &Path, hash: &str) -> io::Result<Option<Box<dyn Read>>> {
    let opened = fs::if_exists(packed::open_packed(&transcript_path(dir, hash)))?;
    Ok(opened.map(|reader| Box::new(reader) as Box<dyn Read>))
}

/// A content being read.
pub struct VerifyingReader {
    from: Box<dyn Read>,
    hasher: blake3::Hasher,
    hash: String,
    dir: PathBuf,
}

impl Read for VerifyingReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.hasher.update(&into[..count]);
        Ok(count)
    }
}

impl VerifyingReader {
    /// Reads the rest and checks the hash. Returns the size of the rest.
    pub fn verify(mut self) -> std::result::Result<u64, ContentError> {
        let rest = io::copy(&mut self, &mut io::sink())
            .map_err(|error| fs::with_path(error, "read a content of", &self.dir))?;
        match self.hasher.finalize().to_hex().as_str() == self.hash {
            true => Ok(rest),
            false => Err(ContentError::Damaged { hash: self.hash, dir: self.dir }),
        }
    }
}
