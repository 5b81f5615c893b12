//! Every member is on record with its prompt, joined once, and what it said at the end of its turns.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ledger::NO_PART;
use super::super::play::ESCAPE;
use super::super::record::{Record, text, words};
use super::super::scenarios::{LATER, Scenario, Then, Topology};
use super::super::sent::Sent;
use super::super::version::{Generation, Version};
use super::{differ, same};

pub fn differences(version: Version, scenario: &Scenario, sent: &Sent, record: &Record) -> Vec<String> {
    let mut found = said(version, scenario, sent, record);
    found.extend(prompted(version, scenario, sent, record));
    let topology = &record.report["overview"]["topology"];
    if scenario.topology == Topology::Headless {
        found.extend(same("report, topology", Some("no-team"), topology.as_str()));
        return found;
    }
    let expected = if scenario.topology == Topology::Panes { "panes" } else { "in-process" };
    found.extend(same("report, topology", Some(expected), topology.as_str()));

    let mates = || sent.members.iter().map(|(name, prompt)| (name.clone(), prompt.clone()));
    let shown = record.show["members"].as_object().into_iter().flatten();
    let shown = shown.map(|(name, member)| (name.clone(), text(member, "prompt")));
    let lead = || ("team-lead".to_owned(), String::new());
    let in_roster = mates().map(|(name, prompt)| match version.keeps_prompts() {
        true => (name, prompt),
        false => (name, String::new()),
    });
    found.extend(differ("show, members", in_roster.chain([lead()]), shown));
    // The processes of 2.1.47 write the roster over each other: who has stopped may be in it again, and leave again.
    let comes_back = scenario.topology == Topology::Panes && version.generation() == Generation::Flat;
    let joined = record.of(&["member-joined"]).map(|entry| (text(entry, "actor"), text(entry, "text")));
    found.extend(differ("replay, who joined", mates().chain([lead()]), once(joined, comes_back)));
    let all: BTreeSet<&str> = sent.members.keys().map(String::as_str).chain(["team-lead"]).collect();
    found.extend(same("teams, members", &all, &words(&record.run["members"])));
    let reported = record.report["overview"]["members"].as_array().into_iter().flatten();
    let reported = reported.map(|member| text(member, "name"));
    found.extend(differ("report, members", all.iter().map(|name| (*name).to_owned()), reported));

    let stopped = sent.messages.iter().filter(|message| message.kind == "shutdown-approved");
    let stopped = stopped.map(|message| message.from.clone()).chain(sent.ended.iter().cloned());
    let stops = record.of(&["agent-stopped"]).map(|entry| text(entry, "stopped"));
    let left = record.of(&["member-left"]).map(|entry| text(entry, "actor")).chain(stops);
    let left = once(left, comes_back);
    let expected: Vec<String> = stopped.filter(|name| !comes_back || left.contains(name)).collect();
    found.extend(differ("replay, who left", expected, left));
    found
}

/// Each thing as often as it is there, or once.
fn once<T: Ord>(things: impl Iterator<Item = T>, only: bool) -> Vec<T> {
    if only { things.collect::<BTreeSet<T>>().into_iter().collect() } else { things.collect() }
}

/// The name of agents that are no teammates: a member's name is the member's only.
fn subagent(scenario: &Scenario, sent: &Sent) -> String {
    match sent.members.contains_key(scenario.role) {
        true => format!("{} (subagent)", scenario.role),
        false => scenario.role.to_owned(),
    }
}

/// Whatever a part said last in a turn is on record as that, and nothing else.
fn said(version: Version, scenario: &Scenario, sent: &Sent, record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    let subagent = subagent(scenario, sent);
    let mut all: BTreeMap<&str, BTreeSet<&String>> = BTreeMap::new();
    for (part, words) in &sent.words {
        let name = match (part.as_str(), scenario.topology) {
            ("lead", Topology::Headless) => "lead",
            ("lead", _) => "team-lead",
            // An agent that is no teammate goes by what it is.
            (_, Topology::Headless) => &subagent,
            (part, _) if !sent.members.contains_key(part) => &subagent,
            (part, _) => part,
        };
        all.entry(name).or_default().extend(words);
    }
    for (name, words) in all {
        let told = record.of(&["turn-ended"]).filter(|entry| entry["actor"] == name);
        let told: BTreeSet<String> = told
            .map(|entry| text(entry, "text"))
            .filter(|text| !text.is_empty() && text != NO_PART)
            .collect();
        let is_of_run = |word: &&String| {
            scenario.then == Then::Nothing || scenario.continues(version) || *word != "Listed."
        };
        let words = words.into_iter().filter(is_of_run);
        found.extend(differ(&format!("replay, what {name} said"), words.cloned(), told));
    }
    found
}

/// Whatever the user typed, and whatever a subagent was started for, is on record as the beginning of a turn.
fn prompted(version: Version, scenario: &Scenario, sent: &Sent, record: &Record) -> Vec<String> {
    let begun = || record.of(&["turn-started"]);
    let typed = (scenario.steps)(version.generation())
        .into_iter()
        .map(|step| step.typed)
        .chain(scenario.ending.typed())
        .chain(scenario.continues(version).then_some(LATER))
        .map(str::to_owned);
    // A command of the client starts no turn, and neither does a key.
    let typed = typed.filter(|typed| !typed.starts_with('/') && typed != ESCAPE);
    // The client itself begins turns of the lead for mail and for what ran beside it.
    let told = begun().filter(|entry| ["lead", "team-lead"].contains(&text(entry, "actor").as_str()));
    let told = told
        .map(|entry| text(entry, "text"))
        .filter(|text| text.starts_with("part=") || text.starts_with("act="));
    let mut found = differ("replay, what was typed", typed, told);
    let subagent = subagent(scenario, sent);
    let launched = begun().filter(|entry| entry["actor"] == subagent).map(|entry| text(entry, "summary"));
    found.extend(differ("replay, what subagents were started for", sent.agents.clone(), launched));
    found
}
