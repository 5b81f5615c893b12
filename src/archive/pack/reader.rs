//! Finds large contents of all runs by their hash.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::data::{self, Data};
use super::recipe::{self, HASH_DIGITS, Recipe, extents};
use super::{MAX_BYTES, RECIPES, data_path};
use crate::fs;

/// The large contents of the runs in a directory. Recipes that were read are cached.
#[derive(Debug, Clone)]
pub(in crate::archive) struct Packs {
    runs: PathBuf,
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// The runs to search first, the latest last.
    wanted: Vec<String>,
    opened: HashMap<String, Opened>,
}

/// Number of runs that stay open: each has open files or cached data.
const OPEN: usize = 2;

impl Packs {
    /// The contents of the runs below this directory.
    pub fn new(runs: PathBuf) -> Packs {
        Packs { runs, known: Arc::default() }
    }

    /// Announces that contents of this run will be read next: it is searched first.
    pub fn expect(&self, run: &str) {
        self.known().expect(run);
    }

    /// Reads a content; `None` if no run has it, an error if it is damaged in every run that has it.
    pub fn get(&self, hash: &str) -> Option<io::Result<Vec<u8>>> {
        let mut damaged = None;
        let found = self.each(|opened| match opened.get(hash)? {
            Err(error) => {
                damaged = Some(error);
                None
            }
            read => Some(read),
        });
        found.or(damaged.map(Err))
    }

    /// Whether a run has a content.
    pub fn has(&self, hash: &str) -> bool {
        self.each(|opened| opened.places_of(hash).map(drop)).is_some()
    }

    /// Calls `ask` for each run, the expected ones first, until it returns something.
    fn each<T>(&self, mut ask: impl FnMut(&mut Opened) -> Option<T>) -> Option<T> {
        let mut known = self.known();
        let known = &mut *known;
        // Second pass: a hook call may have written in the meantime, or an unexpected run has the content.
        for thorough in [false, true] {
            let mut runs = known.wanted.clone();
            if thorough {
                let listing = std::fs::read_dir(&self.runs).into_iter().flatten().flatten();
                runs.extend(listing.filter_map(|entry| entry.file_name().into_string().ok()));
            }
            for run in runs.iter().rev() {
                if !known.opened.contains_key(run) || thorough {
                    let dir = self.runs.join(run);
                    match known.opened.get_mut(run) {
                        Some(opened) => opened.refresh(),
                        None if Opened::is_there(&dir) => {
                            known.opened.insert(run.clone(), Opened::new(dir));
                        }
                        None => continue,
                    }
                }
                let answer = known.opened.get_mut(run).and_then(&mut ask);
                if answer.is_some() {
                    known.expect(run);
                    return answer;
                }
                if !known.wanted.contains(run) {
                    known.opened.remove(run);
                }
            }
        }
        None
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn expect(&mut self, run: &str) {
        if self.wanted.last().is_some_and(|last| last == run) {
            return;
        }
        self.wanted.retain(|other| other != run);
        self.wanted.push(run.to_owned());
        while self.wanted.len() > OPEN {
            let last = self.wanted.remove(0);
            self.opened.remove(&last);
        }
    }
}

/// The recipes of one run that were read so far.
#[derive(Debug)]
struct Opened {
    run: PathBuf,
    /// Number of bytes of the recipe file that were read.
    read: u64,
    recipes: HashMap<u64, Recipe>,
    /// The offsets of recipes, by the beginning of the content's hash.
    places: HashMap<String, Vec<u64>>,
    files: HashMap<u32, Data>,
}

impl Opened {
    fn is_there(run: &Path) -> bool {
        let path = run.join(RECIPES);
        path.symlink_metadata().is_ok() || data::packed(&path).symlink_metadata().is_ok()
    }

    fn new(run: PathBuf) -> Opened {
        let mut opened =
            Opened { run, read: 0, recipes: HashMap::new(), places: HashMap::new(), files: HashMap::new() };
        opened.refresh();
        opened
    }

    /// Reads the recipes that were appended since the last call.
    fn refresh(&mut self) {
        let path = self.run.join(RECIPES);
        let bytes = match read_from(&path, self.read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let all = data::unpack(&path).unwrap_or_default();
                all.get(self.read as usize..).unwrap_or_default().to_vec()
            }
            other => other.unwrap_or_default(),
        };
        for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
            if let Some(recipe) = Recipe::parse(line) {
                self.places.entry(recipe.hash.clone()).or_default().push(self.read);
                self.recipes.insert(self.read, recipe);
            }
            self.read += line.len() as u64;
        }
    }

    /// The offsets of recipes that may describe a content.
    fn places_of(&self, hash: &str) -> Option<&Vec<u64>> {
        self.places.get(hash.get(..HASH_DIGITS)?)
    }

    /// Reads a content; `None` if this run does not have it. If it has several recipes, one that works is sufficient.
    fn get(&mut self, hash: &str) -> Option<io::Result<Vec<u8>>> {
        let mut last = None;
        for place in self.places_of(hash)?.clone() {
            let made = self.make(place);
            match made {
                Ok(bytes) if blake3::hash(&bytes).to_hex().as_str() == hash => return Some(Ok(bytes)),
                Ok(_) => last = Some(io::ErrorKind::InvalidData.into()),
                Err(error) => last = Some(error),
            }
        }
        last.map(|error| Err(fs::with_path(error, "read a content of", &self.run.join(RECIPES))))
    }

    fn make(&mut self, place: u64) -> io::Result<Vec<u8>> {
        let chain =
            recipe::chain(place, |place| Ok(self.recipes.get(&place).ok_or(io::ErrorKind::InvalidData)?))?;
        let extents = extents(&chain).ok_or(io::ErrorKind::InvalidData)?;
        let number = chain.first().map_or(0, |recipe| recipe.file);
        let file = match self.files.entry(number) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Data::open(&data_path(&self.run, number))?)
            }
        };
        file.read(&extents)
    }
}

/// Reads a file from an offset to its end.
fn read_from(path: &Path, start: u64) -> io::Result<Vec<u8>> {
    let mut file = fs::open_regular(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
