//! A bundle's bytes, read into a place where nobody looks. Nothing in it is trusted: not its names, not its sizes.

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

/// How much is taken.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most bytes that it may unpack to.
    pub largest: u64,
    /// Whether it may unpack to any multiple of its own size: somebody said how much may come out.
    pub any_ratio: bool,
}

/// The most that a manifest has: some 100 bytes a content.
const MANIFEST_LARGEST: u64 = 64 << 20;

/// What comes out for each byte that went in, at most. Records have ten; only what is made to fill a disk has more.
const RATIO: u64 = 200;
/// So much may come out of nothing.
const FREE: u64 = 16 << 20;

/// A bundle that was found sound, and is not on record yet.
#[derive(Debug)]
pub struct Unpacked {
    /// What it holds.
    pub manifest: Manifest,
    /// The run.
    pub run: RunRecord,
    /// How many events it has.
    pub events: u64,
    pub(super) staging: Staging,
    /// Contents that are transcripts.
    pub(super) transcripts: std::collections::BTreeSet<String>,
}

/// Reads a bundle. `done` is told of the bytes that were read of the file.
///
/// # Errors
/// When it is no bundle, was cut, is damaged, of a newer version, larger than wanted, or names what it must not.
pub fn unpack(
    from: impl Read,
    staging: Staging,
    limits: Limits,
    done: &mut dyn FnMut(u64),
) -> Result<Unpacked> {
    let meter = Rc::new(Meter::default());
    let counted = Counted { from, meter: Rc::clone(&meter) };
    let gzip = GzDecoder::new(BufReader::with_capacity(64 * 1024, counted));
    let largest = limits.largest;
    let mut tar = Tar::new(Bounded { from: gzip, limits, meter: Rc::clone(&meter) });
    let read = read(&mut tar, &staging, limits, &meter, done).and_then(|manifest| {
        // What follows must be an end, and the checksum of the whole.
        io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(cut)?;
        Ok(manifest)
    });
    let manifest = read.map_err(|error| match meter.refused.get() {
        Some(Refused::Size) => too_large(largest, largest),
        Some(Refused::Ratio) => {
            Error::new("it unpacks to far more than a record does: it was made to fill a disk")
                .hint("nothing of it was taken")
                .hint("if you know where it comes from, say how much it may unpack to: --max-size '4 GiB'")
        }
        None => error,
    })?;
    check::check(manifest, staging)
}

fn read<R: Read>(
    tar: &mut Tar<R>,
    staging: &Staging,
    limits: Limits,
    meter: &Meter,
    done: &mut dyn FnMut(u64),
) -> Result<Manifest> {
    // Raw: a long name or an extension is an entry of its own then, which is refused, and never read into memory.
    let mut entries = tar.entries().map_err(no_bundle)?.raw(true);
    let first = entries.next().ok_or_else(|| Error::new("it is empty"))?;
    let mut first = first.map_err(no_bundle)?;
    if name_of(&first)? != MANIFEST || first.header().entry_type() != EntryType::Regular {
        return Err(Error::new("it is no export of teamkeep: its first entry is no manifest"));
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
            return Err(Error::new(format!("{name:?} is no regular file")));
        }
        let Some(part) = wanted.remove(name.as_str()) else {
            let twice = manifest.entries.iter().any(|part| part.name == name);
            let why = if twice { "is in it twice" } else { "is not in its manifest" };
            return Err(Error::new(format!("{name:?} {why}")));
        };
        staging::stage(staging.path(), part, entry).map_err(|error| match meter.at_end.get() {
            true => Error::new("it was cut off"),
            false => error,
        })?;
        done(meter.packed.get() - told);
        told = meter.packed.get();
    }
    match wanted.keys().next() {
        Some(lacks) => Err(Error::new(format!("it was cut off, or never whole: {lacks} is not in it"))),
        None => Ok(manifest),
    }
}

/// The name of an entry, as it is written there.
fn name_of<R: Read>(entry: &Entry<'_, R>) -> Result<String> {
    if !matches!(
        entry.header().entry_type(),
        EntryType::Regular | EntryType::Symlink | EntryType::Link | EntryType::Directory
    ) {
        return Err(Error::new("it has an entry that is no regular file"));
    }
    String::from_utf8(entry.path_bytes().into_owned()).map_err(|_| Error::new("a name in it is no text"))
}

fn no_bundle(error: io::Error) -> Error {
    Error::caused("it is no export of teamkeep", error)
}

fn cut(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::new("it was cut off"),
        _ => Error::caused("it is damaged", error),
    }
}

/// How much went in and came out.
#[derive(Debug, Default)]
struct Meter {
    packed: Cell<u64>,
    unpacked: Cell<u64>,
    refused: Cell<Option<Refused>>,
    /// Whether the file ended too soon.
    at_end: Cell<bool>,
}

#[derive(Debug, Clone, Copy)]
enum Refused {
    Size,
    Ratio,
}

/// Counts what goes in.
struct Counted<R> {
    from: R,
    meter: Rc<Meter>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.meter.packed.set(self.meter.packed.get() + count as u64);
        Ok(count)
    }
}

/// Ends what comes out where it is too much.
struct Bounded<R> {
    from: R,
    limits: Limits,
    meter: Rc<Meter>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into).inspect_err(|error| {
            self.meter.at_end.set(error.kind() == io::ErrorKind::UnexpectedEof);
        })?;
        let unpacked = self.meter.unpacked.get() + count as u64;
        self.meter.unpacked.set(unpacked);
        let refused = if unpacked > self.limits.largest.saturating_add(MANIFEST_LARGEST) {
            Some(Refused::Size)
        } else if !self.limits.any_ratio && unpacked > FREE && unpacked / RATIO > self.meter.packed.get() {
            Some(Refused::Ratio)
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

impl Unpacked {
    /// Where a part lies.
    pub(super) fn place(&self, name: &str) -> PathBuf {
        staging::place(self.staging.path(), name)
    }
}
