//! What a file says when it is read, perhaps while its writer is half done.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::Look;
use crate::clock;
use crate::fs::{self, Stamp};

/// A file is read again after these pauses when it is no whole JSON: its writer may be half done.
const PAUSES: [Duration; 3] = [Duration::from_millis(1), Duration::from_millis(3), Duration::from_millis(9)];

/// All pauses of one look together: others wait for its lock, and the client for the hook.
pub(super) const ALL_PAUSES: Duration = Duration::from_millis(15);

/// What a file said.
pub(super) struct Content {
    pub bytes: Vec<u8>,
    pub stamp: Stamp,
    /// Whether it was no whole JSON, or was written while it was read.
    pub torn: bool,
    /// The clock for files, before it was read.
    pub read_at: i64,
}

impl Look<'_> {
    /// Reads a file, again where it is no whole JSON, as long as the look has pauses left. What is empty, or was as
    /// torn at the last look, is not waited for.
    pub(super) fn read(&mut self, client: &Path, path: &str) -> io::Result<Content> {
        let json = path.ends_with(".json");
        let mut pauses = PAUSES.iter();
        loop {
            let read_at = clock::file_time();
            let read = fs::read_steady(&client.join(&*self.scan.place(path)), self.archive.largest)?;
            let cut = json && serde_json::from_slice::<serde::de::IgnoredAny>(&read.bytes).is_err();
            let stamp = Stamp::of(&read.metadata);
            let known = self.index.files.get(path).is_some_and(|seen| seen.matches(&stamp));
            let pause = pauses.next().filter(|pause| **pause <= self.pauses);
            match pause.filter(|_| cut && !known && !read.bytes.is_empty()) {
                Some(pause) => {
                    self.pauses -= *pause;
                    std::thread::sleep(*pause);
                }
                None => return Ok(Content { bytes: read.bytes, stamp, torn: cut || !read.steady, read_at }),
            }
        }
    }
}
