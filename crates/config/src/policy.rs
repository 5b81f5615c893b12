//! The typed policy: the gates, one table for each, and the user's rules. `default.toml` describes each key.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::kinds::{
    Glob, ListOf, Patterns, Percent, Rejection, Span, Usd, ValueKind as _, did_you_mean, plain, quoted,
};
use super::source::Code;
use teamkeep_model::Tool;
use teamkeep_model::payload::{BLOCKABLE, EventKind, KNOWN};

words! {
    /// The mode of a gate, most permissive first.
    #[derive(Default)]
    pub enum Mode {
        #[default]
        Off = "off",
        Warn = "warn",
        Block = "block",
    }
}

words! {
    /// The response to a failure of the policy itself: an unreadable file, a held lock, a bug.
    pub enum OnError {
        Allow = "allow",
        Block = "block",
    }
}

section! {
    pub struct Policy {
        pub on_error: OnError = OnError::Allow,
        #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
        pub max_blocks: u32 = 3,
        pub premature_shutdown: PrematureShutdown = PrematureShutdown::default(),
        pub protect_lead: ProtectLead = ProtectLead::default(),
        pub idle_with_work: IdleWithWork = IdleWithWork::default(),
        pub completion_check: CompletionCheck = CompletionCheck::default(),
        pub unfinished_dependencies: UnfinishedDependencies = UnfinishedDependencies::default(),
        pub report_before_idle: ReportBeforeIdle = ReportBeforeIdle::default(),
        pub team_size: TeamSize = TeamSize::default(),
        pub lead_stops_early: LeadStopsEarly = LeadStopsEarly::default(),
        pub edit_collision: EditCollision = EditCollision::default(),
        pub history_rewrite: HistoryRewrite = HistoryRewrite::default(),
        pub add_everything: AddEverything = AddEverything::default(),
        pub budget: Budget = Budget::default(),
        /// The gates that the organization has fixed, whose pauses and allowances do not apply.
        #[serde(skip)]
        pub unpausable: Vec<Gate> = Vec::new(),
    }
}

kinds! {
    /// The mode of a rule.
    Action(Mode): "a string", {"enum": ["warn", "block"]},
        |text| match text {
            "warn" => Ok(Mode::Warn),
            "block" => Ok(Mode::Block),
            _ => Err(Rejection::of_word(text, &["warn", "block"])),
        },
        |mode: &Mode| mode.name().to_owned();
    HookEvent(String): "a string",
        {"enum": KNOWN.iter().flat_map(|row| [row.1, row.2]).collect::<Vec<_>>()},
        event, String::clone;
}

fn event(text: &str) -> Result<String, Rejection> {
    if EventKind::named(text) != EventKind::Unknown {
        return plain(text);
    }
    let known: Vec<&str> = KNOWN.iter().flat_map(|row| [row.1, row.2]).collect();
    let hint = did_you_mean(text, &known).unwrap_or_else(blockable_events);
    let message = format!("unknown event {}", quoted(text));
    Err(Rejection { hint: Some(hint), ..Rejection::new(Code::UnknownEvent, message) })
}

pub(super) fn blockable_events() -> String {
    let judged: Vec<&str> = BLOCKABLE.iter().map(|kind| kind.name()).collect();
    format!("the events that can be blocked are {}", judged.join(", "))
}

/// The gates without other settings, such as `[policy.protect-lead]`.
macro_rules! only_mode {
    ($($Gate:ident = $mode:ident,)*) => {
        $(section! { pub struct $Gate { pub mode: Mode = Mode::$mode, } })*
    };
}

only_mode! {
    ProtectLead = Block,
    UnfinishedDependencies = Warn,
    ReportBeforeIdle = Off,
    LeadStopsEarly = Off,
    EditCollision = Off,
    HistoryRewrite = Off,
    AddEverything = Off,
}

section! {
    pub struct PrematureShutdown {
        pub mode: Mode = Mode::Block,
        pub pending: bool = false,
        pub open_turn: bool = false,
        pub exempt: Vec<String> = Vec::new(),
        pub without_tasks: Mode = Mode::Warn,
    }
}

section! {
    pub struct IdleWithWork {
        pub mode: Mode = Mode::Warn,
        pub waiting_key: String = "waiting".to_owned(),
    }
}

section! {
    pub struct CompletionCheck {
        pub mode: Mode = Mode::Block,
        pub check: Vec<Check> = Vec::new(),
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Check {
    /// The command, run with `sh -c`.
    pub run: String,
    #[serde(default = "any", with = "Glob")]
    pub subject: String,
    #[serde(default = "any", with = "Glob")]
    pub owner: String,
    #[serde(default = "any", with = "Glob")]
    pub team: String,
    #[serde(default = "two_minutes", with = "Span")]
    pub timeout: Duration,
}

fn any() -> String {
    "*".to_owned()
}

fn two_minutes() -> Duration {
    Duration::from_secs(120)
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TeamSize {
    pub mode: Mode,
    pub most: u32,
    #[serde(with = "ListOf::<Glob>")]
    pub agent_types: Vec<String>,
    #[serde(with = "ListOf::<Glob>")]
    pub models: Vec<String>,
}

section! {
    pub struct Budget {
        pub mode: Mode = Mode::Block,
        pub limit: Vec<Limit> = Vec::new(),
    }
}

/// A limit, in tokens or in US dollars.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    pub per: LimitScope,
    /// 0 means that the limit is in US dollars.
    #[serde(default)]
    pub tokens: u32,
    /// Millionths of a US dollar.
    #[serde(default, with = "Usd")]
    pub usd: u64,
    /// The part of the limit from which the lead is warned.
    #[serde(default = "eighty", with = "Percent")]
    pub warn_at: Option<u32>,
    /// The part of the limit from which new work is blocked.
    #[serde(default, with = "Percent")]
    pub block_at: Option<u32>,
}

words! {
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

/// Finds the contradictions between the keys of a limit: for each the keys that it is about, the first that is set, a
/// message and a hint.
pub(super) fn contradictions(limit: &Limit) -> Vec<(&'static [&'static str], String, &'static str)> {
    let mut found: Vec<(&'static [&'static str], String, _)> = Vec::new();
    let hint = "set either `tokens` or `usd`, to more than 0";
    match (limit.tokens > 0, limit.usd > 0) {
        (true, true) => found.push((&["usd"], "the limit has both `tokens` and `usd`".to_owned(), hint)),
        (false, false) => {
            found.push((&["tokens", "usd", "per"], "the limit has no amount".to_owned(), hint));
        }
        _ => {}
    }
    let keys = &["warn-at", "block-at"];
    match (limit.warn_at, limit.block_at) {
        (None, None) => {
            let hint = "set `warn-at = \"80%\"`, `block-at = \"100%\"`, or both";
            found.push((keys, "the limit neither warns nor blocks".to_owned(), hint));
        }
        (Some(warn), Some(block)) if warn > block => {
            let hint = "the warning must come first; to have none, set `warn-at = \"never\"`";
            found.push((keys, format!("`warn-at` ({warn}%) is above `block-at` ({block}%)"), hint));
        }
        _ => {}
    }
    found
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rule {
    pub name: String,
    #[serde(default, with = "ListOf::<HookEvent>")]
    pub events: Vec<String>,
    #[serde(default, with = "ListOf::<Glob>")]
    pub tools: Vec<String>,
    #[serde(default = "any", with = "Glob")]
    pub actor: String,
    #[serde(default = "any", with = "Glob")]
    pub team: String,
    /// JSON pointers into the payload, each with a glob, or a regular expression between slashes. All must match.
    #[serde(default, rename = "match", with = "Patterns")]
    pub matches: BTreeMap<String, String>,
    #[serde(with = "Action")]
    pub action: Mode,
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub lasting: bool,
    /// Where it is defined: `path:line`. Not set by the user.
    #[serde(skip)]
    pub file_line: String,
}

impl Rule {
    /// Whether it applies to an event. A rule for PreToolUse also applies to the `!` lines of skills.
    pub fn applies_to(&self, kind: EventKind) -> bool {
        match self.events.is_empty() {
            true => kind.can_be_blocked(),
            false => self.events.iter().any(|name| EventKind::named(name).includes(kind)),
        }
    }
}

impl Policy {
    /// Whether a gate that guards the agents' files is on.
    pub fn guards_files(&self) -> bool {
        Gate::ALL.into_iter().any(|gate| gate.guards_files() && gate.mode(self) != Some(Mode::Off))
    }

    /// The names of the gates that a pause of this gate would concern, or one of all gates, and to which it does not apply.
    pub fn fixed_gates(&self, paused: Option<&str>) -> Vec<&'static str> {
        let fixed = self.unpausable.iter().map(|gate| gate.name());
        fixed.filter(|name| paused.is_none_or(|paused| paused == *name)).collect()
    }
}

teamkeep_model::named_enum! {
    /// A gate, with the name of its table in the configuration. They are in the order of the configuration; `rule` is for the
    /// user's rules.
    pub enum Gate {
        PrematureShutdown = "premature-shutdown",
        ProtectLead = "protect-lead",
        IdleWithWork = "idle-with-work",
        CompletionCheck = "completion-check",
        UnfinishedDependencies = "unfinished-dependencies",
        ReportBeforeIdle = "report-before-idle",
        TeamSize = "team-size",
        LeadStopsEarly = "lead-stops-early",
        EditCollision = "edit-collision",
        HistoryRewrite = "history-rewrite",
        AddEverything = "add-everything",
        Budget = "budget",
        Rule = "rule",
    }
}

impl Gate {
    /// Its mode; `None` for rules, which have modes of their own.
    pub fn mode(self, policy: &Policy) -> Option<Mode> {
        Some(match self {
            Gate::PrematureShutdown => policy.premature_shutdown.mode,
            Gate::ProtectLead => policy.protect_lead.mode,
            Gate::IdleWithWork => policy.idle_with_work.mode,
            Gate::CompletionCheck => policy.completion_check.mode,
            Gate::UnfinishedDependencies => policy.unfinished_dependencies.mode,
            Gate::ReportBeforeIdle => policy.report_before_idle.mode,
            Gate::TeamSize => policy.team_size.mode,
            Gate::LeadStopsEarly => policy.lead_stops_early.mode,
            Gate::EditCollision => policy.edit_collision.mode,
            Gate::HistoryRewrite => policy.history_rewrite.mode,
            Gate::AddEverything => policy.add_everything.mode,
            Gate::Budget => policy.budget.mode,
            Gate::Rule => return None,
        })
    }

    /// The event that it judges, and the tools if only those of some tools. Rules name their events.
    pub fn event(self) -> Option<(EventKind, &'static [Tool])> {
        match self {
            Gate::PrematureShutdown => {
                Some((EventKind::PreToolUse, &[Tool::SendMessage, Tool::TaskStop, Tool::TeamDelete]))
            }
            Gate::ProtectLead => Some((EventKind::PreToolUse, &[Tool::SendMessage])),
            Gate::UnfinishedDependencies => Some((EventKind::PreToolUse, &[Tool::TaskUpdate])),
            Gate::TeamSize => Some((EventKind::PreToolUse, &[Tool::Agent])),
            Gate::IdleWithWork | Gate::ReportBeforeIdle => Some((EventKind::TeammateIdle, &[])),
            Gate::CompletionCheck => Some((EventKind::TaskCompleted, &[])),
            Gate::LeadStopsEarly => Some((EventKind::Stop, &[])),
            Gate::EditCollision => Some((EventKind::PreToolUse, &[Tool::Edit])),
            Gate::HistoryRewrite | Gate::AddEverything => Some((EventKind::PreToolUse, &[Tool::Bash])),
            Gate::Budget => Some((
                EventKind::PreToolUse,
                &[Tool::Agent, Tool::SendMessage, Tool::TaskCreate, Tool::TaskUpdate],
            )),
            Gate::Rule => None,
        }
    }

    /// Whether it judges an event of this kind, with this tool.
    pub fn judges(self, kind: EventKind, tool: Option<Tool>) -> bool {
        self.event().is_some_and(|(its, tools)| {
            its.includes(kind) && (tools.is_empty() || tool.is_some_and(|tool| tools.contains(&tool)))
        })
    }

    /// Whether it guards the files that the agents of a team share: it judges by what they did to files before.
    pub fn guards_files(self) -> bool {
        matches!(self, Gate::EditCollision | Gate::HistoryRewrite | Gate::AddEverything)
    }

    /// Whether it does nothing in a team without tasks.
    pub fn needs_tasks(self) -> bool {
        matches!(
            self,
            Gate::CompletionCheck | Gate::UnfinishedDependencies | Gate::IdleWithWork | Gate::LeadStopsEarly
        )
    }

    /// How often it can block the same agent until another task is completed, given `policy.max-blocks`.
    pub fn max_blocks(self, configured: u32) -> u32 {
        // Blocking the same idle again only costs tokens: messages are delivered only at idle.
        if self == Gate::IdleWithWork { configured.min(1) } else { configured }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gates_are_the_tables_of_the_policy() {
        let policy = serde_json::to_value(Policy::default()).unwrap();
        let tables = policy.as_object().unwrap().iter().filter(|(_, value)| value.get("mode").is_some());
        let gates = Gate::ALL.into_iter().filter(|gate| *gate != Gate::Rule).map(Gate::name);
        assert_eq!(tables.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), gates.collect::<Vec<_>>());
        assert!(Gate::ALL.into_iter().all(|gate| Gate::named(gate.name()) == Some(gate)));
    }
}
