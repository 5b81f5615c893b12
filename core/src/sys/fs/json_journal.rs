//! Files with the versions of one JSON document, one in each line, of which the last complete one counts.
//!
//! For documents that change at most hook calls: on ext4, replacing a file by a rename flushes its blocks at once, which
//! takes longer than the rest of the call. An append does not, and a writer that is killed loses only its own version.

use std::io;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::FileExt;
use rustix::fs::OFlags;

use super::json_file::parse;
use super::read::{open, regular};
use super::{Appender, Damage, Document, JsonFile};

/// Up to this size in bytes the file is only appended to.
const MAX_APPENDED_BYTES: u64 = 64 << 10;
/// In a file of large versions, at least this many are appended before it is replaced.
const MIN_APPENDED_VERSIONS: u64 = 32;

/// A file with the versions of one document.
#[derive(Debug, Clone)]
pub struct JsonJournal<T> {
    file: JsonFile<T>,
}

/// The last version of a document.
#[derive(Debug)]
pub struct LastVersion<T> {
    /// The document; `None` if the file has no complete version.
    pub document: Option<T>,
    /// Why later content of the file cannot be used, if there is any.
    pub damage: Option<Damage>,
    /// The size of the file in bytes.
    size: u64,
}

impl<T: Document> JsonJournal<T> {
    /// The file at this path, which need not exist.
    pub fn at(path: impl Into<PathBuf>) -> JsonJournal<T> {
        JsonJournal { file: JsonFile::at(path) }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Reads the last version. Follows no link, and does not wait for a pipe.
    ///
    /// # Errors
    /// The file cannot be read, is not a regular file, or is too large.
    pub fn read(&self) -> io::Result<LastVersion<T>> {
        let path = self.path();
        let file = match open(path, OFlags::NOFOLLOW) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(LastVersion { document: None, damage: None, size: 0 });
            }
            opened => opened?,
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
        let start = size.saturating_sub(MAX_APPENDED_BYTES);
        let last = self.last_version(&read(start)?, start == 0, size);
        // Its line may begin before the part that was read.
        if last.document.is_some() || start == 0 {
            Ok(last)
        } else {
            Ok(self.last_version(&read(0)?, true, size))
        }
    }

    /// The last version in the end of the file. The first line of a part may lack its beginning.
    fn last_version(&self, bytes: &[u8], is_whole: bool, size: u64) -> LastVersion<T> {
        let mut damage = None;
        let lines = bytes.split(|byte| *byte == b'\n').rev().filter(|line| !line.trim_ascii().is_empty());
        for line in lines {
            match parse(line) {
                Ok(document) => return LastVersion { document: Some(document), damage, size },
                Err(flaw) => {
                    damage.get_or_insert(Damage { path: self.path().to_owned(), flaw });
                }
            }
        }
        LastVersion { document: None, damage: damage.filter(|_| is_whole), size }
    }

    /// Appends a version to the file, whose lock the caller holds and whose last version is `last`.
    ///
    /// # Errors
    /// Writing fails, or the document is too large to be read again; the last version is unchanged then.
    pub fn append(&self, document: &T, last: &LastVersion<T>) -> io::Result<()> {
        let mut line = serde_json::to_vec(document)?;
        line.push(b'\n');
        let length = line.len() as u64;
        let limit = length.saturating_mul(MIN_APPENDED_VERSIONS).clamp(MAX_APPENDED_BYTES, T::MAX_BYTES);
        // A damaged file is replaced, so that the damage is reported once.
        if last.size == 0 || last.damage.is_some() || last.size + length > limit {
            return self.file.write_bytes(&line);
        }
        // A file of version 0.1 has no line break.
        Appender::open(self.path())?.append_line(&line).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_last_complete_version_counts_whatever_a_writer_left() {
        let dir = tempfile::tempdir().unwrap();
        let journal = JsonJournal::<Value>::at(dir.path().join("counts.json"));
        let last = || journal.read().unwrap();
        let append = |document: Value| journal.append(&document, &last()).unwrap();
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
        let journal = JsonJournal::<Value>::at(dir.path().join("counts.json"));
        let size = || journal.path().metadata().unwrap().len();
        let append = |document: &Value| journal.append(document, &journal.read().unwrap()).unwrap();
        let small = json!("x".repeat(1_000));
        (0..65).for_each(|_| append(&small));
        assert!(size() > 60_000);
        append(&small);
        assert!(size() < 2_000, "replaced");
        let large = json!("y".repeat(100_000));
        (0..3).for_each(|_| append(&large));
        assert!(size() > 300_000);
        assert_eq!(journal.read().unwrap().document, Some(large));
    }
}
