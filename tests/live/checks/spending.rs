//! The tokens and the cost of the report, against what the scripted model sent and what Claude Code counted itself.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use serde_json::Value;
use teamkeep_model::time;

use super::super::ending::Ending;
use super::super::ledger::Usage;
use super::super::play::Played;
use super::super::record::{Record, text};
use super::super::scenarios::{CLEAR, GENERAL, Scenario, Then, Topology};
use super::super::version::Generation;
use super::same;

/// Numbers of tokens: input, output, read from the cache, written to it.
type Tokens = [u64; 4];

/// The keys of the API, of the report, and of Claude Code's record of the last session.
const KEYS: [(&str, &str, &str); 4] = [
    ("input_tokens", "input", "inputTokens"),
    ("output_tokens", "output", "outputTokens"),
    ("cache_read_input_tokens", "cache_read", "cacheReadInputTokens"),
    ("cache_creation_input_tokens", "cache_write", "cacheCreationInputTokens"),
];

pub fn differences(scenario: &Scenario, played: &Played, record: &Record) -> Vec<String> {
    let usages = played.ledger.usages();
    let spending = &record.report["spending"];
    let agents = spending["agents"].as_array().into_iter().flatten();
    let by_agent: BTreeMap<String, Tokens> =
        agents.map(|agent| (text(agent, "agent"), told(agent))).collect();
    let mut found: Vec<String> =
        same("tokens of each agent", sent(scenario, &usages, played, record), by_agent).into_iter().collect();
    // Claude Code keeps no count of a session that was killed, and counts again from zero after `/clear`.
    let is_cleared = (scenario.steps)(Generation::Session).iter().any(|step| step.typed == CLEAR);
    let has_other_record = is_cleared || scenario.then != Then::Nothing || scenario.ending == Ending::Killed;
    if has_other_record {
        return found;
    }
    // It keeps no count of a session without a terminal, and only that of the last process of the project.
    let (of_process, counted): (fn(&&Usage) -> bool, &Value) = match scenario.topology {
        Topology::InProcess => (|_| true, spending),
        // Each teammate has a process, and the lead's ends last if all of them were shut down. Any of them can send a request
        // of Claude Code's own.
        Topology::Panes
            if scenario.incidents.is_empty() && usages.iter().all(|usage| usage.part.is_some()) =>
        {
            let mut agents = spending["agents"].as_array().into_iter().flatten();
            let lead = agents.find(|agent| text(agent, "agent") == "team-lead");
            (|usage| usage.part.as_deref() == Some("lead"), lead.unwrap_or(&Value::Null))
        }
        Topology::Panes | Topology::Headless => return found,
    };
    let own = own(played);
    let all = usages.iter().filter(of_process).map(tokens).fold([0; 4], sum);
    let usage = own["lastModelUsage"].as_object().into_iter().flatten();
    let usage = usage.map(|(_, usage)| KEYS.map(|(_, _, key)| usage[key].as_u64().unwrap_or_default()));
    found.extend(same("tokens by Claude Code's own count", all, usage.fold([0; 4], sum)));
    // It also counts its own requests, which are in no transcript, and those of the lead before its team.
    if all == told(counted) {
        let micros = |usd: &Value| usd.as_f64().map(|usd| (usd * 1e6).round());
        let what = "millionths of a dollar by Claude Code's own count";
        found.extend(same(what, micros(&own["lastCost"]), micros(&counted["cost"])));
    }
    found
}

/// The tokens of the run, or of an agent.
fn told(counted: &Value) -> Tokens {
    let tokens = counted.get("total").unwrap_or(&counted["tokens"]);
    KEYS.map(|(_, key, _)| tokens[key].as_u64().unwrap_or_default())
}

fn tokens(usage: &Usage) -> Tokens {
    KEYS.map(|(key, _, _)| usage.tokens[key].as_u64().unwrap_or_default())
}

fn sum(mut sum: Tokens, more: Tokens) -> Tokens {
    for (sum, more) in sum.iter_mut().zip(more) {
        *sum += more;
    }
    sum
}

/// The tokens that each part was sent during the run, by the name of its agent. A message that is in no transcript is left
/// out: a process that ends does not write its last one.
fn sent(scenario: &Scenario, usages: &[Usage], played: &Played, record: &Record) -> BTreeMap<String, Tokens> {
    let is_team = usages.iter().any(|usage| usage.part.as_deref() == Some("alice"));
    let name = |part: &str| match (part, is_team) {
        ("lead", true) => "team-lead".to_owned(),
        // A subagent whose role is the name of a member.
        ("helper", true) if scenario.role != GENERAL => format!("{} (subagent)", scenario.role),
        ("lead", false) | (_, true) => part.to_owned(),
        // The only other agent of a run without a team is a subagent, named after its type.
        (_, false) => "general-purpose".to_owned(),
    };
    let time = |key: &str| record.run[key].as_str().and_then(time::parse).map(|at| at.millis());
    // Without a team, the whole session belongs to the run.
    let start = time("started_at").filter(|_| is_team).unwrap_or(i64::MIN);
    // After a TeamDelete, the session of the lead continues.
    let end = time("ended_at").filter(|_| record.run["ended_by"] != "team-delete").unwrap_or(i64::MAX);
    let written = played.home.transcripts();
    let mut sent: BTreeMap<String, Tokens> = BTreeMap::new();
    for usage in usages {
        // A notice that reaches the lead after `/clear` belongs to no part. Claude Code's own requests are in no transcript.
        let is_written = written.contains(&usage.id);
        let Some(part) = usage.part.as_deref().or(is_written.then_some("lead")) else { continue };
        let at = usage.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let is_in_run = (start..=end).contains(&i64::try_from(at).unwrap_or(i64::MAX));
        // Its transcript is gone with its session, or it has the message.
        if is_in_run && (written.is_empty() || is_written) {
            let all = sent.entry(name(part)).or_default();
            *all = sum(*all, tokens(usage));
        }
    }
    sent
}

/// What Claude Code wrote about the last session of the project.
pub fn own(played: &Played) -> Value {
    let account = std::fs::read(played.home.root.join("home/.claude.json")).unwrap_or_default();
    let account: Value = serde_json::from_slice(&account).unwrap_or_default();
    let mut projects = account["projects"].as_object().into_iter().flatten();
    projects.next().map(|(_, project)| project.clone()).unwrap_or_default()
}
