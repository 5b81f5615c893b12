//! The report has the verdict and the incidents of the scenario, and no other. The receiver got each incident once.

use super::super::ending::Ending;
use super::super::play::Played;
use super::super::record::Record;
use super::super::scenarios::Scenario;
use super::super::trouble;
use super::same;

pub fn differences(scenario: &Scenario, played: &Played, record: &Record) -> Vec<String> {
    let report = &record.report;
    let incidents = report["incidents"].as_array().cloned().unwrap_or_default();
    let mut found = trouble::differences("report, incidents", &played.incidents, &incidents);
    found.extend(same("report, verdict", Some(played.verdict), report["verdict"]["kind"].as_str()));
    if scenario.ending == Ending::ExitAfterTrouble {
        found.extend(trouble::differences("notifications", &played.incidents, &played.receiver.incidents()));
    }
    found
}
