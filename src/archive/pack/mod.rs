//! Large contents of a run, stored as changes: an inbox that grows by one message costs that message.
//!
//! `contents/<n>` are data files, which only grow. Each line of `contents.jsonl` is the recipe of one content: ranges of
//! a data file and, in most cases, the beginning and the end of an earlier content. All of it is written under the run's
//! lock: the data first, then the recipe, then the manifest that names the content by its hash. Small contents, and
//! contents that are written without the lock, are separate objects, unless a capture stores many contents ([`Bulk`]).

mod bulk;
mod compress;
mod data;
mod difference;
mod extents;
mod lines;
mod reader;
mod recipe;
mod stored;

use std::io;
use std::path::{Path, PathBuf};

use super::object::{Durability, MAX_BYTES, is_hash};
use crate::fs;
use difference::{Part, difference};
use extents::Extents;
use recipe::{HASH_DIGITS, Recipe};

pub(super) use bulk::Bulk;
pub(super) use data::{open, packed, plain_size, thaw};
pub(super) use reader::Packs;
use stored::StoredContent;
pub(super) use stored::StoredContents;

/// Minimum size of a content to be stored as a delta, in bytes: for a smaller one, a recipe would save little.
pub(super) const SMALL: usize = 1 << 10;

/// A content with more ranges than this is written completely: following them would take too long for a hook call.
const MAX_RANGES: usize = 65_536;

/// The name of the file of recipes.
const RECIPES: &str = "contents.jsonl";

/// The large contents of one run, while its lock is held.
#[derive(Debug)]
pub(super) struct Pack {
    run: PathBuf,
}

impl Pack {
    /// The contents of the run in this directory.
    pub fn new(run: PathBuf) -> Pack {
        Pack { run }
    }

    /// Stores a content and returns the offset of its recipe. `former` is the offset of the recipe of a similar content.
    ///
    /// # Errors
    /// When reading or writing fails, or a path of the pack is not a regular file.
    pub fn put(&self, bytes: &[u8], hash: &str, former: Option<u64>, care: Durability) -> io::Result<u64> {
        data::thaw(&self.run.join(RECIPES))?;
        let known = former.and_then(|place| Some((place, self.former(place).ok()?)));
        if let Some((place, former)) = &known
            && former.contents_equal(bytes, hash)
        {
            if care == Durability::Durable {
                self.sync_data(former.file())?;
            }
            return Ok(*place);
        }
        let (place, former) = known.map_or((None, None), |(place, former)| (Some(place), Some(former)));
        let recipe = self.append(bytes, hash, place, former, care != Durability::Usual)?;
        let path = self.run.join(RECIPES);
        fs::Appender::open(&path)?.append_line(&recipe.line())
    }

    /// Appends the changed bytes, and returns the recipe.
    fn append(
        &self,
        bytes: &[u8],
        hash: &str,
        place: Option<u64>,
        former: Option<StoredContent>,
        durable: bool,
    ) -> io::Result<Recipe> {
        let related = former.filter(|former| former.extents.iter().len() <= MAX_RANGES).and_then(|former| {
            let parts = difference(&former.bytes, bytes);
            (parts.len() <= MAX_RANGES).then_some((former, parts))
        });
        let (former, parts) = match related {
            Some((former, parts)) => (Some(former), parts),
            None => (None, vec![Part::New(0..bytes.len())]),
        };
        let new: Vec<&[u8]> = parts
            .iter()
            .filter_map(|part| match part {
                Part::New(range) => Some(&bytes[range.clone()]),
                Part::Old(_) => None,
            })
            .collect();
        let last = former.as_ref().and_then(|former| former.chain.first());
        let (file, number) = match last {
            Some(last) => (last.file, last.number + 1),
            None => (self.free_file()?, 0),
        };
        let path = self.data(file);
        self.check_directory()?;
        data::thaw(&path)?;
        let mut end = data::append(&path, &new, last.is_none(), durable)?;
        let mut all = Extents::default();
        for part in parts {
            match (part, &former) {
                (Part::Old(range), Some(former)) => {
                    all.push_slice(&former.extents, range.start as u64..range.end as u64);
                }
                (Part::Old(_), None) => {}
                (Part::New(range), _) => {
                    all.push(end..end + range.len() as u64);
                    end += range.len() as u64;
                }
            }
        }
        let mut recipe = Recipe {
            hash: hash.get(..HASH_DIGITS).unwrap_or(hash).to_owned(),
            size: bytes.len() as u64,
            file,
            number,
            base: None,
            front: 0,
            back: 0,
            between: all,
        };
        if let (Some(former), Some(place)) = (former, place) {
            recipe.relate(&former.chain, place, former.extents);
        }
        Ok(recipe)
    }

    /// Syncs a data file to the disk.
    ///
    /// # Errors
    /// When syncing fails.
    pub fn sync_data(&self, number: u32) -> io::Result<()> {
        fs::sync(&self.data(number))
    }

    /// Syncs the recipes and the directory of the data files to disk.
    ///
    /// # Errors
    /// When syncing fails.
    pub fn sync(&self) -> io::Result<()> {
        for path in [self.run.join(RECIPES), self.run.join("contents")] {
            if path.symlink_metadata().is_ok() {
                fs::sync(&path)?;
            }
        }
        Ok(())
    }

    fn former(&self, place: u64) -> io::Result<StoredContent> {
        StoredContents::new(self.run.clone()).get(place)
    }

    /// Fails if the path of the directory is something else: a link would lead out of the store.
    fn check_directory(&self) -> io::Result<()> {
        let there = self.run.join("contents").symlink_metadata();
        if there.is_ok_and(|there| !there.is_dir()) {
            Err(io::ErrorKind::NotADirectory.into())
        } else {
            Ok(())
        }
    }

    /// The number of the next data file.
    fn free_file(&self) -> io::Result<u32> {
        let dir = self.run.join("contents");
        let listing = match std::fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(1),
            other => other.map_err(|error| fs::with_path(error, "list", &dir))?,
        };
        let names = listing.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let last =
            names.filter_map(|name| name.strip_suffix(".gz").unwrap_or(&name).parse::<u32>().ok()).max();
        Ok(last.map_or(1, |last| last.saturating_add(1)))
    }

    fn data(&self, number: u32) -> PathBuf {
        data_path(&self.run, number)
    }
}

fn data_path(run: &Path, number: u32) -> PathBuf {
    run.join("contents").join(number.to_string())
}

impl Recipe {
    /// Bases the content on another one: the one before it, whose recipe is at `place`, or one of that one's bases.
    fn relate(&mut self, chain: &[Recipe], place: u64, former: Extents) {
        let Some(wanted) = self.number.checked_sub(Recipe::step(self.number)) else { return };
        let Some(at) = chain.iter().position(|recipe| recipe.number == wanted) else { return };
        let base = match at.checked_sub(1) {
            None => Some((place, former)),
            Some(after) => chain[after].base.zip(recipe::extents(&chain[at..].iter().collect::<Vec<_>>())),
        };
        let Some((base, extents)) = base else { return };
        let (front, back) = extents.common(&self.between);
        let mut between = Extents::default();
        between.push_slice(&self.between, front..self.size - back);
        (self.base, self.front, self.back, self.between) = (Some(base), front, back, between);
    }
}

#[cfg(test)]
mod bulk_tests;
#[cfg(test)]
mod tests;
