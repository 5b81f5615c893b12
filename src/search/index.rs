//! The full-text index: its files, its fields and its words.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer};
use tantivy::{Index, ReloadPolicy, Searcher};

use super::sources::Progress;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::sys::fs::{self, Lock};

/// Changes with the fields, the words, or the texts that are extracted.
const VERSION: u32 = 2;
/// Longer words are not indexed, in bytes.
const MAX_WORD_BYTES: usize = 200;
const WORDS: &str = "words";
/// An index of at most this size is checked completely each time, in bytes.
const MAX_CHECKED_BYTES: u64 = 32 << 20;

/// The directory of the index in the store: a cache that is never needed by a hook.
#[derive(Debug, Clone)]
pub struct IndexDir {
    root: PathBuf,
}

#[derive(Debug, Clone, Copy)]
pub struct Fields {
    pub text: Field,
    pub kind: Field,
    pub agent: Field,
    pub run: Field,
    pub session: Field,
    pub source: Field,
    pub title: Field,
    pub key: Field,
    pub at: Field,
    pub line: Field,
}

/// The content of the index: written with each commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub v: u32,
    pub sources: BTreeMap<String, Progress>,
    /// The names of agents by their IDs.
    pub agents: BTreeMap<String, String>,
}

/// The sizes of the index's files, which never change: another size is damage.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Files {
    files: BTreeMap<String, u64>,
}

pub struct OpenIndex {
    pub index: Index,
    pub fields: Fields,
    pub state: State,
}

pub(super) fn failed(error: impl Into<tantivy::TantivyError>) -> Error {
    Error::caused("cannot use the search index", error.into())
}

impl IndexDir {
    pub fn at(root: PathBuf) -> IndexDir {
        IndexDir { root }
    }

    fn dir(&self) -> PathBuf {
        self.root.join("index")
    }

    /// Waits for the right to change the index; `None` if another process has it.
    pub fn lock(&self, patience: Duration) -> Result<Option<Lock>> {
        fs::private_dir(&self.root)?;
        Ok(fs::lock(&self.root.join(".lock"), patience)?)
    }

    /// Removes the index, which the next search builds again.
    pub fn discard(&self) -> Result<()> {
        for path in [self.dir(), self.root.join("files.json")] {
            let is_dir = path.symlink_metadata().is_ok_and(|found| found.is_dir());
            let removed = if is_dir { fs_err::remove_dir_all(path) } else { fs_err::remove_file(path) };
            fs::allow_missing(removed)?;
        }
        Ok(())
    }

    /// Removes the index, unless another process changes it: then returns false.
    pub fn remove(&self, patience: Duration) -> Result<bool> {
        if !self.dir().exists() {
            return Ok(true);
        }
        let lock = self.lock(patience)?;
        lock.as_ref().map_or(Ok(()), |_| self.discard())?;
        Ok(lock.is_some())
    }

    pub fn exists(&self) -> bool {
        self.dir().join("meta.json").exists()
    }

    /// Opens the index, or creates an empty one. An error means damage or another version.
    pub fn open(&self) -> Result<OpenIndex> {
        note_open(&self.root);
        fs::set_private_umask();
        let dir = self.dir();
        self.check_kinds()?;
        let (schema, fields) = schema();
        let index = match self.exists() {
            true => Index::open_in_dir(&dir).map_err(failed)?,
            false => {
                fs::private_dir(&dir)?;
                Index::create_in_dir(&dir, schema.clone()).map_err(failed)?
            }
        };
        if index.schema() != schema {
            return Err(Error::new("the search index has another version"));
        }
        index.tokenizers().register(WORDS, words());
        let metas = index.load_metas().map_err(failed)?;
        let state = match &metas.payload {
            None => State::default(),
            Some(text) => serde_json::from_str(text).map_err(Error::from_json)?,
        };
        if metas.payload.is_some() && state.v != VERSION {
            return Err(Error::new("the search index has another version"));
        }
        self.check(&index)?;
        Ok(OpenIndex { index, fields, state: State { v: VERSION, ..state } })
    }

    /// Anything else than a regular file is damage: reading a pipe would not end.
    fn check_kinds(&self) -> Result<()> {
        let is_regular = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
        match fs::entries(&self.dir()).find(|entry| !is_regular(entry)) {
            Some(other) => Err(damaged(&other.file_name().to_string_lossy())),
            None => Ok(()),
        }
    }

    fn check(&self, index: &Index) -> Result<()> {
        let bytes = fs::read_regular(&self.root.join("files.json"), 1 << 24).map(|(bytes, _)| bytes);
        let known: Files =
            bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        for (name, size) in &known.files {
            if self.dir().join(name).metadata().is_ok_and(|there| there.len() != *size) {
                return Err(damaged(name));
            }
        }
        if self.files().values().sum::<u64>() <= MAX_CHECKED_BYTES
            && let Some(file) = index.validate_checksum().map_err(failed)?.into_iter().next()
        {
            return Err(damaged(&file.display().to_string()));
        }
        Ok(())
    }

    fn files(&self) -> BTreeMap<String, u64> {
        let size = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let is_fixed = !name.starts_with('.') && name != "meta.json";
            Some((name, entry.metadata().ok()?.len())).filter(|_| is_fixed)
        };
        fs::entries(&self.dir()).filter_map(size).collect()
    }

    /// Records the sizes of the files. To be called after the last change, under the lock.
    pub fn seal(&self) -> Result<()> {
        let files = Files { files: self.files() };
        let bytes = serde_json::to_vec(&files).map_err(Error::from_json)?;
        Ok(fs::write_atomic(&self.root.join("files.json"), &bytes)?)
    }
}

fn damaged(name: &str) -> Error {
    Error::new(format!("the search index is damaged: {name}"))
}

impl OpenIndex {
    /// The documents as of now. They stay readable when the index is changed or removed.
    pub fn searcher(&self) -> Result<Searcher> {
        let mut index = self.index.clone();
        if self.index.searchable_segment_ids().map_err(failed)?.len() > 1 {
            index.set_default_multithread_executor().map_err(failed)?;
        }
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader: tantivy::IndexReader = reader.try_into().map_err(failed)?;
        Ok(reader.searcher())
    }
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(WORDS)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let time = NumericOptions::default().set_fast().set_stored().set_indexed();
    let fields = Fields {
        text: builder
            .add_text_field("text", TextOptions::default().set_indexing_options(indexing).set_stored()),
        kind: builder.add_text_field("kind", STRING | STORED),
        agent: builder.add_text_field("agent", STRING | STORED),
        run: builder.add_text_field("run", STRING | STORED),
        session: builder.add_text_field("session", STRING | STORED),
        source: builder.add_text_field("source", STRING | STORED),
        title: builder.add_text_field("title", STORED),
        key: builder.add_text_field("key", STORED),
        at: builder.add_i64_field("at", time),
        line: builder.add_u64_field("line", STORED),
    };
    (builder.build(), fields)
}

/// Splits a text into words: letters and digits, in lower case.
pub fn words() -> TextAnalyzer {
    let long = RemoveLongFilter::limit(MAX_WORD_BYTES);
    TextAnalyzer::builder(SimpleTokenizer::default()).filter(long).filter(LowerCaser).build()
}

static OPEN: Mutex<Option<PathBuf>> = Mutex::new(None);

fn note_open(root: &Path) {
    if let Ok(mut open) = OPEN.lock() {
        *open = Some(root.to_owned());
    }
}

/// Removes the index that this process has opened. To be called when the process panics: the library panics on some
/// damage, and the next search must not find the same.
pub fn discard_open() {
    if let Ok(mut open) = OPEN.try_lock()
        && let Some(root) = open.take()
    {
        let _ = IndexDir { root }.discard();
    }
}
