//! Reads that end after a time.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// How long a read at least waits for the thread that reads.
const MIN_PATIENCE: Duration = Duration::from_millis(20);
const CHUNK_BYTES: usize = 64 << 10;

/// What can be read with a time limit.
pub trait InputSource: Read + Send + 'static {}

impl<T: Read + Send + 'static> InputSource for T {}

/// Input that may never come. A thread reads it, which ends with the process if no more comes.
pub struct TimedInput {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// What was received and not yet read.
    left: Vec<u8>,
}

impl TimedInput {
    pub fn new(mut source: impl InputSource) -> TimedInput {
        let (sender, chunks) = sync_channel(4);
        thread::spawn(move || {
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                let read = source.read(&mut chunk).map(|count| chunk[..count].to_vec());
                // The writer of a pipe may end without closing it.
                let read = read.or_else(|error| match error.kind() {
                    io::ErrorKind::BrokenPipe => Ok(Vec::new()),
                    _ => Err(error),
                });
                let is_last = !matches!(&read, Ok(bytes) if !bytes.is_empty());
                if sender.send(read).is_err() || is_last {
                    return;
                }
            }
        });
        TimedInput { chunks, left: Vec::new() }
    }

    /// Reads available bytes; 0 at the end. `None` if there are none within `patience`.
    pub fn read(&mut self, into: &mut [u8], patience: Duration) -> io::Result<Option<usize>> {
        if self.left.is_empty() {
            match self.chunks.recv_timeout(patience.max(MIN_PATIENCE)) {
                Ok(read) => self.left = read?,
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Ok(Some(0)),
            }
        }
        let count = self.left.len().min(into.len());
        into[..count].copy_from_slice(&self.left[..count]);
        self.left.drain(..count);
        Ok(Some(count))
    }
}
