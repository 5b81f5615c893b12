//! Tokens, each message of the model counted once, and what they cost at the user's prices.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::case::Case;
use crate::team::Tokens;

/// What a model's tokens cost, in the user's currency for a million of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// The models that it is for, as a glob.
    pub model: glob::Pattern,
    /// Tokens that the model reads.
    pub input: f64,
    /// Tokens that the model writes.
    pub output: f64,
    /// Tokens from the cache.
    pub cache_read: f64,
    /// Tokens into the cache.
    pub cache_write: f64,
}

/// What the messages of the model took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    /// By agent; those of whom a transcript is on record.
    pub agents: Vec<Spent>,
    /// Everybody else: what they took is not known.
    pub unknown: Vec<String>,
    /// All that is known; `None` without any transcript.
    pub total: Option<Tokens>,
    /// What that costs; `None` unless there is a price for every model.
    pub cost: Option<f64>,
}

/// What one agent's messages took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Whose.
    pub agent: String,
    /// How many messages of the model.
    pub messages: usize,
    /// The models.
    pub models: Vec<String>,
    /// The tokens.
    pub tokens: Tokens,
    /// What they cost; `None` without a price for each of the models.
    pub cost: Option<f64>,
}

/// Adds it up. The first price whose glob is the model's counts.
pub fn spending(case: &Case<'_>, prices: &[Price]) -> Spending {
    let voices = &case.material.voices;
    let mut spent: BTreeMap<&str, Spent> = BTreeMap::new();
    for voice in &voices.all {
        let none = Spent {
            agent: voice.by.clone(),
            messages: 0,
            models: Vec::new(),
            tokens: Tokens::default(),
            cost: Some(0.0),
        };
        spent.entry(&voice.by).or_insert(none);
    }
    for cost in voices.costs.values() {
        let Some(spent) = spent.get_mut(cost.by.as_str()) else { continue };
        spent.messages += 1;
        spent.tokens += cost.tokens;
        let model = cost.model.as_deref().unwrap_or("unknown");
        if !spent.models.iter().any(|known| known == model) {
            spent.models.push(model.to_owned());
        }
        let price = prices.iter().find(|price| price.model.matches(model));
        spent.cost = spent.cost.zip(price).map(|(sum, price)| sum + price.of(&cost.tokens));
    }
    let mut agents: Vec<Spent> = spent.into_values().collect();
    for spent in &mut agents {
        spent.models.sort();
        spent.cost = spent.cost.filter(|_| !prices.is_empty());
    }
    agents.sort_by_key(|spent| std::cmp::Reverse(spent.tokens.input + spent.tokens.output));
    let mut total = Tokens::default();
    agents.iter().for_each(|spent| total += spent.tokens);
    let heard = |name: &&str| !case.is_heard(name);
    Spending {
        total: (!agents.is_empty()).then_some(total),
        cost: agents.iter().map(|spent| spent.cost).sum::<Option<f64>>().filter(|_| !agents.is_empty()),
        unknown: [case.lead].into_iter().chain(case.teammates()).filter(heard).map(str::to_owned).collect(),
        agents,
    }
}

impl Price {
    /// What these tokens cost.
    pub fn of(&self, tokens: &Tokens) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        part(tokens.input, self.input)
            + part(tokens.output, self.output)
            + part(tokens.cache_read, self.cache_read)
            + part(tokens.cache_write, self.cache_write)
    }
}
