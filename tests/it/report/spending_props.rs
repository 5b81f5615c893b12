//! Whatever the transcripts contain, the cost of the run is the sum of its distinct messages and of its agents, and a task
//! costs at most what its owners did.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::contents::{hears, team, thinks};
use crate::support::sandbox::Sandbox;

const AGENTS: [&str; 2] = ["alice", "bob"];
const TASKS: [&str; 2] = ["1", "2"];
const STATUSES: [&str; 3] = ["pending", "in_progress", "completed"];
/// Models with their list price for a million tokens of each kind.
const MODELS: [(&str, Option<[f64; 5]>); 3] = [
    ("claude-opus-4-5-20251101", Some([5.0, 25.0, 0.5, 6.25, 10.0])),
    ("claude-haiku-4-5", Some([1.0, 5.0, 0.1, 1.25, 2.0])),
    ("someones-model", None),
];
const MESSAGES: usize = 6;
/// Before the team of [`team`] was created.
const BEFORE_THE_RUN: &str = "1970-01-01T00:00:00.500Z";

/// Input, output, read from the cache, written to it for five minutes, and for an hour.
type Tokens = [u64; 5];

/// What a message has on all its lines: its model, and the step at which it was sent, if during the run.
type Message = (usize, Option<usize>);

#[derive(Debug, Clone)]
struct Case {
    messages: Vec<Message>,
    /// Agent, message and tokens of each line of a transcript.
    lines: Vec<(usize, usize, Tokens)>,
    /// Task, status and owner at each step.
    steps: Vec<(usize, usize, Option<usize>)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let tokens = [0..90_000u64, 0..9_000, 0..900_000, 0..9_000, 0..9_000];
    let message = (0..MODELS.len(), proptest::option::weighted(0.8, 0..8usize));
    let line = (0..AGENTS.len(), 0..MESSAGES, tokens);
    let step = (0..TASKS.len(), 0..STATUSES.len(), proptest::option::weighted(0.9, 0..AGENTS.len()));
    let messages = proptest::collection::vec(message, MESSAGES);
    let lines = proptest::collection::vec(line, 1..14);
    let steps = proptest::collection::vec(step, 1..8);
    (messages, lines, steps).prop_map(|(messages, lines, steps)| Case { messages, lines, steps })
}

fn line(name: &str, model: &str, at: &str, tokens: Tokens) -> Value {
    let mut line = thinks(name, model, tokens[0], tokens[1]);
    line["timestamp"] = json!(at);
    let usage = &mut line["message"]["usage"];
    usage["cache_read_input_tokens"] = json!(tokens[2]);
    usage["cache_creation_input_tokens"] = json!(tokens[3] + tokens[4]);
    usage["cache_creation"] = json!({"ephemeral_1h_input_tokens": tokens[4]});
    line
}

/// The counts of the report: input, output, cache read, all cache writes, those for an hour.
fn tokens(from: &Value) -> Tokens {
    ["input", "output", "cache_read", "cache_write", "cache_write_1h"].map(|key| from[key].as_u64().unwrap())
}

fn add(a: Tokens, b: Tokens) -> Tokens {
    std::array::from_fn(|kind| a[kind] + b[kind])
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        (a, b) => a == b,
    }
}

fn usd(model: usize, [input, output, read, write, hour]: Tokens) -> Option<f64> {
    let parts = [input, output, read, write - hour, hour];
    let rates = MODELS[model].1?;
    Some(parts.iter().zip(rates).map(|(tokens, rate)| *tokens as f64 * rate / 1e6).sum())
}

/// Plays the steps and writes the transcripts; returns the distinct messages of the run with their tokens.
fn play(sandbox: &Sandbox, case: &Case) -> BTreeMap<usize, Tokens> {
    let lead = team(sandbox);
    let mut times = Vec::new();
    for (task, status, owner) in &case.steps {
        lead.task(TASKS[*task], STATUSES[*status], owner.map(|owner| AGENTS[owner]));
        lead.hook("Stop", json!({}));
        times.push(sandbox.last());
    }
    let mut distinct: BTreeMap<usize, Tokens> = BTreeMap::new();
    for (agent, message, [input, output, read, write, hour]) in &case.lines {
        let (model, step) = case.messages[*message];
        let at = step.map_or(BEFORE_THE_RUN, |step| &times[step % times.len()]);
        let tokens = [*input, *output, *read, *write, *hour];
        hears(sandbox, AGENTS[*agent], &line(&format!("m{message}"), MODELS[model].0, at, tokens));
        if step.is_some() {
            let most = distinct.entry(*message).or_default();
            *most = std::array::from_fn(|kind| {
                most[kind].max(if kind == 3 { write + hour } else { tokens[kind] })
            });
        }
    }
    for name in AGENTS {
        lead.hook("SubagentStart", json!({"agent_id": format!("a{name}-1"), "agent_type": name}));
    }
    distinct
}

fn check(case: &Case) {
    let sandbox = Sandbox::new();
    let messages = play(&sandbox, case);
    let model = |message: &usize| case.messages[*message].0;
    let report: Value = serde_json::from_str(&sandbox.printed(&["report", "--json"])).unwrap();
    let spending = &report["spending"];
    let sum = |of: &[Value]| of.iter().map(|one| tokens(&one["tokens"])).fold([0; 5], add);
    let list = |key: &str| spending[key].as_array().cloned().unwrap_or_default();
    let (agents, tasks) = (list("agents"), list("tasks"));

    let total = messages.values().copied().fold([0; 5], add);
    if !messages.is_empty() {
        assert_eq!(tokens(&spending["total"]), total);
    }
    assert_eq!(sum(&agents), total);
    let counted = |of: &[Value]| of.iter().map(|one| one["messages"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(counted(&agents), messages.len() as u64);

    let models = messages.keys().map(|message| MODELS[model(message)]);
    let unpriced: BTreeSet<&str> = models.filter(|one| one.1.is_none()).map(|one| one.0).collect();
    assert_eq!(spending["unpriced"], json!(unpriced));
    let expected: Option<f64> = messages.iter().map(|(message, tokens)| usd(model(message), *tokens)).sum();
    let expected = expected.filter(|_| !messages.is_empty());
    assert!(near(spending["cost"].as_f64(), expected), "{spending} {expected:?}");
    let known = |of: &[Value]| of.iter().filter_map(|one| one["cost"].as_f64()).sum::<f64>();
    if expected.is_some() {
        assert!(near(Some(known(&agents)), expected), "{spending}");
    }
    // The last point of the curve has the sums.
    if let Some(end) = list("curve").last() {
        let [input, output, _, write, _] = total;
        assert_eq!(end["tokens"].as_u64(), Some(input + output + write), "{spending}");
        assert!(near(end["cost"].as_f64(), expected), "{spending}");
    }
    // Without a price, the tokens of a task are shown. Those read from the cache are not among them.
    let text = sandbox.printed(&["report", "--full"]).replace(',', "");
    for task in tasks.iter().filter(|task| task["cost"].is_null()) {
        let [input, output, _, write, _] = tokens(&task["tokens"]);
        assert!(text.contains(&format!("{} tokens", input + output + write)), "{task}: {text}");
    }

    let within = |part: Tokens, whole: Tokens| part.iter().zip(whole).all(|(part, whole)| *part <= whole);
    assert!(within(sum(&tasks), total) && counted(&tasks) <= counted(&agents), "{spending}");
    for (id, name) in TASKS.iter().enumerate() {
        let Some(task) = tasks.iter().find(|task| task["task"] == **name) else { continue };
        let owners = case.steps.iter().filter(|(task, status, _)| (*task, *status) == (id, 1));
        let owners: BTreeSet<&str> = owners.filter_map(|(_, _, owner)| Some(AGENTS[(*owner)?])).collect();
        let own: Vec<Value> = agents
            .iter()
            .filter(|agent| owners.contains(agent["agent"].as_str().unwrap()))
            .cloned()
            .collect();
        assert!(within(tokens(&task["tokens"]), sum(&own)), "task {name} {owners:?}: {spending}");
        assert!(task["cost"].as_f64().is_none_or(|cost| cost <= known(&own) + 1e-9) || expected.is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn cost_of_a_run_is_the_sum_of_its_messages_and_of_its_agents_and_at_least_that_of_its_tasks(case in cases()) {
        check(&case);
    }
}
