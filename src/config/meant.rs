//! The configuration as it is meant.

use std::time::Duration;

use serde::Deserialize;

use super::keys::REDACTABLE;
use super::{Policy, Rule, value};

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
    /// What of a text others are to see.
    pub privacy: Privacy,
    /// The gates.
    pub policy: Policy,
    /// The user's own rules: `[[rule]]`.
    pub rule: Vec<Rule>,
}

/// How the event log is cut and kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Log {
    /// A segment is closed when a line would make it larger than this many bytes.
    #[serde(deserialize_with = "value::size")]
    pub segment_size: u64,
    /// Segments whose last day is longer ago are pruned.
    #[serde(deserialize_with = "value::duration")]
    pub keep: Duration,
    /// The oldest segments are pruned until all together have at most this many bytes.
    #[serde(deserialize_with = "value::size")]
    pub keep_size: u64,
    /// How long a call waits for others that are writing.
    #[serde(deserialize_with = "value::duration")]
    pub lock_patience: Duration,
}

/// How the archive is kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Archive {
    /// What happens to a TeamDelete when the team could not be archived before it.
    pub on_failure: OnFailure,
    /// A file with more bytes than this is not archived.
    #[serde(deserialize_with = "value::size")]
    pub largest_file: u64,
    /// After so long a call leaves what it has not archived yet to the next one.
    #[serde(deserialize_with = "value::duration")]
    pub longest_look: Duration,
}

/// What happens to a deletion that could not be archived before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// It is refused.
    Block,
    /// It goes through, and a warning says so.
    Warn,
}

/// What one hook call does and how long it may take.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hook {
    /// Whether a session that starts asks the client to report changes of a team's files.
    pub watch: bool,
    /// Bytes of stdin that are recorded at most.
    #[serde(deserialize_with = "value::size")]
    pub largest_input: u64,
    /// How long a call waits for the end of stdin.
    #[serde(deserialize_with = "value::duration")]
    pub stdin_patience: Duration,
    /// A call that takes longer is noted in the diagnostics.
    #[serde(deserialize_with = "value::duration")]
    pub slow: Duration,
}

/// What reports are drawn up with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Report {
    /// What tokens cost; the first that is for a model counts.
    pub price: Vec<Price>,
}

/// What the tokens of some models cost, in the user's currency: millionths for a million of them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Price {
    /// A glob for the models.
    pub model: String,
    /// Tokens that the model reads.
    #[serde(default, deserialize_with = "value::millionths")]
    pub input: u64,
    /// Tokens that the model writes.
    #[serde(default, deserialize_with = "value::millionths")]
    pub output: u64,
    /// Tokens from the cache.
    #[serde(default, deserialize_with = "value::millionths")]
    pub cache_read: u64,
    /// Tokens into the cache.
    #[serde(default, deserialize_with = "value::millionths")]
    pub cache_write: u64,
}

/// What is taken out of what others are to see.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Privacy {
    /// What is recorded of texts.
    pub record: Keeping,
    /// What is found without a pattern of the user's, by name.
    pub redact: Vec<String>,
    /// The user's own: `[[privacy.pattern]]`.
    pub pattern: Vec<Pattern>,
}

/// What is recorded of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keeping {
    /// They are, as they are.
    Verbatim,
    /// Their sizes and hashes.
    Metadata,
}

/// `[[privacy.pattern]]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pattern {
    /// What stands for what it found.
    pub name: String,
    /// The regular expression.
    pub regex: String,
}

impl Default for Privacy {
    fn default() -> Privacy {
        let redact = REDACTABLE.iter().map(|name| (*name).to_owned()).collect();
        Privacy { record: Keeping::Verbatim, redact, pattern: Vec::new() }
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
