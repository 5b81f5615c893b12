//! The timeline of a run: hooks, snapshots, inboxes and transcripts merged, so that each event appears once; and the changes of the team
//! that its entries show.

mod agents;
mod entry;
mod events;
mod filter;
mod lifecycle;
mod loaded_event;
mod message_matcher;
mod messages;
mod run_catalog;
mod run_data;
mod snapshots;
mod state;
mod tasks;
mod transcripts;
mod turn_ends;

pub use agents::{AgentTurn, SharedNames};
pub use entry::{
    DeliveredAnswer, Entry, EntryKind, JoinEntry, Kind, MessageEntry, MessageEvent, SessionEntry, Source,
    StopEntry, TurnEntry, TurnEvent, VerdictEntry, parse_kind,
};
pub use events::{DetailLevel, by_run};
pub use filter::{Filter, NewEntries};
pub use loaded_event::LoadedEvent;
pub use messages::UnreadCounts;
pub use run_catalog::{Fingerprint, OpenedRun, RunCatalog, homes};
pub use run_data::{ClockMap, RunData, Summary, is_client_gone, open_index, project};
pub use snapshots::{InboxCopy, RunSnapshots, TaskIds};
pub use state::{Departures, Diff, State, Things, diff, state};
pub use tasks::held_until_shutdown;
pub use transcripts::{Cost, DeliveredMessage, ToolOutcome, ToolUse, Transcript, Transcripts, read_note};
pub use turn_ends::{UnsentAnswer, unsent_answers};

use teamkeep_model::TaskStatus;
use teamkeep_model::event::AgentRef;
use teamkeep_model::team::without_team;
use teamkeep_policy::{Change, LiveState, Sign, TaskEvent};

#[derive(Debug, Default)]
pub struct Timeline {
    pub entries: Vec<Entry>,
    /// Converts Claude Code's times to teamkeep's clock.
    pub when: ClockMap,
}

pub fn merge(data: &RunData) -> Timeline {
    let when = ClockMap::of(data);
    let mut entries = lifecycle::sessions(data);
    entries.extend(lifecycle::team(data));
    entries.extend(tasks::tasks(data));
    entries.extend(messages::messages(data, &when));
    entries.extend(lifecycle::turns(data));
    entries.extend(lifecycle::verdicts(data));
    // Entries of one moment are ordered by kind: a team is created before an agent joins it.
    entries.sort_by_key(|a| (a.at, a.kind()));
    turn_ends::add_reported(data, &when, &mut entries);
    turn_ends::add_missing(data, &mut entries);
    turn_ends::mark_answers(&mut entries);
    Timeline { entries, when }
}

/// The actors that are not agents, unless one with that name joined the team.
const NOT_AGENTS: [&str; 4] = ["client", "unknown", "helper", "user"];

/// The state of the team after the last of these entries.
pub fn state_after(entries: &[Entry]) -> LiveState {
    let mut team = LiveState::default();
    entries.iter().for_each(|entry| entry.apply_to(&mut team));
    team
}

/// A sign of an agent's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentSign<'a> {
    pub agent: AgentRef<'a>,
    pub sign: Sign,
    /// Whether another agent of that name still works, so that it is not a sign of the name.
    pub beside_another: bool,
}

impl Entry {
    pub fn apply_to(&self, team: &mut LiveState) {
        if let EntryKind::TeamErased { .. } = self.kind {
            return team.apply(self.at, Change::TeamErased);
        }
        if let Some(change) = self.task() {
            team.apply(self.at, Change::Task { by: &self.actor, change });
        }
        let message = self.message();
        let plan = match message.map(|message| message.word.as_str()) {
            Some("plan_approval_request") => Some((self.actor.as_str(), true)),
            Some("plan_approval_response") => {
                message.and_then(|message| Some((without_team(message.to.as_deref()?), false)))
            }
            _ if changes_own_task(self) => Some((self.actor.as_str(), false)),
            _ => None,
        };
        if let Some((agent, is_open)) = plan {
            team.apply(self.at, Change::Plan { agent, is_open });
        }
        for AgentSign { agent, sign, .. } in self.signs().filter(|sign| !sign.beside_another) {
            let agent = agent.name;
            let is_agent =
                !NOT_AGENTS.contains(&agent) || sign == Sign::Joins || team.member(agent).is_some();
            let why = self.turn().and_then(TurnEntry::why);
            if is_agent {
                team.apply(self.at, Change::Sign { agent, sign, why });
            }
        }
    }

    /// The signs that the entry is of agents: of its actor, and of the agent that the actor stopped.
    pub fn signs(&self) -> impl Iterator<Item = AgentSign<'_>> {
        let turn = self.turn();
        let id =
            turn.filter(|turn| turn.by_subagent || turn.shares_name).and_then(|turn| turn.agent.as_deref());
        let is_end = turn.is_some_and(|turn| {
            matches!(turn.event, TurnEvent::Ended | TurnEvent::Failed | TurnEvent::Interrupted)
        });
        let own = |sign| AgentSign {
            agent: AgentRef { name: &self.actor, id },
            sign,
            beside_another: sign != Sign::StartsTurn && turn.is_some_and(|turn| turn.beside_another),
        };
        let stopped = match &self.kind {
            EntryKind::AgentStopped(stop) => Some(AgentSign {
                agent: AgentRef { name: &stop.name, id: stop.agent.as_deref() },
                sign: Sign::Leaves,
                beside_another: stop.beside_another,
            }),
            // The work of a subagent is one turn.
            EntryKind::Turn(turn) if is_end && turn.by_subagent => Some(own(Sign::Leaves)),
            _ => None,
        };
        sign(self).map(own).into_iter().chain(stopped)
    }
}

/// Whether an agent begins or completes a task. An agent whose plan is not approved cannot do its work.
fn changes_own_task(entry: &Entry) -> bool {
    entry.task().is_some_and(|change| {
        let is_work = matches!(change.to, Some(TaskStatus::InProgress | TaskStatus::Completed));
        is_work && change.from != change.to
    })
}

/// The sign that the entry is of its actor.
fn sign(entry: &Entry) -> Option<Sign> {
    match &entry.kind {
        EntryKind::SessionStarted(_) => Some(Sign::StartsSession),
        EntryKind::SessionEnded(_) => Some(Sign::EndsSession),
        EntryKind::MemberJoined(_) => Some(Sign::Joins),
        EntryKind::MemberLeft => Some(Sign::Leaves),
        EntryKind::Turn(turn) => Some(match turn.event {
            TurnEvent::Started => Sign::StartsTurn,
            TurnEvent::Ended | TurnEvent::Interrupted => Sign::EndsTurn,
            TurnEvent::Failed => Sign::FailsTurn,
            TurnEvent::Idle => Sign::GoesIdle,
        }),
        EntryKind::Message(message) if message.event == MessageEvent::ShutdownApproved => {
            Some(Sign::ApprovesShutdown)
        }
        EntryKind::Message(message) if !message.automatic => Some(Sign::Acts),
        EntryKind::Task(change) if !matches!(change.event, TaskEvent::Found | TaskEvent::Erased) => {
            Some(Sign::Acts)
        }
        EntryKind::AgentStopped(_) => Some(Sign::Acts),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_model::time::Timestamp;
    use teamkeep_policy::{Activity, Decision, TaskChange};

    fn entry(at: i64, kind: EntryKind, actor: &str) -> Entry {
        Entry::new(Timestamp::from_millis(at).unwrap(), actor, Source::Hook, kind)
    }

    fn changed(event: TaskEvent, id: &str) -> EntryKind {
        let (to, id) = (Some(TaskStatus::Pending), id.to_owned());
        EntryKind::Task(TaskChange { event, id, to, ..TaskChange::default() })
    }

    #[test]
    fn a_member_can_have_the_name_of_an_actor_that_is_not_an_agent() {
        let mut state = LiveState::default();
        entry(1, changed(TaskEvent::Created, "1"), "helper").apply_to(&mut state);
        assert!(state.roster.is_empty());
        entry(2, EntryKind::MemberJoined(Default::default()), "helper").apply_to(&mut state);
        entry(3, changed(TaskEvent::Created, "2"), "helper").apply_to(&mut state);
        assert_eq!(state.doing("helper"), Some(Activity::Works));
    }

    #[test]
    fn the_state_follows_the_timeline() {
        let mut state = LiveState::default();
        let turn = |event| {
            EntryKind::Turn(TurnEntry {
                event,
                description: None,
                text: None,
                agent: None,
                by_subagent: false,
                shares_name: false,
                beside_another: false,
            })
        };
        let message = |automatic| {
            let message = MessageEntry::new(MessageEvent::Sent, "message".to_owned(), String::new());
            EntryKind::Message(MessageEntry { automatic, ..message })
        };
        let started = EntryKind::SessionStarted(SessionEntry { cause: None, session: None });
        let doing = |state: &LiveState| -> Vec<String> {
            let members = state.roster.iter();
            members
                .map(|member| format!("{} {:?} {}", member.name, member.doing, member.since.millis()))
                .collect()
        };
        entry(1, started, "team-lead").apply_to(&mut state);
        entry(2, EntryKind::MemberJoined(Default::default()), "alice").apply_to(&mut state);
        entry(3, turn(TurnEvent::Started), "alice").apply_to(&mut state);
        entry(4, message(true), "client").apply_to(&mut state);
        entry(4, message(false), "team-lead").apply_to(&mut state);
        assert_eq!(doing(&state), ["team-lead Works 4", "alice Works 3"]);
        let mut task = |event, id: &str| entry(5, changed(event, id), "team-lead").apply_to(&mut state);
        task(TaskEvent::Created, "2");
        task(TaskEvent::Created, "10");
        task(TaskEvent::Erased, "2");
        let tasks = state
            .not_deleted()
            .into_iter()
            .map(|(id, task)| (id, task.status.clone(), task.removed.is_some()));
        let pending = || Some(TaskStatus::Pending);
        assert_eq!(tasks.collect::<Vec<_>>(), [("2", pending(), true), ("10", pending(), false)]);
        entry(6, turn(TurnEvent::Ended), "alice").apply_to(&mut state);
        entry(7, turn(TurnEvent::Idle), "alice").apply_to(&mut state);
        let verdict = VerdictEntry {
            decision: Decision::Warn,
            gate: "g".to_owned(),
            text: String::new(),
            reason: String::new(),
            agent: None,
            judged_event: "e".to_owned(),
            blocks: None,
            paused: false,
            repeated: false,
            ignored: false,
        };
        let verdict = entry(7, EntryKind::Verdict(verdict), "alice");
        let before = state.clone();
        verdict.apply_to(&mut state);
        assert_eq!(state, before, "a verdict does not show that its agent works");
        entry(8, EntryKind::TeamErased { ended_by: None }, "client").apply_to(&mut state);
        entry(9, turn(TurnEvent::Ended), "alice").apply_to(&mut state);
        assert_eq!(doing(&state), ["team-lead Gone 8", "alice Gone 8"]);
    }
}
