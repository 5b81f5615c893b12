//! Writes a bundle. The same data always gives the same bytes.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

use super::collect::Bundle;
use super::manifest::MANIFEST;
use crate::error::{Error, Result};
use crate::fs::PRIVATE_FILE;

impl Bundle {
    /// Number of bytes before compression.
    pub fn size(&self) -> u64 {
        self.manifest.entries.iter().map(|part| part.size).sum()
    }

    /// Writes the bundle.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write<W: Write>(&mut self, to: W, done: &mut dyn FnMut(u64)) -> Result<W> {
        let manifest = serde_json::to_vec_pretty(&self.manifest).map_err(Error::from_json)?;
        // Without name, time and system, which would make bundles of the same data differ.
        let gzip: GzEncoder<W> =
            GzBuilder::new().mtime(0).operating_system(255).write(to, Compression::default());
        let mut tar = tar::Builder::new(gzip);
        tar.append(&header(MANIFEST, manifest.len() as u64)?, manifest.as_slice())?;
        self.head.read(|part, from| {
            done(part.size);
            tar.append(&header(&part.name, part.size)?, from)
        })?;
        for (part, offset) in &self.order {
            done(part.size);
            tar.append(&header(&part.name, part.size)?, self.contents.part(*offset, part.size)?)?;
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
