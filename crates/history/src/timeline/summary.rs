//! A run in a few numbers.

use serde::{Deserialize, Serialize};

use super::Timeline;
use super::changes::state_after;
use super::entry::{Entry, MessageEvent};
use super::run_data::RunData;
use teamkeep_model::event::LEAD;
use teamkeep_model::payload::EventKind as PayloadKind;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::EndedBy;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub run: String,
    pub team: Option<String>,
    #[serde(default)]
    pub project: Option<String>,
    pub lead_session: Option<String>,
    /// When Claude Code created the team; for a session without one, when it was first seen.
    pub created_at: Option<Timestamp>,
    /// The first hook call of the run: the origin of its times.
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub ended_by: Option<EndedBy>,
    pub members: Vec<String>,
    /// Number of tasks, without deleted ones and the trackers of 2.1.47.
    pub tasks: usize,
    pub messages: usize,
    pub snapshots: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_missing_until: Option<Timestamp>,
    /// The last sign of a run without a recorded end whose Claude Code process is gone.
    #[serde(skip)]
    pub gone: Option<Timestamp>,
}

impl Summary {
    pub fn of(data: &RunData, timeline: &Timeline) -> Summary {
        let run = &data.run;
        let entries = &timeline.entries;
        let messages = entries.iter().filter_map(Entry::message);
        let sent = messages.filter(|message| message.event != MessageEvent::Refused && !message.automatic);
        Summary {
            run: run.run.clone(),
            team: run.name().map(str::to_owned),
            project: project(data),
            lead_session: run.lead_session.clone(),
            created_at: run.created_at.or_else(|| run.team.is_none().then_some(run.started_at)),
            started_at: run.started_at,
            ended_at: run.ended_at,
            ended_by: run.ended_by,
            members: data.members.clone(),
            tasks: state_after(entries).not_deleted().len(),
            messages: sent.count(),
            snapshots: data.journal.snapshots.len(),
            events_missing_until: data.missing_until,
            gone: data.client_gone.then(|| data.last_moment(entries).to_owned()),
        }
    }
}

/// The directory of a run: that of its lead.
pub fn project(data: &RunData) -> Option<String> {
    let mut members = data.snapshots.rosters.iter().flat_map(|(_, roster)| &roster.members);
    let of_lead = members.find(|member| member.name == LEAD).and_then(|lead| lead.cwd.clone());
    let mut starts = data.events.iter().filter(|event| event.kind == PayloadKind::SessionStart);
    of_lead.or_else(|| starts.find_map(|start| start.text("cwd").map(str::to_owned)))
}
