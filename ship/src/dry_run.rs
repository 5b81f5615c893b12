//! `teamkeep ship --dry-run`: the rows that would be sent, without sending them.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Map, Value};
use teamkeep_model::time::Timestamp;
use teamkeep_store::shipping::Shipping;
use teamkeep_system::error::{Error, Result};

use crate::part::{Deliver, Part, RoundOutcome};
use crate::selection::ExcludedLogs;
use crate::setup::Setup;
use crate::shipment::Shipper;

/// Prints each row, or counts them and keeps the first one of each table.
struct Preview<W> {
    out: W,
    prints_rows: bool,
    tables: BTreeMap<String, (usize, Map<String, Value>)>,
}

impl<W: Write> Deliver for Preview<W> {
    fn deliver(&mut self, part: &Part<'_>) -> Result<u64> {
        if self.prints_rows {
            self.out.write_all(part.lines)?;
            return Ok(0);
        }
        for line in part.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let row: Map<String, Value> = serde_json::from_slice(line).map_err(Error::from_json)?;
            let table = row.get("table").and_then(Value::as_str).unwrap_or_default().to_owned();
            self.tables.entry(table).or_insert_with(|| (0, row)).0 += 1;
        }
        Ok(0)
    }
}

impl<W: Write> Preview<W> {
    fn print_tables(&mut self) -> Result<()> {
        for (table, (rows, first)) in std::mem::take(&mut self.tables) {
            writeln!(self.out, "\n{table}: {rows} rows, the first one:")?;
            serde_json::to_writer_pretty(&mut self.out, &first).map_err(Error::from_json)?;
            writeln!(self.out)?;
        }
        Ok(())
    }
}

/// Prints the rows for each destination, with `json` each one in a line. Data that began before `since` is left out.
pub fn print(setup: &Setup, since: Option<Timestamp>, json: bool) -> Result<()> {
    let ship = &setup.context.config.ship;
    let (mut state, _) = Shipping::of(&setup.context.paths).read()?;
    if let Some(since) = since {
        state.set_since(ship, since);
    }
    let identity = setup.identity(&state)?;
    let mut round = RoundOutcome::default();
    let excluded = ExcludedLogs::of(setup, &mut round)?;
    let mut preview = Preview { out: setup.context.ui.json(), prints_rows: json, tables: BTreeMap::new() };
    for destination in &state.configured(ship) {
        if !json {
            let (kind, address) = (destination.kind.name(), &destination.address);
            let (organization, host) = (&identity.organization, &identity.host);
            writeln!(preview.out, "{kind} {address} (org={organization} host={host})")?;
        }
        let now = setup.context.clock.now();
        let shipper =
            Shipper { setup, lock: None, destination, identity: &identity, excluded: &excluded, now };
        shipper.ship(&state, &mut preview, &mut round)?;
        preview.print_tables()?;
    }
    preview.out.flush()?;
    round.notes.iter().for_each(|note| setup.context.ui.warn(note));
    round.errors.iter().for_each(|error| setup.context.ui.report(error));
    Ok(())
}
