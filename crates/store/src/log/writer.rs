//! Appending: one write under the lock, and never a lost line.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::EventLog;
use super::seal::{Head, LOCK, Mark, Sealed, head, last_point, seal, seal_single, sealed_size};
use super::segments::{CURRENT, Segment, SegmentName, list};
use crate::chain::{ChainHash, ChainPoint};
use crate::packed;
use teamkeep_model::time::Timestamp;
use teamkeep_model::{Note, Severity};
use teamkeep_system::error::Result;
use teamkeep_system::fs::{self, Appender};
use teamkeep_system::os;

/// How lines are appended.
#[derive(Debug, Clone, Copy)]
pub struct Appending {
    /// A segment is closed before a line that would make it larger, in bytes.
    pub segment_size: u64,
    /// How long to wait for the lock.
    pub patience: Duration,
    /// Whether the line is on the disk when the call returns, because something is deleted next.
    pub durable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Whether the line has a segment of its own.
    pub is_single: bool,
    /// Problems, for the diagnostics. The line was stored nevertheless.
    pub notes: Vec<Note>,
}

impl EventLog {
    /// The newest line of the chain; `None` if no line was written, or if the lock file is damaged. Takes no lock.
    pub fn head(&self) -> Option<ChainPoint> {
        head(&self.dir).map(|head| head.point)
    }

    /// Whether it still has the first line that was written to it.
    pub fn has_first_line(&self) -> bool {
        let first = || self.own_segments().ok()?.first()?.open().ok()?.next()?.ok()?.bytes;
        let number = |line: Vec<u8>| match Sealed::read(&line)?.mark {
            Mark::Chained(link) => Some(link.number),
            Mark::Single(_) => None,
        };
        first().and_then(number) == Some(1)
    }

    /// Appends one line. If the lock is not free in time, or the line cannot be added to the others, it gets a segment of its
    /// own, named after this time.
    ///
    /// # Errors
    /// When the line is nowhere, or maybe not on the disk although it has to be.
    pub fn append(&self, line: &[u8], at: Timestamp, how: Appending) -> Result<Appended> {
        let appended = self.append_unless(line, at, how, &mut |_| false)?;
        Ok(appended.unwrap_or(Appended { is_single: false, notes: Vec::new() }))
    }

    /// Appends one line unless the log has it already, as `is_known` finds in its end; `None` if so. No line is added in between.
    /// A log that cannot be locked in time does not answer: then the line is appended.
    ///
    /// # Errors
    /// As of [`EventLog::append`].
    pub fn append_unless(
        &self,
        line: &[u8],
        at: Timestamp,
        how: Appending,
        is_known: &mut dyn FnMut(&Appender) -> bool,
    ) -> Result<Option<Appended>> {
        let line = match line.ends_with(b"\n") {
            true => Cow::Borrowed(line),
            false => Cow::Owned([line, b"\n"].concat()),
        };
        let mut notes = Vec::new();
        let (severity, appended) = match fs::lock(&self.dir.join(LOCK), how.patience) {
            Ok(Some(lock)) => {
                let mut append = || {
                    let end = self.end(&lock)?;
                    if is_known(&end.file) {
                        return Ok(None);
                    }
                    self.append_locked(&lock, end, &line, how.segment_size, &mut notes).map(Some)
                };
                (Severity::Problem, append())
            }
            Ok(None) => {
                let why = format!("the log's lock was not free within {} ms", how.patience.as_millis());
                (Severity::Contention, Err(io::Error::other(why)))
            }
            Err(error) => (Severity::Problem, Err(error)),
        };
        let is_single = appended.is_err();
        let file = appended.or_else(|why| {
            let name = SegmentName::single(at).to_string();
            notes.push(Note::new(severity, format!("{why}; the line went to {name}")));
            self.append_alone(&name, &line).map(Some)
        })?;
        let Some(file) = file else { return Ok(None) };
        if how.durable {
            file.sync()?;
            fs::sync(&self.dir)?;
        }
        Ok(Some(Appended { is_single, notes }))
    }

    /// After an error, no line was added.
    fn append_locked(
        &self,
        lock: &fs::Lock,
        mut end: End,
        line: &[u8],
        segment_size: u64,
        notes: &mut Vec<Note>,
    ) -> io::Result<Appender> {
        if end.was_torn {
            let what = "the last line of the log was incomplete: its writer was probably killed";
            notes.push(Note::problem(what));
        }
        let size = end.file.length;
        if size > 0 && size.saturating_add(sealed_size(line)) > segment_size {
            match self.rename_current(lock, &end) {
                Ok(()) => end.file = Appender::open(&self.current())?,
                Err(error) => notes.push(Note::problem(format!("cannot begin a new segment: {error}"))),
            }
        }
        let sealed = seal(line, end.point);
        end.file.append(sealed.as_ref().map_or(line, |(sealed, _)| sealed))?;
        if let Some((_, point)) = sealed {
            // The next writer continues after the line itself.
            let named = Head { point, size: end.file.length }.write(&lock.file);
            let note = |error| Note::problem(format!("cannot store the head of the log: {error}"));
            notes.extend(named.err().map(note));
        }
        Ok(end.file)
    }

    fn append_alone(&self, name: &str, line: &[u8]) -> io::Result<Appender> {
        let path = self.dir.join(name);
        let mut file = Appender::create(&path)?;
        let sealed = seal_single(line);
        file.append(sealed.as_deref().unwrap_or(line)).inspect_err(|_| drop(std::fs::remove_file(&path)))?;
        Ok(file)
    }

    fn current(&self) -> PathBuf {
        self.dir.join(CURRENT)
    }

    /// Where the next line goes. Ends a line that its writer could not end.
    fn end(&self, lock: &fs::Lock) -> io::Result<End> {
        let mut file = Appender::open(&self.current())?;
        let head = Head::read(&lock.file);
        if let Some(head) = head.filter(|head| head.size == file.length) {
            return Ok(End { file, last: head.point, point: head.point, was_torn: false });
        }
        let last = last_point(&file)?;
        let closed = || list(self).map(|all| all.iter().filter_map(|segment| segment.name.end()).max());
        let found = last.map_or_else(closed, |last| Ok(Some(last)))?;
        if head.is_none() && found.is_none() {
            // A writer that is killed after the first line must not leave a log without a head.
            Head { size: file.length, ..Head::default() }.write(&lock.file)?;
        }
        let last = match (head, found) {
            // Its writer was killed before it stored the head.
            (Some(head), Some(found)) if found.count > head.point.count => found,
            (Some(head), _) => head.point,
            (None, found) => found.unwrap_or_default(),
        };
        // A line that continues as if nothing had happened would hide that others were removed with the head.
        let point = head.map_or(ChainPoint { hash: ChainHash::START, ..last }, |_| last);
        let was_torn = file.is_torn()?;
        if was_torn {
            file.append(b"\n")?;
        }
        Ok(End { file, last, point, was_torn })
    }

    /// Closes the segment that is written to: it does not change any more. Returns false if it has no whole lines, or if the lock
    /// is not free in time.
    pub fn close(&self, patience: Duration) -> io::Result<bool> {
        self.try_close(patience).map(|closed| closed.unwrap_or(false))
    }

    /// Closes and compresses the log of a run that has ended; a later line begins another segment. Returns false if the lock is
    /// not free in time.
    pub fn finish(&self, patience: Duration) -> io::Result<bool> {
        let closed = self.try_close(patience)?;
        self.compress()?;
        Ok(closed.is_some())
    }

    /// `None` if the lock is not free in time.
    fn try_close(&self, patience: Duration) -> io::Result<Option<bool>> {
        if self.current().symlink_metadata().map_or(0, |found| found.len()) == 0 {
            return Ok(Some(false));
        }
        let Some(lock) = fs::lock(&self.dir.join(LOCK), patience)? else { return Ok(None) };
        let end = self.end(&lock)?;
        if end.file.length == 0 {
            return Ok(Some(false));
        }
        match self.rename_current(&lock, &end) {
            // It has only a line that was cut off.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Some(false)),
            closed => closed.map(|()| Some(true)),
        }
    }

    /// After an error, the segment has its name.
    fn rename_current(&self, lock: &fs::Lock, end: &End) -> io::Result<()> {
        let to = self.dir.join(SegmentName::Closed(end.last).to_string());
        // Only a damaged segment has no line after the one before it.
        if to.symlink_metadata().is_ok() || packed::packed(&to).symlink_metadata().is_ok() {
            return Err(fs::with_path(io::ErrorKind::AlreadyExists.into(), "create", &to));
        }
        os::files::rename(&self.current(), &to)?;
        if end.point == end.last {
            // Without it, the next writer finds the last line in the name. A head that was missing is not made up.
            let _ = Head { point: end.last, size: 0 }.write(&lock.file);
        }
        Ok(())
    }

    /// Compresses the segments that do not change any more.
    pub fn compress(&self) -> io::Result<()> {
        let is_closed = |segment: &&Segment| segment.name < SegmentName::Current && !segment.is_packed;
        for segment in self.segments()?.iter().filter(is_closed) {
            let path = segment.path();
            packed::compress(&path, |draft, _| packed::replace(&path, draft))?;
        }
        Ok(())
    }

    /// Removes a segment, which has this size. The one that is written to is removed only if no line was added since. Returns
    /// whether it was removed.
    pub fn remove(&self, segment: &Segment, patience: Duration) -> io::Result<bool> {
        let Some(_lock) = fs::lock(&self.dir.join(LOCK), patience)? else { return Ok(false) };
        let path = segment.path();
        let found = path.symlink_metadata();
        let is_same = found
            .is_ok_and(|found| (found.len(), os::files::id(&path, &found)) == (segment.size, segment.id));
        if is_same {
            fs_err::remove_file(&path)?;
        }
        Ok(is_same)
    }

    /// Removes the directory of a log that has no lines, with the state of its session.
    pub(crate) fn remove_if_empty(&self, patience: Duration) -> io::Result<()> {
        if self.dir.symlink_metadata().is_ok()
            && let Some(lock) = fs::lock(&self.dir.join(LOCK), patience)?
            && list(self)?.is_empty()
        {
            let removed = fs_err::remove_dir_all(&self.dir);
            drop(lock);
            return match removed {
                // Some file systems of Windows keep the name of a removed file until it is closed, here that of the lock.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                    fs_err::remove_dir(&self.dir)
                }
                removed => removed,
            };
        }
        Ok(())
    }
}

/// The end of a log that is locked.
struct End {
    file: Appender,
    /// The last line.
    last: ChainPoint,
    /// The line that the next one continues: the last one, but without its hash if the head was removed or damaged.
    point: ChainPoint,
    /// Whether the last line had no line break, because its writer was killed.
    was_torn: bool,
}

#[cfg(test)]
mod tests;
