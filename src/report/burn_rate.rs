//! The rate at which a run spends tokens and money.

use chrono::TimeDelta;

use crate::timeline::{RunData, Timeline};
use teamkeep_core::config::Price;
use teamkeep_core::spending::PriceList;
use teamkeep_core::sys::clock::Timestamp;

/// The time over which the rate is averaged, in minutes.
const WINDOW: i64 = 10;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurnRate {
    /// Tokens an hour, without those read from the cache.
    pub tokens: u64,
    /// US dollars an hour; `None` if a model has no price.
    pub usd: Option<f64>,
}

impl BurnRate {
    /// The rate over the ten minutes before that moment; `None` if no transcript has a message of the model then.
    pub fn at(data: &RunData, timeline: &Timeline, prices: &[Price], at: Timestamp) -> Option<BurnRate> {
        let from = at.checked_sub(TimeDelta::minutes(WINDOW))?;
        let is_recent = |sent: Timestamp| from < sent && sent <= at;
        let sent_at = |sent: Option<Timestamp>| sent.map(|sent| timeline.when.to_local(sent));
        let costs = data.transcripts.costs.values();
        let mut recent = costs.filter(|cost| sent_at(cost.message.at).is_some_and(is_recent)).peekable();
        recent.peek()?;
        let mut prices = PriceList::of(prices);
        let (mut tokens, mut usd) = (0_u64, Some(0.0));
        for cost in recent {
            tokens = tokens.saturating_add(cost.message.tokens.new_tokens());
            usd = usd.zip(prices.cost(&cost.message)).map(|(sum, one)| sum + one);
        }
        let an_hour = (60 / WINDOW) as u64;
        Some(BurnRate { tokens: tokens.saturating_mul(an_hour), usd: usd.map(|usd| usd * an_hour as f64) })
    }
}
