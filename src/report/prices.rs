//! The price of the model's messages in US dollars: from the user's configuration, else from the table in this file.
//!
//! Source of the table: Anthropic's public price page, <https://platform.claude.com/docs/en/about-claude/pricing>, as of
//! 2026-10-24. Fast mode, batches, US-only inference and server tools have other prices; they are not in the table.

use crate::timeline::Cost;
use teamkeep_core::client::team::Tokens;
use teamkeep_core::config::{Price, pattern};
use teamkeep_core::sys::clock::Timestamp;

/// The date of the table.
pub const AS_OF: &str = "2026-10-24";

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rates {
    input: f64,
    output: f64,
    cache_read: f64,
    /// A write to the cache for five minutes.
    cache_write: f64,
    /// A write to the cache for an hour.
    cache_write_1h: f64,
}

/// On the price page, a write to the cache costs 1.25 times the input, and twice the input for an hour.
const fn rates(input: f64, output: f64, cache_read: f64) -> Rates {
    Rates { input, output, cache_read, cache_write: input * 1.25, cache_write_1h: input * 2.0 }
}

struct Row {
    /// The model: an id without `claude-` and date.
    model: &'static str,
    rates: Rates,
    /// The rates of a message whose prompt has more tokens than this, cached ones included.
    long: Option<(u64, Rates)>,
    /// Earlier cache reads: their price before this day.
    before: Option<(&'static str, f64)>,
}

const fn row(model: &'static str, rates: Rates) -> Row {
    Row { model, rates, long: None, before: None }
}

const TABLE: &[Row] = &[
    row("fable-5-1", rates(10.0, 50.0, 0.25)),
    row("mythos-5-1", rates(10.0, 50.0, 0.25)),
    row("fable-5", rates(10.0, 50.0, 1.0)),
    row("mythos-5", rates(10.0, 50.0, 1.0)),
    row("opus-5-5", rates(4.0, 20.0, 0.20)),
    row("opus-5", rates(5.0, 25.0, 0.50)),
    row("opus-4-8", rates(5.0, 25.0, 0.50)),
    row("opus-4-7", rates(5.0, 25.0, 0.50)),
    row("opus-4-6", rates(5.0, 25.0, 0.50)),
    row("opus-4-5", rates(5.0, 25.0, 0.50)),
    row("opus-4-1", rates(15.0, 75.0, 1.50)),
    row("opus-4", rates(15.0, 75.0, 1.50)),
    Row { before: Some(("2026-10-07", 0.20)), ..row("sonnet-5-5", rates(2.0, 10.0, 0.10)) },
    row("sonnet-5", rates(2.0, 10.0, 0.20)),
    row("sonnet-4-6", rates(3.0, 15.0, 0.30)),
    Row { long: Some((200_000, rates(6.0, 22.5, 0.60))), ..row("sonnet-4-5", rates(3.0, 15.0, 0.30)) },
    Row { long: Some((200_000, rates(6.0, 22.5, 0.60))), ..row("sonnet-4", rates(3.0, 15.0, 0.30)) },
    Row { long: Some((100_000, rates(0.50, 2.50, 0.05))), ..row("haiku-5-5", rates(0.10, 0.50, 0.01)) },
    row("haiku-4-5", rates(1.0, 5.0, 0.10)),
];

/// The price of one message of the model; `None` if its model has none. The first of the user's prices that matches the
/// model counts, else the table.
pub fn cost(prices: &[Price], cost: &Cost) -> Option<f64> {
    let model = cost.model.as_deref()?;
    let own = prices.iter().find(|price| pattern::matches(&price.model, model));
    let rates = own.map(Rates::of).or_else(|| in_table(model, cost.at, &cost.tokens))?;
    Some(rates.price(&cost.tokens))
}

fn in_table(model: &str, at: Option<Timestamp>, tokens: &Tokens) -> Option<Rates> {
    let (_, name) = model.rsplit_once("claude-")?;
    let row = TABLE.iter().find(|row| name.strip_prefix(row.model).is_some_and(ends_model))?;
    let prompt = tokens.input + tokens.cache_read + tokens.cache_write;
    let long = row.long.filter(|(limit, _)| prompt > *limit);
    let rates = long.map_or(row.rates, |(_, rates)| rates);
    let day = at.map(|at| at.date().to_string());
    let earlier = row.before.filter(|(until, _)| day.is_some_and(|day| day.as_str() < *until));
    Some(earlier.map_or(rates, |(_, cache_read)| Rates { cache_read, ..rates }))
}

/// Whether the rest of an id after a model's name is not part of a longer name: `-20251101`, `@20251101`, `[1m]`, `-v1:0`.
fn ends_model(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix('-') else {
        return !rest.starts_with(|next: char| next.is_ascii_alphanumeric());
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    digits == 0 || digits >= DATE_DIGITS
}

/// The digits of a date in a model's id. Fewer are a version.
const DATE_DIGITS: usize = 8;

impl Rates {
    /// The user's price, which does not distinguish writes to the cache.
    fn of(price: &Price) -> Rates {
        let usd = |millionths: u64| millionths as f64 / 1e6;
        Rates {
            input: usd(price.input),
            output: usd(price.output),
            cache_read: usd(price.cache_read),
            cache_write: usd(price.cache_write),
            cache_write_1h: usd(price.cache_write),
        }
    }

    fn price(&self, tokens: &Tokens) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        let hour = tokens.cache_write_1h.min(tokens.cache_write);
        part(tokens.input, self.input)
            + part(tokens.output, self.output)
            + part(tokens.cache_read, self.cache_read)
            + part(tokens.cache_write - hour, self.cache_write)
            + part(hour, self.cache_write_1h)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_core::sys::clock;

    fn message(model: &str, at: &str, tokens: Tokens) -> Cost {
        let (by, agent) = (String::new(), String::new());
        Cost { by, agent, at: clock::parse(at), model: Some(model.to_owned()), tokens }
    }

    const NOW: &str = "2026-11-01T00:00:00Z";
    const MILLION: Tokens =
        Tokens { input: 1_000_000, output: 1_000_000, cache_read: 0, cache_write: 0, cache_write_1h: 0 };

    fn price(model: &str) -> Option<f64> {
        cost(&[], &message(model, NOW, Tokens { input: 1_000, output: 1_000, ..MILLION }))
            .map(|usd| (usd * 1e5).round() / 1e2)
    }

    #[test]
    fn ids_of_every_platform_have_the_price_of_their_model_and_unknown_models_have_none() {
        for (id, usd) in [
            ("claude-opus-4-5-20251101", 30.0),
            ("claude-opus-4-20250514", 90.0),
            ("claude-sonnet-4-5@20250929", 18.0),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 18.0),
            ("claude-opus-5-5[1m]", 24.0),
            ("claude-opus-5", 30.0),
            ("claude-haiku-4-5", 6.0),
        ] {
            assert_eq!(price(id), Some(usd), "{id}");
        }
        for id in ["claude-opus-4-9", "claude-opus-51", "claude-opus-6", "gpt-6", "opus-5", "claude-"] {
            assert_eq!(price(id), None, "{id}");
        }
    }

    #[test]
    fn length_of_the_prompt_date_and_kind_of_cache_write_count() {
        let usd = |model, at, tokens| (cost(&[], &message(model, at, tokens)).unwrap() * 1e4).round() / 1e4;
        let read = |cache_read| Tokens { cache_read, ..Tokens::default() };
        assert_eq!(usd("claude-haiku-5-5", NOW, read(100_000)), 0.001);
        assert_eq!(usd("claude-haiku-5-5", NOW, read(200_000)), 0.01);
        assert_eq!(usd("claude-sonnet-5-5", NOW, read(1_000_000)), 0.1);
        assert_eq!(usd("claude-sonnet-5-5", "2026-10-06T23:59:59Z", read(1_000_000)), 0.2);
        let write = Tokens { cache_write: 1_000_000, cache_write_1h: 400_000, ..Tokens::default() };
        assert_eq!(usd("claude-opus-5", NOW, write), 0.6 * 6.25 + 0.4 * 10.0);
    }

    #[test]
    fn price_of_the_user_comes_first() {
        let own = Price {
            model: "claude-opus-*".to_owned(),
            input: 1_000_000,
            output: 0,
            cache_read: 0,
            cache_write: 0,
        };
        assert_eq!(cost(&[own], &message("claude-opus-5", NOW, MILLION)), Some(1.0));
    }
}
