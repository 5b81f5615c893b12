//! `teamkeep ship --dry-run`: the rows that would be sent, without sending them.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Map, Value};
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::shipping::Shipping;
use teamkeep_core::sys::clock::Timestamp;

use crate::delivery::Delivery;
use crate::setup::Setup;
use crate::shipment::{RoundOutcome, Shipper};

/// Prints each row, or counts them and keeps the first one of each table.
pub struct Preview {
    out: Box<dyn Write>,
    prints_rows: bool,
    tables: BTreeMap<String, (usize, Map<String, Value>)>,
}

impl Preview {
    pub fn add(&mut self, lines: &[u8]) -> Result<u64> {
        if self.prints_rows {
            self.out.write_all(lines)?;
            return Ok(0);
        }
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let row: Map<String, Value> = serde_json::from_slice(line).map_err(Error::from_json)?;
            let table = row.get("table").and_then(Value::as_str).unwrap_or_default().to_owned();
            self.tables.entry(table).or_insert_with(|| (0, row)).0 += 1;
        }
        Ok(0)
    }

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
    let (mut state, _) = Shipping::of(&setup.context.paths).read()?;
    since.into_iter().for_each(|since| state.set_since(&setup.context.config.ship, since));
    let identity = setup.identity(&state)?;
    let preview =
        Preview { out: Box::new(setup.context.ui.json()), prints_rows: json, tables: BTreeMap::new() };
    let mut delivery = Delivery::Preview(preview);
    for destination in &state.configured(&setup.context.config.ship) {
        if let Delivery::Preview(preview) = &mut delivery
            && !json
        {
            let (kind, address) = (destination.kind.name(), &destination.address);
            let (organization, host) = (&identity.organization, &identity.host);
            writeln!(preview.out, "{kind} {address} (org={organization} host={host})")?;
        }
        let now = setup.context.clock.now();
        let shipper = Shipper { setup, lock: None, destination, identity: &identity, now };
        let mut round = RoundOutcome::default();
        shipper.ship(&state, &mut delivery, &mut round)?;
        round.notes.iter().for_each(|note| setup.context.ui.warn(note));
        round.errors.iter().for_each(|error| setup.context.ui.report(error));
        if let Delivery::Preview(preview) = &mut delivery {
            preview.print_tables()?;
        }
    }
    if let Delivery::Preview(preview) = &mut delivery {
        preview.out.flush()?;
    }
    Ok(())
}
