//! The typed configuration. `default.toml` describes each key.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::keys::REDACTABLE;
use super::notify::Notify;
use super::organization::Organization;
use super::ship::Ship;
use super::units::{duration, size};
use super::{Policy, Rule};

const MIB: u64 = 1 << 20;

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

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Log {
    #[serde(deserialize_with = "size")]
    pub segment_size: u64,
    #[serde(deserialize_with = "duration")]
    pub keep: Duration,
    #[serde(deserialize_with = "size")]
    pub keep_size: u64,
    #[serde(deserialize_with = "duration")]
    pub lock_patience: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Archive {
    /// The response to a TeamDelete if the team's files could not be archived first.
    pub on_failure: OnFailure,
    #[serde(deserialize_with = "size")]
    pub largest_file: u64,
    #[serde(deserialize_with = "duration")]
    pub longest_look: Duration,
    /// The sessions whose transcripts are archived when they end.
    pub sessions: ArchivedSessions,
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

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hook {
    pub watch: bool,
    #[serde(deserialize_with = "size")]
    pub largest_input: u64,
    #[serde(deserialize_with = "duration")]
    pub stdin_patience: Duration,
    #[serde(deserialize_with = "duration")]
    pub slow: Duration,
}

/// The facts about its team for an agent that has lost its context.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TeamContext {
    pub after: Vec<ContextLoss>,
    pub parts: Vec<ContextPart>,
    /// In bytes.
    #[serde(deserialize_with = "size")]
    pub size: u64,
}

named_enum! {
    /// Why an agent has lost its context: the `source` of a SessionStart.
    pub enum ContextLoss {
        Compact = "compact",
        Clear = "clear",
        Resume = "resume",
    }
}

named_enum! {
    /// A part of the facts, the most important first.
    pub enum ContextPart {
        Agents = "agents",
        Tasks = "tasks",
        Messages = "messages",
        Changes = "changes",
        Blocks = "blocks",
    }
}

impl Default for TeamContext {
    fn default() -> TeamContext {
        TeamContext { after: ContextLoss::ALL.into(), parts: ContextPart::ALL.into(), size: 2 << 10 }
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

/// The thresholds of incidents.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Incidents {
    #[serde(deserialize_with = "duration")]
    pub silent: Duration,
    #[serde(deserialize_with = "duration")]
    pub unread: Duration,
    #[serde(deserialize_with = "duration")]
    pub waiting: Duration,
    pub ping_pong: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Privacy {
    pub record: RecordMode,
    pub redact: Vec<String>,
    pub pattern: Vec<Pattern>,
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

impl Default for Privacy {
    fn default() -> Privacy {
        let redact = REDACTABLE.iter().map(|name| (*name).to_owned()).collect();
        Privacy { record: RecordMode::Verbatim, redact, pattern: Vec::new() }
    }
}

impl Default for Incidents {
    fn default() -> Incidents {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        Incidents { silent: minutes(15), unread: minutes(15), waiting: minutes(5), ping_pong: 10 }
    }
}

impl Default for Log {
    fn default() -> Log {
        Log {
            segment_size: 16 * MIB,
            keep: Duration::from_secs(90 * 86_400),
            keep_size: 512 * MIB,
            lock_patience: Duration::from_secs(1),
        }
    }
}

impl Default for Archive {
    fn default() -> Archive {
        Archive {
            on_failure: OnFailure::Block,
            largest_file: 32 * MIB,
            longest_look: Duration::from_secs(1),
            sessions: ArchivedSessions::Teams,
        }
    }
}

impl Default for Hook {
    fn default() -> Hook {
        Hook {
            watch: true,
            largest_input: 16 * MIB,
            stdin_patience: Duration::from_secs(2),
            slow: Duration::from_millis(250),
        }
    }
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
