//! Stores contents. Bytes and lines are collected and written together, at the latest before the manifest that names them.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use fs_err::File;

use super::reader::{RunContents, cost_of, data_of};
use super::{Base, Entry, LIST, digits, hash};
use crate::packed;
use teamkeep_system::fs::{self, Appender, Stamp};
use teamkeep_system::os;

/// So many bytes are written at once.
const MAX_PENDING: usize = 4 << 20;

/// A content is stored as a whole if rebuilding it would cost more than reading so many times its size...
const MAX_COST: u64 = 4;
/// ...and this, in bytes.
const FREE_COST: u64 = 4 << 10;

/// Size of a piece of a large file, in bytes.
const PIECE_BYTES: usize = 1 << 18;

/// Disk space that a copy must leave free, in bytes: the recorded session needs some, too.
const LEFT_FREE: u64 = 64 << 20;

/// Adds contents to a run. The caller holds the team's lock, or writes to files of its own.
#[derive(Debug)]
pub struct ContentWriter {
    dir: PathBuf,
    /// The names of the lists to try: one of its own if the main one cannot be used.
    lists: Vec<String>,
    open: Option<OpenFiles>,
    reader: RunContents,
    /// Why nothing more can be written.
    failure: Option<io::ErrorKind>,
}

#[derive(Debug)]
struct OpenFiles {
    is_main: bool,
    /// The lengths of both files at the beginning.
    lengths: (u64, u64),
    data: Appender,
    list: Appender,
    pending_data: Vec<u8>,
    pending_list: Vec<u8>,
}

/// A large file that was read completely.
#[derive(Debug)]
pub struct CopiedFile {
    pub hash: String,
    /// In bytes.
    pub size: u64,
    /// From before the first byte was read.
    pub stamp: Stamp,
    /// Whether size and times were unchanged after the last byte.
    pub steady: bool,
}

impl ContentWriter {
    /// A writer for the run in this directory. Without the lock it writes files that are named after the event of the call.
    pub fn new(dir: &Path, event: &str, has_lock: bool) -> ContentWriter {
        let mut lists = vec![format!("contents-{event}.jsonl")];
        if has_lock {
            lists.insert(0, LIST.to_owned());
        }
        let (dir, reader) = (dir.to_owned(), RunContents::new(dir.to_owned()));
        ContentWriter { dir, lists, open: None, reader, failure: None }
    }

    /// Stores a content, unless it is the one at `former`, the place of the file's last one. Returns its hash and its place:
    /// the offset of its line, if that is in the main list.
    pub fn put(&mut self, bytes: &[u8], former: Option<u64>) -> io::Result<(String, Option<u64>)> {
        let hash = hash(bytes);
        // A run that continues has compressed files, which are decompressed once.
        let open = self.open()?;
        // The last content is still among the collected ones.
        if former.is_some_and(|place| open.is_main && place >= open.list.length) {
            self.flush()?;
        }
        let former = former.and_then(|place| Some((place, self.reader.at(place).ok()?)));
        if let Some((place, former)) = &former
            && former.bytes == bytes
        {
            return Ok((hash, Some(*place)));
        }
        let open = self.open()?;
        let mut own = bytes;
        let base = former.filter(|_| open.is_main).and_then(|(line, former)| {
            let (front, back) = common(&former.bytes, bytes);
            let between = bytes.len() - front - back;
            let cost = former.cost + cost_of(between as u64, back as u64);
            let is_cheap = cost <= MAX_COST * bytes.len() as u64 + FREE_COST;
            (is_cheap && front + back > 0).then(|| {
                own = &bytes[front..front + between];
                Base { line, front: front as u64, back: back as u64 }
            })
        });
        let at = open.data.length + open.pending_data.len() as u64;
        let entry = Entry { hash: digits(&hash).to_owned(), at, len: own.len() as u64, base };
        open.pending_data.extend_from_slice(own);
        let place = open.add(&entry);
        let (is_main, is_full) = (open.is_main, open.pending_data.len() >= MAX_PENDING);
        if is_full {
            self.flush()?;
        }
        Ok((hash, is_main.then_some(place)))
    }

    /// The place of a content of this hash in the main list. Reads the whole list.
    pub fn place_of(&mut self, hash: &str) -> Option<u64> {
        self.reader.place_of(hash)
    }

    /// Stores the content of a large file in pieces. Returns its place as [`ContentWriter::put`] does.
    ///
    /// # Errors
    /// `TimedOut` if `until` passes, `StorageFull` if the disk does not have enough space, `FileTooLarge` if the file
    /// exceeds the maximum size of a content, and errors of reading and writing.
    pub fn put_file(&mut self, from: &Path, until: Option<Instant>) -> io::Result<(CopiedFile, Option<u64>)> {
        let file = open_large(from)?;
        check_room(&file, &self.dir)?;
        self.open()?;
        self.flush()?;
        let open = self.open()?;
        let start = open.data.length;
        let copied = read_large(&file, until, |piece| open.data.append(piece).map(drop))
            .inspect_err(|_| drop(open.data.truncate(start)))?;
        let entry = Entry { hash: digits(&copied.hash).to_owned(), at: start, len: copied.size, base: None };
        let place = open.add(&entry);
        Ok((copied, open.is_main.then_some(place)))
    }

    /// Writes the collected contents.
    ///
    /// # Errors
    /// Nothing that this writer stored may be named then, and it cannot be used again.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(failure) = self.failure {
            return Err(failure.into());
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        let written = open.write();
        if let Err(error) = &written {
            self.give_up(error.kind());
        }
        written
    }

    /// Truncates both files to their former lengths: the caller names nothing that this writer wrote.
    fn give_up(&mut self, failure: io::ErrorKind) {
        self.failure = Some(failure);
        if let Some(open) = &mut self.open {
            let (data, list) = open.lengths;
            let _ = (open.list.truncate(list), open.data.truncate(data));
        }
    }

    #[cfg(test)]
    pub fn fail(&mut self) {
        self.give_up(io::ErrorKind::StorageFull);
    }

    /// Writes the collected contents, and syncs all contents of the run to the disk. The caller syncs the directory.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        // A content can be in the files of an earlier call, too.
        fs::sync_files(&self.dir, |name| name.starts_with("contents"))
    }

    fn open(&mut self) -> io::Result<&mut OpenFiles> {
        if let Some(failure) = self.failure {
            return Err(failure.into());
        }
        if self.open.is_none() {
            let mut opened = Err(io::ErrorKind::NotFound.into());
            for list in &self.lists {
                opened = OpenFiles::open(&self.dir, list);
                if opened.is_ok() {
                    break;
                }
            }
            self.open = Some(opened?);
        }
        self.open.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl OpenFiles {
    fn open(dir: &Path, list: &str) -> io::Result<OpenFiles> {
        let (list_path, data_path) = (dir.join(list), dir.join(data_of(list)));
        packed::thaw(&data_path)?;
        packed::thaw(&list_path)?;
        let (data, opened) = (Appender::open(&data_path)?, Appender::open(&list_path)?);
        // A killed writer left the line incomplete.
        let pending_list = if opened.is_torn()? { b"\n".to_vec() } else { Vec::new() };
        let (is_main, lengths) = (list == LIST, (data.length, opened.length));
        Ok(OpenFiles { is_main, lengths, data, list: opened, pending_data: Vec::new(), pending_list })
    }

    /// Adds a line and returns its offset.
    fn add(&mut self, entry: &Entry) -> u64 {
        let place = self.list.length + self.pending_list.len() as u64;
        self.pending_list.extend_from_slice(entry.line().as_bytes());
        place
    }

    fn write(&mut self) -> io::Result<()> {
        if !self.pending_data.is_empty() {
            self.data.append(&self.pending_data)?;
            self.pending_data.clear();
        }
        if !self.pending_list.is_empty() {
            self.list.append(&self.pending_list)?;
            self.pending_list.clear();
        }
        Ok(())
    }
}

/// How many bytes two contents share at the beginning, and at the end of what follows.
fn common(old: &[u8], new: &[u8]) -> (usize, usize) {
    // Blocks first: they are compared many bytes at a time.
    const BLOCK: usize = 256;
    let equal = |(one, other): &(&[u8], &[u8])| one == other;
    let mut front =
        old.chunks(BLOCK).zip(new.chunks(BLOCK)).take_while(equal).map(|(one, _)| one.len()).sum();
    front += old[front..].iter().zip(&new[front..]).take_while(|(one, other)| one == other).count();
    let (old, new) = (&old[front..], &new[front..]);
    let blocks = old.rchunks(BLOCK).zip(new.rchunks(BLOCK));
    let mut back: usize = blocks.take_while(equal).map(|(one, _)| one.len()).sum();
    let rest = old[..old.len() - back].iter().rev().zip(new[..new.len() - back].iter().rev());
    back += rest.take_while(|(one, other)| one == other).count();
    (front, back)
}

/// Reads a file only for its hash and size, with the errors of [`ContentWriter::put_file`].
pub(in crate::archive) fn measure(from: &Path, until: Option<Instant>) -> io::Result<CopiedFile> {
    read_large(&open_large(from)?, until, |_| Ok(()))
}

fn open_large(path: &Path) -> io::Result<File> {
    let file = fs::open_regular(path)?;
    check_size(path, file.metadata()?.len())?;
    Ok(file)
}

fn check_size(path: &Path, size: u64) -> io::Result<()> {
    if size > packed::MAX_BYTES {
        let what = format!("{} is larger than 2 GiB", path.display());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    Ok(())
}

fn read_large(
    mut file: &File,
    until: Option<Instant>,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<CopiedFile> {
    let stamp = |file: &File| file.metadata().map(|metadata| Stamp::of(&metadata));
    let before = stamp(file)?;
    let (mut hasher, mut piece, mut size) = (blake3::Hasher::new(), vec![0; PIECE_BYTES], 0u64);
    loop {
        let bytes = match file.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => &piece[..count],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        size += bytes.len() as u64;
        check_size(file.path(), size)?;
        if until.is_some_and(|until| Instant::now() >= until) {
            let what = format!("{} cannot be read to its end in time", file.path().display());
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        hasher.update(bytes);
        each(bytes)?;
    }
    let steady = before == stamp(file)? && size == before.size;
    Ok(CopiedFile { hash: hasher.finalize().to_hex().to_string(), size, stamp: before, steady })
}

fn check_room(file: &File, dir: &Path) -> io::Result<()> {
    let size = file.metadata()?.len();
    let free = os::files::free_space(dir)?;
    if size.saturating_add(LEFT_FREE) > free {
        let what = format!("a copy needs {size} bytes of disk space, but only {free} are free");
        return Err(io::Error::new(io::ErrorKind::StorageFull, what));
    }
    Ok(())
}
