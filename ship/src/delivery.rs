//! How a destination takes rows.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use teamkeep_store::shipping::{Destination, DestinationKind};
use teamkeep_system::error::Result;
use tokio::runtime::{Builder, Runtime};

use crate::directory::Directory;
use crate::objects::Objects;
use crate::otlp::Receiver;
use crate::part::{Deliver, Part};
use crate::setup::{Setup, profiles};

/// Rows are similar: more effort saves little.
const COMPRESSION: Compression = Compression::new(4);

pub enum Delivery {
    Objects(Runtime, Box<Objects>),
    Directory(Directory),
    Otlp(Runtime, Box<Receiver>),
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

    /// Problems with rows that the destination took only in part.
    pub fn notes(&mut self) -> Vec<String> {
        match self {
            Delivery::Otlp(_, receiver) => receiver.take_notes(),
            _ => Vec::new(),
        }
    }
}

impl Deliver for Delivery {
    fn deliver(&mut self, part: &Part<'_>) -> Result<u64> {
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
        }
    }
}
