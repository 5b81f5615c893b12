//! Sends the tables of ended runs to an object store.

use std::collections::BTreeMap;

use teamkeep::bundle;
use teamkeep::timeline::RunCatalog;
use teamkeep_core::config::ShipPrivacy;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::store::log::{self, Segment};
use teamkeep_core::store::shipping::{Destination, ShippingState};

use crate::objects::Objects;
use crate::run_data::{ShippedRun, TableFile};
use crate::setup::Setup;
use crate::shipper::{Round, Shipper};
use crate::tables::day;

/// Runs that are opened together, because the log is read once for all of them.
const MAX_BATCH_RUNS: usize = 8;
/// The data of the runs of a batch, in bytes. A larger run is a batch of its own.
const MAX_BATCH_BYTES: u64 = 8 << 20;
/// A larger bundle is not sent.
const MAX_BUNDLE_BYTES: u64 = 96 << 20;

/// The ended runs that a destination does not have, oldest first.
pub fn unshipped_runs<'a>(
    catalog: &'a RunCatalog,
    state: &ShippingState,
    destination: &Destination,
) -> Vec<&'a RunRecord> {
    let since = state.destinations.get(&destination.id).and_then(|shipped| shipped.since);
    let is_complete = |run: &RunRecord| run.finished && !catalog.archive.is_unfinished(&run.run);
    let lacks = |run: &&RunRecord| {
        let Some(ended) = run.ended_at else { return false };
        run.imported.is_none()
            && is_complete(run)
            && !catalog.is_stray(run)
            && since.is_none_or(|since| run.started_at >= since)
            && !state.is_run_shipped(&destination.id, &run.run, ended.millis())
    };
    catalog.runs.iter().filter(lacks).collect()
}

pub fn to_objects(
    shipper: &Shipper<'_>,
    destination: &Destination,
    objects: &Objects,
    round: &mut Round,
) -> Result<()> {
    each_run(shipper, destination, round, |run, _, round| {
        let setup = shipper.setup;
        let (day, file) = (day(run.started_at()), format!("{}-{}", run.key.run, run.key.revision));
        let mut tables: Vec<TableFile> = Vec::new();
        run.tables(&shipper.identity, &mut tables)?;
        for table in tables {
            let name = shipper.identity.object_name(table.table, &day, &format!("{file}.parquet"));
            shipper.create(objects, &name, table.content, round)?;
        }
        if let Some(content) = bundle_of(setup, &run.record, round)? {
            let name = shipper.identity.object_name("bundles", &day, &format!("{file}.teamkeep"));
            shipper.create(objects, &name, content, round)?;
        }
        Ok(true)
    })
}

/// Visits each run that the destination does not have, with the revision that was sent before. Notes that the destination has
/// it if `send` returns true.
pub fn each_run(
    shipper: &Shipper<'_>,
    destination: &Destination,
    round: &mut Round,
    mut send: impl FnMut(&ShippedRun, Option<i64>, &mut Round) -> Result<bool>,
) -> Result<()> {
    let (setup, state) = (shipper.setup, shipper.state()?);
    let catalog = setup.catalog();
    if let Some(error) = catalog.listing_error() {
        return Err(error);
    }
    let wanted = unshipped_runs(&catalog, &state, destination);
    for batch in batches(&catalog, wanted) {
        let mut done: BTreeMap<String, i64> = BTreeMap::new();
        let mut failed = None;
        for data in catalog.open_runs(&batch)?.runs {
            let texts = setup.texts(&setup.homes_of(&data.run))?;
            let run = ShippedRun::of(&data, &setup.context.config, &texts, &shipper.identity)?;
            drop(data);
            let shipped = state.destinations.get(&destination.id);
            let previous = shipped.and_then(|shipped| shipped.runs.get(&run.key.run)).copied();
            match send(&run, previous, round) {
                Ok(true) => {
                    round.sent.runs += 1;
                    done.insert(run.key.run, run.key.revision);
                }
                Ok(false) => {}
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        shipper.lock.update(|state| {
            state.destinations.entry(destination.id.clone()).or_default().runs.extend(done);
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(())
}

/// Groups runs by the size of their data, so that the memory for a group is bounded.
pub fn batches<'a>(catalog: &RunCatalog, runs: Vec<&'a RunRecord>) -> Vec<Vec<&'a RunRecord>> {
    let log = log::list(catalog.log_dir()).unwrap_or_default();
    let mut batches: Vec<Vec<&RunRecord>> = Vec::new();
    let mut room = 0;
    for run in runs {
        let size = size_in_archive(catalog, run).saturating_add(size_in_log(&log, run));
        match batches.last_mut() {
            Some(batch) if size <= room && batch.len() < MAX_BATCH_RUNS => batch.push(run),
            _ => {
                batches.push(vec![run]);
                room = MAX_BATCH_BYTES;
            }
        }
        room = room.saturating_sub(size);
    }
    batches
}

fn size_in_archive(catalog: &RunCatalog, run: &RunRecord) -> u64 {
    let dir = catalog.archive.run_dir(&run.run);
    let files = dir.and_then(|dir| std::fs::read_dir(dir).ok()).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// The part of the log that is from the time of the run, as if all segments grew evenly. It may include lines of other runs.
fn size_in_log(log: &[Segment], run: &RunRecord) -> u64 {
    let (from, to) = (run.started_at.millis(), run.ended_at.map_or(i64::MAX, |end| end.millis()));
    let begins = log.partition_point(|segment| segment.name.start() <= run.started_at).saturating_sub(1);
    let ends = log.iter().skip(1).map(|segment| segment.name.start().millis()).chain([to]);
    let own =
        log.iter().zip(ends).skip(begins).take_while(|(segment, _)| segment.name.start().millis() <= to);
    let part = |(segment, end): (&Segment, i64)| {
        let start = segment.name.start().millis();
        let overlap = (to.min(end) - from.max(start)).max(0) as f64 / (end - start).max(1) as f64;
        (segment.size as f64 * overlap.min(1.0)) as u64
    };
    own.map(part).sum()
}

/// The run as an export bundle, if bundles are configured. They consist of texts, so they need a privacy that allows texts.
fn bundle_of(setup: &Setup, run: &RunRecord, round: &mut Round) -> Result<Option<Vec<u8>>> {
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
    let mut bundle = bundle::gather(&setup.catalog(), run, redactor.as_ref(), None, &mut |_| ())?;
    if bundle.size() > MAX_BUNDLE_BYTES {
        let mib = bundle.size() >> 20;
        round.notes.push(format!("run {} was not sent as a bundle: it has {mib} MiB", run.run));
        return Ok(None);
    }
    let written = bundle.write(Vec::new(), &mut |_| ());
    written.map(Some).map_err(|error: Error| error.within(format!("cannot export run {}", run.run)))
}
