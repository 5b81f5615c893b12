//! `teamkeep ship --dry-run`: what would be sent, as rows with all columns, without sending it.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Value, json};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::log::SegmentName;
use teamkeep_core::store::shipping::{Destination, DestinationKind, Shipping, ShippingState};
use teamkeep_core::sys::clock::Timestamp;

use crate::identity::Identity;
use crate::privacy::Texts;
use crate::run_size::{MAX_RUN_BYTES, run_size};
use crate::segment_events;
use crate::setup::Setup;
use crate::shipped_run::{RowSink, ShippedRun};
use crate::tables::Table;
use crate::unsent_runs::{too_large_note, unsent_runs};

/// Counts rows, and prints each as JSON, or the first of each table at the end.
struct Preview<W> {
    out: W,
    prints_rows: bool,
    tables: BTreeMap<&'static str, (usize, Value)>,
}

impl<W: Write> Preview<W> {
    fn row<R>(&mut self, table: &Table<R>, row: &R) -> Result<()> {
        let (rows, first) = self.tables.entry(table.name).or_default();
        *rows += 1;
        if self.prints_rows {
            writeln!(self.out, "{}", json!({"table": table.name, "row": table.to_json(row)}))?;
        } else if *rows == 1 {
            *first = table.to_json(row);
        }
        Ok(())
    }

    fn print_tables(&mut self) -> Result<()> {
        for (table, (rows, first)) in &self.tables {
            writeln!(self.out, "\n{table}: {rows} rows, the first one:")?;
            serde_json::to_writer_pretty(&mut self.out, first).map_err(Error::from_json)?;
            writeln!(self.out)?;
        }
        Ok(())
    }
}

impl<W: Write> RowSink for Preview<W> {
    fn table<R>(&mut self, table: &Table<R>, mut rows: impl Iterator<Item = R>) -> Result<()> {
        rows.try_for_each(|row| self.row(table, &row))
    }
}

/// Prints the rows, with `json` each one in a line. Data that began before `since` is left out.
pub fn print(setup: &Setup, since: Option<Timestamp>, json: bool) -> Result<()> {
    let (mut state, _) = Shipping::of(&setup.context.paths).read()?;
    since.into_iter().for_each(|since| state.set_since(&setup.context.config.ship, since));
    let identity = setup.identity(&state)?;
    let out = setup.context.ui.json();
    let mut preview = Preview { out, prints_rows: json, tables: BTreeMap::new() };
    for destination in state.configured(&setup.context.config.ship) {
        if !json {
            let (kind, address) = (destination.kind.name(), &destination.address);
            let Identity { organization, host, .. } = &identity;
            writeln!(preview.out, "{kind} {address} (org={organization} host={host})")?;
            preview.tables.clear();
        }
        let texts = setup.texts_of_all()?;
        add_events(setup, (&state, &destination), &texts, &mut preview)?;
        add_runs(setup, (&state, &destination), &identity, &mut preview)?;
        if !json {
            preview.print_tables()?;
        }
    }
    Ok(preview.out.flush()?)
}

/// The events of all segments that are not sent, those that are written to included.
fn add_events(
    setup: &Setup,
    (state, destination): (&ShippingState, &Destination),
    texts: &Texts,
    preview: &mut Preview<impl Write>,
) -> Result<()> {
    if destination.kind != DestinationKind::ObjectStore {
        return Ok(());
    }
    for segment in setup.logs().segments() {
        if segment.name != SegmentName::Imported && state.lacks_segment(destination, &segment) {
            segment_events::read(&segment, texts, |table, row| preview.row(table, row))?;
        }
    }
    Ok(())
}

fn add_runs(
    setup: &Setup,
    (state, destination): (&ShippingState, &Destination),
    identity: &Identity,
    preview: &mut Preview<impl Write>,
) -> Result<()> {
    let catalog = setup.catalog();
    for run in unsent_runs(&catalog, state, destination) {
        let size = run_size(&catalog, run)?;
        if size > MAX_RUN_BYTES {
            setup.context.ui.warn(too_large_note(run, size));
            continue;
        }
        for data in catalog.open_runs(&[run])?.runs {
            let texts = setup.texts(&setup.homes_of(&data.run))?;
            let run = ShippedRun::of(&data, &setup.context.config, &texts, identity)?;
            run.tables(identity, preview)?;
        }
    }
    Ok(())
}
