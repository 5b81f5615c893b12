//! The record is whole, the run has an end, and nothing went wrong on our side.

use super::super::ending::Ending;
use super::super::home::Home;
use super::super::record::{Record, text};
use super::super::scenarios::Scenario;

pub fn differences(scenario: &Scenario, home: &Home, record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    if record.verify["whole"] != true || record.verify["damaged"] != 0 {
        found.push(format!("verify: {:#}", record.verify));
    }
    if record.run["ended_at"].is_null() && scenario.ending != Ending::Killed {
        found.push(format!("teams: the run has no end: {:#}", record.run));
    }
    let odd =
        record.log.iter().filter(|event| event["warning"].is_string() || event["malformed"].is_string());
    found.extend(odd.map(|event| {
        format!("log: {} says {}{}", text(event, "event"), text(event, "warning"), text(event, "malformed"))
    }));
    let diagnostics = home.store().join("diagnostics");
    for entry in std::fs::read_dir(diagnostics).into_iter().flatten().flatten() {
        let said = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let lines = said.lines().filter(|line| !line.contains(HALF_WRITTEN) && !line.contains(BUSY));
        found.extend(lines.map(|line| format!("diagnostics: {line}")));
    }
    found
}

/// 2.1.47 writes its files in place, and whoever reads at that moment finds half of one: no fault of ours.
const HALF_WRITTEN: &str = "; it was stored without changes";

/// On a busy machine a call takes long: no fault of ours, and no time is asserted here.
const BUSY: &str = "] hook call ";
