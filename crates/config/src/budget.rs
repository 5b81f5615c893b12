//! The limits of `[policy.budget]`.

use serde::{Deserialize, Deserializer};

use super::Mode;
use super::parse_value::parse_percent;
use super::settings::Entry;

section! {
    pub struct Budget {
        pub mode: Mode = Mode::Block,
        pub limit: Vec<Limit> = Vec::new(),
    }
}

/// A limit, in tokens or in US dollars.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    pub per: LimitScope,
    /// 0 means that the limit is in US dollars.
    #[serde(default)]
    pub tokens: u32,
    /// Millionths of a US dollar.
    #[serde(default, deserialize_with = "super::model::millionths")]
    pub usd: u64,
    /// The part of the limit from which the lead is warned.
    #[serde(default = "eighty", deserialize_with = "percent")]
    pub warn_at: Option<u32>,
    /// The part of the limit from which new work is blocked.
    #[serde(default, deserialize_with = "percent")]
    pub block_at: Option<u32>,
}

teamkeep_model::named_enum! {
    /// The agents that a limit counts.
    pub enum LimitScope {
        /// All agents of the run.
        Run = "run",
        /// Each agent.
        Agent = "agent",
        /// Each task: its owner while the task is in progress.
        Task = "task",
        /// All agents of the run in the last hour.
        Hour = "hour",
    }
}

impl Budget {
    /// Whether there is a limit in force.
    pub fn is_on(&self) -> bool {
        self.mode != Mode::Off && !self.limit.is_empty()
    }

    /// Whether a limit in force is per task.
    pub fn counts_tasks(&self) -> bool {
        self.is_on() && self.limit.iter().any(|limit| limit.per == LimitScope::Task)
    }
}

fn eighty() -> Option<u32> {
    Some(80)
}

fn percent<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let text = String::deserialize(from)?;
    parse_percent(&text).ok_or_else(|| serde::de::Error::custom(format!("invalid percentage {text:?}")))
}

/// A problem of the keys of a limit together: the key, the message and a hint.
pub(super) type LimitProblem<'a> = (&'a Entry, String, &'static str);

/// Finds the contradictions between the keys of a limit. `entries` are those that are set.
pub(super) fn limit_problems<'a>(entries: &[&'a Entry]) -> Vec<LimitProblem<'a>> {
    let get = |name: &str| entries.iter().copied().find(|entry| entry.path.ends_with(&format!("].{name}")));
    let is_set = |entry: &&Entry| entry.value.as_f64().is_some_and(|number| number > 0.0);
    let [tokens, usd] = ["tokens", "usd"].map(get);
    let hint = "set either `tokens` or `usd`, to more than 0";
    let amount = match (tokens.filter(is_set), usd.filter(is_set)) {
        (Some(_), Some(usd)) => Some((usd, "the limit has both `tokens` and `usd`".to_owned(), hint)),
        (None, None) => {
            let place = tokens.or(usd).or_else(|| get("per")).or_else(|| entries.first().copied());
            place.map(|place| (place, "the limit has no amount".to_owned(), hint))
        }
        _ => None,
    };
    let part = |name: &str| get(name).and_then(|entry| parse_percent(entry.value.as_str()?));
    let place = get("warn-at").or_else(|| get("block-at"));
    let parts =
        place.and_then(|place| match (part("warn-at").unwrap_or(eighty()), part("block-at").flatten()) {
            (None, None) => {
                let hint = "set `warn-at = \"80%\"`, `block-at = \"100%\"`, or both";
                Some((place, "the limit neither warns nor blocks".to_owned(), hint))
            }
            (Some(warn), Some(block)) if warn > block => {
                let hint = "the warning must come first; to have none, set `warn-at = \"never\"`";
                Some((place, format!("`warn-at` ({warn}%) is above `block-at` ({block}%)"), hint))
            }
            _ => None,
        });
    amount.into_iter().chain(parts).collect()
}
