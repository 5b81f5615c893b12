//! The typed configuration. `default.toml` describes each key.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::keys::REDACTABLE;
use super::notify::Notify;
use super::organization::Organization;
use super::parse_value::{duration, size};
use super::ship::Ship;
use super::{Policy, Rule};

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    pub log: Log,
    pub archive: Archive,
    pub hook: Hook,
    pub context: TeamContext,
    pub report: Report,
    pub incidents: Incidents,
    pub notify: Notify,
    pub ship: Ship,
    pub privacy: Privacy,
    pub policy: Policy,
    pub rule: Vec<Rule>,
    pub organization: Organization,
}

section! {
    pub struct Log {
        #[serde(deserialize_with = "size")]
        pub segment_size: u64 = 16 << 20,
        #[serde(deserialize_with = "duration")]
        pub keep: Duration = Duration::from_secs(90 * 86_400),
        #[serde(deserialize_with = "size")]
        pub keep_size: u64 = 512 << 20,
        #[serde(deserialize_with = "duration")]
        pub lock_patience: Duration = Duration::from_secs(1),
    }
}

section! {
    pub struct Archive {
        /// The response to a TeamDelete if the team's files could not be archived first.
        pub on_failure: OnFailure = OnFailure::Block,
        #[serde(deserialize_with = "size")]
        pub largest_file: u64 = 32 << 20,
        #[serde(deserialize_with = "duration")]
        pub longest_look: Duration = Duration::from_secs(1),
        /// The sessions whose transcripts are archived when they end.
        pub sessions: ArchivedSessions = ArchivedSessions::Teams,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArchivedSessions {
    /// Those with a team or with subagents.
    Teams,
    All,
}

/// The response to a TeamDelete that was not archived first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    Block,
    Warn,
}

section! {
    pub struct Hook {
        pub watch: bool = true,
        #[serde(deserialize_with = "size")]
        pub largest_input: u64 = 16 << 20,
        #[serde(deserialize_with = "duration")]
        pub stdin_patience: Duration = Duration::from_secs(2),
        #[serde(deserialize_with = "duration")]
        pub slow: Duration = Duration::from_millis(250),
    }
}

section! {
    /// The facts about its team for an agent that has lost its context.
    pub struct TeamContext {
        pub after: Vec<ContextLoss> = ContextLoss::ALL.into(),
        pub parts: Vec<ContextPart> = ContextPart::ALL.into(),
        /// In bytes.
        #[serde(deserialize_with = "size")]
        pub size: u64 = 2 << 10,
    }
}

teamkeep_model::named_enum! {
    /// Why an agent has lost its context: the `source` of a SessionStart.
    pub enum ContextLoss {
        Compact = "compact",
        Clear = "clear",
        Resume = "resume",
    }
}

teamkeep_model::named_enum! {
    /// A part of the facts, the most important first.
    pub enum ContextPart {
        Agents = "agents",
        Tasks = "tasks",
        Messages = "messages",
        Changes = "changes",
        Blocks = "blocks",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Report {
    pub price: Vec<Price>,
}

/// The prices for some models in the user's currency: millionths for a million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Price {
    pub model: String,
    #[serde(default, deserialize_with = "millionths")]
    pub input: u64,
    #[serde(default, deserialize_with = "millionths")]
    pub output: u64,
    #[serde(default, deserialize_with = "millionths")]
    pub cache_read: u64,
    #[serde(default, deserialize_with = "millionths")]
    pub cache_write: u64,
}

section! {
    /// The thresholds of incidents.
    pub struct Incidents {
        #[serde(deserialize_with = "duration")]
        pub silent: Duration = Duration::from_secs(15 * 60),
        #[serde(deserialize_with = "duration")]
        pub unread: Duration = Duration::from_secs(15 * 60),
        #[serde(deserialize_with = "duration")]
        pub waiting: Duration = Duration::from_secs(5 * 60),
        pub ping_pong: u32 = 10,
    }
}

section! {
    pub struct Privacy {
        pub record: RecordMode = RecordMode::Verbatim,
        pub redact: Vec<String> = REDACTABLE.iter().map(|name| (*name).to_owned()).collect(),
        pub pattern: Vec<Pattern> = Vec::new(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordMode {
    Verbatim,
    Metadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pattern {
    pub name: String,
    pub regex: String,
}

/// Parses a number such as 2.5 into millionths.
pub(super) fn millionths<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let number = f64::deserialize(from)?;
    let millionths = number * 1e6;
    if !(0.0..1e15).contains(&millionths) {
        return Err(D::Error::custom(format!("invalid number {number} of US dollars")));
    }
    Ok(millionths.round() as u64)
}
