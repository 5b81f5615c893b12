//! Reads the contents of one run: by the offsets of their lines, or by their hashes.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_err::File;

use super::{ContentError, DATA, Entry, LIST};
use crate::archive::index::CapturedFile;
use crate::packed;
use teamkeep_system::fs;
use teamkeep_system::os;

/// A content that was read. It is not compared with its hash.
#[derive(Debug)]
pub(in crate::archive) struct StoredContent {
    pub bytes: Vec<u8>,
    /// How much it takes to rebuild it: see [`cost_of`].
    pub cost: u64,
}

/// The cost of making a content out of its base, in bytes that could be read in the same time: its own bytes, its line, and
/// the bytes behind its own, which are moved.
pub(super) fn cost_of(own: u64, back: u64) -> u64 {
    own + 128 + back / 8
}

/// The contents of one run. Its files stay open.
#[derive(Debug, Default)]
pub struct RunContents {
    dir: PathBuf,
    /// The main list and its files: the name is always [`LIST`].
    main: Option<(String, ContentFiles)>,
    /// The list of a call that did not get the lock, and its files. Only one such list stays open.
    other: Option<(String, ContentFiles)>,
    /// Where contents are, by the part of their hash that lines have: in which list, and at which line.
    by_hash: HashMap<String, Vec<(Arc<str>, u64)>>,
    /// Why a list could not be read at the last attempt: it may have any content.
    unread: Option<io::Error>,
    /// How far each list was read for `by_hash`.
    read: HashMap<Arc<str>, u64>,
}

impl RunContents {
    /// The contents of the run in this directory. Opening them does not access the disk.
    pub fn new(dir: PathBuf) -> RunContents {
        RunContents { dir, ..RunContents::default() }
    }

    /// Reads the content whose line in the main list begins at this offset.
    pub(in crate::archive) fn at(&mut self, line: u64) -> io::Result<StoredContent> {
        self.files(LIST)?.rebuild(line)
    }

    /// The last complete content of a file, if it can be read.
    pub fn of_file(&mut self, seen: &CapturedFile) -> Option<Vec<u8>> {
        let hash = seen.content()?;
        let latest = seen.place.and_then(|place| self.at(place).ok());
        // The place may be the one of an earlier content.
        let latest = latest.map(|latest| latest.bytes).filter(|bytes| super::hash(bytes) == hash);
        latest.or_else(|| self.get(hash).ok())
    }

    /// Reads a content and checks its hash. If it is stored more than once, one that is intact suffices.
    pub fn get(&mut self, hash: &str) -> Result<Vec<u8>, ContentError> {
        let mut failure = None;
        for (list, line) in self.places(hash) {
            match self.files(&list).and_then(|files| files.get(line)) {
                Ok(bytes) if super::hash(&bytes) == hash => return Ok(bytes),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                Err(error) => failure = Some(error),
            }
        }
        let (hash, dir) = (hash.to_owned(), self.dir.clone());
        match failure {
            Some(error) => Err(fs::with_path(error, "read a content of", &dir).into()),
            None if self.by_hash.contains_key(super::digits(&hash)) => {
                Err(ContentError::Damaged { hash, dir })
            }
            None => Err(match self.unread.take() {
                Some(error) => error.into(),
                None => ContentError::Missing { hash, dir },
            }),
        }
    }

    /// Opens a content that is stored as a whole, to read it in pieces; `None` for any other one.
    pub(in crate::archive) fn open(&mut self, hash: &str) -> io::Result<Option<Box<dyn Read>>> {
        // If there are several, one of them can be damaged.
        let [(list, line)] = &*self.places(hash) else { return Ok(None) };
        let files = self.files(list)?;
        let Ok(Entry { at, len, base: None, .. }) = files.entry(*line) else { return Ok(None) };
        let Blocks::Plain(file, _) = &files.data else { return Ok(None) };
        Ok(Some(Box::new(OwnBytes { file: file.try_clone()?, at, end: at.saturating_add(len) })))
    }

    /// The place of a content in the main list.
    pub(super) fn place_of(&mut self, hash: &str) -> Option<u64> {
        self.places(hash).into_iter().find_map(|(list, line)| (&*list == LIST).then_some(line))
    }

    /// Where a content is stored. Lists are read again if it is not known.
    fn places(&mut self, hash: &str) -> Vec<(Arc<str>, u64)> {
        if !self.by_hash.contains_key(super::digits(hash)) {
            self.refresh();
        }
        self.by_hash.get(super::digits(hash)).cloned().unwrap_or_default()
    }

    /// Reads the lines that were added since the last call.
    fn refresh(&mut self) {
        self.unread = None;
        let names = fs::entries(&self.dir).filter_map(|entry| entry.file_name().into_string().ok());
        let mut lists: Vec<Arc<str>> = names.filter_map(|name| list_of(&name)).collect();
        // The main list comes first.
        lists.sort_by_key(|list| (**list != *LIST, list.clone()));
        lists.dedup();
        for list in lists {
            let from = self.read.get(&list).copied().unwrap_or_default();
            let files = match self.files(&list) {
                Ok(files) => files,
                Err(error) => {
                    self.unread = Some(error);
                    continue;
                }
            };
            let (mut found, mut at) = (Vec::new(), from);
            while let Ok(Some(line)) = files.list.line(at) {
                found.extend(Entry::parse(&line).map(|entry| (entry.hash, at)));
                at += line.len() as u64;
            }
            self.read.insert(list.clone(), at);
            for (hash, line) in found {
                self.by_hash.entry(hash).or_default().push((list.clone(), line));
            }
        }
    }

    /// The files with this list.
    fn files(&mut self, list: &str) -> io::Result<&mut ContentFiles> {
        let open = if list == LIST { &mut self.main } else { &mut self.other };
        if open.as_ref().is_none_or(|(known, _)| known != list) {
            *open = Some((list.to_owned(), ContentFiles::open(&self.dir, list)?));
        }
        let files = open.as_mut().map(|(_, files)| files);
        files.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// The list that a file of a run is, if it is one.
fn list_of(name: &str) -> Option<Arc<str>> {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    (name == LIST || (name.starts_with("contents-") && name.ends_with(".jsonl"))).then(|| name.into())
}

/// The data file of a list.
pub(super) fn data_of(list: &str) -> String {
    match list {
        LIST => DATA.to_owned(),
        other => other.replace(".jsonl", ".data"),
    }
}

/// A list and its data, open for reading.
#[derive(Debug)]
struct ContentFiles {
    list: Blocks,
    data: Blocks,
    /// The contents that were read last, by their lines. A content replaces its base, so there is one for each file.
    recent: HashMap<u64, StoredContent>,
    recent_bytes: usize,
}

/// Maximum size of all recent contents, in bytes.
const MAX_RECENT: usize = 32 << 20;

impl ContentFiles {
    fn open(dir: &Path, list: &str) -> io::Result<ContentFiles> {
        let (list, data) = (Blocks::open(&dir.join(list))?, Blocks::open(&dir.join(data_of(list)))?);
        Ok(ContentFiles { list, data, recent: HashMap::new(), recent_bytes: 0 })
    }

    fn entry(&mut self, line: u64) -> io::Result<Entry> {
        let read = self.list.line(line)?;
        read.and_then(|line| Entry::parse(&line)).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Reads a content and keeps it for the one that is based on it.
    fn get(&mut self, line: u64) -> io::Result<Vec<u8>> {
        let content = self.rebuild(line)?;
        if self.recent_bytes + content.bytes.len() > MAX_RECENT {
            self.recent.clear();
            self.recent_bytes = 0;
        }
        let bytes = content.bytes.clone();
        self.recent_bytes += bytes.len();
        self.recent.insert(line, content);
        Ok(bytes)
    }

    /// Rebuilds a content from the last complete one, or from one that was read before.
    ///
    /// # Errors
    /// `InvalidData` for lines that contradict each other.
    fn rebuild(&mut self, line: u64) -> io::Result<StoredContent> {
        let mut chain: Vec<Entry> = Vec::new();
        let (mut at, mut content) = (line, StoredContent { bytes: Vec::new(), cost: 0 });
        loop {
            if let Some(known) = self.recent.remove(&at) {
                self.recent_bytes = self.recent_bytes.saturating_sub(known.bytes.len());
                content = known;
                break;
            }
            let entry = self.entry(at)?;
            let base = entry.base.map(|base| base.line);
            chain.push(entry);
            match base {
                Some(base) if base < at => at = base,
                Some(_) => return Err(io::ErrorKind::InvalidData.into()),
                None => break,
            }
        }
        for entry in chain.into_iter().rev() {
            self.apply(&entry, &mut content)?;
        }
        Ok(content)
    }

    /// Makes a content out of its base.
    fn apply(&mut self, entry: &Entry, content: &mut StoredContent) -> io::Result<()> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let StoredContent { bytes, cost } = content;
        if entry.len > packed::MAX_BYTES {
            return Err(invalid());
        }
        let Some(base) = entry.base else {
            (*bytes, *cost) = (Vec::new(), 0);
            return self.data.read(entry.at, entry.len, bytes);
        };
        let end = (bytes.len() as u64).checked_sub(base.back).filter(|end| base.front <= *end);
        let end = end.ok_or_else(invalid)?;
        if base.front + base.back + entry.len > packed::MAX_BYTES {
            return Err(invalid());
        }
        let back = bytes.split_off(end as usize);
        bytes.truncate(base.front as usize);
        self.data.read(entry.at, entry.len, bytes)?;
        bytes.extend_from_slice(&back);
        *cost += cost_of(entry.len, base.back);
        Ok(())
    }
}

/// The own bytes of a content, read in pieces from a file that is open already: it may be compressed meanwhile.
struct OwnBytes {
    file: File,
    at: u64,
    end: u64,
}

impl Read for OwnBytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let count = into.len().min(left);
        let read = os::files::read_at(&self.file, &mut into[..count], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// A file that is read in blocks. It may grow meanwhile.
#[derive(Debug)]
enum Blocks {
    /// With the blocks that were read last, by number.
    Plain(File, VecDeque<(u64, Vec<u8>)>),
    /// The content of a compressed file.
    Unpacked(Vec<u8>),
}

/// Size of a block, in bytes.
const BLOCK: u64 = 32 << 10;
/// How many blocks are kept.
const BLOCKS: usize = 8;

impl Blocks {
    /// Opens the file at this path, or the compressed one beside it.
    fn open(path: &Path) -> io::Result<Blocks> {
        match fs::open_regular(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                packed::unpack_intact(path).map(Blocks::Unpacked)
            }
            other => Ok(Blocks::Plain(other?, VecDeque::new())),
        }
    }

    /// Reads bytes to the end of `into`.
    ///
    /// # Errors
    /// `InvalidData` if the file is shorter.
    fn read(&mut self, at: u64, length: u64, into: &mut Vec<u8>) -> io::Result<()> {
        let end = at.checked_add(length).filter(|end| *end <= i64::MAX as u64);
        let end = end.ok_or(io::ErrorKind::InvalidData)?;
        if let Blocks::Plain(file, _) = self
            && length >= BLOCK
        {
            if file.metadata()?.len() < end {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let start = into.len();
            into.resize(start + length as usize, 0);
            return os::files::read_exact_at(file, &mut into[start..], at);
        }
        let mut at = at;
        while at < end {
            let part = self.part(at)?;
            let count = part.len().min((end - at) as usize);
            if count == 0 {
                return Err(io::ErrorKind::InvalidData.into());
            }
            into.extend_from_slice(&part[..count]);
            at += count as u64;
        }
        Ok(())
    }

    /// The line that begins at an offset, with its end; `None` if it is incomplete.
    fn line(&mut self, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            let part = self.part(offset + line.len() as u64)?;
            if part.is_empty() || line.len() > fs::MAX_JSON_BYTES as usize {
                return Ok(None);
            }
            line.extend(part.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default());
        }
        Ok(Some(line))
    }

    /// Some bytes from an offset on; none at the end of the file.
    fn part(&mut self, at: u64) -> io::Result<&[u8]> {
        let (file, blocks) = match self {
            Blocks::Plain(file, blocks) => (file, blocks),
            Blocks::Unpacked(all) => {
                return Ok(usize::try_from(at).ok().and_then(|at| all.get(at..)).unwrap_or_default());
            }
        };
        let (number, begin) = (at / BLOCK, (at % BLOCK) as usize);
        let known = blocks.iter().position(|(known, block)| *known == number && begin < block.len());
        let position = match known {
            Some(position) => position,
            None => {
                // The last block may have grown since it was read.
                blocks.retain(|(known, _)| *known != number);
                blocks.truncate(BLOCKS - 1);
                blocks.push_front((number, fs::read_at_most(file, BLOCK as usize, number * BLOCK)?));
                0
            }
        };
        Ok(blocks[position].1.get(begin..).unwrap_or_default())
    }
}
