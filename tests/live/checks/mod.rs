//! What is on record of a run, held against what was really sent.

mod attributed;
mod budget;
mod context;
mod events;
pub mod guarded;
mod incidents;
mod members;
mod messages;
mod policy;
pub mod rule;
mod served;
mod skill;
mod spending;
mod store;
mod tasks;
mod telemetry;
mod worktrees;

use std::collections::BTreeSet;
use std::fmt::Debug;

use super::hooks::Hooks;
use super::managed;
use super::play::Played;
use super::record::Record;
use super::scenarios::{Scenario, Then, Topology};
use super::sent::Sent;
use super::telemetry::Telemetry;
use super::version::Version;

/// Everything that differs; nothing when the record is as it should be.
pub fn differences(
    version: Version,
    scenario: &Scenario,
    played: &Played,
    sent: &Sent,
    record: &Record,
) -> Vec<String> {
    let mut found = messages::differences(sent, record);
    found.extend(tasks::differences(sent, record));
    found.extend(members::differences(version, scenario, sent, record));
    found.extend(policy::differences(scenario, &played.ledger, record));
    if let Some(gates) = &scenario.guarded {
        found.extend(guarded::differences(gates, version.generation(), &played.ledger, record));
        if !gates.made.is_empty() {
            found.extend(attributed::differences(gates, played));
        }
    }
    found.extend(scenario.rule.iter().flat_map(|rule| rule::differences(rule, &played.ledger)));
    if !scenario.arguments.is_empty() {
        found.extend(served::differences(&played.ledger));
    }
    if scenario.name == "worktrees" {
        found.extend(worktrees::differences(&played.home));
    }
    if scenario.name == "skill" {
        found.extend(skill::differences(&played.home));
    }
    found.extend(played.looked.borrow().iter().cloned());
    if scenario.has_telemetry() {
        found.extend(telemetry::differences(&Telemetry::read(&played.telemetry), record));
    }
    if scenario.has_budget() {
        found.extend(budget::differences(scenario, played, record));
    }
    found.extend(events::differences(scenario, &played.home, record));
    found.extend(spending::differences(scenario, played, record));
    found.extend(store::differences(scenario, &played.home, record));
    found.extend(incidents::differences(scenario, played, record));
    if scenario.topology == Topology::Headless {
        // A lead that is woken again says the same again.
        let printed: BTreeSet<String> =
            played.printed.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let said = sent.words.get("lead").cloned().unwrap_or_default();
        found.extend(differ("what the client printed", said, printed));
    }
    let has_skill = scenario.hooks != Hooks::Managed;
    found.extend(same("the skill is offered to the model", has_skill, played.ledger.offers_skill()));
    if scenario.hooks == Hooks::Managed {
        found.extend(managed::differences(&played.home, record));
    }
    found.extend(context::differences(version, scenario, &played.ledger));
    if scenario.then == Then::Restored {
        found.extend(tasks::listed(sent, super::restored::listed(played)));
    }
    found
}

/// What is only in one of two lists, whatever their order; a thing that is twice in one counts twice.
pub fn differ<T: Ord + Debug>(
    what: &str,
    sent: impl IntoIterator<Item = T>,
    told: impl IntoIterator<Item = T>,
) -> Vec<String> {
    let mut sent: Vec<T> = sent.into_iter().collect();
    let mut extra: Vec<T> = Vec::new();
    for one in told {
        match sent.iter().position(|known| *known == one) {
            Some(place) => drop(sent.swap_remove(place)),
            None => extra.push(one),
        }
    }
    let missing = sent.iter().map(|one| format!("{what}: not on record: {}", short(one)));
    missing
        .chain(extra.iter().map(|one| format!("{what}: on record, and never so: {}", short(one))))
        .collect()
}

/// A difference where two things are not the same.
pub fn same<T: PartialEq + Debug>(what: &str, sent: T, told: T) -> Option<String> {
    (sent != told).then(|| format!("{what}: on record {}, and it was {}", short(&told), short(&sent)))
}

pub fn short(thing: &impl Debug) -> String {
    let text = format!("{thing:?}");
    let cut: String = text.chars().take(600).collect();
    if cut.len() < text.len() { format!("{cut}… ({} bytes)", text.len()) } else { text }
}
