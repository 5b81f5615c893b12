//! When each agent showed activity: its hooks, its transcript, and what it sent and changed.

use std::collections::HashMap;

use super::input::ReportInput;
use crate::timeline::{EntryKind, Kind, RunData, Timeline};
use teamkeep_model::event::ActorKind;
use teamkeep_model::payload::EventKind as Event;
use teamkeep_model::time::Timestamp;

/// The times of each agent, in milliseconds, in order. Automatic actions of Claude Code do not count.
#[derive(Debug, Default)]
pub struct ActivityTimes(HashMap<String, Vec<i64>>);

impl ActivityTimes {
    pub fn of(data: &RunData, timeline: &Timeline) -> ActivityTimes {
        ActivityTimes::of_case(&ReportInput::new(data, timeline))
    }

    pub(super) fn of_case(case: &ReportInput<'_>) -> ActivityTimes {
        let mut times = ActivityTimes::default();
        times.add_events(case);
        times.add_transcripts(case);
        times.add_entries(case);
        times.0.values_mut().for_each(|own| own.sort_unstable());
        times
    }

    /// The agent's last activity until that moment.
    pub fn last(&self, name: &str, at: Timestamp) -> Option<Timestamp> {
        let own = self.of_agent(name);
        let count = own.partition_point(|one| *one <= at.millis());
        own[..count].last().and_then(|last| Timestamp::from_millis(*last))
    }

    /// The times of an agent.
    pub(super) fn of_agent(&self, name: &str) -> &[i64] {
        self.0.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The times of each agent.
    pub(super) fn each(&self) -> impl Iterator<Item = (&String, &Vec<i64>)> {
        self.0.iter()
    }

    fn add(&mut self, name: &str, at: Option<Timestamp>) {
        let Some(at) = at else { return };
        match self.0.get_mut(name) {
            Some(own) => own.push(at.millis()),
            None => drop(self.0.insert(name.to_owned(), vec![at.millis()])),
        }
    }

    fn add_events(&mut self, case: &ReportInput<'_>) {
        for event in &case.data.events {
            let is_own = !matches!(event.kind, Event::FileChanged | Event::Notification | Event::Unknown);
            if is_own && event.verdict.is_none() && event.actor().kind != ActorKind::Helper {
                self.add(event.shown(&case.data.run), Some(event.at));
            }
        }
    }

    fn add_transcripts(&mut self, case: &ReportInput<'_>) {
        let transcripts = &case.data.transcripts;
        transcripts.uses.values().for_each(|used| self.add(&used.transcript.by, case.to_local(used.at)));
        transcripts
            .costs
            .values()
            .for_each(|cost| self.add(&cost.transcript.by, case.to_local(cost.message.at)));
        for delivered in &transcripts.delivered {
            self.add(&delivered.transcript.by, case.to_local(delivered.at));
        }
    }

    fn add_entries(&mut self, case: &ReportInput<'_>) {
        for entry in case.entries.iter().filter(|entry| !entry.is_automatic()) {
            let is_own = match &entry.kind {
                EntryKind::Task(_) => !matches!(entry.kind(), Kind::TaskFound | Kind::TaskErased),
                EntryKind::Message(_)
                | EntryKind::Turn(_)
                | EntryKind::MemberJoined(_)
                | EntryKind::AgentStopped(_) => true,
                _ => false,
            };
            if is_own {
                self.add(&entry.actor, Some(entry.at));
            }
        }
    }
}
