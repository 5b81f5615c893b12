//! The typed configuration.

use std::time::Duration;

use serde::Deserialize;

use super::keys::REDACTABLE;
use super::{Policy, Rule, units};

const MIB: u64 = 1 << 20;

/// Everything that the user can set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The event log.
    pub log: Log,
    /// The archive.
    pub archive: Archive,
    /// The hook call itself.
    pub hook: Hook,
    /// Reports.
    pub report: Report,
    /// Privacy.
    pub privacy: Privacy,
    /// The gates.
    pub policy: Policy,
    /// The user's rules: `[[rule]]`.
    pub rule: Vec<Rule>,
}

/// Segments of the event log.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Log {
    /// Maximum size of a segment in bytes.
    #[serde(deserialize_with = "units::size")]
    pub segment_size: u64,
    /// Maximum age of a segment.
    #[serde(deserialize_with = "units::duration")]
    pub keep: Duration,
    /// Maximum size of all segments in bytes.
    #[serde(deserialize_with = "units::size")]
    pub keep_size: u64,
    /// How long a hook call waits for the log's lock.
    #[serde(deserialize_with = "units::duration")]
    pub lock_patience: Duration,
}

/// The archive.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Archive {
    /// The response to a TeamDelete if the team's files could not be archived first.
    pub on_failure: OnFailure,
    /// Maximum size of an archived file in bytes.
    #[serde(deserialize_with = "units::size")]
    pub largest_file: u64,
    /// Time limit of one hook call for archiving.
    #[serde(deserialize_with = "units::duration")]
    pub longest_look: Duration,
}

/// The response to a TeamDelete that was not archived first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// It is blocked.
    Block,
    /// It is allowed with a warning.
    Warn,
}

/// Limits of one hook call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hook {
    /// Whether Claude Code is asked to report changes of a team's files.
    pub watch: bool,
    /// Maximum size of a payload in bytes.
    #[serde(deserialize_with = "units::size")]
    pub largest_input: u64,
    /// How long a call waits for the end of stdin.
    #[serde(deserialize_with = "units::duration")]
    pub stdin_patience: Duration,
    /// A slower call is noted in the diagnostics.
    #[serde(deserialize_with = "units::duration")]
    pub slow: Duration,
}

/// Settings of reports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Report {
    /// Prices; the first that matches a model counts.
    pub price: Vec<Price>,
}

/// The prices for some models in the user's currency: millionths for a million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Price {
    /// A glob for the models.
    pub model: String,
    /// Input tokens.
    #[serde(default, deserialize_with = "units::millionths")]
    pub input: u64,
    /// Output tokens.
    #[serde(default, deserialize_with = "units::millionths")]
    pub output: u64,
    /// Tokens read from the cache.
    #[serde(default, deserialize_with = "units::millionths")]
    pub cache_read: u64,
    /// Tokens written to the cache.
    #[serde(default, deserialize_with = "units::millionths")]
    pub cache_write: u64,
}

/// How texts are recorded, and which parts `--redact` removes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Privacy {
    /// How texts are recorded.
    pub record: RecordMode,
    /// The names of the built-in patterns in use.
    pub redact: Vec<String>,
    /// The user's patterns: `[[privacy.pattern]]`.
    pub pattern: Vec<Pattern>,
}

/// How texts are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordMode {
    /// Verbatim.
    Verbatim,
    /// As size and hash.
    Metadata,
}

/// `[[privacy.pattern]]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pattern {
    /// The name in the replacement.
    pub name: String,
    /// The regular expression.
    pub regex: String,
}

impl Default for Privacy {
    fn default() -> Privacy {
        let redact = REDACTABLE.iter().map(|name| (*name).to_owned()).collect();
        Privacy { record: RecordMode::Verbatim, redact, pattern: Vec::new() }
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
        Archive { on_failure: OnFailure::Block, largest_file: 32 * MIB, longest_look: Duration::from_secs(1) }
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
