//! The policy as it is meant: one table a gate, and the user's own rules.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::value;
use crate::payload::Kind;

/// How hard a gate is, the softest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It is not asked.
    Off,
    /// It is recorded and told; the action goes on.
    Warn,
    /// The action is held back.
    Block,
}

/// What happens when the policy itself fails: an unreadable file, a lock that is not free, a bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// The action goes on.
    Allow,
    /// The action is held back, where the event can be.
    Block,
}

/// All gates. `[policy]` and its tables in `teamkeep.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// What happens when the policy itself fails.
    pub on_error: OnError,
    /// How often one gate may block one actor in one state of the work; after that it lets through.
    pub max_blocks: u32,
    /// Stopping a teammate that has not finished.
    pub premature_shutdown: PrematureShutdown,
    /// Stopping the lead.
    pub protect_lead: ProtectLead,
    /// Going idle with work left.
    pub idle_with_work: IdleWithWork,
    /// Completing a task whose checks fail.
    pub completion_check: CompletionCheck,
    /// Starting or completing a task that waits for another.
    pub unfinished_dependencies: UnfinishedDependencies,
    /// Going idle without a message since the last instruction.
    pub report_before_idle: ReportBeforeIdle,
    /// How many teammates may be spawned, and which.
    pub team_size: TeamSize,
    /// The lead's turn ends while work in progress is nobody's.
    pub lead_stops_early: LeadStopsEarly,
}

/// `[policy.premature-shutdown]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PrematureShutdown {
    /// How hard it is.
    pub mode: Mode,
    /// Whether tasks that a teammate owns and has not begun count as unfinished.
    pub pending: bool,
    /// Whether a turn that has not ended counts as unfinished.
    pub open_turn: bool,
    /// Teammates that may always be stopped, by name.
    pub exempt: Vec<String>,
    /// How hard it is in a team without tasks, where a teammate that has not reported since it was last told something
    /// counts as unfinished.
    pub without_tasks: Mode,
}

/// `[policy.protect-lead]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProtectLead {
    /// How hard it is.
    pub mode: Mode,
}

/// `[policy.idle-with-work]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdleWithWork {
    /// How hard it is.
    pub mode: Mode,
    /// The key in a task's metadata by which its owner says that it waits.
    pub waiting_key: String,
}

/// `[policy.completion-check]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CompletionCheck {
    /// How hard it is. Without checks nothing is asked.
    pub mode: Mode,
    /// What is run: `[[policy.completion-check.check]]`.
    pub check: Vec<Check>,
}

/// One check of a completed task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Check {
    /// The command, for `sh -c`.
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
    /// How long it may take.
    #[serde(default = "two_minutes", deserialize_with = "value::duration")]
    pub timeout: Duration,
}

fn any() -> String {
    "*".to_owned()
}

fn two_minutes() -> Duration {
    Duration::from_secs(120)
}

/// `[policy.unfinished-dependencies]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct UnfinishedDependencies {
    /// How hard it is.
    pub mode: Mode,
}

/// `[policy.report-before-idle]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReportBeforeIdle {
    /// How hard it is.
    pub mode: Mode,
}

/// `[policy.team-size]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TeamSize {
    /// How hard it is.
    pub mode: Mode,
    /// The most teammates, the lead not counted; 0 for any number.
    pub most: u32,
    /// Globs for the agent types that may be spawned; empty for all.
    pub agent_types: Vec<String>,
    /// Globs for the models that may be asked for; empty for all.
    pub models: Vec<String>,
}

/// `[policy.lead-stops-early]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LeadStopsEarly {
    /// How hard it is.
    pub mode: Mode,
}

/// One `[[rule]]` of the user's own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rule {
    /// What it is called in verdicts.
    pub name: String,
    /// The events that it looks at, in either spelling; all that can be judged when empty.
    #[serde(default)]
    pub events: Vec<String>,
    /// Globs for the tool, on tool events; all when empty.
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
    /// What the model is told. A rule that blocks needs one.
    #[serde(default)]
    pub reason: String,
    /// Whether it stands at a tool however often it is tried.
    #[serde(default)]
    pub lasting: bool,
    /// Where it stands: `path:line`. Not written by the user.
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
            protect_lead: ProtectLead::default(),
            idle_with_work: IdleWithWork::default(),
            completion_check: CompletionCheck::default(),
            unfinished_dependencies: UnfinishedDependencies::default(),
            report_before_idle: ReportBeforeIdle::default(),
            team_size: TeamSize::default(),
            lead_stops_early: LeadStopsEarly::default(),
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

impl Default for ProtectLead {
    fn default() -> ProtectLead {
        ProtectLead { mode: Mode::Block }
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

impl Default for UnfinishedDependencies {
    fn default() -> UnfinishedDependencies {
        UnfinishedDependencies { mode: Mode::Warn }
    }
}

impl Default for ReportBeforeIdle {
    fn default() -> ReportBeforeIdle {
        ReportBeforeIdle { mode: Mode::Off }
    }
}

impl Default for TeamSize {
    fn default() -> TeamSize {
        TeamSize { mode: Mode::Off, most: 0, agent_types: Vec::new(), models: Vec::new() }
    }
}

impl Default for LeadStopsEarly {
    fn default() -> LeadStopsEarly {
        LeadStopsEarly { mode: Mode::Off }
    }
}
