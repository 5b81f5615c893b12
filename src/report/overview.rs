//! The key figures of a run.

use serde::{Deserialize, Serialize};

use super::input::{ReportInput, between};
use super::messages::MessageStats;
use super::tasks::TaskHistory;
use super::turns::Turn;
use crate::json;
use crate::model::TaskStatus;
use crate::timeline::Kind;

/// The key figures of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// The run's id.
    pub run: String,
    /// The team; `None` for a session without one.
    pub team: Option<String>,
    /// The lead's session.
    pub lead_session: Option<String>,
    /// The first recorded hook call of the run, RFC 3339. Its session may have started before.
    pub started_at: String,
    /// When it ended; `None` for a running team, and if no end is recorded.
    pub ended_at: Option<String>,
    /// From the first recorded hook call of the run (`started_at`) to its end, in milliseconds; without a recorded end,
    /// to its last recorded moment.
    pub duration_ms: Option<i64>,
    /// How it ended: `session-end`, `team-delete`, `replaced`, `crashed` or `disappeared`.
    pub ended_by: Option<String>,
    /// Claude Code's reason.
    pub ended_reason: Option<String>,
    /// The versions of Claude Code, from the transcripts.
    pub client_versions: Vec<String>,
    /// How the teammates were run.
    pub topology: Topology,
    /// All members ever, including the lead.
    pub members: Vec<Person>,
    /// Counts.
    pub count: Count,
}

/// How the teammates were run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// In the lead's process.
    InProcess,
    /// In panes, each with its own process.
    Panes,
    /// Some in the lead's process, some in panes.
    Mixed,
    /// A lead without teammates.
    LeadAlone,
    /// No team: a session with plain subagents.
    NoTeam,
}

/// A member of the team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The name.
    pub name: String,
    /// The agent's type, if a roster has it.
    pub agent_type: Option<String>,
    /// The model, if a roster has it.
    pub model: Option<String>,
    /// When it joined, RFC 3339.
    pub joined_at: Option<String>,
    /// When it left, if before the end.
    pub left_at: Option<String>,
}

/// Counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Members, including the lead.
    pub members: usize,
    /// Messages between agents.
    pub messages: usize,
    /// Automatic messages of Claude Code.
    pub automatic: usize,
    /// Blocked or rejected messages.
    pub refused: usize,
    /// Tasks.
    pub tasks: usize,
    /// Completed tasks.
    pub completed: usize,
    /// Turns.
    pub turns: usize,
    /// Recorded events.
    pub events: usize,
    /// Snapshots of the team's files.
    pub snapshots: usize,
}

/// Computes the key figures.
pub fn overview(
    case: &ReportInput<'_>,
    mail: &MessageStats,
    tasks: &[TaskHistory],
    turns: &[Turn],
) -> Overview {
    let (material, run) = (case.material, &case.material.run);
    let recorded = |automatic: bool| {
        mail.messages.iter().filter(|one| one.automatic == automatic && one.refused.is_none()).count()
    };
    Overview {
        run: run.run.clone(),
        team: run.team.clone(),
        lead_session: run.lead_session.clone(),
        started_at: run.started_at.clone(),
        ended_at: run.ended_at.clone(),
        duration_ms: between(&run.started_at, &case.end),
        ended_by: run.ended_by.map(|by| json::serde_name(&by)),
        ended_reason: run.ended_reason.clone(),
        client_versions: material.transcripts.versions.iter().cloned().collect(),
        topology: topology(case),
        members: material.members.iter().map(|name| person(case, name)).collect(),
        count: Count {
            members: material.members.len(),
            messages: recorded(false),
            automatic: recorded(true),
            refused: mail.messages.iter().filter(|one| one.refused.is_some()).count(),
            tasks: tasks.len(),
            completed: tasks.iter().filter(|task| task.status == TaskStatus::Completed).count(),
            turns: turns.len(),
            events: material.events.iter().filter(|event| event.ruling.is_none()).count(),
            snapshots: material.journal.snapshots.len(),
        },
    }
}

fn topology(case: &ReportInput<'_>) -> Topology {
    let panes = case.teammates().filter(|name| case.material.run.has_pane(name)).count();
    match case.teammates().count() {
        _ if case.material.run.team.is_none() => Topology::NoTeam,
        0 => Topology::LeadAlone,
        _ if panes == 0 => Topology::InProcess,
        all if panes == all => Topology::Panes,
        _ => Topology::Mixed,
    }
}

fn person(case: &ReportInput<'_>, name: &str) -> Person {
    let history = &case.material.history;
    let members = history.members();
    let told = |key: &str| members.get(name)?.raw.get(key)?.as_str().map(str::to_owned);
    let own = || case.entries.iter().filter(|entry| entry.actor == name);
    let joined = own().find(|entry| entry.kind() == Kind::MemberJoined);
    let last = own().rfind(|entry| matches!(entry.kind(), Kind::MemberJoined | Kind::MemberLeft));
    Person {
        name: name.to_owned(),
        agent_type: told("agentType"),
        model: told("model"),
        joined_at: joined.map(|entry| entry.at.clone()),
        left_at: last.filter(|entry| entry.kind() == Kind::MemberLeft).map(|entry| entry.at.clone()),
    }
}
