//! Reads large contents: of one run by the offsets of their recipes, and of all runs by their hash.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fs_err::File;

use super::data::{self, Data};
use super::recipe::{self, Extents, HASH_DIGITS, Recipe};
use super::{MAX_BYTES, RECIPES, data_path};
use crate::sys::fs;

/// A content that was read. It is not compared with its hash.
#[derive(Debug)]
pub(in crate::store::archive) struct StoredContent {
    /// Its recipe and the recipe's bases.
    pub(super) chain: Vec<Recipe>,
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

/// The contents of one run. Consecutive reads are mostly of adjacent data, so the files stay open.
pub(in crate::store::archive) struct StoredContents {
    run: PathBuf,
    lines: Option<Lines>,
    data: Option<(u32, Data)>,
}

impl StoredContents {
    /// The contents of the run in this directory.
    pub fn new(run: PathBuf) -> StoredContents {
        StoredContents { run, lines: None, data: None }
    }

    /// Reads the content whose recipe is at this offset.
    pub fn get(&mut self, offset: u64) -> io::Result<StoredContent> {
        let chain = self.chain(offset)?;
        let extents = recipe::extents(&chain.iter().collect::<Vec<_>>()).ok_or(io::ErrorKind::InvalidData)?;
        let number = chain.first().map_or(0, |recipe| recipe.file);
        let data = match self.data.take().filter(|(open, _)| *open == number) {
            Some(data) => data,
            None => (number, Data::open(&data_path(&self.run, number))?),
        };
        let bytes = self.data.insert(data).1.read(&extents)?;
        Ok(StoredContent { chain, extents, bytes })
    }

    /// A recipe and its bases.
    pub(super) fn chain(&mut self, offset: u64) -> io::Result<Vec<Recipe>> {
        let lines = match &mut self.lines {
            Some(lines) => lines,
            none => none.insert(Lines::open(&self.run.join(RECIPES))?),
        };
        recipe::chain(offset, |offset| {
            Ok(lines.at(offset)?.and_then(Recipe::parse).ok_or(io::ErrorKind::InvalidData)?)
        })
    }
}

/// How many bytes to read before the beginning of a line, and after it.
const BYTES_BEFORE: u64 = 28 << 10;
const BYTES_AFTER: usize = 4 << 10;
/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 64 << 20;

/// The recipe file, and the part of it that was read last. A chain leads back line by line, so one part often has the
/// next lines, too.
struct Lines {
    file: File,
    start: u64,
    part: Vec<u8>,
}

impl Lines {
    /// Opens the recipe file at this path. A compressed one must be decompressed before.
    fn open(path: &Path) -> io::Result<Lines> {
        Ok(Lines { file: fs::open_regular(path)?, start: 0, part: Vec::new() })
    }

    /// The line that begins at an offset, without its end; `None` if it is incomplete.
    fn at(&mut self, offset: u64) -> io::Result<Option<&[u8]>> {
        let mut length = BYTES_AFTER;
        loop {
            let from = offset.checked_sub(self.start).map(|from| from as usize);
            let line = from.and_then(|from| {
                let end = self.part.get(from..)?.iter().position(|byte| *byte == b'\n')?;
                Some(from..from + end)
            });
            if let Some(line) = line {
                return Ok(Some(&self.part[line]));
            }
            if length > MAX_LINE_BYTES {
                return Ok(None);
            }
            self.start = offset.saturating_sub(BYTES_BEFORE);
            let size = (offset - self.start) as usize + length;
            self.part = data::read_part(&self.file, self.start, size)?;
            let has_line =
                self.part.get((offset - self.start) as usize..).is_some_and(|part| part.contains(&b'\n'));
            if !has_line && self.part.len() < size {
                return Ok(None);
            }
            length *= 8;
        }
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

/// The recipes of one run that were read so far.
#[derive(Debug, Default)]
struct OpenedRun {
    run: PathBuf,
    /// Number of bytes of the recipe file that were read.
    read: u64,
    recipes: HashMap<u64, Recipe>,
    /// The offsets of recipes, by the beginning of the content's hash.
    offsets: HashMap<String, Vec<u64>>,
    files: HashMap<u32, Data>,
}

impl OpenedRun {
    /// Reads the recipes of a run; `None` if it has none.
    fn open(run: PathBuf) -> Option<OpenedRun> {
        let path = run.join(RECIPES);
        if path.symlink_metadata().is_err() && data::packed(&path).symlink_metadata().is_err() {
            return None;
        }
        let mut opened = OpenedRun { run, ..OpenedRun::default() };
        opened.refresh();
        Some(opened)
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
                self.offsets.entry(recipe.hash.clone()).or_default().push(self.read);
                self.recipes.insert(self.read, recipe);
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
            match self.rebuild(offset) {
                Ok(bytes) if blake3::hash(&bytes).to_hex().as_str() == hash => return Some(Ok(bytes)),
                Ok(_) => last = Some(io::ErrorKind::InvalidData.into()),
                Err(error) => last = Some(error),
            }
        }
        last.map(|error| Err(fs::with_path(error, "read a content of", &self.run.join(RECIPES))))
    }

    fn rebuild(&mut self, offset: u64) -> io::Result<Vec<u8>> {
        let recipe = |offset| Ok(self.recipes.get(&offset).ok_or(io::ErrorKind::InvalidData)?);
        let chain = recipe::chain(offset, recipe)?;
        let extents = recipe::extents(&chain).ok_or(io::ErrorKind::InvalidData)?;
        let number = chain.first().map_or(0, |recipe| recipe.file);
        let file = match self.files.entry(number) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Data::open(&data_path(&self.run, number))?),
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
