//! A run in a few numbers: what `teams` lists.

use serde::{Deserialize, Serialize};

use super::entry::{Entry, Kind};
use super::material::Material;
use super::merge::Timeline;
use crate::archive::EndedBy;

/// What `teams --json` prints of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The run's id.
    pub run: String,
    /// The team; `null` for a session without one.
    pub team: Option<String>,
    /// The session that leads it.
    pub lead_session: Option<String>,
    /// When the client made the team, RFC 3339; for a session without one, when it was first seen.
    pub created_at: Option<String>,
    /// The first hook call that saw it, RFC 3339: the origin of its times.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// What ended it.
    pub ended_by: Option<EndedBy>,
    /// Everybody who was ever in it.
    pub members: Vec<String>,
    /// How many tasks there were. Trackers of 2.1.47 are none.
    pub tasks: usize,
    /// How many messages agents sent each other. The client's own notices are not counted.
    pub messages: usize,
    /// How many snapshots were taken.
    pub snapshots: usize,
    /// Events before this time are missing, because the log was pruned before they were copied into the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_missing_until: Option<String>,
    /// Where no end is on record but the client's process is gone: when the run was last heard of.
    #[serde(skip)]
    pub gone: Option<String>,
}

impl Summary {
    /// Counts.
    pub fn of(material: &Material, timeline: &Timeline) -> Summary {
        let run = &material.run;
        let mut tasks: Vec<&String> = timeline
            .entries
            .iter()
            .filter(|entry| entry.kind.is_task())
            .filter_map(|entry| entry.task.as_ref())
            .collect();
        tasks.sort();
        tasks.dedup();
        Summary {
            run: run.run.clone(),
            team: run.name().map(str::to_owned),
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
            gone: material.last_sign().filter(|_| material.client_gone).map(str::to_owned),
        }
    }
}

/// Whether an agent said this to another.
fn is_message(entry: &Entry) -> bool {
    let kinds = [Kind::Message, Kind::ShutdownRequested, Kind::ShutdownApproved, Kind::ShutdownRejected];
    kinds.contains(&entry.kind) && !entry.automatic
}
