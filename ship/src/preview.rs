//! Rows that are printed and not sent.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Map, Value};
use teamkeep_core::error::{Error, Result};

/// Prints each row, or counts them and keeps the first one of each table.
pub struct Preview {
    pub out: Box<dyn Write>,
    pub prints_rows: bool,
    pub tables: BTreeMap<String, (usize, Map<String, Value>)>,
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

    pub fn print_tables(&mut self) -> Result<()> {
        for (table, (rows, first)) in std::mem::take(&mut self.tables) {
            writeln!(self.out, "\n{table}: {rows} rows, the first one:")?;
            serde_json::to_writer_pretty(&mut self.out, &first).map_err(Error::from_json)?;
            writeln!(self.out)?;
        }
        Ok(())
    }
}
