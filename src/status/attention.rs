//! The agents and incidents that need attention, stored for a while beside the run: a status line shows them many times a
//! minute and cannot open a timeline each time.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::board::AgentState;
use super::observation::Observation;
use crate::timeline::RunData;
use teamkeep_core::store::archive::Archive;
use teamkeep_core::sys::clock::Timestamp;

/// The file in the run's directory.
const FILE_NAME: &str = "attention.json";
/// Version of the content.
const VERSION: u32 = 1;
/// How long it is used.
const MAX_AGE: TimeDelta = TimeDelta::seconds(30);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    v: u32,
    at: Timestamp,
    pub stalled: Vec<String>,
    pub waiting: Vec<String>,
    /// Number of incidents that are not over.
    pub alerts: usize,
}

impl Attention {
    pub fn of(data: &RunData, observed: &Observation) -> Attention {
        let board = observed.board(data);
        let is_open = |incident: &&_| !board.is_over(incident, observed.at);
        let names = |state| {
            let members = board.members.iter().filter(|member| member.state == state);
            members.map(|member| member.name.clone()).collect()
        };
        Attention {
            v: VERSION,
            at: observed.at,
            stalled: names(AgentState::Stalled),
            waiting: names(AgentState::Waiting),
            alerts: observed.incidents().iter().filter(is_open).count(),
        }
    }

    pub fn has(&self, name: &String) -> bool {
        self.stalled.contains(name) || self.waiting.contains(name)
    }

    /// The stored one, if it is recent.
    pub fn stored(archive: &Archive, run: &str, now: Timestamp) -> Option<Attention> {
        let stored: Attention = serde_json::from_slice(&archive.note(run, FILE_NAME)?).ok()?;
        let is_recent = stored.at <= now && now - stored.at <= MAX_AGE;
        (stored.v == VERSION && is_recent).then_some(stored)
    }

    /// Stores it. A failure is ignored: it is made again.
    pub fn store(&self, archive: &Archive, run: &str) {
        if let Ok(bytes) = serde_json::to_vec(self) {
            let _ = archive.write_note(run, FILE_NAME, &bytes);
        }
    }
}
