//! A run in a few lines.

use serde::{Deserialize, Serialize};

use super::case::{Case, between};
use super::messages::Mail;
use super::tasks::TaskLife;
use super::turns::Turn;
use crate::json;
use crate::timeline::Kind;

/// What a run was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// The run's id.
    pub run: String,
    /// The team; `None` for a session without one.
    pub team: Option<String>,
    /// The session that led it.
    pub lead_session: Option<String>,
    /// When it was first seen, RFC 3339.
    pub started_at: String,
    /// When it ended; `None` for one that is alive, or of which no end is on record.
    pub ended_at: Option<String>,
    /// From the first to the last that is on record, in milliseconds.
    pub duration_ms: Option<i64>,
    /// What ended it: `session-end`, `team-delete`, `replaced`, `crashed` or `disappeared`.
    pub ended_by: Option<String>,
    /// The client's own word for it.
    pub ended_reason: Option<String>,
    /// The client's versions, where a transcript tells.
    pub client_versions: Vec<String>,
    /// How the teammates ran.
    pub topology: Topology,
    /// Everybody who was ever in the team, the lead included.
    pub members: Vec<Person>,
    /// How much there was of what.
    pub count: Count,
}

/// How the teammates ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// In the lead's process.
    InProcess,
    /// In panes of their own, with a process each.
    Panes,
    /// Some of them so, some so.
    Mixed,
    /// There were none: a team of its lead alone.
    LeadAlone,
    /// No team: a session with plain subagents.
    NoTeam,
}

/// Somebody who was in the team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The name.
    pub name: String,
    /// The agent's type, where a roster held it.
    pub agent_type: Option<String>,
    /// The model, likewise.
    pub model: Option<String>,
    /// When it joined, RFC 3339.
    pub joined_at: Option<String>,
    /// When it left, if it left before the end.
    pub left_at: Option<String>,
}

/// How much there was of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Members, the lead included.
    pub members: usize,
    /// Messages that agents sent each other.
    pub messages: usize,
    /// Messages that the client sent by itself.
    pub automatic: usize,
    /// Messages that the client or a hook refused.
    pub refused: usize,
    /// Tasks.
    pub tasks: usize,
    /// Of these, how many were completed.
    pub completed: usize,
    /// Turns.
    pub turns: usize,
    /// Recorded events.
    pub events: usize,
    /// Snapshots of the team's files.
    pub snapshots: usize,
}

/// Looks at the whole.
pub fn overview(case: &Case<'_>, mail: &Mail, tasks: &[TaskLife], turns: &[Turn]) -> Overview {
    let (material, run) = (case.material, &case.material.run);
    let spoken = |automatic: bool| {
        mail.messages.iter().filter(|one| one.automatic == automatic && one.refused.is_none()).count()
    };
    let first = case.entries.first().map_or(run.started_at.as_str(), |entry| entry.at.as_str());
    Overview {
        run: run.run.clone(),
        team: run.team.clone(),
        lead_session: run.lead_session.clone(),
        started_at: run.started_at.clone(),
        ended_at: run.ended_at.clone(),
        duration_ms: between(first.min(&run.started_at), &case.end),
        ended_by: run.ended_by.map(|by| json::word(&by)),
        ended_reason: run.ended_reason.clone(),
        client_versions: material.voices.versions.iter().cloned().collect(),
        topology: topology(case),
        members: material.members.iter().map(|name| person(case, name)).collect(),
        count: Count {
            members: material.members.len(),
            messages: spoken(false),
            automatic: spoken(true),
            refused: mail.messages.iter().filter(|one| one.refused.is_some()).count(),
            tasks: tasks.len(),
            completed: tasks.iter().filter(|task| task.status == "completed").count(),
            turns: turns.len(),
            events: material.events.iter().filter(|event| event.ruling.is_none()).count(),
            snapshots: material.journal.snapshots.len(),
        },
    }
}

fn topology(case: &Case<'_>) -> Topology {
    let panes = case.teammates().filter(|name| case.material.run.has_pane(name)).count();
    match case.teammates().count() {
        _ if case.material.run.team.is_none() => Topology::NoTeam,
        0 => Topology::LeadAlone,
        _ if panes == 0 => Topology::InProcess,
        all if panes == all => Topology::Panes,
        _ => Topology::Mixed,
    }
}

fn person(case: &Case<'_>, name: &str) -> Person {
    let history = &case.material.history;
    let members = history.members();
    let told = |key: &str| members.get(name)?.raw.get(key)?.as_str().map(str::to_owned);
    let own = || case.entries.iter().filter(|entry| entry.actor == name);
    let joined = own().find(|entry| entry.kind == Kind::MemberJoined);
    let last = own().rfind(|entry| matches!(entry.kind, Kind::MemberJoined | Kind::MemberLeft));
    Person {
        name: name.to_owned(),
        agent_type: told("agentType"),
        model: told("model"),
        joined_at: joined.map(|entry| entry.at.clone()),
        left_at: last.filter(|entry| entry.kind == Kind::MemberLeft).map(|entry| entry.at.clone()),
    }
}
