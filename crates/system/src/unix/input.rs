//! Reads that end after a time.

use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// What can be read with a time limit.
pub trait InputSource: Read + AsFd {}

impl<T: Read + AsFd> InputSource for T {}

/// Input that may never come. A buffer in the source must not be larger than those that are read into: `poll` does not report its
/// bytes.
pub struct TimedInput<R> {
    source: R,
    /// Whether the writer has closed it: no read waits any more.
    is_closed: bool,
}

impl<R: InputSource> TimedInput<R> {
    pub fn new(source: R) -> TimedInput<R> {
        TimedInput { source, is_closed: false }
    }

    /// Reads available bytes; 0 at the end. `None` if there are none within `patience`, or after a signal.
    pub fn read(&mut self, into: &mut [u8], patience: Duration) -> io::Result<Option<usize>> {
        if !self.is_closed {
            let timeout = Timespec { tv_sec: patience.as_secs() as _, tv_nsec: patience.subsec_nanos() as _ };
            let mut polled = [PollFd::new(&self.source, PollFlags::IN)];
            match poll(&mut polled, Some(&timeout)) {
                Ok(0) | Err(Errno::INTR) => return Ok(None),
                Ok(_) => self.is_closed = polled[0].revents().contains(PollFlags::HUP),
                Err(error) => return Err(error.into()),
            }
        }
        match self.source.read(into) {
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => Ok(None),
            read => read.map(Some),
        }
    }
}
