//! Every payload that the client sent is on record, and once.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::home::Home;
use super::super::hooks::Hooks;
use super::super::managed;
use super::super::record::{Record, text};
use super::super::scenarios::{Scenario, Topology};
use super::super::witness;
use super::short;

/// What a client sends as it leaves. It ends the hooks of these that still run, and one that has hardly begun is lost,
/// ours or the witness's.
const LAST: [&str; 5] = ["FileChanged", "PostToolUse", "Stop", "TeammateIdle", "SessionEnd"];

pub fn differences(scenario: &Scenario, home: &Home, record: &Record) -> Vec<String> {
    let sent = witness::payloads(&home.root);
    let told = record.log.iter().map(|event| &event["payload"]);
    let mut told: Vec<&Value> = told.filter(|payload| payload["hook_event_name"].is_string()).collect();
    let mut missing: Vec<&Value> = Vec::new();
    for payload in &sent {
        // A payload is the same whatever the order of its keys.
        match told.iter().position(|known| *known == payload) {
            Some(place) => drop(told.swap_remove(place)),
            None => missing.push(payload),
        }
    }
    if scenario.hooks == Hooks::Managed {
        missing.retain(|payload| !managed::is_again(payload, record));
    }
    if scenario.topology == Topology::Panes {
        // Each of them once a teammate that leaves its pane.
        let by_mates = record.log.iter().filter(|event| event["actor"]["kind"] == "teammate");
        let mates: BTreeSet<String> = by_mates.map(|event| text(event, "session")).collect();
        let mut excused: BTreeSet<(String, String)> = BTreeSet::new();
        for list in [&mut missing, &mut told] {
            list.retain(|payload| {
                let (session, event) = (text(payload, "session_id"), text(payload, "hook_event_name"));
                let is_last = mates.contains(&session) && LAST.contains(&event.as_str());
                let is_excused = payload.is_null() || (is_last && excused.insert((session, event)));
                !is_excused
            });
        }
    }
    let mut found: Vec<String> =
        missing.iter().map(|payload| format!("log: not on record: {}", short(payload))).collect();
    found.extend(told.iter().map(|payload| format!("log: on record, and never so: {}", short(payload))));
    if sent.is_empty() {
        found.push("the hook beside ours saw nothing".to_owned());
    }
    found
}
