//! Holds the parts of a bundle until everything is validated.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::manifest::{Part, hash_of};
use crate::error::{Error, Result};
use crate::fs;

/// The path of a part. Its name was checked.
pub(super) fn place(dir: &Path, name: &str) -> PathBuf {
    match hash_of(name) {
        Some(hash) => dir.join("objects").join(hash),
        None => dir.join("run").join(name),
    }
}

/// Writes a part, and checks that it matches the manifest.
pub(super) fn stage(dir: &Path, part: &Part, mut from: impl Read) -> Result<()> {
    let path = place(dir, &part.name);
    let file = fs::create_private(&path)?;
    let mut out = io::BufWriter::new(file);
    let mut hasher = blake3::Hasher::new();
    let (mut size, mut buffer) = (0u64, vec![0; 64 * 1024]);
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        size += count as u64;
        if size > part.size {
            break;
        }
        hasher.update(&buffer[..count]);
        out.write_all(&buffer[..count])?;
    }
    out.flush()?;
    if size != part.size {
        return Err(Error::new(format!("{} does not have the size that its manifest lists", part.name)));
    }
    if hasher.finalize().to_hex().as_str() != part.hash {
        return Err(Error::new(format!("{} is damaged: its content has a different hash", part.name)));
    }
    Ok(())
}
