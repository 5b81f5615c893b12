//! Reads and stores new and changed team files, and records those that cannot be stored.

use std::borrow::Cow;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use fs_err::File;

use super::index::CapturedFile;
use super::journal::Change;
use super::object::{Durability, MAX_BYTES, Objects};
use super::scan::ScannedEntry;
use super::session::{CaptureSession, FileContent};
use crate::client::team::{Facts, Flaw};
use crate::model::{Limit, Note, Severity};
use crate::store::metadata_only;
use crate::sys::clock;
use crate::sys::fs::{self, Draft, Stamp};

/// Pauses before a file is read again because it is not complete JSON: its writer may not have finished.
const PAUSES: [Duration; 3] = [Duration::from_millis(1), Duration::from_millis(3), Duration::from_millis(9)];

/// If a file changed less than this before it was read, it may change again without a new stamp, because of the
/// resolution of the kernel's clock for files. In nanoseconds.
const MTIME_GRANULARITY: i64 = 50_000_000;

/// A content that was stored.
struct Stored {
    object: String,
    /// The offset of its recipe, if it has one.
    recipe: Option<u64>,
    stamp: Stamp,
    flaw: Option<Flaw>,
    torn: bool,
    read_at: i64,
    synced: bool,
    facts: Option<Facts>,
}

/// Size of a piece, in bytes.
const CHUNK_BYTES: usize = 1 << 18;

/// Disk space that a copy must leave free, in bytes: the recorded session needs some, too.
const LEFT_FREE: u64 = 64 << 20;

/// A file that was read completely.
#[derive(Debug)]
struct CopiedFile {
    hash: String,
    /// In bytes.
    size: u64,
    /// From before the first byte was read.
    stamp: Stamp,
    /// Whether size and times were unchanged after the last byte.
    steady: bool,
}

impl Objects {
    /// Stores the content of a file as an object and syncs it to disk.
    ///
    /// # Errors
    /// `TimedOut` if `until` passes, `StorageFull` if the disk does not have enough space, `FileTooLarge` if the file
    /// exceeds the maximum size of an object, and errors of reading and writing.
    fn copy(&self, from: &Path, until: Option<Instant>) -> io::Result<CopiedFile> {
        let file = open(from)?;
        let mut draft = Draft::create(&self.root.join("large"))?;
        check_room(&file, &self.root)?;
        let copied = read(&file, until, |piece| draft.write_all(piece))?;
        let path = self.path(&copied.hash).ok_or(io::ErrorKind::InvalidInput)?;
        path.parent().map_or(Ok(()), fs::private_dir)?;
        draft.rename_synced(&path)?;
        Ok(copied)
    }
}

/// Reads a file only for its hash and size, with the errors of [`Objects::copy`].
fn measure(from: &Path, until: Option<Instant>) -> io::Result<CopiedFile> {
    read(&open(from)?, until, |_| Ok(()))
}

fn open(path: &Path) -> io::Result<File> {
    let file = fs::open_regular(path)?;
    check_size(path, file.metadata()?.len())?;
    Ok(file)
}

fn check_size(path: &Path, size: u64) -> io::Result<()> {
    if size > MAX_BYTES {
        let what = format!("{} is larger than 2 GiB", path.display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(())
}

fn read(
    mut file: &File,
    until: Option<Instant>,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<CopiedFile> {
    let stamp = |file: &File| file.metadata().map(|metadata| Stamp::of(&metadata));
    let before = stamp(file)?;
    let (mut hasher, mut piece, mut size) = (blake3::Hasher::new(), vec![0; CHUNK_BYTES], 0u64);
    loop {
        let bytes = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => &piece[..count],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        size += bytes.len() as u64;
        check_size(file.path(), size)?;
        if until.is_some_and(|until| Instant::now() >= until) {
            let what = format!("{} cannot be read to its end in time", file.path().display());
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        hasher.update(bytes);
        each(bytes)?;
    }
    let steady = before == stamp(file)? && size == before.size;
    Ok(CopiedFile { hash: hasher.finalize().to_hex().to_string(), size, stamp: before, steady })
}

fn check_room(file: &File, root: &Path) -> io::Result<()> {
    let size = file.metadata()?.len();
    let disk = rustix::fs::statvfs(root)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if size.saturating_add(LEFT_FREE) > free {
        let what = format!("a copy needs {size} bytes of disk space, but only {free} are free");
        return Err(io::Error::new(io::ErrorKind::StorageFull, what));
    }
    Ok(())
}

impl CaptureSession<'_> {
    /// Reads a file, and again if it is not complete JSON, while the capture has pauses left. Does not wait for a file
    /// that is empty, or that was equally incomplete in the last capture.
    pub fn read(&mut self, path: &str) -> io::Result<FileContent> {
        let target = self.target;
        let mut pauses = PAUSES.iter();
        loop {
            let read_at = clock::file_time();
            let read =
                fs::read_stable(&target.client.join(&*self.scan.current_path(path)), target.archive.largest)?;
            let flaw = Flaw::of(path, &read.bytes);
            let is_cut = flaw.is_some_and(Flaw::is_incomplete);
            let stamp = Stamp::of(&read.metadata);
            let is_known = || self.index.files.get(path).is_some_and(|seen| seen.matches(&stamp));
            let pause = pauses.next().filter(|pause| **pause <= self.pauses);
            let Some(pause) = pause.filter(|_| is_cut && !read.bytes.is_empty() && !is_known()) else {
                let torn = is_cut || !read.steady;
                return Ok(FileContent { bytes: read.bytes, stamp, flaw, torn, read_at });
            };
            self.pauses -= *pause;
            std::thread::sleep(*pause);
        }
    }

    /// Stores every file with a new stamp, or with one too recent to be trusted: the team's own files first, then its
    /// tasks, until the deadline.
    pub fn store_files(&mut self) {
        let (scan, call) = (self.scan, self.target.call);
        let (team, tasks): (Vec<_>, Vec<_>) =
            scan.found.iter().partition(|(path, _)| path.starts_with("teams/"));
        self.is_bulk = self.has_many_new();
        for (path, found) in team.into_iter().chain(tasks) {
            let known = self.index.files.get(path);
            let is_trusted = known.is_some_and(|seen| !seen.fresh && seen.matches(found.stamp()));
            let is_recorded =
                || known.and_then(|seen| seen.object.as_deref()) == self.recorded_object(path, known);
            match found {
                // Before a TeamDelete, a file counts as stored only after comparing its content.
                ScannedEntry::File(_) if is_trusted && !call.durable && is_recorded() => {}
                ScannedEntry::Other(..) if is_trusted => {}
                // However early the deadline is, each capture stores at least one file.
                ScannedEntry::File(_) if (self.new_files > 0 || call.durable) && call.is_over() => {
                    self.left += 1
                }
                ScannedEntry::File(stamp) => {
                    self.new_files += usize::from(known.is_none_or(|seen| !seen.matches(stamp)));
                    self.store_file(path);
                }
                ScannedEntry::Other(stamp, what) => {
                    self.index_changed = true;
                    self.notes.push(Note::problem(format!("{path} is {what} and was not followed")));
                    let (path, skipped) = (path.clone(), Some((*what).to_owned()));
                    self.index.files.insert(path.clone(), CapturedFile::skipped(stamp, what));
                    self.changed.push(Change { path, skipped, ..Change::default() });
                }
            }
        }
        if self.left > 0 {
            let (left, name) = (self.left, self.target.subject.name());
            let what = format!("not enough time for {left} files of {name}; the next call continues");
            self.notes.push(match call.durable {
                true => Note::unstored(left, Some(Limit::Time), what),
                false => Note::new(Severity::Contention, what),
            });
        }
    }

    fn store_file(&mut self, path: &str) {
        let durable = self.target.call.durable;
        let read = match self.config.take_if(|_| path.ends_with("/config.json")) {
            Some(config) => Ok(config),
            None => self.read(path),
        };
        match read {
            Ok(content) => self.store_content(path, content),
            // The team is about to be deleted: no later call can archive this file.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge && durable => self.store_large(path),
            // It was deleted during the capture: its last content is stored, or it never existed at the time of a call.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.index.files.remove(path).is_some() || self.recorded_object(path, None).is_some() {
                    self.gone.push(path.to_owned());
                }
            }
            Err(error) => self.skip(path, &error),
        }
    }

    fn store_content(&mut self, path: &str, content: FileContent) {
        let FileContent { bytes, stamp, flaw, torn, read_at } = content;
        let is_synced = self.index.files.get(path).is_some_and(|seen| seen.synced && seen.matches(&stamp));
        let durability = match (self.target.call.durable, is_synced) {
            (false, _) => Durability::Usual,
            (true, true) => Durability::Compared,
            (true, false) => Durability::Durable,
        };
        let bytes = match self.target.archive.metadata_only {
            true => metadata_only::file(path, &bytes),
            false => Cow::Borrowed(bytes.as_slice()),
        };
        match self.put(path, &bytes, durability) {
            Ok((object, recipe)) => {
                let synced = durability != Durability::Usual;
                let is_plain = !torn && flaw.is_none() && !self.target.archive.metadata_only;
                let facts = if is_plain { Facts::of(path, &bytes) } else { None };
                let stored = Stored { object, recipe, stamp, flaw, torn, read_at, synced, facts };
                self.record_stored(path, stored);
            }
            // An error of the store does not concern the file, so the next capture tries again.
            Err(error) => self.notes.push(Note::store_failure(format!("cannot store {path}: {error}"))),
        }
    }

    /// Records which content was stored for a file.
    fn record_stored(&mut self, path: &str, stored: Stored) {
        let Stored { object, recipe, stamp, flaw, torn, read_at, synced, facts } = stored;
        let before = self.index.files.get(path);
        let is_new = self.recorded_object(path, before) != Some(object.as_str());
        if is_new {
            let (path, object) = (path.to_owned(), Some(object.clone()));
            self.changed.push(Change { path, object, size: stamp.size, torn, skipped: None });
        }
        // The next capture reads a half-written file again, and then stores it in any case.
        let fresh = read_at.saturating_sub(stamp.changed) < MTIME_GRANULARITY || (torn && is_new);
        let whole = before.filter(|_| torn).and_then(CapturedFile::complete);
        let whole = whole.filter(|whole| *whole != object).map(str::to_owned);
        // Without a complete content, the gates cannot see the file.
        let flaw = flaw.filter(|_| whole.is_none());
        if is_new && (torn || flaw.is_some()) {
            let what =
                flaw.map_or_else(|| "was incomplete JSON".to_owned(), |flaw| format!("is {}", flaw.text()));
            let text = format!("{path} {what}; it was stored without changes");
            self.notes.push(Note::new(Severity::Contention, text));
        }
        let skipped = flaw.map(|flaw| flaw.text().to_owned());
        let former = || self.former_recipe(path, before);
        // A half-written content is not a base for the next one.
        let recipe = if torn { former().or(recipe) } else { recipe.or_else(former) };
        let new = CapturedFile::new(&stamp, Some(object));
        let seen = CapturedFile { skipped, whole, synced, recipe, fresh, facts, ..new };
        self.index.files.insert(path.to_owned(), seen);
        self.index_changed = true;
    }

    /// Copies a file that is larger than `largest-file`: the team is about to be deleted.
    fn store_large(&mut self, path: &str) {
        self.has_unsynced_names = true;
        let target = self.target;
        let read_at = clock::file_time();
        let from = target.client.join(&*self.scan.current_path(path));
        let objects = &target.archive.objects;
        let copied = match target.archive.metadata_only {
            true => measure(&from, target.call.until).and_then(|copied| {
                let text = serde_json::Value::from(metadata_only::placeholder(copied.size, &copied.hash));
                Ok((objects.put(text.to_string().as_bytes(), Durability::Durable)?, copied))
            }),
            false => objects.copy(&from, target.call.until).map(|copied| (copied.hash.clone(), copied)),
        };
        match copied {
            Ok((object, copied)) => {
                let (stamp, torn) = (copied.stamp, !copied.steady);
                let stored = Stored {
                    object,
                    recipe: None,
                    stamp,
                    flaw: None,
                    torn,
                    read_at,
                    synced: true,
                    facts: None,
                };
                self.record_stored(path, stored);
            }
            Err(error) => self.skip(path, &error),
        }
    }

    /// Records a file that could not be read. The next attempt is made when its stamp changes, or at the next capture
    /// if the disk failed.
    fn skip(&mut self, path: &str, error: &io::Error) {
        use io::ErrorKind::{FileTooLarge, InvalidInput, PermissionDenied, StorageFull, TimedOut};
        let limit = match error.kind() {
            FileTooLarge => Some(Limit::LargestFile),
            TimedOut => Some(Limit::LongestLook),
            _ => None,
        };
        let key = limit.and_then(Limit::key);
        let bound = key.map(|key| format!("; `{key}` under [archive] sets this")).unwrap_or_default();
        self.notes.push(Note::unstored(1, limit, format!("cannot store {path}: {error}{bound}")));
        let Some(found) = self.scan.found.get(path) else { return };
        if !matches!(error.kind(), PermissionDenied | FileTooLarge | InvalidInput | TimedOut | StorageFull) {
            return;
        }
        let skipped = error.to_string();
        let seen = CapturedFile::skipped(found.stamp(), &skipped);
        let known = self.index.files.insert(path.to_owned(), seen);
        self.index_changed = true;
        if known.is_none_or(|seen| seen.object.is_some() || !seen.matches(found.stamp())) {
            let (path, size, skipped) = (path.to_owned(), found.stamp().size, Some(skipped));
            self.changed.push(Change { path, size, skipped, ..Change::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_in_pieces_is_the_same_object_as_a_copy_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::new(dir.path().join("objects"));
        let from = dir.path().join("inbox.json");
        let text = b"0123456789".repeat(CHUNK_BYTES / 4);
        std::fs::write(&from, &text).unwrap();
        let copied = objects.copy(&from, None).unwrap();
        assert!(copied.steady && copied.size == text.len() as u64);
        assert_eq!(objects.get(&copied.hash).unwrap(), text);
        assert_eq!(copied.hash, objects.put(&text, Durability::Compared).unwrap());
        assert_eq!(measure(&from, None).unwrap().hash, copied.hash);
    }

    #[test]
    fn a_copy_that_ends_early_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let objects = Objects::new(dir.path().join("objects"));
        let from = dir.path().join("inbox.json");
        std::fs::write(&from, "[]").unwrap();
        let late = objects.copy(&from, Some(Instant::now())).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        File::options().write(true).open(&from).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(objects.copy(&from, None).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(std::fs::read_dir(&objects.root).unwrap().count(), 0);
    }
}
