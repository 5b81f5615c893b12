//! Stores many contents of one capture. They share a data file: a team of thousands of files costs two short writes for each of
//! them, and two syncs in all.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::extents::Extents;
use super::recipe::{HASH_DIGITS, Recipe};
use super::{Pack, RECIPES, data};
use crate::fs::Appender;

/// Maximum number of data files to sync in one capture. Syncing one takes as long as writing hundreds of contents.
pub(super) const MAX_FILES: usize = 8;

/// The contents stored by one capture, while the run's lock is held.
#[derive(Debug)]
pub(in crate::archive) struct Bulk {
    pack: Pack,
    target: Option<Target>,
    unsynced: BTreeSet<u32>,
}

/// The data file for the new contents.
#[derive(Debug)]
struct Target {
    number: u32,
    data: Appender,
    recipes: Appender,
}

impl Bulk {
    /// The contents of the run in this directory.
    pub fn new(run: PathBuf) -> Bulk {
        Bulk { pack: Pack::new(run), target: None, unsynced: BTreeSet::new() }
    }

    /// Stores a complete content and returns the offset of its recipe.
    ///
    /// # Errors
    /// When reading or writing fails, or a path of the pack is not a regular file.
    pub fn put(&mut self, bytes: &[u8], hash: &str) -> io::Result<u64> {
        let mut target = match self.target.take() {
            Some(target) => target,
            None => Target::create(&self.pack)?,
        };
        self.unsynced.insert(target.number);
        let place = target.put(bytes, hash);
        self.target = Some(target);
        place
    }

    /// Adds a data file to those to be synced with the new contents. Returns false if there are too many of them.
    pub fn will_sync(&mut self, file: u32) -> bool {
        self.unsynced.contains(&file) || (self.unsynced.len() < MAX_FILES && self.unsynced.insert(file))
    }

    /// Syncs the data files. [`Pack::sync`] syncs the rest.
    ///
    /// # Errors
    /// When syncing fails.
    pub fn sync(&self) -> io::Result<()> {
        self.unsynced.iter().try_for_each(|file| self.pack.sync_data(*file))
    }
}

impl Target {
    /// Creates a data file.
    fn create(pack: &Pack) -> io::Result<Target> {
        pack.check_directory()?;
        let number = pack.free_file()?;
        let recipes = pack.run.join(RECIPES);
        data::thaw(&recipes)?;
        let mut recipes = Appender::open(&recipes)?;
        if recipes.is_torn()? {
            recipes.append(b"\n")?;
        }
        Ok(Target { number, data: Appender::create(&pack.data(number))?, recipes })
    }

    fn put(&mut self, bytes: &[u8], hash: &str) -> io::Result<u64> {
        // A delta of a content of this capture may have been stored since.
        self.data.refresh()?;
        self.recipes.refresh()?;
        let start = self.data.append(bytes)?;
        let size = bytes.len() as u64;
        let mut between = Extents::default();
        between.push(start..start + size);
        let recipe = Recipe {
            hash: hash.get(..HASH_DIGITS).unwrap_or(hash).to_owned(),
            size,
            file: self.number,
            number: 0,
            base: None,
            front: 0,
            back: 0,
            between,
        };
        self.recipes.append(&recipe.line())
    }
}
