//! How a destination takes rows.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use teamkeep_core::error::Result;
use teamkeep_core::store::shipping::{Destination, DestinationKind};
use teamkeep_core::sys::clock::Timestamp;
use tokio::runtime::{Builder, Runtime};

use crate::directory::Directory;
use crate::dry_run::Preview;
use crate::identity::Identity;
use crate::objects::Objects;
use crate::otlp::Receiver;
use crate::rows::day;
use crate::setup::{Setup, profiles};

/// Rows, each with a line break.
pub struct Part<'a> {
    pub lines: &'a [u8],
    /// The time of the shipment.
    pub at: Timestamp,
    pub identity: &'a Identity,
}

/// How many hexadecimal digits of the content's hash are in the name of an object.
const HASH_CHARS: usize = 16;
/// Rows are similar: more effort saves little.
const COMPRESSION: Compression = Compression::new(4);

impl Part<'_> {
    /// The name of the object with these rows. It has the hash of the rows, so an object with this name has these rows.
    pub fn object_name(&self) -> String {
        let Identity { organization, host, .. } = self.identity;
        let (day, time) = (day(self.at), compact(self.at));
        let hash = blake3::hash(self.lines).to_hex();
        format!("rows/org={organization}/date={day}/host={host}/{time}-{}.jsonl.gz", &hash[..HASH_CHARS])
    }
}

/// A time as a name, such as `20261120T120000123Z`.
pub fn compact(at: Timestamp) -> String {
    at.utc().format("%Y%m%dT%H%M%S%3fZ").to_string()
}

pub enum Delivery {
    Objects(Runtime, Box<Objects>),
    Directory(Directory),
    Otlp(Runtime, Box<Receiver>),
    Preview(Preview),
}

impl Delivery {
    /// Makes no request.
    pub fn to(setup: &Setup, destination: &Destination) -> Result<Delivery> {
        let runtime = || Builder::new_current_thread().enable_all().build();
        Ok(match destination.kind {
            DestinationKind::ObjectStore => {
                let objects = Objects::open(&destination.address, &profiles(&setup.context))?;
                Delivery::Objects(runtime()?, Box::new(objects))
            }
            DestinationKind::Directory => Delivery::Directory(Directory::of(setup)?),
            DestinationKind::Otlp => {
                Delivery::Otlp(runtime()?, Box::new(Receiver::new(setup, &destination.address)?))
            }
        })
    }

    /// Delivers the rows and returns the number of bytes that were sent. After an error, the destination can have some of them.
    pub fn deliver(&mut self, part: &Part<'_>) -> Result<u64> {
        match self {
            Delivery::Objects(runtime, objects) => {
                let mut content = GzEncoder::new(Vec::new(), COMPRESSION);
                content.write_all(part.lines)?;
                let content = content.finish()?;
                let size = content.len() as u64;
                runtime.block_on(objects.create(&part.object_name(), content))?;
                Ok(size)
            }
            Delivery::Directory(directory) => directory.append(part.lines, part.at),
            Delivery::Otlp(runtime, receiver) => runtime.block_on(receiver.send(part)),
            Delivery::Preview(preview) => preview.add(part.lines),
        }
    }

    /// Problems with rows that the destination took only in part.
    pub fn notes(&mut self) -> Vec<String> {
        match self {
            Delivery::Otlp(_, receiver) => receiver.take_notes(),
            _ => Vec::new(),
        }
    }
}
