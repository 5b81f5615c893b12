//! Sends the tables of ended runs, and their bundles, to an object store.

use std::io::{self, Write};

use teamkeep::bundle;
use teamkeep_core::config::ShipPrivacy;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::store::shipping::Destination;

use crate::objects::Objects;
use crate::setup::Setup;
use crate::shipped_run::{ShippedRun, TableFile};
use crate::shipper::{RoundOutcome, Shipper};
use crate::tables::day;
use crate::unsent_runs::{Sending, Unsent, each_run};

/// A larger bundle is not sent.
const MAX_BUNDLE_BYTES: usize = 96 << 20;

pub fn ship(
    shipper: &Shipper<'_>,
    destination: &Destination,
    objects: &Objects,
    round: &mut RoundOutcome,
) -> Result<()> {
    each_run(shipper, destination, round, |run, _, round| {
        let before = round.sent.objects;
        match send(shipper, objects, run, round) {
            Ok(()) => Sending::Sent,
            Err(error) => Sending::Stopped(Unsent { error, is_partial: round.sent.objects > before }),
        }
    })
}

fn send(shipper: &Shipper<'_>, objects: &Objects, run: &ShippedRun, round: &mut RoundOutcome) -> Result<()> {
    let (day, file) = (day(run.started_at()), format!("{}-{}", run.key.run, run.key.revision));
    let mut tables: Vec<TableFile> = Vec::new();
    run.tables(&shipper.identity, &mut tables)?;
    for table in tables {
        let name = shipper.identity.object_name(table.table, &day, &format!("{file}.parquet"));
        shipper.create(objects, &name, table.content, round)?;
    }
    if let Some(content) = bundle_of(shipper.setup, &run.record, round)? {
        let name = shipper.identity.object_name("bundles", &day, &format!("{file}.teamkeep"));
        shipper.create(objects, &name, content, round)?;
    }
    Ok(())
}

/// The run as an export bundle, if bundles are configured. They consist of texts, so they need a privacy that allows texts.
fn bundle_of(setup: &Setup, run: &RunRecord, round: &mut RoundOutcome) -> Result<Option<Vec<u8>>> {
    let ship = &setup.context.config.ship;
    let redactor = match (ship.bundles, ship.privacy) {
        (false, _) => return Ok(None),
        (true, ShipPrivacy::Metadata) => {
            let note = "bundles are not sent: `ship.privacy` is \"metadata\"";
            if !round.notes.iter().any(|known| known == note) {
                round.notes.push(note.to_owned());
            }
            return Ok(None);
        }
        (true, ShipPrivacy::Redacted) => {
            Some(teamkeep::redact::Redactor::new(&setup.context.config.privacy, &setup.homes_of(run))?)
        }
        (true, ShipPrivacy::Full) => None,
    };
    let catalog = setup.catalog();
    let mut bundle = BoundedBuffer::default();
    let written = bundle::export(&catalog, run, redactor.as_ref(), &mut bundle, &mut |_| ());
    let written = written.map(drop);
    if bundle.is_full {
        let mib = MAX_BUNDLE_BYTES >> 20;
        round.notes.push(format!("run {} was not sent as a bundle: it has more than {mib} MiB", run.run));
        return Ok(None);
    }
    written.map_err(|error: Error| error.within(format!("cannot export run {}", run.run)))?;
    Ok(Some(bundle.bytes))
}

/// A bundle in memory, of at most [`MAX_BUNDLE_BYTES`].
#[derive(Default)]
struct BoundedBuffer {
    bytes: Vec<u8>,
    is_full: bool,
}

impl Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_full |= self.bytes.len() + bytes.len() > MAX_BUNDLE_BYTES;
        if self.is_full { Err(io::ErrorKind::FileTooLarge.into()) } else { self.bytes.write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
