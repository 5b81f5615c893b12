//! The lead read the warnings of the budget. What the gate counted is what was sent, what the report counts, and what Claude
//! Code counted itself.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};
use teamkeep_model::team::{MessageUsage, Terms, Tokens};
use teamkeep_model::time;
use teamkeep_policy::spending::PriceList;

use super::super::ledger::Usage;
use super::super::play::Played;
use super::super::record::{Record, text};
use super::super::scenarios::{Scenario, Topology, WARNINGS};
use super::spending::own;
use super::{same, short};

/// US dollars by `run`, `hour`, `agent NAME` and `task ID`.
type Sums = BTreeMap<String, f64>;

const CENT: f64 = 0.01;

pub fn differences(scenario: &Scenario, played: &Played, record: &Record) -> Vec<String> {
    let mut found = warnings(played);
    found.extend(stored(played, record));
    let sums = match sums(played, record) {
        Ok(sums) => sums,
        Err(why) => {
            found.push(why);
            return found;
        }
    };
    let sum = |what: &str| sums.get(what).copied().unwrap_or_default();
    let spending = &record.report["spending"];
    let report = |value: &Value| value["cost"].as_f64().unwrap_or_default();
    found.extend(near("run, by the report", report(spending), sum("run")));
    found.extend(near("last hour", sum("run"), sum("hour")));
    for agent in spending["agents"].as_array().into_iter().flatten() {
        let name = text(agent, "agent");
        found.extend(near(&format!("{name}, by the report"), report(agent), sum(&format!("agent {name}"))));
    }
    for task in spending["tasks"].as_array().into_iter().flatten() {
        let what = format!("task {}", text(task, "task"));
        found.extend(near(&format!("{what}, by the report"), report(task), sum(&what)));
    }
    found.extend(own_count(scenario, played, record, &sums));
    found
}

/// Claude Code counts each process, and keeps the count of the last one. It includes requests that are not of the run: its own,
/// and those before the team was created or after it was deleted.
fn own_count(scenario: &Scenario, played: &Played, record: &Record, sums: &Sums) -> Option<String> {
    let is_in_panes = scenario.topology == Topology::Panes;
    let counted = sums.get(if is_in_panes { "agent team-lead" } else { "run" })?;
    let time = |value: &Value| value.as_str().and_then(time::parse).map(|at| at.millis());
    let (start, end) = (time(&record.run["started_at"])?, time(&last_event(record)?["at"])?);
    let written = played.home.transcripts();
    let mut prices = PriceList::of(&[]);
    let (mut own_requests, mut of_others) = (0.0, 0.0);
    for usage in played.ledger.usages() {
        let at = usage.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
        let price = prices.cost(&cost(&usage)).unwrap_or_default();
        let is_counted = written.contains(&usage.id) && (start..=end).contains(&at);
        match usage.part.as_deref() {
            // Of one of the processes.
            None if is_in_panes => of_others += price,
            part if !is_counted && (!is_in_panes || part == Some("lead")) => own_requests += price,
            _ => {}
        }
    }
    let expected = own(played)["lastCost"].as_f64().unwrap_or_default();
    let (least, most) = (counted + own_requests - CENT, counted + own_requests + of_others + CENT);
    let told = format!("the gate counts {counted}, not of the run is {own_requests} to {of_others} more");
    (!(least..=most).contains(&expected)).then(|| format!("dollars by Claude Code: {expected}, and {told}"))
}

/// A message as a transcript has it.
fn cost(usage: &Usage) -> MessageUsage {
    let (id, model) = (usage.id.clone(), usage.model.clone());
    let line = json!({"message": {"id": id, "model": model, "usage": usage.tokens, "content": []}});
    let none = MessageUsage { id, at: None, model, tokens: Tokens::default(), terms: Terms::default() };
    MessageUsage::read(&line).unwrap_or(none)
}

/// Of each warning, some request of the lead has all pieces.
fn warnings(played: &Played) -> Vec<String> {
    let read = played.ledger.warnings();
    let is_read = |pieces: &[&str; 2]| {
        read.iter().any(|(part, text)| part == "lead" && pieces.iter().all(|piece| text.contains(piece)))
    };
    let missing = WARNINGS.iter().filter(|pieces| !is_read(pieces));
    missing.map(|pieces| format!("the lead read no warning with {pieces:?}, but {}", short(&read))).collect()
}

/// Each stored message is one that was sent, with its tokens and searches.
fn stored(played: &Played, record: &Record) -> Vec<String> {
    let cache = played.home.root.join("home/.local/share/teamkeep/cache");
    let file = cache.join(format!("run-{}-spent.jsonl", text(&record.run, "run")));
    let Ok(lines) = std::fs::read_to_string(&file) else {
        return vec![format!("cannot read {}", file.display())];
    };
    let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut messages: BTreeMap<String, Value> = BTreeMap::new();
    let (mut count, mut found) = (0, Vec::new());
    for one in lines.flat_map(|line| line["spent"].as_array().cloned().unwrap_or_default()) {
        count += 1;
        messages.insert(text(&one, "id"), one);
    }
    if count == 0 {
        found.push(format!("{} has no messages", file.display()));
    }
    let usages = played.ledger.usages();
    for (id, message) in messages {
        let Some(sent) = usages.iter().find(|usage| usage.id == id).map(|usage| &usage.tokens) else {
            found.push(format!("stored, and never sent: {message}"));
            continue;
        };
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let expected = [
            number(&sent["input_tokens"]),
            number(&sent["output_tokens"]),
            number(&sent["server_tool_use"]["web_search_requests"]),
        ];
        let told = [
            number(&message["tokens"]["input"]),
            number(&message["tokens"]["output"]),
            number(&message["terms"]["web_searches"]),
        ];
        found.extend(same(&format!("stored, {id}"), expected, told));
    }
    found
}

/// What `policy explain` prints for the last event of the run.
fn sums(played: &Played, record: &Record) -> Result<Sums, String> {
    let last = last_event(record).map(|event| text(event, "id")).unwrap_or_default();
    let shown = played.home.teamkeep(&["policy", "explain", "--event", &last])?;
    let mut sums = Sums::new();
    for line in shown.lines().filter_map(|line| line.strip_prefix("spent")) {
        let (what, rest) = line.trim().split_once(": $").ok_or(format!("no amount: {line}"))?;
        let amount = rest.split_once(' ').and_then(|(amount, _)| amount.parse().ok());
        sums.insert(what.to_owned(), amount.ok_or(format!("no amount: {line}"))?);
    }
    Ok(sums)
}

fn last_event(record: &Record) -> Option<&Value> {
    let run = text(&record.run, "run");
    record.log.iter().rfind(|event| event["run"] == *run && event["event"] != "Verdict")
}

/// A difference of more than a cent. What is shown is rounded.
fn near(what: &str, expected: f64, told: f64) -> Option<String> {
    let is_near = expected > 0.0 && (expected - told).abs() <= CENT + CENT / 2.0;
    (!is_near).then(|| format!("dollars of {what}: the gate counts {told}, and it was {expected}"))
}
