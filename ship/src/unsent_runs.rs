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
    /// The destination accepts nothing of the run, and sending it again would not help.
    GivenUp,
    /// The run is sent again in the next round. Other runs can be sent.
    Failed(Unsent),
    /// The run is sent again in the next round. Other runs would fail in the same way now.
    Stopped(Unsent),
}

/// Why a destination does not have all of a run.
pub struct Unsent {
    /// It does not name the run.
    pub error: Error,
    /// Whether the destination has a part of the run.
    pub is_partial: bool,
}

impl Unsent {
    fn within(self, id: &str) -> Error {
        let completely = if self.is_partial { " completely" } else { "" };
        self.error.within(format!("run {id} was not sent{completely}"))
    }
}

/// The runs that failed, of which the first is reported.
#[derive(Default)]
struct Failures {
    count: usize,
    first: Option<(String, Unsent)>,
}

impl Failures {
    fn add(&mut self, id: String, unsent: Unsent) {
        self.count += 1;
        self.first.get_or_insert((id, unsent));
    }

    fn into_result(self) -> Result<()> {
        match self.first {
            None => Ok(()),
            Some((id, unsent)) if self.count == 1 => Err(unsent.within(&id)),
            Some((id, Unsent { error, .. })) => {
                let runs = count(self.count, "run");
                Err(error.within(format!("{runs} were not sent completely; run {id}")))
            }
        }
    }
}

/// Calls `send` for each unsent run, with the revision that was sent before, and notes those that are sent or given up, until
/// `send` stops. Errors get the name of the run.
pub fn each_run(
    shipper: &Shipper<'_>,
    destination: &Destination,
    round: &mut RoundOutcome,
    mut send: impl FnMut(&ShippedRun, Option<i64>, &mut RoundOutcome) -> Sending,
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
    let mut visit = |data: RunData, done: &mut BTreeMap<String, i64>, round: &mut RoundOutcome| -> Sending {
        let id = data.run.run.clone();
        let texts = setup.texts(&setup.homes_of(&data.run));
        let run =
            texts.and_then(|texts| ShippedRun::of(&data, &setup.context.config, &texts, &shipper.identity));
        let run = match run {
            Ok(run) => run,
            Err(error) => return Sending::Failed(Unsent { error, is_partial: false }),
        };
        let previous = shipped.and_then(|shipped| shipped.runs.get(&id)).copied();
        let sending = send(&run, previous, round);
        round.sent.runs += usize::from(matches!(sending, Sending::Sent));
        if let Sending::Sent | Sending::GivenUp = sending {
            done.insert(id, run.key.revision);
        }
        sending
    };
    let mut failures = Failures::default();
    for batch in batches {
        let mut done = BTreeMap::new();
        let mut end = None;
        for data in catalog.open_runs(&batch)?.runs {
            let id = short_run_id(&data.run);
            match visit(data, &mut done, round) {
                Sending::Sent | Sending::GivenUp => {}
                Sending::Failed(unsent) => failures.add(id, unsent),
                Sending::Stopped(unsent) => {
                    end = Some(unsent.within(&id));
                    break;
                }
            }
        }
        note_shipped(shipper, destination, done)?;
        if let Some(error) = end {
            // The error of the runs before it comes first.
            round.errors.extend(failures.into_result().err());
            return Err(error);
        }
    }
    failures.into_result()
}

/// The ID of a run for people.
pub fn short_run_id(run: &RunRecord) -> String {
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
