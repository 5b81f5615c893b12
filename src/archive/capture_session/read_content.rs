//! Reads a file that may be half-written.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::CaptureSession;
use crate::clock;
use crate::fs::{self, Stamp};

/// Pauses before a file is read again because it is not complete JSON: its writer may not have finished.
const PAUSES: [Duration; 3] = [Duration::from_millis(1), Duration::from_millis(3), Duration::from_millis(9)];

/// Maximum total pause in one capture: other processes wait for its lock, and Claude Code waits for the hook.
pub(super) const ALL_PAUSES: Duration = Duration::from_millis(15);

/// The content of a file.
pub(super) struct FileContent {
    pub bytes: Vec<u8>,
    pub stamp: Stamp,
    /// Whether it was not complete JSON, or changed while it was read.
    pub torn: bool,
    /// The file system's clock before the file was read.
    pub read_at: i64,
}

impl CaptureSession<'_> {
    /// Reads a file, and again if it is not complete JSON, while the capture has pauses left. Does not wait for a file
    /// that is empty, or that was equally incomplete in the last capture.
    pub(super) fn read(&mut self, client: &Path, path: &str) -> io::Result<FileContent> {
        let json = path.ends_with(".json");
        let mut pauses = PAUSES.iter();
        loop {
            let read_at = clock::file_time();
            let read = fs::read_stable(&client.join(&*self.scan.place(path)), self.archive.largest)?;
            let cut = json && serde_json::from_slice::<serde::de::IgnoredAny>(&read.bytes).is_err();
            let stamp = Stamp::of(&read.metadata);
            let is_known = || self.index.files.get(path).is_some_and(|seen| seen.matches(&stamp));
            let pause = pauses.next().filter(|pause| **pause <= self.pauses);
            match pause.filter(|_| cut && !read.bytes.is_empty() && !is_known()) {
                Some(pause) => {
                    self.pauses -= *pause;
                    std::thread::sleep(*pause);
                }
                None => {
                    return Ok(FileContent { bytes: read.bytes, stamp, torn: cut || !read.steady, read_at });
                }
            }
        }
    }
}
