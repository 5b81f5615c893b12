//! A run in a few numbers: a row of `list`.

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::entry_kind::MessageEvent;
use super::merge::Timeline;
use super::run_data::RunData;
use crate::archive::EndedBy;
use crate::event::LEAD;
use crate::payload::Kind as PayloadKind;

/// An element of `list --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The run's id.
    pub run: String,
    /// The team; `null` for a session without one.
    pub team: Option<String>,
    /// The directory in which the lead works.
    #[serde(default)]
    pub project: Option<String>,
    /// The session that leads it.
    pub lead_session: Option<String>,
    /// When Claude Code created the team, RFC 3339; for a session without one, when it was first seen.
    pub created_at: Option<String>,
    /// The first hook call of the run, RFC 3339: the origin of its times.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// How it ended.
    pub ended_by: Option<EndedBy>,
    /// All agents that were ever in it.
    pub members: Vec<String>,
    /// Number of tasks, without the trackers of 2.1.47.
    pub tasks: usize,
    /// Number of messages between agents, without automatic ones.
    pub messages: usize,
    /// Number of snapshots.
    pub snapshots: usize,
    /// Events before this time are missing, because the log was pruned before they were copied into the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_missing_until: Option<String>,
    /// The last sign of a run without a recorded end whose Claude Code process is gone.
    #[serde(skip)]
    pub gone: Option<String>,
}

impl Summary {
    /// Computes it.
    pub fn of(material: &RunData, timeline: &Timeline) -> Summary {
        let run = &material.run;
        let mut tasks: Vec<&String> =
            timeline.entries.iter().filter_map(|entry| Some(&entry.task()?.id)).collect();
        tasks.sort();
        tasks.dedup();
        Summary {
            run: run.run.clone(),
            team: run.name().map(str::to_owned),
            project: project(material),
            lead_session: run.lead_session.clone(),
            created_at: run.created_at.clone().or_else(|| run.team.is_none().then(|| run.started_at.clone())),
            started_at: run.started_at.clone(),
            ended_at: run.ended_at.clone(),
            ended_by: run.ended_by,
            members: material.members.clone(),
            tasks: tasks.len(),
            messages: timeline.entries.iter().filter(|entry| is_message(entry)).count(),
            snapshots: material.journal.snapshots.len(),
            events_missing_until: material.missing_until.clone(),
            gone: material.client_gone.then(|| material.last_moment(&timeline.entries).to_owned()),
        }
    }
}

/// The directory of the lead, or that of the first session.
fn project(material: &RunData) -> Option<String> {
    let mut members = material.history.rosters.iter().flat_map(|(_, roster)| &roster.members);
    let of_lead = members.find(|member| member.name == LEAD).and_then(|lead| lead.cwd.clone());
    let mut starts = material.events.iter().filter(|event| event.kind == PayloadKind::SessionStart);
    of_lead.or_else(|| starts.find_map(|start| start.payload.text("cwd").map(str::to_owned)))
}

/// Whether an agent sent this to another one.
fn is_message(entry: &Entry) -> bool {
    entry.message().is_some_and(|message| message.event != MessageEvent::Refused && !message.automatic)
}
