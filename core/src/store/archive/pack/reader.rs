//! Reads large contents: of one run by the offsets of their recipes, and of all runs by their hash.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::data::{self, Data};
use super::recipe::{self, Extents, HASH_DIGITS, Recipe};
use super::{RECIPES, data_path};
use crate::sys::fs;

/// A content that was read. It is not compared with its hash.
#[derive(Debug)]
pub(in crate::store::archive) struct StoredContent {
    /// Its recipe and the recipe's bases.
    pub(super) chain: Vec<Arc<Recipe>>,
    /// The positions of its bytes.
    pub(super) extents: Extents,
    pub bytes: Vec<u8>,
}

impl StoredContent {
    /// Whether it is this content, and its recipe has the stored digits of this hash.
    pub fn contents_equal(&self, bytes: &[u8], hash: &str) -> bool {
        self.chain.first().is_some_and(|recipe| hash.starts_with(&recipe.hash)) && self.bytes == bytes
    }

    /// The number of its data file.
    pub fn file(&self) -> u32 {
        self.chain.first().map_or(0, |recipe| recipe.file)
    }
}

/// The contents of one run. Its files stay open, and recipes that were read are cached.
#[derive(Debug)]
pub(in crate::store::archive) struct StoredContents {
    run: PathBuf,
    lines: Option<Data>,
    recipes: HashMap<u64, Arc<Recipe>>,
    files: HashMap<u32, Data>,
}

/// Maximum number of recipes in a chain. Chains that teamkeep writes have about 60.
const MAX_CHAIN: usize = 1 << 12;

/// Maximum number of data files that stay open.
const MAX_FILES: usize = 64;

impl StoredContents {
    /// The contents of the run in this directory.
    pub fn new(run: PathBuf) -> StoredContents {
        StoredContents { run, lines: None, recipes: HashMap::new(), files: HashMap::new() }
    }

    /// Reads the content whose recipe is at this offset.
    pub fn get(&mut self, offset: u64) -> io::Result<StoredContent> {
        let chain = self.chain(offset)?;
        let extents = recipe::extents(&chain).ok_or(io::ErrorKind::InvalidData)?;
        let number = chain.first().map_or(0, |recipe| recipe.file);
        if self.files.len() >= MAX_FILES && !self.files.contains_key(&number) {
            self.files.clear();
        }
        let file = match self.files.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Data::open(&data_path(&self.run, number))?),
        };
        let bytes = file.read(&extents)?;
        Ok(StoredContent { chain, extents, bytes })
    }

    /// A recipe and its bases.
    ///
    /// # Errors
    /// `InvalidData` for bases that are not earlier lines with the same data file, or too many.
    pub(super) fn chain(&mut self, offset: u64) -> io::Result<Vec<Arc<Recipe>>> {
        let mut chain: Vec<Arc<Recipe>> = Vec::new();
        let mut next = Some(offset);
        while let Some(offset) = next {
            let recipe = self.recipe(offset)?;
            let follows = chain.last().is_none_or(|last| last.file == recipe.file);
            next = recipe.base.filter(|base| *base < offset);
            if !follows || chain.len() >= MAX_CHAIN || next != recipe.base {
                return Err(io::ErrorKind::InvalidData.into());
            }
            chain.push(recipe);
        }
        Ok(chain)
    }

    fn recipe(&mut self, offset: u64) -> io::Result<Arc<Recipe>> {
        if let Some(known) = self.recipes.get(&offset) {
            return Ok(known.clone());
        }
        let lines = match &mut self.lines {
            Some(lines) => lines,
            none => none.insert(Data::open(&self.run.join(RECIPES))?),
        };
        let parsed = lines.line(offset)?.and_then(|line| Recipe::parse(&line));
        let recipe = Arc::new(parsed.ok_or(io::ErrorKind::InvalidData)?);
        self.recipes.insert(offset, recipe.clone());
        Ok(recipe)
    }
}

/// The large contents of the runs in a directory. Recipes that were read are cached.
#[derive(Debug, Clone)]
pub(in crate::store::archive) struct Packs {
    runs: PathBuf,
    cache: Arc<Mutex<Cache>>,
}

#[derive(Debug, Default)]
struct Cache {
    /// The runs to search first, the latest last.
    expected: Vec<String>,
    opened: HashMap<String, OpenedRun>,
}

/// Number of runs that stay open: each has open files or cached data.
const MAX_OPEN: usize = 2;

impl Packs {
    /// The contents of the runs below this directory.
    pub fn new(runs: PathBuf) -> Packs {
        Packs { runs, cache: Arc::default() }
    }

    /// Announces that contents of this run will be read next: it is searched first.
    pub fn expect(&self, run: &str) {
        self.cache().expect(run);
    }

    /// Reads a content; `None` if no run has it, an error if it is damaged in every run that has it.
    pub fn get(&self, hash: &str) -> Option<io::Result<Vec<u8>>> {
        let mut damaged = None;
        let found = self.find(|opened| match opened.get(hash)? {
            Err(error) => {
                damaged = Some(error);
                None
            }
            read => Some(read),
        });
        found.or(damaged.map(Err))
    }

    /// Reads a content of the run that was announced last; `None` if that run does not have it, or it is damaged there.
    pub fn get_expected(&self, hash: &str) -> Option<Vec<u8>> {
        let mut cache = self.cache();
        let Cache { expected, opened } = &mut *cache;
        opened.get_mut(expected.last()?)?.get(hash)?.ok()
    }

    /// Whether a run has a content.
    pub fn has(&self, hash: &str) -> bool {
        self.find(|opened| opened.offsets_of(hash).map(drop)).is_some()
    }

    /// Calls `ask` for each run, the expected ones first, until it returns something.
    fn find<T>(&self, mut ask: impl FnMut(&mut OpenedRun) -> Option<T>) -> Option<T> {
        let mut cache = self.cache();
        let cache = &mut *cache;
        // Second pass: a hook call may have written in the meantime, or an unexpected run has the content.
        for is_second in [false, true] {
            let mut runs = cache.expected.clone();
            if is_second {
                let names = fs::entries(&self.runs).filter_map(|entry| entry.file_name().into_string().ok());
                runs.extend(names);
            }
            for run in runs.iter().rev() {
                let opened = match cache.opened.entry(run.clone()) {
                    Entry::Occupied(known) => {
                        let opened = known.into_mut();
                        if is_second {
                            opened.refresh();
                        }
                        opened
                    }
                    Entry::Vacant(new) => match OpenedRun::open(self.runs.join(run)) {
                        Some(opened) => new.insert(opened),
                        None => continue,
                    },
                };
                let answer = ask(opened);
                if answer.is_some() {
                    cache.expect(run);
                    return answer;
                }
                if !cache.expected.contains(run) {
                    cache.opened.remove(run);
                }
            }
        }
        None
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    fn expect(&mut self, run: &str) {
        if self.expected.last().is_some_and(|last| last == run) {
            return;
        }
        self.expected.retain(|other| other != run);
        self.expected.push(run.to_owned());
        while self.expected.len() > MAX_OPEN {
            let last = self.expected.remove(0);
            self.opened.remove(&last);
        }
    }
}

/// A run whose recipes were all read.
#[derive(Debug)]
struct OpenedRun {
    contents: StoredContents,
    /// Number of bytes of the recipe file that were read.
    read: u64,
    /// The offsets of recipes, by the beginning of the content's hash.
    offsets: HashMap<String, Vec<u64>>,
}

impl OpenedRun {
    /// Reads the recipes of a run; `None` if it has none.
    fn open(run: PathBuf) -> Option<OpenedRun> {
        let path = run.join(RECIPES);
        if path.symlink_metadata().is_err() && data::packed(&path).symlink_metadata().is_err() {
            return None;
        }
        let mut opened = OpenedRun { contents: StoredContents::new(run), read: 0, offsets: HashMap::new() };
        opened.refresh();
        Some(opened)
    }

    /// Reads the recipes that were appended since the last call.
    fn refresh(&mut self) {
        let Ok(mut lines) = Data::open(&self.contents.run.join(RECIPES)) else { return };
        while let Ok(Some(line)) = lines.line(self.read) {
            if let Some(recipe) = Recipe::parse(&line) {
                self.offsets.entry(recipe.hash.clone()).or_default().push(self.read);
                self.contents.recipes.insert(self.read, Arc::new(recipe));
            }
            self.read += line.len() as u64;
        }
    }

    /// The offsets of recipes that may describe a content.
    fn offsets_of(&self, hash: &str) -> Option<&Vec<u64>> {
        self.offsets.get(hash.get(..HASH_DIGITS)?)
    }

    /// Reads a content; `None` if this run does not have it. If it has several recipes, one that works is sufficient.
    fn get(&mut self, hash: &str) -> Option<io::Result<Vec<u8>>> {
        let mut last = None;
        for offset in self.offsets_of(hash)?.clone() {
            match self.contents.get(offset) {
                Ok(content) if blake3::hash(&content.bytes).to_hex().as_str() == hash => {
                    return Some(Ok(content.bytes));
                }
                Ok(_) => last = Some(io::ErrorKind::InvalidData.into()),
                Err(error) => last = Some(error),
            }
        }
        last.map(|error| Err(fs::with_path(error, "read a content of", &self.contents.run.join(RECIPES))))
    }
}
