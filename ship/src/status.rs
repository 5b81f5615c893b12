//! `teamkeep ship status`: what each destination has.

use std::io::Write;
use teamkeep_model::words::count;

use serde::Serialize;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_store::shipping::{Destination, Last, RemovedUnshipped, Shipping};
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

use crate::selection::unsent_runs;
use crate::setup::Setup;

/// The format of `--json`.
#[derive(Debug, Serialize)]
struct Status {
    v: u32,
    destinations: Vec<DestinationStatus>,
    /// The runs whose description cannot be read. They are not sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable_runs: Vec<String>,
    last: Option<Last>,
    /// The segments that retention removed from the log before they were sent.
    removed: Option<RemovedUnshipped>,
}

#[derive(Debug, Serialize)]
struct DestinationStatus {
    kind: &'static str,
    address: String,
    /// Data that began before this time is not sent.
    since: Option<Timestamp>,
    runs: usize,
    unsent_runs: usize,
    unsent_segments: usize,
    unsent_bytes: u64,
}

pub fn print(context: Context, json: bool) -> Result<()> {
    let ui = context.ui;
    let setup = Setup::new(context)?;
    let status = Status::of(&setup)?;
    if json {
        let mut out = ui.json();
        serde_json::to_writer_pretty(&mut out, &status).map_err(Error::from_json)?;
        return Ok(writeln!(out).and_then(|()| out.flush())?);
    }
    let mut out = ui.out();
    write!(out, "{}", status.text())?;
    Ok(out.flush()?)
}

impl Status {
    fn of(setup: &Setup) -> Result<Status> {
        let shipping = Shipping::of(&setup.context.paths);
        let (state, damage) = shipping.read()?;
        if let Some(damage) = damage {
            setup.context.ui.warn(format!(
                "the state of shipping is damaged, and everything will be sent again: {damage}"
            ));
        }
        let catalog = setup.catalog();
        let of_destination = |destination: Destination| {
            let mut segments = shipping.closed_segments()?;
            segments.retain(|segment| state.lacks_segment(&destination, segment));
            let shipped = state.destinations.get(&destination.id);
            Ok(DestinationStatus {
                kind: destination.kind.name(),
                since: state.since(&destination),
                runs: shipped.map_or(0, |shipped| shipped.runs.len()),
                unsent_runs: unsent_runs(&catalog, &state, &destination).len(),
                unsent_segments: segments.len(),
                unsent_bytes: segments.iter().map(|segment| segment.size).sum(),
                address: destination.address,
            })
        };
        let destinations = state.configured(&setup.context.config.ship).into_iter().map(of_destination);
        Ok(Status {
            v: 1,
            destinations: destinations.collect::<Result<Vec<_>>>()?,
            unreadable_runs: catalog.damaged,
            last: state.last,
            removed: shipping.removed(),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for one in &self.destinations {
            text.push_str(&format!("{} {}\n", one.kind, one.address));
            if let Some(since) = one.since {
                text.push_str(&format!("  only data from {} on\n", time::moment(since)));
            }
            text.push_str(&format!("  sent: {}\n", count(one.runs, "run")));
            let unsent = match (one.unsent_runs, one.unsent_segments) {
                (0, 0) => "nothing".to_owned(),
                (runs, 0) => count(runs, "run"),
                (runs, _) => {
                    format!("{}, {} KiB of the log", count(runs, "run"), one.unsent_bytes.div_ceil(1 << 10))
                }
            };
            text.push_str(&format!("  not sent: {unsent}\n"));
        }
        if let Some(first) = self.unreadable_runs.first() {
            let runs = count(self.unreadable_runs.len(), "run");
            text.push_str(&format!("unreadable: {runs}; to see why: teamkeep verify {first}\n"));
        }
        match &self.last {
            None => text.push_str("nothing has been sent yet\n"),
            Some(Last { at, error: None, .. }) => {
                text.push_str(&format!("last sent: {}\n", time::moment(*at)))
            }
            Some(Last { at, error: Some(error), .. }) => {
                text.push_str(&format!("last tried: {}\n  error: {error}\n", time::moment(*at)));
            }
        }
        if let Some(removed) = &self.removed {
            text.push_str(&format!(
                "lost: {} KiB of the log were removed before they were sent; raise ship.keep-unshipped\n",
                removed.bytes.div_ceil(1 << 10)
            ));
        }
        text
    }
}
