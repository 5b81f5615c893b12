//! Keeps what is new of a team's files, and notes what of them cannot be kept.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use super::Look;
use super::content::Content;
use crate::archive::capture::Loss;
use crate::archive::index::Seen;
use crate::archive::large;
use crate::archive::object::{self, Care};
use crate::archive::pack::{Pack, SMALL};
use crate::archive::scan::Found;
use crate::archive::snapshot::Change;
use crate::archive::store::Subject;
use crate::clock;
use crate::fs::{self, Stamp};
use crate::veil;

/// A file that changed so shortly before it was read may change again without a new stamp: the kernel's clock
/// for files is that coarse.
const FRESH: i64 = 50_000_000;

/// If there are more files than this, the whole file system is synced instead of each file, where that is possible: 5,000
/// files took 6 s one by one, and Claude Code waits 10 s for a hook.
const MAX_SINGLE_SYNCS: usize = 256;

impl Look<'_> {
    /// Keeps every file whose stamp is new, or was too fresh to be trusted: the team's own first, then its tasks,
    /// as many as there is time for.
    pub(in crate::archive) fn keep_files(&mut self, subject: &Subject, client: &Path) {
        let scan = self.scan;
        let (team, tasks): (Vec<_>, Vec<_>) =
            scan.found.iter().partition(|(path, _)| path.starts_with("teams/"));
        self.unsynced = self.is_synced_at_once();
        for (path, found) in team.into_iter().chain(tasks) {
            let known = self.index.files.get(path);
            let trusted = known.is_some_and(|seen| !seen.fresh && seen.matches(found.stamp()));
            let same = || known.and_then(|seen| seen.object.as_deref()) == self.known(path);
            match found {
                // Before a TeamDelete nothing is taken for kept that was not compared.
                Found::File(_) if trusted && !self.call.durable && same() => {}
                Found::Other(..) if trusted => {}
                // However short the time is, each look gets on by one file.
                Found::File(_) if (self.news > 0 || self.call.durable) && self.call.is_over() => {
                    self.left += 1
                }
                Found::File(stamp) => {
                    self.news += usize::from(known.is_none_or(|seen| !seen.matches(stamp)));
                    self.keep_file(client, path);
                }
                Found::Other(stamp, what) => {
                    self.index_changed = true;
                    if !trusted {
                        self.notes.push(format!("{path} is {what} and was not followed"));
                        self.changed.push(Change {
                            path: path.clone(),
                            skipped: Some((*what).to_owned()),
                            ..Change::default()
                        });
                    }
                    self.index.files.insert(path.clone(), Seen::new(stamp, None, false));
                }
            }
        }
        if self.left > 0 {
            let left = self.left;
            let what =
                format!("there was no time for {left} files of {}; the next call goes on", subject.name());
            match self.call.durable {
                true => self.losses.push(Loss { what, files: left }),
                false => self.usual.push(what),
            }
        }
    }

    /// Whether there are so many files to sync that they are synced all at once.
    fn is_synced_at_once(&self) -> bool {
        let is_synced = |path: &String, found: &Found| {
            self.index.files.get(path).is_some_and(|seen| seen.synced && seen.matches(found.stamp()))
        };
        let unsynced = || self.scan.found.iter().filter(|(path, found)| !is_synced(path, found)).count();
        self.call.durable && fs::CAN_SYNC_ALL && unsynced() > MAX_SINGLE_SYNCS
    }

    fn keep_file(&mut self, client: &Path, path: &str) {
        let is_config = path.ends_with("/config.json");
        let read = match self.config.take_if(|_| is_config) {
            Some(config) => Ok(config),
            None => self.read(client, path),
        };
        match read {
            Ok(Content { bytes, stamp, torn, read_at }) => {
                // A store that refuses says nothing about the file: it is tried again at the next look.
                let before = self.index.files.get(path);
                let care = match (self.call.durable, before.is_some_and(|seen| seen.synced)) {
                    (false, _) => Care::Usual,
                    (true, true) if before.is_some_and(|seen| seen.matches(&stamp)) => Care::Compared,
                    (true, _) if self.unsynced => Care::Bulk,
                    (true, _) => Care::Durable,
                };
                let bytes = match self.archive.veiled {
                    true => veil::file(path, &bytes),
                    false => Cow::Borrowed(bytes.as_slice()),
                };
                let kept = match self.put(path, &bytes, care) {
                    Ok(kept) => kept,
                    Err(error) => return self.problems.push(format!("cannot keep {path}: {error}")),
                };
                self.note_kept(path, kept, &stamp, torn, read_at, care != Care::Usual);
            }
            // The team is about to be deleted: no later call can archive this file.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge && self.call.durable => {
                self.keep_large(client, path);
            }
            // It went while we looked: what it said last was kept, or it was never there at a call's moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.index.files.remove(path).is_some() || self.known(path).is_some() {
                    self.gone.push(path.to_owned());
                }
            }
            Err(error) => self.skip(path, &error),
        }
    }

    /// Notes which content was stored for a file, and the offset of its recipe if it has one.
    fn note_kept(
        &mut self,
        path: &str,
        (object, recipe): (String, Option<u64>),
        stamp: &Stamp,
        torn: bool,
        read_at: i64,
        synced: bool,
    ) {
        let new = self.known(path) != Some(object.as_str());
        if new {
            self.packed |= recipe.is_some();
            self.changed.push(Change {
                path: path.to_owned(),
                object: Some(object.clone()),
                size: stamp.size,
                torn,
                skipped: None,
            });
        }
        if torn && new {
            self.usual.push(format!("{path} was no whole JSON when it was read; it is kept as it was"));
        }
        // A half-written file is read again by the next look, and then taken as it is.
        let fresh = read_at.saturating_sub(stamp.changed) < FRESH || (torn && new);
        let before = self.index.files.get(path).filter(|_| torn);
        let whole = before.and_then(Seen::content).filter(|whole| *whole != object).map(str::to_owned);
        let former = self.former(path);
        // A half-written content is not a base for the next one.
        let recipe = if torn { former.or(recipe) } else { recipe.or(former) };
        let seen = Seen { whole, synced, recipe, ..Seen::new(stamp, Some(object), fresh) };
        self.index.files.insert(path.to_owned(), seen);
        self.index_changed = true;
    }

    /// Copies a file that is larger than `largest-file`: the team is about to be deleted.
    fn keep_large(&mut self, client: &Path, path: &str) {
        let read_at = clock::file_time();
        let from = client.join(&*self.scan.place(path));
        let objects = &self.archive.objects;
        let kept = match self.archive.veiled {
            true => large::measure(&from, self.call.until).and_then(|copied| {
                let text = veil::stand_in_for(copied.size, &copied.hash);
                let object =
                    objects.put(serde_json::Value::from(text).to_string().as_bytes(), Care::Durable)?;
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

    /// Stores a content and returns its hash and, if only its changes were written, the offset of its recipe.
    fn put(&mut self, path: &str, bytes: &[u8], care: Care) -> io::Result<(String, Option<u64>)> {
        let objects = &self.archive.objects;
        let dir = self.archive.run_dir(&self.index.run).filter(|_| self.locked && bytes.len() >= SMALL);
        let Some(dir) = dir else { return Ok((objects.put(bytes, care)?, None)) };
        let (hash, former) = (object::hash(bytes), self.former(path));
        if former.is_none() && objects.has(&hash, bytes.len()) {
            return Ok((objects.put(bytes, care)?, None));
        }
        match Pack::new(dir).put(bytes, &hash, former, care) {
            Ok(recipe) => Ok((hash, Some(recipe))),
            Err(error) => {
                let object = objects.put(bytes, care)?;
                self.notes.push(format!("{path} is stored as a whole, not as a change: {error}"));
                Ok((object, None))
            }
        }
    }

    /// The offset of the recipe of a content that is probably similar: the file's last one. A temporary file that will
    /// be renamed is similar to the file that it replaces.
    fn former(&self, path: &str) -> Option<u64> {
        let recipe = |path: &str| self.index.files.get(path)?.recipe;
        recipe(path).or_else(|| {
            let (stem, _) = path.split_once(".json.")?;
            recipe(&format!("{stem}.json"))
        })
    }

    /// Notes that a file is there that could not be read. It is tried again when its stamp changes, and at the next
    /// look where the disk was what failed.
    fn skip(&mut self, path: &str, error: &io::Error) {
        let bound = match error.kind() {
            io::ErrorKind::FileTooLarge => "; `largest-file` under [archive] sets this",
            io::ErrorKind::TimedOut => "; `longest-look` under [archive] sets this",
            _ => "",
        };
        self.losses.push(Loss { what: format!("cannot keep {path}: {error}{bound}"), files: 1 });
        let Some(found) = self.scan.found.get(path) else { return };
        if matches!(
            error.kind(),
            io::ErrorKind::PermissionDenied
                | io::ErrorKind::FileTooLarge
                | io::ErrorKind::InvalidInput
                | io::ErrorKind::TimedOut
                | io::ErrorKind::StorageFull
        ) {
            let skipped = Some(error.to_string());
            let known = self.index.files.insert(path.to_owned(), Seen::new(found.stamp(), None, false));
            self.index_changed = true;
            if known.is_none_or(|seen| seen.object.is_some() || !seen.matches(found.stamp())) {
                self.changed.push(Change {
                    path: path.to_owned(),
                    size: found.stamp().size,
                    skipped,
                    ..Change::default()
                });
            }
        }
    }
}
