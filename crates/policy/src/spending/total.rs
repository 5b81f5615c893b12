//! Sums of messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use teamkeep_model::team::Tokens;
use teamkeep_model::time::HOUR;
use teamkeep_model::time::Timestamp;

/// A message with its price.
#[derive(Debug, Clone, PartialEq)]
pub struct PricedMessage {
    /// The name of its agent.
    pub by: Arc<str>,
    /// The id of the task that its agent had in progress.
    pub task: Option<Arc<str>>,
    /// Milliseconds since 1970.
    pub at: Option<i64>,
    pub tokens: Tokens,
    /// US dollars; `None` if its model has no price.
    pub usd: Option<f64>,
}

/// The messages of a run up to a moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spending {
    pub messages: Vec<PricedMessage>,
    /// The bytes of transcripts that are not read yet.
    pub unread: u64,
}

/// A sum of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Total {
    pub messages: usize,
    pub tokens: Tokens,
    /// The cost of the messages that have a price, in US dollars.
    pub usd: f64,
    /// Number of messages whose model has no price.
    pub unpriced: usize,
}

impl Total {
    /// The sum of messages, each with its tokens and its price.
    pub fn of(messages: impl IntoIterator<Item = (Tokens, Option<f64>)>) -> Total {
        let mut total = Total::default();
        messages.into_iter().for_each(|(tokens, usd)| total.add(tokens, usd));
        total
    }

    fn add(&mut self, tokens: Tokens, usd: Option<f64>) {
        self.messages += 1;
        self.tokens += tokens;
        match usd {
            Some(usd) => self.usd += usd,
            None => self.unpriced += 1,
        }
    }

    pub fn plus(mut self, other: &Total) -> Total {
        self.tokens += other.tokens;
        Total {
            messages: self.messages + other.messages,
            tokens: self.tokens,
            usd: self.usd + other.usd,
            unpriced: self.unpriced + other.unpriced,
        }
    }

    /// The cost in US dollars; `None` if a message has no price.
    pub fn cost(&self) -> Option<f64> {
        (self.unpriced == 0).then_some(self.usd)
    }
}

impl Spending {
    /// The total of each agent.
    pub fn by_agent(&self) -> BTreeMap<&str, Total> {
        totals(self.messages.iter())
    }

    /// The total of each agent in the hour before a moment. After the clock was set back, messages can be later than now. They
    /// count for an hour, too.
    pub(crate) fn of_last_hour(&self, now: Timestamp) -> BTreeMap<&str, Total> {
        let is_recent = |at: i64| u128::from(now.millis().abs_diff(at)) < HOUR.as_millis();
        totals(self.messages.iter().filter(|message| message.at.is_some_and(is_recent)))
    }

    /// The total of each agent in each task.
    pub fn by_task(&self) -> BTreeMap<&str, BTreeMap<&str, Total>> {
        let mut tasks: BTreeMap<&str, BTreeMap<&str, Total>> = BTreeMap::new();
        for message in &self.messages {
            if let Some(task) = &message.task {
                tasks
                    .entry(task)
                    .or_default()
                    .entry(&message.by)
                    .or_default()
                    .add(message.tokens, message.usd);
            }
        }
        tasks
    }

    /// The time of the last message.
    pub fn last(&self) -> Option<Timestamp> {
        self.messages.iter().filter_map(|message| message.at).max().and_then(Timestamp::from_millis)
    }
}

fn totals<'a>(messages: impl Iterator<Item = &'a PricedMessage>) -> BTreeMap<&'a str, Total> {
    let mut totals: BTreeMap<&str, Total> = BTreeMap::new();
    messages.for_each(|message| totals.entry(&message.by).or_default().add(message.tokens, message.usd));
    totals
}
