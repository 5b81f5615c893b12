//! Unpacks a bundle into a staging directory. Its names and sizes are not trusted.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::bufread::GzDecoder;
use tar::{Archive as Tar, Entry, EntryType};

use super::import::UnpackedBundle;
use super::pack::HashingWriter;
use super::{MANIFEST, Manifest, Part, check_name, staged_path, too_large};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::Staging;
use teamkeep_core::sys::fs;

const MAX_BYTES: u64 = 4 << 30;
/// Maximum size of a manifest in bytes; about 100 bytes per content.
const MAX_MANIFEST_BYTES: u64 = 64 << 20;
/// Maximum compression ratio, unless the user gave a maximum size. Real bundles have about ten.
const MAX_RATIO: u64 = 200;
/// Unpacked bytes that are always allowed.
const FREE_BYTES: u64 = 16 << 20;
const TO_WRITE_ONE: &str = "to write one: teamkeep export RUN -o FILE";
const BUFFER_BYTES: usize = 64 * 1024;

/// Unpacks a bundle of at most this size, if one is given. `done` is called with the number of bytes read.
pub fn unpack(
    from: impl Read,
    staging: Staging,
    max_size: Option<u64>,
    done: &mut dyn FnMut(u64),
) -> Result<UnpackedBundle> {
    let max_bytes = max_size.unwrap_or(MAX_BYTES);
    let meter = Rc::new(Meter::default());
    let counted = CountingReader { from, meter: Rc::clone(&meter) };
    let from = GzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, counted));
    let max_ratio = if max_size.is_some() { u64::MAX } else { MAX_RATIO };
    let mut tar = Tar::new(LimitedReader { from, max_bytes, max_ratio, meter: Rc::clone(&meter) });
    let read = read(&mut tar, &staging, max_bytes, &meter, done).and_then(|manifest| {
        // The rest must be the end, with the checksum of the whole.
        io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(read_error)?;
        Ok(manifest)
    });
    let manifest = read.map_err(|error| match meter.exceeded.get() {
        Some(Limit::Size) => too_large(max_bytes, max_bytes),
        Some(Limit::Ratio) => Error::new("its unpacked size is suspiciously large for its compressed size")
            .hint("nothing was imported")
            .hint("if you trust its source, set the maximum unpacked size: --max-size '4 GiB'"),
        None => error,
    })?;
    UnpackedBundle::of(manifest, staging)
}

fn read<R: Read>(
    tar: &mut Tar<R>,
    staging: &Staging,
    max_bytes: u64,
    meter: &Meter,
    done: &mut dyn FnMut(u64),
) -> Result<Manifest> {
    let not_a_bundle = |error: io::Error| match (meter.packed.get(), error.kind()) {
        (0, _) => Error::new("it is empty").hint(TO_WRITE_ONE),
        (_, ErrorKind::UnexpectedEof) => Error::new("not a complete teamkeep export: it ends too early"),
        _ => Error::caused("not a teamkeep export", error).hint(TO_WRITE_ONE),
    };
    // Raw: a long name or an extension is then an entry of its own, which is rejected and never read into memory.
    let mut entries = tar.entries().map_err(not_a_bundle)?.raw(true);
    let first = entries.next().ok_or_else(|| Error::new("it is empty"))?;
    let mut first = first.map_err(not_a_bundle)?;
    if name_of(&first)? != MANIFEST || first.header().entry_type() != EntryType::Regular {
        return Err(Error::new("not a teamkeep export: its first entry is not a manifest").hint(TO_WRITE_ONE));
    }
    if first.size() > MAX_MANIFEST_BYTES {
        return Err(Error::new("its manifest is too large"));
    }
    let mut bytes = Vec::new();
    first.read_to_end(&mut bytes).map_err(read_error)?;
    let manifest = Manifest::parse(&bytes, max_bytes)?;
    let mut expected: BTreeMap<&str, &Part> =
        manifest.entries.iter().map(|part| (part.name.as_str(), part)).collect();
    let mut reported = 0;
    for entry in entries {
        let entry = entry.map_err(read_error)?;
        let name = name_of(&entry)?;
        check_name(&name)?;
        if entry.header().entry_type() != EntryType::Regular {
            return Err(Error::new(format!("{name:?} is not a regular file")));
        }
        let Some(part) = expected.remove(name.as_str()) else {
            let is_second = manifest.entries.iter().any(|part| part.name == name);
            let why = if is_second { "is duplicated" } else { "is not listed in its manifest" };
            return Err(Error::new(format!("{name:?} {why}")));
        };
        stage(&staging.dir, part, entry)?;
        done(meter.packed.get() - reported);
        reported = meter.packed.get();
    }
    match expected.keys().next() {
        Some(missing) => Err(Error::new(format!("it is truncated: {missing} is missing"))),
        None => Ok(manifest),
    }
}

/// Writes a part, and checks that it matches the manifest.
fn stage(dir: &Path, part: &Part, from: impl Read) -> Result<()> {
    let path = staged_path(dir, &part.name);
    let mut out = HashingWriter::new(BufWriter::with_capacity(BUFFER_BYTES, fs::create_private(&path)?));
    io::copy(&mut from.take(part.size.saturating_add(1)), &mut out).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => read_error(error),
        _ => error.into(),
    })?;
    let (size, hash) = out.finish()?;
    if size != part.size {
        return Err(Error::new(format!("{} does not have the size that its manifest lists", part.name)));
    }
    if hash != part.hash {
        return Err(Error::new(format!("{} is damaged: its content has a different hash", part.name)));
    }
    Ok(())
}

/// The name of an entry as written.
fn name_of<R: Read>(entry: &Entry<'_, R>) -> Result<String> {
    use EntryType::{Directory, Link, Regular, Symlink};
    if !matches!(entry.header().entry_type(), Regular | Symlink | Link | Directory) {
        return Err(Error::new("it contains an entry that is not a regular file"));
    }
    String::from_utf8(entry.path_bytes().into_owned())
        .map_err(|_| Error::new("it contains a file name that is not UTF-8"))
}

fn read_error(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => Error::new("it is truncated"),
        _ => Error::caused("it is damaged", error),
    }
}

#[derive(Default)]
struct Meter {
    packed: Cell<u64>,
    unpacked: Cell<u64>,
    exceeded: Cell<Option<Limit>>,
}

#[derive(Clone, Copy)]
enum Limit {
    Size,
    Ratio,
}

struct CountingReader<R> {
    from: R,
    meter: Rc<Meter>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.meter.packed.set(self.meter.packed.get() + count as u64);
        Ok(count)
    }
}

struct LimitedReader<R> {
    from: R,
    max_bytes: u64,
    max_ratio: u64,
    meter: Rc<Meter>,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let meter = &self.meter;
        let count = self.from.read(into)?;
        let unpacked = meter.unpacked.get() + count as u64;
        meter.unpacked.set(unpacked);
        let exceeded = if unpacked > self.max_bytes.saturating_add(MAX_MANIFEST_BYTES) {
            Limit::Size
        } else if unpacked > FREE_BYTES && unpacked / self.max_ratio > meter.packed.get() {
            Limit::Ratio
        } else {
            return Ok(count);
        };
        meter.exceeded.set(Some(exceeded));
        Err(io::Error::other("too much"))
    }
}
