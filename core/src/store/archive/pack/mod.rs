//! Large contents of a run, stored as changes: an inbox that grows by one message costs that message.
//!
//! `contents/<n>` are data files, which only grow. Each line of `contents.jsonl` is the recipe of one content: ranges of
//! a data file and, in most cases, the beginning and the end of an earlier content. All of it is written under the run's
//! lock: the data first, then the recipe, then the manifest that names the content by its hash. Small contents, and
//! contents that are written without the lock, are separate objects, unless a capture stores many contents ([`Pack::put_complete`]).

mod data;
mod difference;
mod reader;
mod recipe;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::object::{Durability, MAX_BYTES, Objects};
use crate::sys::fs::{self, Appender};
use difference::{Part, difference};
use reader::StoredContent;
use recipe::{Extents, Recipe};

pub(super) use data::{open, open_packed, packed, plain_size, thaw, unpack};
pub(super) use reader::{Packs, StoredContents};

/// Minimum size of a content to be stored as a delta, in bytes: for a smaller one, a recipe would save little.
pub(super) const SMALL: usize = 1 << 10;

/// A content with more ranges than this is written completely: following them would take too long for a hook call.
const MAX_RANGES: usize = 65_536;

/// Maximum number of data files to sync in one capture. Syncing one takes as long as writing hundreds of contents.
const MAX_SYNCED_FILES: usize = 8;

/// The name of the file of recipes.
const RECIPES: &str = "contents.jsonl";

/// The large contents of one run, while its lock is held.
#[derive(Debug)]
pub(super) struct Pack {
    run: PathBuf,
    /// The files for complete contents, which share them: a team of thousands of files costs two short writes for each
    /// of them, and two syncs in all.
    shared: Option<SharedFiles>,
    unsynced: BTreeSet<u32>,
}

#[derive(Debug)]
struct SharedFiles {
    number: u32,
    data: Appender,
    recipes: Appender,
}

/// A content to store.
#[derive(Clone, Copy)]
pub(super) struct NewContent<'a> {
    pub bytes: &'a [u8],
    pub hash: &'a str,
    /// The offset of the recipe of a similar content.
    pub former: Option<u64>,
    pub durability: Durability,
}

impl Pack {
    /// The contents of the run in this directory.
    pub fn new(run: PathBuf) -> Pack {
        Pack { run, shared: None, unsynced: BTreeSet::new() }
    }

    /// Stores a content and returns the offset of its recipe.
    pub fn put(&self, new: &NewContent<'_>) -> io::Result<u64> {
        let recipes = self.run.join(RECIPES);
        data::thaw(&recipes)?;
        let read = |recipe| Some((recipe, StoredContents::new(self.run.clone()).get(recipe).ok()?));
        let former = new.former.and_then(read);
        if let Some((recipe, former)) = &former
            && former.contents_equal(new.bytes, new.hash)
        {
            if new.durability == Durability::Durable {
                self.sync_data(former.file())?;
            }
            return Ok(*recipe);
        }
        let recipe = self.append(new, former)?;
        Appender::open(&recipes)?.append_line(&recipe.line())
    }

    /// Appends the changed bytes, and returns the recipe.
    fn append(&self, new: &NewContent<'_>, former: Option<(u64, StoredContent)>) -> io::Result<Recipe> {
        let bytes = new.bytes;
        let related = former.filter(|(_, former)| former.extents.0.len() <= MAX_RANGES);
        let related = related.map(|former| (difference(&former.1.bytes, bytes), former));
        let (parts, former) = match related.filter(|(parts, _)| parts.len() <= MAX_RANGES) {
            Some((parts, former)) => (parts, Some(former)),
            None => (vec![Part::New(0..bytes.len())], None),
        };
        let last = former.as_ref().and_then(|(_, former)| former.chain.first());
        let (file, number) = match last {
            Some(last) => (last.file, last.number + 1),
            None => (free_file(&self.run)?, 0),
        };
        check_directory(&self.run)?;
        let path = data_path(&self.run, file);
        data::thaw(&path)?;
        let mut to = if last.is_none() { Appender::create(&path)? } else { Appender::open(&path)? };
        // One write for all parts: no recipe names bytes that a killed writer left.
        let new_parts = parts.iter().filter_map(|part| match part {
            Part::New(range) => Some(&bytes[range.clone()]),
            Part::Old(_) => None,
        });
        let mut end = to.append(&new_parts.collect::<Vec<_>>().concat())?;
        if new.durability != Durability::Usual {
            to.sync()?;
        }
        let mut between = Extents::default();
        for part in parts {
            match (part, &former) {
                (Part::Old(range), Some((_, former))) => {
                    between.push_slice(&former.extents, range.start as u64..range.end as u64);
                }
                (Part::Old(_), None) => {}
                (Part::New(range), _) => {
                    between.push(end..end + range.len() as u64);
                    end += range.len() as u64;
                }
            }
        }
        let mut recipe = Recipe { number, ..Recipe::complete(new.hash, file, between) };
        if let Some((offset, former)) = former {
            recipe.relate(&former.chain, offset, former.extents);
        }
        Ok(recipe)
    }

    /// Stores a complete content in the shared files and returns the offset of its recipe.
    pub fn put_complete(&mut self, bytes: &[u8], hash: &str) -> io::Result<u64> {
        let to = match &mut self.shared {
            Some(shared) => shared,
            none => none.insert(SharedFiles::create(&self.run)?),
        };
        self.unsynced.insert(to.number);
        // A delta of a content of this capture may have been stored since.
        to.data.refresh()?;
        to.recipes.refresh()?;
        let start = to.data.append(bytes)?;
        let mut between = Extents::default();
        between.push(start..start + bytes.len() as u64);
        to.recipes.append(&Recipe::complete(hash, to.number, between).line())
    }

    /// Adds a data file to those that [`Pack::sync`] syncs. Returns false if there are too many of them.
    pub fn will_sync(&mut self, file: u32) -> bool {
        self.unsynced.contains(&file)
            || (self.unsynced.len() < MAX_SYNCED_FILES && self.unsynced.insert(file))
    }

    /// Syncs a data file to disk, or the compressed one.
    pub fn sync_data(&self, number: u32) -> io::Result<()> {
        let path = data_path(&self.run, number);
        fs::sync(&if path.symlink_metadata().is_ok() { path } else { packed(&path) })
    }

    /// Syncs the data files of this capture, the recipes, and the directory of the data files to disk.
    pub fn sync(&self) -> io::Result<()> {
        self.unsynced.iter().try_for_each(|file| self.sync_data(*file))?;
        let paths = [RECIPES, "contents"].map(|name| self.run.join(name));
        paths.iter().filter(|path| path.symlink_metadata().is_ok()).try_for_each(|path| fs::sync(path))
    }
}

impl SharedFiles {
    fn create(run: &Path) -> io::Result<SharedFiles> {
        check_directory(run)?;
        let number = free_file(run)?;
        let path = run.join(RECIPES);
        data::thaw(&path)?;
        let mut recipes = Appender::open(&path)?;
        if recipes.is_torn()? {
            recipes.append(b"\n")?;
        }
        Ok(SharedFiles { number, data: Appender::create(&data_path(run, number))?, recipes })
    }
}

/// Fails if the path of the data directory is something else: a link would lead out of the store.
fn check_directory(run: &Path) -> io::Result<()> {
    match run.join("contents").symlink_metadata() {
        Ok(there) if !there.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
        _ => Ok(()),
    }
}

/// The number of the next data file.
fn free_file(run: &Path) -> io::Result<u32> {
    let entries = fs::list(&run.join("contents"))?;
    let names = entries.iter().filter_map(|entry| entry.file_name().into_string().ok());
    let last = names.filter_map(|name| name.strip_suffix(".gz").unwrap_or(&name).parse::<u32>().ok()).max();
    Ok(last.map_or(1, |last| last.saturating_add(1)))
}

fn data_path(run: &Path, number: u32) -> PathBuf {
    run.join("contents").join(number.to_string())
}

#[cfg(test)]
mod bulk_tests;
#[cfg(test)]
mod tests;
