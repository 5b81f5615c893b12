//! Decides where a capture stores a content: as an object, as a delta of a large content, or together with many others.

use std::io;
use std::path::Path;

use super::CaptureSession;
use crate::archive::index::CapturedFile;
use crate::archive::object::{self, Durability};
use crate::archive::pack::{Bulk, Pack, SMALL, StoredContents};
use crate::archive::scan::ScannedEntry;
use crate::model::Note;

/// If a capture stores more files than this, their contents share a data file: on a busy machine, creating 5,000 files
/// took longer than the 6 s that are available before a TeamDelete.
const BULK_FROM: usize = 256;

/// Up to this size, in bytes, a changed content is stored completely if the content before it cannot be synced with the
/// others.
const MAX_WHOLE: usize = 64 << 10;

/// A content to store.
#[derive(Clone, Copy)]
struct NewContent<'a> {
    path: &'a str,
    bytes: &'a [u8],
    hash: &'a str,
    care: Durability,
}

impl CaptureSession<'_> {
    /// Whether there are so many files to store that their contents share a data file.
    pub(super) fn has_many_new(&self) -> bool {
        let is_stored = |path: &String, found: &ScannedEntry| {
            let seen = self.index.files.get(path).filter(|seen| seen.matches(found.stamp()));
            seen.is_some_and(|seen| seen.synced || !self.call.durable)
        };
        self.locked
            && self.scan.found.iter().filter(|(path, found)| !is_stored(path, found)).count() > BULK_FROM
    }

    /// Stores a content and returns its hash and the offset of its recipe, unless it is an object.
    pub(super) fn put(
        &mut self,
        path: &str,
        bytes: &[u8],
        care: Durability,
    ) -> io::Result<(String, Option<u64>)> {
        let Some(dir) = self.archive.run_dir(&self.index.run).filter(|_| self.locked) else {
            return Ok((self.put_object(bytes, care)?, None));
        };
        let hash = object::hash(bytes);
        let new = NewContent { path, bytes, hash: &hash, care };
        let place = match self.is_bulk {
            true => self.put_with_others(&dir, &new),
            false => self.put_alone(&dir, &new),
        };
        match place {
            Ok(Some(place)) => Ok((hash, Some(place))),
            Ok(None) => Ok((self.put_object(bytes, care)?, None)),
            Err(error) => {
                let object = self.put_object(bytes, care)?;
                let text = format!("{path} is stored completely, not as a delta: {error}");
                self.notes.push(Note::problem(text));
                Ok((object, None))
            }
        }
    }

    /// Returns the offset of the recipe; `None` if the content should be an object.
    fn put_alone(&mut self, dir: &Path, new: &NewContent<'_>) -> io::Result<Option<u64>> {
        let NewContent { path, bytes, hash, care } = *new;
        let before = self.index.files.get(path);
        let former = self.former(path, before);
        if bytes.len() >= SMALL {
            if former.is_none() && self.archive.objects.has(hash, bytes.len()) {
                return Ok(None);
            }
            return Pack::new(dir.to_owned()).put(bytes, hash, former, care).map(Some);
        }
        // A small content has a recipe if it was stored together with others.
        let Some(place) = former.filter(|_| self.known(path, before) == Some(hash)) else { return Ok(None) };
        let there = self.stored(dir).get(place).ok().filter(|there| there.contents_equal(bytes, hash));
        if let Some(there) = there.as_ref().filter(|_| care == Durability::Durable) {
            Pack::new(dir.to_owned()).sync_data(there.file())?;
        }
        Ok(there.map(|_| place))
    }

    /// Does the same for a content that is stored together with others.
    fn put_with_others(&mut self, dir: &Path, new: &NewContent<'_>) -> io::Result<Option<u64>> {
        let NewContent { path, bytes, hash, care } = *new;
        let former = self.former(path, self.index.files.get(path));
        let there = former.and_then(|place| Some((place, self.stored(dir).get(place).ok()?)));
        let is_durable = care == Durability::Durable;
        if let Some((place, there)) = there {
            let is_synced = is_durable && self.bulk(dir).will_sync(there.file());
            if there.contents_equal(bytes, hash) && (is_synced || !is_durable) {
                return Ok(Some(place));
            }
            if bytes.len() >= SMALL && (is_synced || !is_durable || bytes.len() > MAX_WHOLE) {
                let care = if is_synced { Durability::Usual } else { care };
                return Pack::new(dir.to_owned()).put(bytes, hash, Some(place), care).map(Some);
            }
        } else if !is_durable && self.archive.objects.has(hash, bytes.len()) {
            return Ok(None);
        }
        self.bulk(dir).put(bytes, hash).map(Some)
    }

    fn put_object(&mut self, bytes: &[u8], care: Durability) -> io::Result<String> {
        self.has_unsynced_names |= care == Durability::Durable;
        self.archive.objects.put(bytes, care)
    }

    /// The offset of the recipe of a content that is probably similar: the last one of the file, which was `before`. A
    /// temporary file that will be renamed is similar to the file that it replaces.
    pub(super) fn former(&self, path: &str, before: Option<&CapturedFile>) -> Option<u64> {
        before.and_then(|seen| seen.recipe).or_else(|| {
            let (stem, _) = path.split_once(".json.")?;
            self.index.files.get(&format!("{stem}.json"))?.recipe
        })
    }

    fn stored(&mut self, dir: &Path) -> &mut StoredContents {
        self.stored.get_or_insert_with(|| StoredContents::new(dir.to_owned()))
    }

    fn bulk(&mut self, dir: &Path) -> &mut Bulk {
        self.bulk.get_or_insert_with(|| Bulk::new(dir.to_owned()))
    }

    /// Syncs the contents that are not synced yet to the disk.
    ///
    /// # Errors
    /// When syncing fails.
    pub(in crate::archive) fn sync(&self, dir: &Path) -> io::Result<()> {
        if self.has_unsynced_names {
            self.archive.objects.sync_names()?;
        }
        self.bulk.as_ref().map_or(Ok(()), Bulk::sync)?;
        Pack::new(dir.to_owned()).sync()
    }
}
