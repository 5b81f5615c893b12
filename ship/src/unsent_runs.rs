//! The ended runs that a destination does not have, opened one after the other.

use std::collections::BTreeMap;

use teamkeep::timeline::{RunCatalog, RunData};
use teamkeep::view::{count, short_id};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::store::shipping::{Destination, RunDelivery, ShippingState};

use crate::batches::{Batches, MAX_RUN_BYTES};
use crate::shipped_run::ShippedRun;
use crate::shipper::{RoundOutcome, Shipper};

/// The ended runs that are to be sent to a destination, oldest first.
pub fn unsent_runs<'a>(
    catalog: &'a RunCatalog,
    state: &ShippingState,
    destination: &Destination,
) -> Vec<&'a RunRecord> {
    let is_complete = |run: &RunRecord| run.finished && !catalog.archive.is_unfinished(&run.run);
    let lacks =
        |run: &&RunRecord| state.delivery(destination, run) == RunDelivery::Unsent && is_complete(run);
    catalog.runs.iter().filter(lacks).collect()
}

/// The outcome of sending a run.
pub enum Sending {
    /// The destination has the run.
    Sent,
    /// It does not have all of it. Other runs can be sent. The error does not name the run.
    Failed(Error),
}

/// Calls `send` for each unsent run, with the revision that was sent before, and notes those that are sent. Stops at the first
/// error of `send`. Errors get the name of the run.
pub fn each_run(
    shipper: &Shipper<'_>,
    destination: &Destination,
    round: &mut RoundOutcome,
    mut send: impl FnMut(&ShippedRun, Option<i64>, &mut RoundOutcome) -> Result<Sending>,
) -> Result<()> {
    let (setup, state) = (shipper.setup, shipper.state()?);
    let catalog = setup.catalog();
    if let Some(error) = catalog.listing_error() {
        return Err(error);
    }
    let wanted = unsent_runs(&catalog, &state, destination);
    let Batches { batches, too_large } = Batches::of(&catalog, wanted, MAX_RUN_BYTES)?;
    note_too_large(shipper, destination, &too_large)?;
    round.notes.extend(too_large.into_iter().map(too_large_note));
    let shipped = state.destinations.get(&destination.id);
    let mut visit =
        |data: RunData, done: &mut BTreeMap<String, i64>, round: &mut RoundOutcome| -> Result<Sending> {
            let id = data.run.run.clone();
            let texts = setup.texts(&setup.homes_of(&data.run));
            let run = texts
                .and_then(|texts| ShippedRun::of(&data, &setup.context.config, &texts, &shipper.identity));
            let run = match run {
                Ok(run) => run,
                Err(error) => return Ok(Sending::Failed(error)),
            };
            let previous = shipped.and_then(|shipped| shipped.runs.get(&id)).copied();
            let sending = send(&run, previous, round)?;
            if let Sending::Sent = sending {
                round.sent.runs += 1;
                done.insert(id, run.key.revision);
            }
            Ok(sending)
        };
    let (mut failed, mut first) = (0_usize, None);
    for batch in batches {
        let mut done = BTreeMap::new();
        let mut end = Ok(());
        for data in catalog.open_runs(&batch)?.runs {
            let id = short(&data.run);
            match visit(data, &mut done, round) {
                Ok(Sending::Sent) => {}
                Ok(Sending::Failed(error)) => {
                    failed += 1;
                    first.get_or_insert((id, error));
                }
                Err(error) => {
                    end = Err(error.within(format!("run {id} was not sent")));
                    break;
                }
            }
        }
        note_shipped(shipper, destination, done)?;
        end?;
    }
    match first {
        None => Ok(()),
        Some((id, error)) if failed == 1 => Err(error.within(format!("run {id} was not sent"))),
        Some((id, error)) => {
            Err(error.within(format!("{} were not sent; the first is {id}", count(failed, "run"))))
        }
    }
}

/// The ID of a run for people.
pub fn short(run: &RunRecord) -> String {
    short_id(&run.run, &[]).to_owned()
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
    let (id, size, most) = (&run.run, size.div_ceil(1 << 20), MAX_RUN_BYTES >> 20);
    format!("run {id} is too large to send: its data counts as {size} MiB; the limit is {most} MiB")
}
