//! Reads the contents of one run by the offsets of their recipes. Consecutive reads are mostly of
//! adjacent data, so the files stay open.

use std::io;
use std::path::PathBuf;

use super::data::Data;
use super::extents::Extents;
use super::lines::Lines;
use super::recipe::{self, Recipe};
use super::{RECIPES, data_path};

/// A content that was read.
#[derive(Debug)]
pub(in crate::archive) struct StoredContent {
    /// Its recipe and the recipe's bases.
    pub(super) chain: Vec<Recipe>,
    /// The positions of its bytes.
    pub(super) extents: Extents,
    /// The content. It is not compared with its hash.
    pub bytes: Vec<u8>,
}

impl StoredContent {
    /// Whether it is this content, and its recipe has this hash.
    pub fn contents_equal(&self, bytes: &[u8], hash: &str) -> bool {
        self.chain.first().is_some_and(|recipe| recipe.may_be_of(hash)) && self.bytes == bytes
    }

    /// The number of its data file.
    pub fn file(&self) -> u32 {
        self.chain.first().map_or(0, |recipe| recipe.file)
    }
}

/// The contents of one run.
pub(in crate::archive) struct StoredContents {
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
    ///
    /// # Errors
    /// When it is missing or cannot be read.
    pub fn get(&mut self, place: u64) -> io::Result<StoredContent> {
        let chain = self.chain(place)?;
        let extents = recipe::extents(&chain.iter().collect::<Vec<_>>()).ok_or(io::ErrorKind::InvalidData)?;
        let number = chain.first().map_or(0, |recipe| recipe.file);
        let data = match self.data.take().filter(|(open, _)| *open == number) {
            Some((_, data)) => data,
            None => Data::open(&data_path(&self.run, number))?,
        };
        let bytes = data.read(&extents);
        self.data = Some((number, data));
        Ok(StoredContent { chain, extents, bytes: bytes? })
    }

    /// A recipe and its bases.
    pub(super) fn chain(&mut self, place: u64) -> io::Result<Vec<Recipe>> {
        let mut lines = match self.lines.take() {
            Some(lines) => lines,
            None => Lines::open(&self.run.join(RECIPES))?,
        };
        let chain = recipe::chain(place, |place| {
            Ok(lines.at(place)?.and_then(Recipe::parse).ok_or(io::ErrorKind::InvalidData)?)
        });
        self.lines = Some(lines);
        chain
    }
}
