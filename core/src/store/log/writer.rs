//! Appending: one write under the lock, and never a lost line.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::TimeDelta;
use fs_err::File;

use super::SegmentName;
use super::changes::{LogChange, changes_path};
use super::lock_file::{Head, LOCK, LockState};
use super::seal::{seal, seal_single, sealed_size};
use super::tail::{Tail, chain_end, chain_end_after};
use crate::config;
use crate::error::Result;
use crate::model::{Note, Severity};
use crate::sys::clock::Timestamp;
use crate::sys::fs;

/// The event log of one directory. Any number of processes may append at once.
#[derive(Debug, Clone)]
pub struct Log {
    dir: PathBuf,
    pub limits: config::Log,
    /// Whether a line is synced to disk when [`Log::append`] returns, before something is deleted.
    pub durable: bool,
}

/// Calls that overlap may be this far apart, and no clock was set back between them.
const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::minutes(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The segment: a single-line one if the lock was not free.
    pub segment: SegmentName,
    /// Problems, for the diagnostics. The line was stored nevertheless.
    pub notes: Vec<Note>,
}

impl Log {
    pub fn open(dir: impl Into<PathBuf>, limits: &config::Log) -> Log {
        Log { dir: dir.into(), limits: limits.clone(), durable: false }
    }

    /// Appends one line to the segment of the day of `at`. If the lock is not free in time, the line goes to a segment of its
    /// own. After an error, the log is unchanged.
    pub fn append(&self, line: &[u8], at: Timestamp) -> Result<Appended> {
        let line = match line.ends_with(b"\n") {
            true => Cow::Borrowed(line),
            false => Cow::Owned([line, b"\n"].concat()),
        };
        let patience = self.limits.lock_patience;
        let (why, severity) = match fs::lock(&self.dir.join(LOCK), patience) {
            Ok(Some(lock)) => return Ok(self.append_locked(lock, &line, at)?),
            Ok(None) => (
                format!("the log's lock was not free within {} ms", patience.as_millis()),
                Severity::Contention,
            ),
            Err(error) => (error.to_string(), Severity::Problem),
        };
        let segment = self.append_alone(&line, at)?;
        let notes = vec![Note::new(severity, format!("{why}; the line went to {segment}"))];
        Ok(Appended { segment, notes })
    }

    fn append_locked(&self, lock: fs::Lock, line: &[u8], at: Timestamp) -> io::Result<Appended> {
        let mut notes = Vec::new();
        let mut state = LockState::read(&lock.file);
        let former = state.current(&self.dir);
        notes.extend(former.as_ref().filter(|name| name.start() > at + MAX_CLOCK_SKEW).map(|name| {
            let (now, then) = (at, name.start());
            format!("the clock went back to {now}: the log's segment {name} began at {then}")
        }));
        let open = |name: &SegmentName| Tail::open(&self.dir, name);
        let has_room = |tail: &Tail| {
            let size = tail.file.length;
            size == 0 || size.saturating_add(sealed_size(line)) <= self.limits.segment_size
        };
        let mut tail = match former.as_ref().filter(|name| name.has_room(at)).map(open) {
            Some(Ok(tail)) if has_room(&tail) => tail,
            other => {
                notes.extend(other.and_then(io::Result::err).map(|error| error.to_string()));
                match begin_segment(&self.dir, &lock.file, &mut state, at) {
                    Ok(name) => open(&name)?,
                    Err(error) => {
                        // The next writer would not see a line in a segment that the lock does not name.
                        let segment = self.append_alone(line, at)?;
                        notes
                            .push(format!("cannot begin a new segment: {error}; the line went to {segment}"));
                        let notes = notes.into_iter().map(Note::problem).collect();
                        return Ok(Appended { segment, notes });
                    }
                }
            }
        };
        if tail.is_torn {
            notes.push(format!(
                "the last line of {} was incomplete: its writer was probably killed",
                tail.name
            ));
        }
        match seal(line, chain_end_after(&self.dir, &state, tail.last)?) {
            Some((sealed, point)) => {
                tail.append(&sealed)?;
                state.settle(point, at);
                // The next writer continues after the line itself.
                let named = state.write(&lock.file);
                notes.extend(named.err().map(|error| format!("cannot store the head of the log: {error}")));
            }
            None => tail.append(line)?,
        }
        drop(lock);
        if self.durable {
            tail.file.sync()?;
            fs::sync(&self.dir)?;
        }
        let notes = notes.into_iter().map(Note::problem).collect();
        Ok(Appended { segment: tail.name, notes })
    }

    fn append_alone(&self, line: &[u8], at: Timestamp) -> io::Result<SegmentName> {
        let name = SegmentName::single_line(at);
        let path = self.dir.join(name.as_str());
        let mut file = fs::Appender::create(&path)?;
        let sealed = seal_single(line);
        file.append(sealed.as_deref().unwrap_or(line)).inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        if self.durable {
            file.sync()?;
            fs::sync(&self.dir)?;
        }
        Ok(name)
    }
}

/// Names the segment after the current one in the lock, with the head of the chain. The segment is made later: a writer that
/// is killed in between leaves only its name.
fn begin_segment(dir: &Path, lock: &File, state: &mut LockState, at: Timestamp) -> io::Result<SegmentName> {
    let former = state.current(dir);
    let name = SegmentName::after(former.as_ref(), at);
    let end = chain_end(dir, state, former.as_ref())?;
    state.begin_segment(&name, end, at);
    state.write(lock)?;
    Ok(name)
}

/// The log's lock: no other process appends or prunes while this exists.
#[derive(Debug)]
pub struct ExclusiveLog {
    dir: PathBuf,
    lock: fs::Lock,
}

impl ExclusiveLog {
    /// `None` if the lock is not free within `patience`.
    pub fn take(dir: &Path, patience: Duration) -> Result<Option<ExclusiveLog>> {
        let lock = fs::lock(&dir.join(LOCK), patience)?;
        Ok(lock.map(|lock| ExclusiveLog { dir: dir.to_owned(), lock }))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn current(&self) -> Option<SegmentName> {
        LockState::read(&self.lock.file).current(&self.dir)
    }

    /// Records a change as the next line of the chain. It is not on the disk yet.
    pub fn record(&self, change: &LogChange) -> io::Result<()> {
        let mut state = LockState::read(&self.lock.file);
        let mut to = fs::Appender::open(&changes_path(&self.dir))?;
        let previous = chain_end(&self.dir, &state, state.current(&self.dir).as_ref())?;
        let line = fs::json_lines(&[change])?;
        let (sealed, point) = seal(&line, previous).ok_or(io::ErrorKind::InvalidData)?;
        // Hook calls do not read this file, unless its writer was killed.
        state.head = Some(Head { count: previous.count, hash: previous.hash, at: change.at });
        state.is_unsettled = true;
        state.write(&self.lock.file)?;
        to.append_line(&sealed)?;
        state.settle(point, change.at);
        state.write(&self.lock.file)
    }

    /// Ends the current segment: the next line goes to a new one, which is empty until then. Returns the segment that ended;
    /// `None` if the current one is empty or missing.
    pub fn close_current(&self, at: Timestamp) -> io::Result<Option<SegmentName>> {
        let Some(former) = self.current() else { return Ok(None) };
        let has_lines = self.dir.join(former.as_str()).symlink_metadata().is_ok_and(|there| there.len() > 0);
        if !has_lines {
            return Ok(None);
        }
        let mut state = LockState::read(&self.lock.file);
        let next = begin_segment(&self.dir, &self.lock.file, &mut state, at)?;
        // Without the lock's file, the newest segment is the current one.
        fs::Appender::open(&self.dir.join(next.as_str()))?;
        Ok(Some(former))
    }
}

/// The open segment, read without the lock.
pub fn active_segment(dir: &Path) -> Option<SegmentName> {
    let state = fs::open_regular(&dir.join(LOCK)).map(|file| LockState::read(&file));
    state.unwrap_or_default().current(dir)
}

#[cfg(test)]
mod tests;
