//! The parts of a bundle in an unnamed file, and the bundle that is written from them: sizes and hashes must be known
//! before the first byte is written, and the store may grow meanwhile. The same data always gives the same bytes.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

use super::{MANIFEST, Manifest, Part};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::sys::fs::PRIVATE_FILE;

const BUFFER_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct TempBuffer {
    file: File,
    pub(super) parts: Vec<Part>,
}

/// Counts and hashes the bytes written.
pub(super) struct HashingWriter<W> {
    to: W,
    hasher: blake3::Hasher,
    size: u64,
}

impl<W: Write> HashingWriter<W> {
    pub(super) fn new(to: W) -> HashingWriter<W> {
        HashingWriter { to, hasher: blake3::Hasher::new(), size: 0 }
    }

    /// The size and the hash of the bytes written.
    pub(super) fn finish(mut self) -> io::Result<(u64, String)> {
        self.to.flush()?;
        Ok((self.size, self.hasher.finalize().to_hex().to_string()))
    }
}

impl TempBuffer {
    /// An empty buffer in `dir`, or in the directory for temporary files. Its file disappears with the process.
    pub(super) fn new(dir: Option<&Path>) -> io::Result<TempBuffer> {
        let file = dir.map_or_else(tempfile::tempfile, tempfile::tempfile_in)?;
        Ok(TempBuffer { file, parts: Vec::new() })
    }

    pub(super) fn add<T>(
        &mut self,
        name: impl Into<String>,
        write: impl FnOnce(&mut dyn Write) -> Result<T>,
    ) -> Result<T> {
        let mut writer = HashingWriter::new(BufWriter::with_capacity(BUFFER_BYTES, &mut self.file));
        let written = write(&mut writer)?;
        let (size, hash) = writer.finish()?;
        self.parts.push(Part { name: name.into(), size, hash });
        Ok(written)
    }

    /// Removes everything after this many parts, also an incomplete one.
    pub(super) fn truncate(&mut self, parts: usize) -> io::Result<()> {
        self.parts.truncate(parts);
        let end: u64 = self.parts.iter().map(|part| part.size).sum();
        self.file.set_len(end)?;
        self.file.seek(SeekFrom::Start(end)).map(|_| ())
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.size += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[derive(Debug)]
pub struct Bundle {
    pub manifest: Manifest,
    /// The items that could not be read and are missing.
    pub problems: Vec<String>,
    pub(super) buffer: TempBuffer,
    /// Where each entry of the manifest starts in the buffer.
    pub(super) offsets: Vec<u64>,
}

impl Bundle {
    pub fn size(&self) -> u64 {
        self.manifest.entries.iter().map(|part| part.size).sum()
    }

    /// Writes the bundle. `done` is called with the number of bytes read.
    pub fn write<W: Write>(&mut self, to: W, done: &mut dyn FnMut(u64)) -> Result<W> {
        let manifest = serde_json::to_vec_pretty(&self.manifest).map_err(Error::from_json)?;
        // Without name, time and system, which would make bundles of the same data differ.
        let gzip = GzBuilder::new().mtime(0).operating_system(255).write(to, Compression::default());
        let mut tar = tar::Builder::new(gzip);
        tar.append(&header(MANIFEST, manifest.len() as u64)?, manifest.as_slice())?;
        let file = &mut self.buffer.file;
        for (Part { name, size, .. }, offset) in self.manifest.entries.iter().zip(&self.offsets) {
            done(*size);
            file.seek(SeekFrom::Start(*offset))?;
            let part = BufReader::with_capacity(BUFFER_BYTES, &mut *file).take(*size);
            tar.append(&header(name, *size)?, part)?;
        }
        Ok(tar.into_inner()?.finish()?)
    }
}

fn header(name: &str, size: u64) -> io::Result<Header> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_mode(PRIVATE_FILE);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    Ok(header)
}
