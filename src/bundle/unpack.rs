//! Unpacks a bundle into a staging directory. Its names and sizes are not trusted.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::rc::Rc;

use flate2::bufread::GzDecoder;
use tar::{Archive as Tar, Entry, EntryType};

use super::manifest::{MANIFEST, Manifest, Part, check_name, too_large};
use super::{check, staging};
use crate::archive::{RunRecord, Staging};
use crate::error::{Error, Result};

/// Limits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum unpacked size in bytes.
    pub largest: u64,
    /// Whether any compression ratio is allowed, because the user gave a limit.
    pub any_ratio: bool,
}

/// Maximum size of a manifest in bytes; about 100 bytes per content.
const MANIFEST_LARGEST: u64 = 64 << 20;

/// Maximum compression ratio. Real bundles have about ten.
const MAX_RATIO: u64 = 200;
/// Unpacked bytes that are always allowed.
const FREE_BYTES: u64 = 16 << 20;

/// A validated bundle that is not imported yet.
#[derive(Debug)]
pub struct UnpackedBundle {
    /// Its content.
    pub manifest: Manifest,
    /// The run.
    pub run: RunRecord,
    /// Number of events, without verdicts.
    pub events: u64,
    /// Number of verdicts.
    pub verdicts: u64,
    pub(super) staging: Staging,
    /// Contents that are transcripts.
    pub(super) transcripts: std::collections::BTreeSet<String>,
}

/// Unpacks a bundle. `done` is called with the number of bytes read.
///
/// # Errors
/// It is not a bundle, is truncated, damaged or too large, has a newer version, or has an invalid name.
pub fn unpack(
    from: impl Read,
    staging: Staging,
    limits: Limits,
    done: &mut dyn FnMut(u64),
) -> Result<UnpackedBundle> {
    let meter = Rc::new(SizeLimit::default());
    let counted = CountingReader { from, meter: Rc::clone(&meter) };
    let gzip = GzDecoder::new(BufReader::with_capacity(64 * 1024, counted));
    let largest = limits.largest;
    let mut tar = Tar::new(Bounded { from: gzip, limits, meter: Rc::clone(&meter) });
    let read = read(&mut tar, &staging, limits, &meter, done).and_then(|manifest| {
        // The rest must be the end, with the checksum of the whole.
        io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(cut)?;
        Ok(manifest)
    });
    let manifest = read.map_err(|error| match meter.refused.get() {
        Some(ImportError::Size) => too_large(largest, largest),
        Some(ImportError::Ratio) => {
            Error::new("its unpacked size is suspiciously large for its compressed size")
                .hint("nothing was imported")
                .hint("if you trust its source, set the maximum unpacked size: --max-size '4 GiB'")
        }
        None => error,
    })?;
    check::check(manifest, staging)
}

fn read<R: Read>(
    tar: &mut Tar<R>,
    staging: &Staging,
    limits: Limits,
    meter: &SizeLimit,
    done: &mut dyn FnMut(u64),
) -> Result<Manifest> {
    // Raw: a long name or an extension is then an entry of its own, which is rejected and never read into memory.
    let mut entries = tar.entries().map_err(no_bundle)?.raw(true);
    let first = entries.next().ok_or_else(|| Error::new("it is empty"))?;
    let mut first = first.map_err(no_bundle)?;
    if name_of(&first)? != MANIFEST || first.header().entry_type() != EntryType::Regular {
        return Err(Error::new("not a teamkeep export: its first entry is not a manifest"));
    }
    if first.size() > MANIFEST_LARGEST {
        return Err(Error::new("its manifest is too large"));
    }
    let mut bytes = Vec::new();
    first.read_to_end(&mut bytes).map_err(cut)?;
    let manifest = Manifest::parse(&bytes, limits.largest)?;
    let mut wanted: BTreeMap<&str, &Part> =
        manifest.entries.iter().map(|part| (part.name.as_str(), part)).collect();
    let mut told = 0;
    for entry in entries {
        let entry = entry.map_err(cut)?;
        let name = name_of(&entry)?;
        check_name(&name)?;
        if entry.header().entry_type() != EntryType::Regular {
            return Err(Error::new(format!("{name:?} is not a regular file")));
        }
        let Some(part) = wanted.remove(name.as_str()) else {
            let twice = manifest.entries.iter().any(|part| part.name == name);
            let why = if twice { "is duplicated" } else { "is not listed in its manifest" };
            return Err(Error::new(format!("{name:?} {why}")));
        };
        staging::stage(staging.path(), part, entry).map_err(|error| match meter.at_end.get() {
            true => Error::new("it is truncated"),
            false => error,
        })?;
        done(meter.packed.get() - told);
        told = meter.packed.get();
    }
    match wanted.keys().next() {
        Some(lacks) => Err(Error::new(format!("it is truncated: {lacks} is missing"))),
        None => Ok(manifest),
    }
}

/// The name of an entry as written.
fn name_of<R: Read>(entry: &Entry<'_, R>) -> Result<String> {
    if !matches!(
        entry.header().entry_type(),
        EntryType::Regular | EntryType::Symlink | EntryType::Link | EntryType::Directory
    ) {
        return Err(Error::new("it contains an entry that is not a regular file"));
    }
    String::from_utf8(entry.path_bytes().into_owned())
        .map_err(|_| Error::new("it contains a file name that is not UTF-8"))
}

fn no_bundle(error: io::Error) -> Error {
    Error::caused("not a teamkeep export", error)
}

fn cut(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::new("it is truncated"),
        _ => Error::caused("it is damaged", error),
    }
}

/// Bytes read and unpacked.
#[derive(Debug, Default)]
struct SizeLimit {
    packed: Cell<u64>,
    unpacked: Cell<u64>,
    refused: Cell<Option<ImportError>>,
    /// Whether the file ended too early.
    at_end: Cell<bool>,
}

#[derive(Debug, Clone, Copy)]
enum ImportError {
    Size,
    Ratio,
}

/// Counts the bytes read.
struct CountingReader<R> {
    from: R,
    meter: Rc<SizeLimit>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.meter.packed.set(self.meter.packed.get() + count as u64);
        Ok(count)
    }
}

/// Stops unpacking at the limit.
struct Bounded<R> {
    from: R,
    limits: Limits,
    meter: Rc<SizeLimit>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into).inspect_err(|error| {
            self.meter.at_end.set(error.kind() == io::ErrorKind::UnexpectedEof);
        })?;
        let unpacked = self.meter.unpacked.get() + count as u64;
        self.meter.unpacked.set(unpacked);
        let refused = if unpacked > self.limits.largest.saturating_add(MANIFEST_LARGEST) {
            Some(ImportError::Size)
        } else if !self.limits.any_ratio
            && unpacked > FREE_BYTES
            && unpacked / MAX_RATIO > self.meter.packed.get()
        {
            Some(ImportError::Ratio)
        } else {
            None
        };
        match refused {
            Some(_) => {
                self.meter.refused.set(refused);
                Err(io::Error::other("too much"))
            }
            None => Ok(count),
        }
    }
}

impl UnpackedBundle {
    /// The path of a part.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        staging::place(self.staging.path(), name)
    }
}
