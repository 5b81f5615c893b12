//! The report has the verdict and the incidents of the scenario, and no other. The receiver got each incident once.

use std::collections::BTreeSet;

use super::super::ending::Ending;
use super::super::play::Played;
use super::super::record::{Record, text};
use super::super::scenarios::Scenario;
use super::super::trouble;
use super::{differ, same};

pub fn differences(scenario: &Scenario, played: &Played, record: &Record) -> Vec<String> {
    let report = &record.report;
    let incidents = report["incidents"].as_array().cloned().unwrap_or_default();
    let mut found = trouble::differences("report, incidents", &played.incidents, &incidents);
    found.extend(same("report, verdict", Some(played.verdict), report["verdict"]["kind"].as_str()));
    if !scenario.halts.is_empty() {
        let halts = record.of(&["turn-failed", "turn-interrupted"]);
        let halts: BTreeSet<String> =
            halts.map(|entry| format!("{} {}", text(entry, "kind"), text(entry, "actor"))).collect();
        found.extend(differ("turns", scenario.halts.iter().map(|halt| (*halt).to_owned()), halts));
    }
    if scenario.ending == Ending::ExitAfterTrouble {
        found.extend(trouble::differences("notifications", &played.incidents, &played.receiver.incidents()));
    }
    found
}
