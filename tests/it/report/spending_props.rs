//! Whatever the transcripts contain, the cost of the run is the sum of its distinct messages and of its agents.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::contents::{hears, team, thinks};
use crate::support::sandbox::Sandbox;

const AGENTS: [&str; 2] = ["alice", "bob"];
/// Models with their list price for a million tokens of input, output, and read from the cache.
const MODELS: [(&str, Option<[f64; 3]>); 3] = [
    ("claude-opus-4-5-20251101", Some([5.0, 25.0, 0.5])),
    ("claude-haiku-4-5", Some([1.0, 5.0, 0.1])),
    ("someones-model", None),
];
/// The tokens that each line reads from the cache.
const CACHE_READ: u64 = 7;

/// A line of a transcript: agent, number of the message, input, output.
type Line = (usize, usize, u64, u64);

/// The model of a message is the same on all its lines.
fn model(message: usize) -> usize {
    [0, 0, 1, 1, 0, 2][message]
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    proptest::collection::vec((0..2usize, 0..6usize, 0..90_000u64, 0..9_000u64), 1..14)
}

fn check(lines: &[Line]) {
    let sandbox = Sandbox::new();
    let lead = team(&sandbox);
    // The last line of a message has most tokens.
    let mut messages: BTreeMap<usize, [u64; 3]> = BTreeMap::new();
    for (agent, message, input, output) in lines {
        let line = thinks(&format!("m{message}"), MODELS[model(*message)].0, *input, *output);
        hears(&sandbox, AGENTS[*agent], &line);
        let most = messages.entry(*message).or_insert([0, 0, CACHE_READ]);
        *most = [most[0].max(*input), most[1].max(*output), CACHE_READ];
    }
    for name in AGENTS {
        lead.hook("SubagentStart", json!({"agent_id": format!("a{name}-1"), "agent_type": name}));
    }
    let report: Value = serde_json::from_str(&sandbox.told(&["report", "--json"])).unwrap();
    let spending = &report["spending"];
    let tokens = |from: &Value| ["input", "output", "cache_read"].map(|key| from[key].as_u64().unwrap());
    let add = |a: [u64; 3], b: [u64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
    let total = messages.values().copied().fold([0; 3], add);
    assert_eq!(tokens(&spending["total"]), total);
    let agents = spending["agents"].as_array().unwrap();
    assert_eq!(agents.iter().map(|agent| tokens(&agent["tokens"])).fold([0; 3], add), total);
    let counted: u64 = agents.iter().map(|agent| agent["messages"].as_u64().unwrap()).sum();
    assert_eq!(counted, messages.len() as u64);
    let unpriced: BTreeSet<&str> = messages
        .keys()
        .map(|message| MODELS[model(*message)])
        .filter(|one| one.1.is_none())
        .map(|one| one.0)
        .collect();
    assert_eq!(spending["unpriced"], json!(unpriced));
    let price = |(message, tokens): (&usize, &[u64; 3])| {
        let rates = MODELS[model(*message)].1?;
        Some((0..3).map(|kind| tokens[kind] as f64 * rates[kind] / 1e6).sum::<f64>())
    };
    let expected: Option<f64> = messages.iter().map(price).sum();
    let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        (a, b) => a == b,
    };
    assert!(near(spending["cost"].as_f64(), expected), "{spending} {expected:?}");
    if expected.is_some() {
        let sum: f64 = agents.iter().filter_map(|agent| agent["cost"].as_f64()).sum();
        assert!(near(Some(sum), expected), "{spending}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn cost_of_a_run_is_the_sum_of_its_messages_and_of_its_agents(lines in lines()) {
        check(&lines);
    }
}
