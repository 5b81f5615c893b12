//! The record is whole, the run has an end, and nothing went wrong on our side.

use std::time::{Duration, Instant};

use serde_json::Value;

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
    if scenario.ending != Ending::Killed {
        found.extend(archived(home, &text(&record.run, "run")));
    }
    found
}

/// How long the background process may take after the session: it waits for the client's last lines.
const ARCHIVED_WITHIN: Duration = Duration::from_secs(30);

/// The transcripts of the run's sessions of which the archive does not have all, such as what the lead wrote after it deleted its team.
fn archived(home: &Home, run: &str) -> Vec<String> {
    let (start, dir) = (Instant::now(), home.store().join("runs").join(run));
    let read = |name: &str| -> Value {
        let text = std::fs::read(dir.join(name)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    };
    while read("run.json")["finished"] != true {
        if start.elapsed() > ARCHIVED_WITHIN {
            return vec![format!("store: the transcripts of {run} are not archived")];
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let (record, list) = (read("run.json"), read("transcripts.json"));
    let sessions = record["sessions"].as_array().into_iter().flatten();
    let paths = sessions.filter_map(|session| session["transcript"].as_str());
    let differs = |path: &str| {
        let size = std::fs::metadata(path).ok()?.len();
        let has = list[path]["size"].as_u64();
        (has != Some(size)).then(|| format!("store: the archive has {has:?} bytes of the {size} of {path}"))
    };
    paths.filter_map(differs).collect()
}

/// 2.1.47 writes its files in place, and whoever reads at that moment finds half of one: no fault of ours.
const HALF_WRITTEN: &str = "; it was stored without changes";

/// On a busy machine a call takes long: no fault of ours, and no time is asserted here.
const BUSY: &str = "] hook call ";
