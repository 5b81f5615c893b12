//! What was lost or looks wrong, one line each.

use super::page::{Block, Table};
use super::sections::when;
use crate::json;
use crate::report::Finding;

/// The findings, or that there are none.
pub fn findings(findings: &[Finding], start: &str) -> Vec<Block> {
    if findings.is_empty() {
        return vec![Block::Line("nothing that is on record".to_owned())];
    }
    let mut table = Table::of(&["kind", "when#", "what"]);
    for finding in findings {
        let share = finding.amount.map_or_else(String::new, |share| format!(" ({:.0} %)", share * 100.0));
        table.row([
            json::word(&finding.code),
            when(start, finding.at.as_deref()),
            format!("{}{share}", finding.what),
        ]);
    }
    vec![Block::Table(table)]
}
