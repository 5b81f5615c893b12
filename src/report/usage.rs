//! Token usage, counting each message of the model once, its cost at the user's prices, and tool calls.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use crate::timeline::Cost;
use teamkeep_core::client::payload::Kind as Event;
use teamkeep_core::client::team::Tokens;
use teamkeep_core::config::{Price, pattern};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenUsage {
    pub agents: Vec<ModelUsage>,
    pub unknown: Vec<String>,
    pub total: Option<Tokens>,
    /// The total cost; `None` unless every model has a price.
    pub cost: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelUsage {
    pub agent: String,
    pub messages: usize,
    pub models: Vec<String>,
    pub tokens: Tokens,
    /// The cost; `None` unless each of the models has a price.
    pub cost: Option<f64>,
}

/// Adds up the usage. The first price whose glob matches the model counts.
pub fn spending(case: &ReportInput<'_>, prices: &[Price]) -> TokenUsage {
    let transcripts = &case.data.transcripts;
    let mut spent: BTreeMap<&str, ModelUsage> = BTreeMap::new();
    for transcript in &transcripts.all {
        let none = ModelUsage {
            agent: transcript.by.clone(),
            messages: 0,
            models: Vec::new(),
            tokens: Tokens::default(),
            cost: Some(0.0),
        };
        spent.entry(&transcript.by).or_insert(none);
    }
    for cost in transcripts.costs.values() {
        let Some(spent) = spent.get_mut(cost.by.as_str()) else { continue };
        spent.messages += 1;
        spent.tokens += cost.tokens;
        let model = cost.model.as_deref().unwrap_or("unknown");
        if !spent.models.iter().any(|known| known == model) {
            spent.models.push(model.to_owned());
        }
        spent.cost = spent.cost.zip(self::cost(prices, cost)).map(|(sum, cost)| sum + cost);
    }
    let mut agents: Vec<ModelUsage> = spent.into_values().collect();
    for spent in &mut agents {
        spent.models.sort();
        spent.cost = spent.cost.filter(|_| !prices.is_empty());
    }
    agents.sort_by_key(|spent| std::cmp::Reverse(spent.tokens.input + spent.tokens.output));
    let mut total = Tokens::default();
    agents.iter().for_each(|spent| total += spent.tokens);
    let is_unknown = |name: &&str| !case.has_transcript(name);
    TokenUsage {
        total: (!agents.is_empty()).then_some(total),
        cost: agents.iter().map(|spent| spent.cost).sum::<Option<f64>>().filter(|_| !agents.is_empty()),
        unknown: [case.lead]
            .into_iter()
            .chain(case.teammates())
            .filter(is_unknown)
            .map(str::to_owned)
            .collect(),
        agents,
    }
}

/// The price of one message of the model; `None` if its model has no price.
pub fn cost(prices: &[Price], cost: &Cost) -> Option<f64> {
    let model = cost.model.as_deref().unwrap_or("unknown");
    let price = prices.iter().find(|price| pattern::matches(&price.model, model));
    price.map(|price| at(price, &cost.tokens))
}

fn at(price: &Price, tokens: &Tokens) -> f64 {
    let part = |tokens: u64, price: u64| tokens as f64 * price as f64 / 1e12;
    part(tokens.input, price.input)
        + part(tokens.output, price.output)
        + part(tokens.cache_read, price.cache_read)
        + part(tokens.cache_write, price.cache_write)
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tools {
    pub by_agent: Vec<ToolUser>,
    pub total: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUser {
    pub agent: String,
    pub tools: BTreeMap<String, usize>,
    /// Number of failed or denied calls; `None` without a transcript.
    pub failed: Option<usize>,
    /// Whether these are all calls, from a transcript; otherwise they are those with a hook call.
    pub complete: bool,
}

pub fn tools(case: &ReportInput<'_>) -> Tools {
    let transcripts = &case.data.transcripts;
    let mut users: BTreeMap<&str, (BTreeMap<String, usize>, usize)> = BTreeMap::new();
    let mut total: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |who, tool: &str, failed: bool| {
        let (tools, failures) = users.entry(who).or_default();
        *tools.entry(tool.to_owned()).or_default() += 1;
        *failures += usize::from(failed);
        *total.entry(tool.to_owned()).or_default() += 1;
    };
    for used in transcripts.uses.values() {
        count(&used.by, &used.tool, used.failure().is_some());
    }
    let mut known: HashSet<&str> = transcripts.uses.keys().map(String::as_str).collect();
    for event in &case.data.events {
        let (Event::PreToolUse | Event::PostToolUse, Some(tool)) = (event.kind, event.payload.tool_name())
        else {
            continue;
        };
        // A call without an id is counted at its PreToolUse.
        let new = match event.payload.tool_use_id() {
            Some(id) => known.insert(id),
            None => event.kind == Event::PreToolUse,
        };
        if new {
            count(event.shown(&case.data.run), tool, false);
        }
    }
    let mut by_agent: Vec<ToolUser> = users
        .into_iter()
        .map(|(agent, (tools, failed))| {
            let complete = case.has_transcript(agent);
            ToolUser { agent: agent.to_owned(), tools, failed: complete.then_some(failed), complete }
        })
        .collect();
    by_agent.sort_by_key(|user| std::cmp::Reverse(user.tools.values().sum::<usize>()));
    Tools { by_agent, total }
}
