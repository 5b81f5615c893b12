//! Sends the tables of ended runs to an object store.

use std::collections::BTreeMap;

use teamkeep::bundle;
use teamkeep::timeline::{RunCatalog, RunData};
use teamkeep::view::count;
use teamkeep_core::config::ShipPrivacy;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::store::shipping::{Destination, RunStanding, ShippingState};

use crate::batches::{Batches, MAX_RUN_BYTES};
use crate::objects::Objects;
use crate::run_data::{ShippedRun, TableFile};
use crate::setup::Setup;
use crate::shipper::{Round, Shipper};
use crate::tables::day;

/// A larger bundle is not sent.
const MAX_BUNDLE_BYTES: u64 = 96 << 20;

/// The ended runs that a destination does not have, oldest first.
pub fn unshipped_runs<'a>(
    catalog: &'a RunCatalog,
    state: &ShippingState,
    destination: &Destination,
) -> Vec<&'a RunRecord> {
    let is_complete = |run: &RunRecord| run.finished && !catalog.archive.is_unfinished(&run.run);
    let lacks =
        |run: &&RunRecord| state.standing(&destination.id, run) == RunStanding::Unsent && is_complete(run);
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
    let Batches { batches, too_large } = Batches::of(&catalog, wanted, MAX_RUN_BYTES)?;
    note_too_large(shipper, destination, &too_large)?;
    round.notes.extend(too_large.into_iter().map(too_large_note));
    let prepare = |data: RunData| {
        let texts = setup.texts(&setup.homes_of(&data.run))?;
        ShippedRun::of(&data, &setup.context.config, &texts, &shipper.identity)
    };
    let (mut unsent, mut first) = (0_usize, None);
    for batch in batches {
        let mut done: BTreeMap<String, i64> = BTreeMap::new();
        let mut failed = None;
        for data in catalog.open_runs(&batch)?.runs {
            let id = data.run.run.clone();
            let run = match prepare(data) {
                Ok(run) => run,
                // Other runs can be sent.
                Err(error) => {
                    unsent += 1;
                    first.get_or_insert_with(|| error.within(format!("run {id} was not sent")));
                    continue;
                }
            };
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
        note_shipped(shipper, destination, done)?;
        if let Some(error) = failed {
            return Err(error);
        }
    }
    match first {
        Some(error) if unsent > 1 => Err(error.within(count(unsent, "run") + " not sent")),
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn note_shipped(shipper: &Shipper<'_>, destination: &Destination, runs: BTreeMap<String, i64>) -> Result<()> {
    shipper.lock.update(|state| {
        let shipped = state.destinations.entry(destination.id.clone()).or_default();
        shipped.parts.retain(|run, _| !runs.contains_key(run));
        shipped.too_large.retain(|run, _| !runs.contains_key(run));
        shipped.runs.extend(runs);
    })?;
    Ok(())
}

/// Notes the runs that are too large, so that they are not read again in each round.
fn note_too_large(
    shipper: &Shipper<'_>,
    destination: &Destination,
    runs: &[(&RunRecord, u64)],
) -> Result<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let ended = runs.iter().filter_map(|(run, _)| Some((run.run.clone(), run.ended_at?.millis())));
    shipper.lock.update(|state| {
        state.destinations.entry(destination.id.clone()).or_default().too_large.extend(ended);
    })?;
    Ok(())
}

/// Why a run is not sent, with the size of its data in bytes.
pub fn too_large_note((run, size): (&RunRecord, u64)) -> String {
    let (id, size, most) = (&run.run, size >> 20, MAX_RUN_BYTES >> 20);
    format!("run {id} is too large to send: its data counts as {size} MiB, more than {most}")
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
