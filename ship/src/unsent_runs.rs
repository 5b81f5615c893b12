//! The ended runs that a destination does not have, opened one after the other.

use std::collections::BTreeMap;

use teamkeep::timeline::{RunCatalog, RunData};
use teamkeep::view::{count, short_id};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::store::shipping::{Destination, RunDelivery, Shipped, ShippingState};

use crate::run_size::{MAX_RUN_BYTES, run_size};
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
    let shipped = state.destinations.get(&destination.id);
    let mut visit = |data: &RunData, round: &mut RoundOutcome| -> Sending {
        let texts = setup.texts(&setup.homes_of(&data.run));
        let run =
            texts.and_then(|texts| ShippedRun::of(data, &setup.context.config, &texts, &shipper.identity));
        let run = match run {
            Ok(run) => run,
            Err(error) => return Sending::Failed(Unsent { error, is_partial: false }),
        };
        let previous = shipped.and_then(|shipped| shipped.runs.get(&data.run.run)).copied();
        send(&run, previous, round)
    };
    let mut failures = Failures::default();
    for run in unsent_runs(&catalog, &state, destination) {
        let size = run_size(&catalog, run)?;
        if size > MAX_RUN_BYTES {
            round.notes.push(too_large_note(run, size));
            // It is not read again in each round.
            note(shipper, destination, run, |shipped| &mut shipped.too_large)?;
            continue;
        }
        for data in catalog.open_runs(&[run])?.runs {
            let sending = visit(&data, round);
            round.sent.runs += usize::from(matches!(sending, Sending::Sent));
            match sending {
                Sending::Sent | Sending::GivenUp => {
                    note(shipper, destination, run, |shipped| &mut shipped.runs)?
                }
                Sending::Failed(unsent) => failures.add(short_run_id(run), unsent),
                Sending::Stopped(unsent) => {
                    // The error of the runs before it comes first.
                    round.errors.extend(failures.into_result().err());
                    return Err(unsent.within(&short_run_id(run)));
                }
            }
        }
    }
    failures.into_result()
}

/// The ID of a run for people.
pub fn short_run_id(run: &RunRecord) -> String {
    short_id(&run.run, &[]).to_owned()
}

/// Notes that a run is not to be sent again until it ends again.
fn note(
    shipper: &Shipper<'_>,
    destination: &Destination,
    run: &RunRecord,
    place: fn(&mut Shipped) -> &mut BTreeMap<String, i64>,
) -> Result<()> {
    let Some(ended) = run.ended_at else { return Ok(()) };
    shipper.lock.update(|state| {
        let shipped = state.destinations.entry(destination.id.clone()).or_default();
        shipped.parts.remove(&run.run);
        shipped.too_large.remove(&run.run);
        place(shipped).insert(run.run.clone(), ended.millis());
    })?;
    Ok(())
}

/// Why a run is not sent, with the size of its data in bytes.
pub fn too_large_note(run: &RunRecord, size: u64) -> String {
    let (id, size, most) = (&run.run, size.div_ceil(1 << 20), MAX_RUN_BYTES >> 20);
    format!("run {id} is too large to send: its data counts as {size} MiB; the limit is {most} MiB")
}
