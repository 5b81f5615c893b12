//! Collects the parts of a bundle in an unnamed file: sizes and hashes must be known before the first byte is written,
//! and the store may grow meanwhile.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::manifest::Part;

/// The file and its parts.
#[derive(Debug)]
pub struct TempBuffer {
    file: File,
    /// The parts in order.
    pub parts: Vec<Part>,
}

/// A part that is being written.
pub(super) struct Writing<'a> {
    file: io::BufWriter<&'a mut File>,
    hasher: blake3::Hasher,
    size: u64,
}

impl TempBuffer {
    /// An empty spool. Its file disappears with the process.
    pub(super) fn new(dir: Option<&Path>) -> io::Result<TempBuffer> {
        let file = match dir {
            Some(dir) => tempfile::tempfile_in(dir)?,
            None => tempfile::tempfile()?,
        };
        Ok(TempBuffer { file, parts: Vec::new() })
    }

    /// Adds a part that `write` writes.
    pub(super) fn add<T, E: From<io::Error>>(
        &mut self,
        name: String,
        write: impl FnOnce(&mut Writing<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let file = io::BufWriter::with_capacity(64 * 1024, &mut self.file);
        let mut writing = Writing { file, hasher: blake3::Hasher::new(), size: 0 };
        let written = write(&mut writing)?;
        writing.file.flush()?;
        let (size, hash) = (writing.size, writing.hasher.finalize().to_hex().to_string());
        self.parts.push(Part { name, size, hash });
        Ok(written)
    }

    /// Removes the last part, or an incomplete one.
    pub(super) fn rewind(&mut self, parts: usize) -> io::Result<()> {
        self.parts.truncate(parts);
        let end: u64 = self.parts.iter().map(|part| part.size).sum();
        self.file.set_len(end)?;
        self.file.seek(SeekFrom::Start(end)).map(|_| ())
    }

    /// Reads all parts in order through `each`.
    pub(super) fn read(
        &mut self,
        mut each: impl FnMut(&Part, &mut dyn Read) -> io::Result<()>,
    ) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut from = io::BufReader::with_capacity(64 * 1024, &mut self.file);
        for part in &self.parts {
            let mut part_of = (&mut from).take(part.size);
            each(part, &mut part_of)?;
            io::copy(&mut part_of, &mut io::sink())?;
        }
        Ok(())
    }
}

impl Write for Writing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.size += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TempBuffer {
    /// Reads this many bytes at an offset.
    pub(super) fn part(&mut self, offset: u64, size: u64) -> io::Result<impl Read + use<'_>> {
        self.file.seek(SeekFrom::Start(offset))?;
        Ok(io::BufReader::new(&mut self.file).take(size))
    }
}
