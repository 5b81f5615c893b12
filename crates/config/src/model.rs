//! The typed configuration. `default.toml` describes each key.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::kinds::{
    Expression, FilePath, Glob, HttpAddress, ListOf, Size, Span, Usd, ValueKind as _, below_home, word,
};
use super::organization::Organization;
use super::ship::Ship;
use super::{Policy, Rule};

/// The built-in patterns, most certain first.
pub(crate) const REDACTABLE: &[&str] = &["private-key", "api-key", "token", "secret", "email", "home"];

/// The kinds of incidents in `teamkeep report`.
pub const INCIDENT_KINDS: &[&str] = &[
    "crashed-lead",
    "crashed-agent",
    "failed-agent",
    "stalled-agent",
    "lost-work",
    "tasks-deleted",
    "waiting-permission",
    "waiting-approval",
    "blocked-chain",
    "unread-message",
    "unknown-recipient",
    "false-completion",
    "duplicate-agents",
    "policy-escalated",
    "unfinished-work",
    "idle-ping-pong",
];

kinds! {
    IncidentKind(String): "a string", {"enum": INCIDENT_KINDS}, |text| word(text, INCIDENT_KINDS), String::clone;
    Redactable(String): "a string", {"enum": REDACTABLE}, |text| word(text, REDACTABLE), String::clone;
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        #[serde(with = "Size")]
        pub segment_size: u64 = 16 << 20,
        #[serde(with = "Span")]
        pub keep: Duration = Duration::from_secs(90 * 86_400),
        #[serde(with = "Size")]
        pub keep_size: u64 = 512 << 20,
        #[serde(with = "Span")]
        pub lock_patience: Duration = Duration::from_secs(1),
    }
}

section! {
    pub struct Archive {
        /// The response to a TeamDelete if the team's files could not be archived first.
        pub on_failure: OnFailure = OnFailure::Block,
        #[serde(with = "Size")]
        pub largest_file: u64 = 32 << 20,
        #[serde(with = "Span")]
        pub longest_look: Duration = Duration::from_secs(1),
        /// The sessions whose transcripts are archived when they end.
        pub sessions: ArchivedSessions = ArchivedSessions::Teams,
    }
}

words! {
    pub enum ArchivedSessions {
        /// Those with a team or with subagents.
        Teams = "teams",
        All = "all",
    }
}

words! {
    /// The response to a TeamDelete that was not archived first.
    pub enum OnFailure {
        Warn = "warn",
        Block = "block",
    }
}

section! {
    pub struct Hook {
        pub watch: bool = true,
        #[serde(with = "Size")]
        pub largest_input: u64 = 16 << 20,
        #[serde(with = "Span")]
        pub stdin_patience: Duration = Duration::from_secs(2),
        #[serde(with = "Span")]
        pub slow: Duration = Duration::from_millis(250),
    }
}

section! {
    /// The facts about its team for an agent that has lost its context.
    pub struct TeamContext {
        pub after: Vec<ContextLoss> = ContextLoss::ALL.into(),
        pub parts: Vec<ContextPart> = ContextPart::ALL.into(),
        /// In bytes: see [`max_bytes`](TeamContext::max_bytes).
        #[serde(with = "Size")]
        pub size: u64 = 2 << 10,
    }
}

impl TeamContext {
    /// Minimum size of the facts, in bytes: their heading.
    const MIN_BYTES: u64 = 500;
    /// Maximum size of the facts, in bytes. Claude Code writes a larger text to a file and shows the model only its
    /// beginning.
    pub const MAX_BYTES: u64 = 9_000;

    /// The size of the facts. Values beyond the limits count as these.
    pub fn max_bytes(&self) -> u64 {
        self.size.clamp(TeamContext::MIN_BYTES, TeamContext::MAX_BYTES)
    }
}

words! {
    /// Why an agent has lost its context: the `source` of a SessionStart.
    pub enum ContextLoss {
        Compact = "compact",
        Clear = "clear",
        Resume = "resume",
    }
}

words! {
    /// A part of the facts, the most important first.
    pub enum ContextPart {
        Agents = "agents",
        Tasks = "tasks",
        Messages = "messages",
        Changes = "changes",
        Blocks = "blocks",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Report {
    pub price: Vec<Price>,
}

/// The prices for some models in the user's currency: millionths for a million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Price {
    #[serde(with = "Glob")]
    pub model: String,
    #[serde(default, with = "Usd")]
    pub input: u64,
    #[serde(default, with = "Usd")]
    pub output: u64,
    #[serde(default, with = "Usd")]
    pub cache_read: u64,
    #[serde(default, with = "Usd")]
    pub cache_write: u64,
}

section! {
    /// The thresholds of incidents.
    pub struct Incidents {
        #[serde(with = "Span")]
        pub silent: Duration = Duration::from_secs(15 * 60),
        #[serde(with = "Span")]
        pub unread: Duration = Duration::from_secs(15 * 60),
        #[serde(with = "Span")]
        pub waiting: Duration = Duration::from_secs(5 * 60),
        #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
        pub ping_pong: u32 = 10,
    }
}

section! {
    /// Where incidents of running teams are sent.
    pub struct Notify {
        pub command: String = String::new(),
        #[serde(with = "HttpAddress")]
        pub url: String = String::new(),
        #[serde(with = "FilePath")]
        pub secret_file: String = String::new(),
        /// All kinds if it is empty.
        #[serde(with = "ListOf::<IncidentKind>")]
        pub kinds: Vec<String> = Vec::new(),
        pub severity: LeastSeverity = LeastSeverity::Medium,
        #[serde(with = "Span")]
        pub quiet: Duration = Duration::from_secs(600),
    }
}

words! {
    pub enum LeastSeverity {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
}

impl Notify {
    /// Whether anything is to be sent.
    pub fn is_configured(&self) -> bool {
        self.has_command() || !self.url.is_empty()
    }

    pub fn has_command(&self) -> bool {
        !self.command.trim().is_empty()
    }

    /// The path of the secret; `None` without one. `~/` is the home directory.
    pub fn secret_path(&self, home: Option<&Path>) -> Option<PathBuf> {
        below_home(&self.secret_file, home)
    }
}

section! {
    pub struct Privacy {
        pub record: RecordMode = RecordMode::Verbatim,
        #[serde(with = "ListOf::<Redactable>")]
        pub redact: Vec<String> = REDACTABLE.iter().map(|name| (*name).to_owned()).collect(),
        pub pattern: Vec<Pattern> = Vec::new(),
    }
}

words! {
    pub enum RecordMode {
        Verbatim = "verbatim",
        Metadata = "metadata",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pattern {
    pub name: String,
    #[serde(with = "Expression")]
    pub regex: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_below_the_home_directory_or_has_an_absolute_path() {
        let notify = |secret: &str| Notify { secret_file: secret.to_owned(), ..Notify::default() };
        let path = |secret: &str| notify(secret).secret_path(Some(Path::new("/home/u")));
        assert_eq!(path(""), None);
        assert_eq!(path("~/s"), Some(PathBuf::from("/home/u/s")));
        assert_eq!(path("/etc/s"), Some(PathBuf::from("/etc/s")));
    }

    #[test]
    fn nothing_is_configured_by_default() {
        assert!(!Notify::default().is_configured());
        assert!(!Notify { command: " ".to_owned(), ..Notify::default() }.is_configured());
        assert!(Notify { command: "cat".to_owned(), ..Notify::default() }.is_configured());
        assert!(Notify { url: "http://h".to_owned(), ..Notify::default() }.is_configured());
    }
}
