//! What a run showed of the client, in the words of the table.

use std::collections::{BTreeMap, BTreeSet};

use super::checks::guarded;
use super::hooks::Hooks;
use super::managed;
use super::play::Played;
use super::record::{Record, text};
use super::scenarios::{Scenario, Then};
use super::sent::Sent;

/// What was seen in a run.
pub struct Seen {
    /// Its row of the table.
    pub cells: [String; 5],
    /// The hook events that were recorded.
    pub events: BTreeSet<String>,
}

impl Seen {
    /// Nothing: why it was not played.
    pub fn nothing(why: &str) -> Self {
        let cells = [format!("not run: {why}"), String::new(), String::new(), String::new(), String::new()];
        Self {
            cells: cells.map(|cell| if cell.is_empty() { "-".to_owned() } else { cell }),
            events: BTreeSet::new(),
        }
    }

    /// Looks at a run whose record is as it was sent.
    pub fn of(scenario: &Scenario, played: &Played, sent: &Sent, record: &Record) -> Self {
        let events = record.log.iter().map(|event| text(event, "event"));
        let events =
            events.filter(|event| !["Verdict", "PolicyOverride"].contains(&event.as_str())).collect();
        let cells = [
            on_record(sent),
            agents(record),
            ended(record),
            left(played, record),
            besides(scenario, played, sent, record),
        ];
        Self { cells, events }
    }
}

fn on_record(sent: &Sent) -> String {
    let counts = [
        (usize::from(!sent.members.is_empty()) + sent.members.len(), "member"),
        (sent.agents.len(), "subagent"),
        (sent.tasks.len(), "task"),
        (sent.messages.len(), "message"),
    ];
    let told = counts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> =
        told.map(|(count, what)| format!("{count} {what}{}", if *count == 1 { "" } else { "s" })).collect();
    format!("{}, each event once", told.join(", "))
}

fn ended(record: &Record) -> String {
    let by = text(&record.run, "ended_by");
    if by.is_empty() { "no recorded end".to_owned() } else { by }
}

/// How many ids the agent of a teammate had, by the teammate that had most turns.
fn agents(record: &Record) -> String {
    let mut ids: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in record.log.iter().filter(|event| event["actor"]["kind"] == "teammate") {
        let known = ids.entry(text(&event["actor"], "name")).or_default();
        let begun = event["event"] == "SubagentStart";
        known.extend(event["payload"]["agent_id"].as_str().filter(|_| begun).map(str::to_owned));
    }
    let most = ids.into_values().max_by_key(Vec::len);
    let Some(most) = most else { return "no teammate".to_owned() };
    let distinct: BTreeSet<&String> = most.iter().collect();
    match (most.len(), distinct.len()) {
        (0, _) => "none".to_owned(),
        (1, _) => "one, in one turn".to_owned(),
        (_, 1) => "one".to_owned(),
        (turns, ids) if turns == ids => "one for each turn".to_owned(),
        (turns, ids) => format!("{ids} in {turns} turns"),
    }
}

/// Which of the team's directories were there when the client had gone.
fn left(played: &Played, record: &Record) -> String {
    let team = text(&record.run, "team");
    let left = played.home.left();
    let has = |directory: &str| left.iter().any(|path| path.starts_with(&format!("{directory}/{team}/")));
    match (team.is_empty(), has("teams"), has("tasks")) {
        (true, ..) => "no team",
        (_, true, true) => "its files and its tasks",
        (_, true, false) => "its files",
        (_, false, true) => "its tasks",
        (_, false, false) => "nothing",
    }
    .to_owned()
}

fn besides(scenario: &Scenario, played: &Played, sent: &Sent, record: &Record) -> String {
    let refused = sent.messages.iter().filter(|message| message.kind == "message-refused").count();
    let mut told = vec![scenario.hooks.told().to_owned()];
    if scenario.hooks == Hooks::Managed {
        let (calls, again) = managed::announced(&played.home);
        told.push(format!(
            "{again} of {calls} tool calls were announced twice, each recorded and judged once"
        ));
    }
    if let Some(rule) = &scenario.rule {
        told.push(format!("the rule blocked {} twice, and the model read why", rule.tool));
    }
    if !scenario.arguments.is_empty() {
        told.push("the MCP server answered, and the model read the results as data".to_owned());
    }
    if let Some(gates) = &scenario.guarded {
        let name = gates.name;
        let verdicts = record.of(&["verdict"]).filter(|entry| guarded::is_by_gate(entry));
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        verdicts.for_each(|entry| *counts.entry(text(entry, "decision")).or_default() += 1);
        let [blocks, warnings] =
            ["block", "warn"].map(|decision| counts.get(decision).copied().unwrap_or_default());
        told.push(match scenario.has_budget() {
            false => format!("{name} blocked {blocks} calls and warned of {warnings}"),
            true => format!("{name} blocked {blocks} calls, the lead read {warnings} warnings, and the sums are within a cent of Claude Code's"),
        });
    }
    if scenario.then == Then::Restored {
        told.push("a new session lists the restored tasks".to_owned());
    }
    if scenario.has_telemetry() {
        told.push("the collector has every span of Claude Code in a hook's `TRACEPARENT`, and teamkeep's spans have links to each".to_owned());
    }
    if scenario.facts.is_some() {
        told.push("the next request holds the facts about the team".to_owned());
    }
    told.push(match played.incidents.as_slice() {
        [] => format!("verdict {}, no incidents", played.verdict),
        incidents => format!("verdict {}, incidents {}", played.verdict, incidents.join(", ")),
    });
    if scenario.refusals > 0 {
        told.push(format!("the policy blocked {refused} times, then allowed"));
    }
    told.join("; ")
}
