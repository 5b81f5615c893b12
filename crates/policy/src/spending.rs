//! The price of the model's messages, and their sums. The report and the budgets count and price them in the same way.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use teamkeep_config::{Price, pattern};
use teamkeep_model::team::{MessageUsage, Terms, Tokens};
use teamkeep_model::time::{HOUR, Timestamp};

// The ids of models, as Anthropic's API, other platforms and gateways write them.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Suffix {
    Fast,
    Other,
}

/// The suffix after a model's name in its id: `-20251101`, `@20251101`, `[1m]`, `-v1:0`. `None` if the id has another name.
pub(crate) fn suffix_after(id: &str, name: &str) -> Option<Suffix> {
    let (_, own) = id.rsplit_once("claude-")?;
    // Gateways write `claude-opus-4.6`.
    let own = own.replace('.', "-");
    let rest = own.strip_prefix(name)?;
    if !rest.is_empty() && !rest.starts_with(['-', '@', '[', ':']) {
        return None;
    }
    let mut parts = rest.split(['-', '@', '[', ']', ':']);
    let is_known = |part: &str| {
        let version = part.strip_prefix('v').unwrap_or(part);
        let is_number = version.bytes().all(|digit| digit.is_ascii_digit());
        let digits = if version.len() < part.len() { 1..=2 } else { DATE_DIGITS..=DATE_DIGITS };
        is_number && digits.contains(&version.len()) || KNOWN_SUFFIXES.contains(&part)
    };
    let known = parts.clone().all(is_known);
    let fast = parts.any(|part| part == "fast");
    known.then_some(if fast { Suffix::Fast } else { Suffix::Other })
}

/// The digits of a date in a model's id. Fewer are a version.
const DATE_DIGITS: usize = 8;

/// `0` is the number of the first version, as in `claude-opus-4-0` and `-v1:0`.
const KNOWN_SUFFIXES: [&str; 7] = ["", "0", "1m", "default", "fast", "latest", "thinking"];

// The price of the model's messages in US dollars: from the user's configuration, else from the table in this file.
//
// Source of the table: Anthropic's public price page, <https://platform.claude.com/docs/en/about-claude/pricing>, as of
// 2026-10-24. Fable 5.2 and Mythos 5.2 are newer; they have the prices by which Claude Code 2.1.330 counts. It has the same
// prices for all models that it still sends. Batches and server tools other than web search have other prices.

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

#[derive(Debug)]
struct Row {
    /// The model: an id without `claude-` and date.
    model: &'static str,
    rates: Rates,
    /// The rates of a message whose prompt has more tokens than this, cached ones included.
    long: Option<(u64, Rates)>,
    /// Earlier cache reads: their price before this day.
    before: Option<(&'static str, f64)>,
    /// The factor of all rates in fast mode, if the model has it.
    fast: Option<f64>,
}

const fn row(model: &'static str, rates: Rates) -> Row {
    Row { model, rates, long: None, before: None, fast: None }
}

const fn row_with_fast_mode(model: &'static str, rates: Rates, factor: f64) -> Row {
    Row { fast: Some(factor), ..row(model, rates) }
}

const TABLE: &[Row] = &[
    row_with_fast_mode("fable-5-2", rates(8.0, 40.0, 0.20), 2.0),
    row_with_fast_mode("mythos-5-2", rates(8.0, 40.0, 0.20), 2.0),
    row("fable-5-1", rates(10.0, 50.0, 0.25)),
    row("mythos-5-1", rates(10.0, 50.0, 0.25)),
    row("fable-5", rates(10.0, 50.0, 1.0)),
    row("mythos-5", rates(10.0, 50.0, 1.0)),
    row_with_fast_mode("opus-5-5", rates(4.0, 20.0, 0.20), 2.0),
    row_with_fast_mode("opus-5", rates(5.0, 25.0, 0.50), 2.0),
    row_with_fast_mode("opus-4-8", rates(5.0, 25.0, 0.50), 2.0),
    row_with_fast_mode("opus-4-7", rates(5.0, 25.0, 0.50), 6.0),
    row_with_fast_mode("opus-4-6", rates(5.0, 25.0, 0.50), 6.0),
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

/// The factor of the tokens' price if the model runs in the US only.
const US_ONLY_FACTOR: f64 = 1.1;
/// US dollars for a web search.
const WEB_SEARCH: f64 = 0.01;

/// The user's prices and the table. The price of each model is looked up once.
#[derive(Debug)]
pub struct PriceList<'a> {
    own: &'a [Price],
    known: HashMap<String, Option<ModelPrice<'a>>>,
}

/// Where the price of a model is.
#[derive(Debug, Clone, Copy)]
enum ModelPrice<'a> {
    Own(&'a Price),
    Listed(&'static Row, Suffix),
}

impl<'a> PriceList<'a> {
    pub fn of(own: &'a [Price]) -> PriceList<'a> {
        PriceList { own, known: HashMap::new() }
    }

    /// The price of one message of the model; `None` if its model has none. The first of the user's prices that matches the
    /// model counts, else the table.
    pub fn cost(&mut self, message: &MessageUsage) -> Option<f64> {
        let model = message.model.as_str();
        if !self.known.contains_key(model) {
            self.known.insert(model.to_owned(), ModelPrice::find(self.own, model));
        }
        self.known.get(model).copied().flatten()?.price(message)
    }
}

impl<'a> ModelPrice<'a> {
    fn find(own: &'a [Price], model: &str) -> Option<ModelPrice<'a>> {
        let own = own.iter().find(|price| pattern::matches(&price.model, model)).map(ModelPrice::Own);
        let listed = || TABLE.iter().find_map(|row| Some((row, suffix_after(model, row.model)?)));
        own.or_else(|| listed().map(|(row, suffix)| ModelPrice::Listed(row, suffix)))
    }

    fn price(self, message: &MessageUsage) -> Option<f64> {
        let (row, suffix) = match self {
            ModelPrice::Own(own) => return Some(Rates::of(own).price(&message.tokens)),
            ModelPrice::Listed(row, suffix) => (row, suffix),
        };
        let Terms { fast, us_only, web_searches } = message.terms;
        let fast = if fast || suffix == Suffix::Fast { row.fast? } else { 1.0 };
        let region = if us_only { US_ONLY_FACTOR } else { 1.0 };
        Some(row.rates(message).price(&message.tokens) * fast * region + web_searches as f64 * WEB_SEARCH)
    }
}

impl Row {
    fn rates(&self, MessageUsage { at, tokens, .. }: &MessageUsage) -> Rates {
        let prompt = tokens.input.saturating_add(tokens.cache_read).saturating_add(tokens.cache_write);
        let long = self.long.filter(|(limit, _)| prompt > *limit);
        let rates = long.map_or(self.rates, |(_, rates)| rates);
        let day = at.map(|at| at.date().to_string());
        let earlier = self.before.filter(|(until, _)| day.is_some_and(|day| day.as_str() < *until));
        earlier.map_or(rates, |(_, cache_read)| Rates { cache_read, ..rates })
    }
}

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

// Sums of messages.

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

#[cfg(test)]
mod tests {
    use super::*;

    use teamkeep_model::time;

    fn message(model: &str, at: &str, tokens: Tokens) -> MessageUsage {
        let (id, model) = ("m".to_owned(), model.to_owned());
        MessageUsage { id, at: time::parse(at), model, tokens, terms: Terms::default() }
    }

    fn cost(own: &[Price], message: &MessageUsage) -> Option<f64> {
        PriceList::of(own).cost(message)
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
            ("claude-fable-5-2", 48.0),
            ("claude-opus-4-0", 90.0),
            ("anthropic/claude-opus-4.6", 30.0),
            ("anthropic/claude-opus-4.6-fast", 180.0),
            ("claude-opus-4-6@default", 30.0),
            ("us.anthropic.claude-opus-4-6-v1", 30.0),
            ("arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-opus-4-20250514-v1:0", 90.0),
        ] {
            assert_eq!(price(id), Some(usd), "{id}");
        }
        let unknown =
            ["claude-opus-4-9", "claude-opus-4.9", "claude-opus-51", "claude-opus-5x", "claude-opus-6"];
        for id in unknown.into_iter().chain([
            "claude-haiku-5-5-lite",
            "claude-sonnet-5-fast",
            "gpt-6",
            "opus-5",
            "claude-",
        ]) {
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

    /// The costs are those of Claude Code 2.1.330 for the same usage.
    #[test]
    fn fast_mode_region_and_web_searches_have_the_cost_that_claude_code_counts() {
        let tokens =
            Tokens { input: 1_000, output: 500, cache_read: 300, cache_write: 200, cache_write_1h: 0 };
        let usd = |model, terms| {
            let usd = cost(&[], &MessageUsage { terms, ..message(model, NOW, tokens) });
            usd.map(|usd| (usd * 1e7).round() / 1e7)
        };
        let (fast, us) =
            (Terms { fast: true, ..Terms::default() }, Terms { us_only: true, ..Terms::default() });
        assert_eq!(usd("claude-opus-5", Terms::default()), Some(0.0189));
        assert_eq!(usd("claude-opus-5", fast), Some(0.0378));
        assert_eq!(usd("claude-opus-4-6", fast), Some(0.1134));
        assert_eq!(usd("claude-opus-5-5", fast), Some(0.03012));
        assert_eq!(usd("claude-fable-5-2", fast), Some(0.06012));
        assert_eq!(usd("claude-sonnet-5-5", fast), None);
        assert_eq!(usd("claude-haiku-5-5", us), Some(0.0004158));
        assert_eq!(usd("claude-opus-5", Terms { fast: true, ..us }), Some(0.04158));
        assert_eq!(usd("claude-opus-5", Terms { web_searches: 1, ..us }), Some(0.03079));
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
