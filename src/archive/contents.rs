//! Reads the last captured contents of a run's files.

use super::index::CapturedFile;
use super::object::{self, Objects};
use super::pack::StoredContents;
use super::store::Archive;

/// The contents of a run's files. Reading is fastest in the order of the paths.
pub struct Contents<'a> {
    objects: &'a Objects,
    stored: Option<StoredContents>,
}

impl Contents<'_> {
    /// The last complete content of a file, if it can be read.
    pub fn get(&mut self, seen: &CapturedFile) -> Option<Vec<u8>> {
        let hash = seen.content()?;
        let stored = self.stored.as_mut().zip(seen.recipe);
        let latest = stored.and_then(|(stored, recipe)| stored.get(recipe).ok());
        // The recipe may be the one of an earlier content.
        let latest = latest.map(|latest| latest.bytes).filter(|bytes| object::hash(bytes) == hash);
        latest.or_else(|| self.objects.get(hash).ok())
    }
}

impl Archive {
    /// The contents of a run's files.
    pub fn contents(&self, run: &str) -> Contents<'_> {
        Contents { objects: &self.objects, stored: self.run_dir(run).map(StoredContents::new) }
    }
}
