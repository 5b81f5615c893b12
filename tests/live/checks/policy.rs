//! What the default policy held back, and that it let go in the end.

use serde_json::Value;

use super::super::ledger::Ledger;
use super::super::record::{Record, text};
use super::super::scenarios::Scenario;
use super::rule::refusals;
use super::{differ, guarded};

pub fn differences(scenario: &Scenario, ledger: &Ledger, record: &Record) -> Vec<String> {
    // Warnings hold nothing back, not even while they are paused; which of them come depends on who was quicker.
    let is_warning = |entry: &Value| entry["decision"] == "warn" || entry["paused"] == true;
    let told = record.of(&["verdict"]).filter(|entry| !is_warning(entry) && !guarded::is_by_gate(entry));
    let told = told.map(|entry| (text(entry, "decision"), text(entry, "summary"), entry["blocks"].as_u64()));
    let gate = || "premature-shutdown".to_owned();
    let mut expected = vec![("block".to_owned(), gate(), None); scenario.refusals];
    if scenario.refusals > 0 {
        expected.push(("allow".to_owned(), gate(), Some(scenario.refusals as u64)));
    }
    if let Some(rule) = &scenario.rule {
        let refused = ("block".to_owned(), format!("rule {}", rule.name), None);
        expected.extend(vec![refused; refusals(rule, ledger) + scenario.blocked_lines]);
    }
    differ("replay, verdicts", expected, told)
}
