//! The gates of the policy: name, mode, events, and limits of each.

use super::{Mode, Policy};
use crate::model::Tool;
use crate::payload::Kind;

/// A gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// Stopping a teammate that has not finished.
    PrematureShutdown,
    /// Stopping the lead.
    ProtectLead,
    /// Going idle with work left.
    IdleWithWork,
    /// Completing a task whose checks fail.
    CompletionCheck,
    /// Starting or completing a task that depends on an unfinished one.
    UnfinishedDependencies,
    /// Going idle without a message since the last instruction.
    ReportBeforeIdle,
    /// Number, agent types and models of teammates.
    TeamSize,
    /// A lead that ends its turn while no agent works on a task in progress.
    LeadStopsEarly,
    /// The user's rules.
    Rule,
}

impl Gate {
    /// All of them, in the order of the configuration.
    pub const ALL: [Gate; 9] = [
        Gate::PrematureShutdown,
        Gate::ProtectLead,
        Gate::IdleWithWork,
        Gate::CompletionCheck,
        Gate::UnfinishedDependencies,
        Gate::ReportBeforeIdle,
        Gate::TeamSize,
        Gate::LeadStopsEarly,
        Gate::Rule,
    ];

    /// The name of its table in the configuration; `rule` for the user's rules.
    pub const fn name(self) -> &'static str {
        match self {
            Gate::PrematureShutdown => "premature-shutdown",
            Gate::ProtectLead => "protect-lead",
            Gate::IdleWithWork => "idle-with-work",
            Gate::CompletionCheck => "completion-check",
            Gate::UnfinishedDependencies => "unfinished-dependencies",
            Gate::ReportBeforeIdle => "report-before-idle",
            Gate::TeamSize => "team-size",
            Gate::LeadStopsEarly => "lead-stops-early",
            Gate::Rule => "rule",
        }
    }

    /// The gate with this name.
    pub fn named(name: &str) -> Option<Gate> {
        Gate::ALL.into_iter().find(|gate| gate.name() == name)
    }

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
            Gate::Rule => return None,
        })
    }

    /// The event that it judges, and the tools if only those of some tools. Rules name their events.
    pub fn event(self) -> Option<(Kind, &'static [Tool])> {
        match self {
            Gate::PrematureShutdown => {
                Some((Kind::PreToolUse, &[Tool::SendMessage, Tool::TaskStop, Tool::TeamDelete]))
            }
            Gate::ProtectLead => Some((Kind::PreToolUse, &[Tool::SendMessage])),
            Gate::UnfinishedDependencies => Some((Kind::PreToolUse, &[Tool::TaskUpdate])),
            Gate::TeamSize => Some((Kind::PreToolUse, &[Tool::Agent])),
            Gate::IdleWithWork | Gate::ReportBeforeIdle => Some((Kind::TeammateIdle, &[])),
            Gate::CompletionCheck => Some((Kind::TaskCompleted, &[])),
            Gate::LeadStopsEarly => Some((Kind::Stop, &[])),
            Gate::Rule => None,
        }
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
    use crate::config::keys::KEYS;

    #[test]
    fn the_gates_are_the_tables_of_the_policy() {
        let modes = KEYS.iter().filter_map(|key| key.path.strip_prefix("policy.")?.strip_suffix(".mode"));
        let gates = Gate::ALL.into_iter().filter(|gate| *gate != Gate::Rule).map(Gate::name);
        assert_eq!(modes.collect::<Vec<_>>(), gates.collect::<Vec<_>>());
        assert!(Gate::ALL.into_iter().all(|gate| Gate::named(gate.name()) == Some(gate)));
    }
}
