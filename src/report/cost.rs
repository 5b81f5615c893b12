//! Token usage, counting each message of the model once, and its cost at the user's prices.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::input::ReportInput;
use crate::config::{Price, pattern};
use crate::team::Tokens;

/// Token usage of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// By agent, for agents with a recorded transcript.
    pub agents: Vec<ModelUsage>,
    /// All other agents: their usage is unknown.
    pub unknown: Vec<String>,
    /// The sum; `None` without any transcript.
    pub total: Option<Tokens>,
    /// The total cost; `None` unless every model has a price.
    pub cost: Option<f64>,
}

/// Token usage of one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// The agent.
    pub agent: String,
    /// Number of messages of the model.
    pub messages: usize,
    /// The models.
    pub models: Vec<String>,
    /// The tokens.
    pub tokens: Tokens,
    /// The cost; `None` unless each of the models has a price.
    pub cost: Option<f64>,
}

/// Adds up the usage. The first price whose glob matches the model counts.
pub fn spending(case: &ReportInput<'_>, prices: &[Price]) -> TokenUsage {
    let transcripts = &case.material.transcripts;
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
        let price = prices.iter().find(|price| pattern::matches(&price.model, model));
        spent.cost = spent.cost.zip(price).map(|(sum, price)| sum + at(price, &cost.tokens));
    }
    let mut agents: Vec<ModelUsage> = spent.into_values().collect();
    for spent in &mut agents {
        spent.models.sort();
        spent.cost = spent.cost.filter(|_| !prices.is_empty());
    }
    agents.sort_by_key(|spent| std::cmp::Reverse(spent.tokens.input + spent.tokens.output));
    let mut total = Tokens::default();
    agents.iter().for_each(|spent| total += spent.tokens);
    let heard = |name: &&str| !case.is_heard(name);
    TokenUsage {
        total: (!agents.is_empty()).then_some(total),
        cost: agents.iter().map(|spent| spent.cost).sum::<Option<f64>>().filter(|_| !agents.is_empty()),
        unknown: [case.lead].into_iter().chain(case.teammates()).filter(heard).map(str::to_owned).collect(),
        agents,
    }
}

/// The cost of these tokens.
fn at(price: &Price, tokens: &Tokens) -> f64 {
    let part = |tokens: u64, price: u64| tokens as f64 * price as f64 / 1e12;
    part(tokens.input, price.input)
        + part(tokens.output, price.output)
        + part(tokens.cache_read, price.cache_read)
        + part(tokens.cache_write, price.cache_write)
}
