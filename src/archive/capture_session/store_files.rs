//! Stores new and changed team files, and records those that cannot be stored.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use super::CaptureSession;
use super::read_content::FileContent;
use crate::archive::index::CapturedFile;
use crate::archive::large;
use crate::archive::object::Durability;
use crate::archive::scan::ScannedEntry;
use crate::archive::snapshot::Change;
use crate::archive::store::CaptureScope;
use crate::clock;
use crate::fs::Stamp;
use crate::metadata_only;
use crate::model::{Limit, Note, Severity};

/// If a file changed less than this before it was read, it may change again without a new stamp, because of the
/// resolution of the kernel's clock for files. In nanoseconds.
const MTIME_GRANULARITY: i64 = 50_000_000;

impl CaptureSession<'_> {
    /// Stores every file with a new stamp, or with one too recent to be trusted: the team's own files first, then its
    /// tasks, until the deadline.
    pub(in crate::archive) fn keep_files(&mut self, subject: &CaptureScope, client: &Path) {
        let scan = self.scan;
        let (team, tasks): (Vec<_>, Vec<_>) =
            scan.found.iter().partition(|(path, _)| path.starts_with("teams/"));
        self.is_bulk = self.has_many_new();
        for (path, found) in team.into_iter().chain(tasks) {
            let known = self.index.files.get(path);
            let trusted = known.is_some_and(|seen| !seen.fresh && seen.matches(found.stamp()));
            let same = || known.and_then(|seen| seen.object.as_deref()) == self.known(path, known);
            match found {
                // Before a TeamDelete, a file counts as stored only after comparing its content.
                ScannedEntry::File(_) if trusted && !self.call.durable && same() => {}
                ScannedEntry::Other(..) if trusted => {}
                // However early the deadline is, each capture stores at least one file.
                ScannedEntry::File(_) if (self.news > 0 || self.call.durable) && self.call.is_over() => {
                    self.left += 1
                }
                ScannedEntry::File(stamp) => {
                    self.news += usize::from(known.is_none_or(|seen| !seen.matches(stamp)));
                    self.store_file(client, path);
                }
                ScannedEntry::Other(stamp, what) => {
                    self.index_changed = true;
                    if !trusted {
                        self.notes.push(Note::problem(format!("{path} is {what} and was not followed")));
                        self.changed.push(Change {
                            path: path.clone(),
                            skipped: Some((*what).to_owned()),
                            ..Change::default()
                        });
                    }
                    self.index.files.insert(path.clone(), CapturedFile::skipped(stamp, what));
                }
            }
        }
        if self.left > 0 {
            let left = self.left;
            let what =
                format!("not enough time for {left} files of {}; the next call continues", subject.name());
            match self.call.durable {
                true => self.notes.push(Note::unstored(left, Some(Limit::Time), what)),
                false => self.notes.push(Note::new(Severity::Contention, what)),
            }
        }
    }

    fn store_file(&mut self, client: &Path, path: &str) {
        let is_config = path.ends_with("/config.json");
        let read = match self.config.take_if(|_| is_config) {
            Some(config) => Ok(config),
            None => self.read(client, path),
        };
        match read {
            Ok(FileContent { bytes, stamp, torn, read_at }) => {
                // An error of the store does not concern the file, so the next capture tries again.
                let before = || self.index.files.get(path);
                let care = match self.call.durable {
                    false => Durability::Usual,
                    true if before().is_some_and(|seen| seen.synced && seen.matches(&stamp)) => {
                        Durability::Compared
                    }
                    true => Durability::Durable,
                };
                let bytes = match self.archive.metadata_only {
                    true => metadata_only::file(path, &bytes),
                    false => Cow::Borrowed(bytes.as_slice()),
                };
                let kept = match self.put(path, &bytes, care) {
                    Ok(kept) => kept,
                    Err(error) => {
                        let what = format!("cannot store {path}: {error}");
                        return self.notes.push(Note::store_failure(what));
                    }
                };
                self.note_kept(path, kept, &stamp, torn, read_at, care != Durability::Usual);
            }
            // The team is about to be deleted: no later call can archive this file.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge && self.call.durable => {
                self.keep_large(client, path);
            }
            // It was deleted during the capture: its last content is stored, or it never existed at the time of a call.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.index.files.remove(path).is_some() || self.known(path, None).is_some() {
                    self.gone.push(path.to_owned());
                }
            }
            Err(error) => self.skip(path, &error),
        }
    }

    /// Records which content was stored for a file, and the offset of its recipe if it has one.
    fn note_kept(
        &mut self,
        path: &str,
        (object, recipe): (String, Option<u64>),
        stamp: &Stamp,
        torn: bool,
        read_at: i64,
        synced: bool,
    ) {
        let before = self.index.files.get(path);
        let new = self.known(path, before) != Some(object.as_str());
        if new {
            self.changed.push(Change {
                path: path.to_owned(),
                object: Some(object.clone()),
                size: stamp.size,
                torn,
                skipped: None,
            });
        }
        if torn && new {
            let text = format!("{path} was incomplete JSON; it was stored without changes");
            self.notes.push(Note::new(Severity::Contention, text));
        }
        // The next capture reads a half-written file again, and then stores it in any case.
        let fresh = read_at.saturating_sub(stamp.changed) < MTIME_GRANULARITY || (torn && new);
        let whole = before.filter(|_| torn).and_then(CapturedFile::content);
        let whole = whole.filter(|whole| *whole != object).map(str::to_owned);
        let former = || self.former(path, before);
        // A half-written content is not a base for the next one.
        let recipe = if torn { former().or(recipe) } else { recipe.or_else(former) };
        let seen = CapturedFile { whole, synced, recipe, ..CapturedFile::new(stamp, Some(object), fresh) };
        self.index.files.insert(path.to_owned(), seen);
        self.index_changed = true;
    }

    /// Copies a file that is larger than `largest-file`: the team is about to be deleted.
    fn keep_large(&mut self, client: &Path, path: &str) {
        self.has_unsynced_names = true;
        let read_at = clock::file_time();
        let from = client.join(&*self.scan.place(path));
        let objects = &self.archive.objects;
        let kept = match self.archive.metadata_only {
            true => large::measure(&from, self.call.until).and_then(|copied| {
                let text = metadata_only::placeholder(copied.size, &copied.hash);
                let object =
                    objects.put(serde_json::Value::from(text).to_string().as_bytes(), Durability::Durable)?;
                Ok((object, copied))
            }),
            false => objects.copy(&from, self.call.until).map(|copied| (copied.hash.clone(), copied)),
        };
        match kept {
            Ok((object, copied)) => {
                self.note_kept(path, (object, None), &copied.stamp, !copied.steady, read_at, true);
            }
            Err(error) => self.skip(path, &error),
        }
    }

    /// Records a file that could not be read. The next attempt is made when its stamp changes, or at the next capture
    /// if the disk failed.
    fn skip(&mut self, path: &str, error: &io::Error) {
        let limit = match error.kind() {
            io::ErrorKind::FileTooLarge => Some(Limit::LargestFile),
            io::ErrorKind::TimedOut => Some(Limit::LongestLook),
            _ => None,
        };
        let key = limit.and_then(Limit::key);
        let bound = key.map(|key| format!("; `{key}` under [archive] sets this")).unwrap_or_default();
        self.notes.push(Note::unstored(1, limit, format!("cannot store {path}: {error}{bound}")));
        let Some(found) = self.scan.found.get(path) else { return };
        if matches!(
            error.kind(),
            io::ErrorKind::PermissionDenied
                | io::ErrorKind::FileTooLarge
                | io::ErrorKind::InvalidInput
                | io::ErrorKind::TimedOut
                | io::ErrorKind::StorageFull
        ) {
            let skipped = error.to_string();
            let seen = CapturedFile::skipped(found.stamp(), &skipped);
            let known = self.index.files.insert(path.to_owned(), seen);
            self.index_changed = true;
            if known.is_none_or(|seen| seen.object.is_some() || !seen.matches(found.stamp())) {
                self.changed.push(Change {
                    path: path.to_owned(),
                    size: found.stamp().size,
                    skipped: Some(skipped),
                    ..Change::default()
                });
            }
        }
    }
}
