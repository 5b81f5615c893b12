//! The typed policy: one table for each gate, and the user's rules.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::units;
use crate::payload::Kind;

/// The mode of a gate, most permissive first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The gate is not evaluated.
    Off,
    /// The action is allowed with a warning.
    Warn,
    /// The action is blocked.
    Block,
}

/// The response to a failure of the policy itself: an unreadable file, a held lock, a bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// The action is allowed.
    Allow,
    /// The action is blocked, if the event can be blocked.
    Block,
}

/// All gates: `[policy]` and its tables.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// The response to a failure of the policy itself.
    pub on_error: OnError,
    /// How often one gate or rule can block one actor until another task is completed.
    pub max_blocks: u32,
    /// Stopping a teammate that has not finished.
    pub premature_shutdown: PrematureShutdown,
    /// Stopping the lead.
    pub protect_lead: OnlyMode,
    /// Going idle with work left.
    pub idle_with_work: IdleWithWork,
    /// Completing a task whose checks fail.
    pub completion_check: CompletionCheck,
    /// Starting or completing a task that depends on an unfinished one.
    pub unfinished_dependencies: OnlyMode,
    /// Going idle without a message since the last instruction.
    pub report_before_idle: OnlyMode,
    /// Number, agent types and models of teammates.
    pub team_size: TeamSize,
    /// The lead ends its turn while no agent works on a task in progress.
    pub lead_stops_early: OnlyMode,
}

/// A gate without other settings, such as `[policy.protect-lead]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnlyMode {
    /// The mode.
    pub mode: Mode,
}

/// `[policy.premature-shutdown]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PrematureShutdown {
    /// The mode.
    pub mode: Mode,
    /// Whether a teammate is unfinished while it owns pending tasks.
    pub pending: bool,
    /// Whether a teammate is unfinished during a turn.
    pub open_turn: bool,
    /// Teammates that may always be stopped, by name.
    pub exempt: Vec<String>,
    /// The mode in a team without tasks.
    pub without_tasks: Mode,
}

/// `[policy.idle-with-work]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdleWithWork {
    /// The mode.
    pub mode: Mode,
    /// The key in a task's metadata that marks the task as waiting.
    pub waiting_key: String,
}

/// `[policy.completion-check]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CompletionCheck {
    /// The mode.
    pub mode: Mode,
    /// The commands: `[[policy.completion-check.check]]`.
    pub check: Vec<Check>,
}

/// One check of a completed task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Check {
    /// The command, run with `sh -c`.
    pub run: String,
    /// A glob for the task's subject.
    #[serde(default = "any")]
    pub subject: String,
    /// A glob for the task's owner.
    #[serde(default = "any")]
    pub owner: String,
    /// A glob for the team.
    #[serde(default = "any")]
    pub team: String,
    /// Time limit.
    #[serde(default = "two_minutes", deserialize_with = "units::duration")]
    pub timeout: Duration,
}

fn any() -> String {
    "*".to_owned()
}

fn two_minutes() -> Duration {
    Duration::from_secs(120)
}

/// `[policy.team-size]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TeamSize {
    /// The mode.
    pub mode: Mode,
    /// Maximum number of teammates without the lead; 0 for no limit.
    pub most: u32,
    /// Globs for the allowed agent types; an empty list allows all.
    pub agent_types: Vec<String>,
    /// Globs for the allowed models; an empty list allows all.
    pub models: Vec<String>,
}

/// One `[[rule]]` of the user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rule {
    /// The name in verdicts.
    pub name: String,
    /// The events; empty for all that can be blocked.
    #[serde(default)]
    pub events: Vec<String>,
    /// Globs for the tool, at tool events; empty for all.
    #[serde(default)]
    pub tools: Vec<String>,
    /// A glob for the actor's name.
    #[serde(default = "any")]
    pub actor: String,
    /// A glob for the team.
    #[serde(default = "any")]
    pub team: String,
    /// JSON pointers into the payload, each with a glob, or a regular expression between slashes. All must match.
    #[serde(default, rename = "match")]
    pub matches: std::collections::BTreeMap<String, String>,
    /// `warn` or `block`.
    pub action: Mode,
    /// The text for the model. Required for a rule that blocks.
    #[serde(default)]
    pub reason: String,
    /// Whether it blocks a tool every time.
    #[serde(default)]
    pub lasting: bool,
    /// Where it is defined: `path:line`. Not set by the user.
    #[serde(skip)]
    pub place: String,
}

impl Rule {
    /// Whether it applies to an event.
    pub fn looks_at(&self, kind: Kind) -> bool {
        match self.events.is_empty() {
            true => kind.is_judged(),
            false => self.events.iter().any(|name| Kind::named(name) == kind),
        }
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            on_error: OnError::Allow,
            max_blocks: 3,
            premature_shutdown: PrematureShutdown::default(),
            protect_lead: OnlyMode { mode: Mode::Block },
            idle_with_work: IdleWithWork::default(),
            completion_check: CompletionCheck::default(),
            unfinished_dependencies: OnlyMode { mode: Mode::Warn },
            report_before_idle: OnlyMode { mode: Mode::Off },
            team_size: TeamSize::default(),
            lead_stops_early: OnlyMode { mode: Mode::Off },
        }
    }
}

impl Default for PrematureShutdown {
    fn default() -> PrematureShutdown {
        PrematureShutdown {
            mode: Mode::Block,
            pending: false,
            open_turn: false,
            exempt: Vec::new(),
            without_tasks: Mode::Warn,
        }
    }
}

impl Default for IdleWithWork {
    fn default() -> IdleWithWork {
        IdleWithWork { mode: Mode::Warn, waiting_key: "waiting".to_owned() }
    }
}

impl Default for CompletionCheck {
    fn default() -> CompletionCheck {
        CompletionCheck { mode: Mode::Block, check: Vec::new() }
    }
}

impl Default for TeamSize {
    fn default() -> TeamSize {
        TeamSize { mode: Mode::Off, most: 0, agent_types: Vec::new(), models: Vec::new() }
    }
}
