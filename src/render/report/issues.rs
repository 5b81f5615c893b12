//! Problems, one line each.

use super::page::{Block, Table};
use super::sections::when;
use crate::json;
use crate::report::Finding;

/// The findings, or that there are none.
pub fn findings(findings: &[Finding], start: &str) -> Vec<Block> {
    if findings.is_empty() {
        return vec![Block::Line("none found".to_owned())];
    }
    let mut table = Table::of(&["kind", "when#", "problem"]);
    for finding in findings {
        table.row([
            json::serde_name(&finding.code),
            when(start, finding.at.as_deref()),
            finding.what.clone(),
        ]);
    }
    vec![Block::Table(table)]
}
