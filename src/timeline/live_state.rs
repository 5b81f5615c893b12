//! The state of each agent and task at a point of the timeline.

use std::collections::BTreeMap;

use super::entry::{Entry, EntryKind, MessageEvent, TaskEntry, TaskEvent, TurnEvent};
use teamkeep_core::model::TaskStatus;
use teamkeep_core::policy::{Activity, Sign};
use teamkeep_core::sys::clock::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberState {
    pub name: String,
    pub doing: Activity,
    /// Start of this state.
    pub since: Timestamp,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskState {
    /// The status; `None` if Claude Code erased its file.
    pub status: Option<TaskStatus>,
    /// The status before its file was erased.
    pub erased: Option<TaskStatus>,
    pub owner: Option<String>,
    pub subject: String,
    /// When its status or owner last changed.
    pub since: Timestamp,
}

impl TaskState {
    pub fn is_gone(&self) -> bool {
        matches!(self.status, None | Some(TaskStatus::Deleted))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveState {
    /// All agents in the order in which they joined.
    pub roster: Vec<MemberState>,
    /// The tasks; those with numeric ids in numeric order.
    pub tasks: BTreeMap<(u64, String), TaskState>,
}

impl LiveState {
    pub fn of(entries: &[Entry]) -> LiveState {
        let mut state = LiveState::default();
        for entry in entries {
            state.apply(entry);
        }
        state
    }

    /// Applies one entry.
    pub fn apply(&mut self, entry: &Entry) {
        if let EntryKind::TeamErased { .. } = entry.kind {
            self.roster.iter_mut().for_each(|member| member.follow(Sign::Leaves, entry.at));
            return;
        }
        if let Some(change) = entry.task() {
            self.task(change, entry.at);
        }
        if let Some(sign) = sign(entry) {
            self.member(&entry.actor, sign, entry.at);
        }
    }

    fn task(&mut self, change: &TaskEntry, at: Timestamp) {
        let key = (change.id.parse().unwrap_or(u64::MAX), change.id.clone());
        let task = self.tasks.entry(key).or_default();
        let is_changed = (&task.status, &task.owner) != (&change.to, &change.owner);
        if change.event != TaskEvent::Erased && (is_changed || change.event == TaskEvent::Created) {
            task.since = at;
        }
        match change.event {
            TaskEvent::Deleted => task.status = Some(TaskStatus::Deleted),
            TaskEvent::Erased => task.erased = task.status.take().or(task.erased.take()),
            _ => {
                task.status.clone_from(&change.to);
                task.owner.clone_from(&change.owner);
            }
        }
        if let Some(subject) = &change.subject {
            task.subject.clone_from(subject);
        }
    }

    fn member(&mut self, name: &str, sign: Sign, at: Timestamp) {
        if ["client", "unknown", "helper", "user"].contains(&name) {
            return;
        }
        if let Some(member) = self.roster.iter_mut().find(|member| member.name == name) {
            return member.follow(sign, at);
        }
        let new = Activity::after(None, sign);
        self.roster.extend(new.map(|doing| MemberState { name: name.to_owned(), doing, since: at }));
    }
}

impl MemberState {
    fn follow(&mut self, sign: Sign, at: Timestamp) {
        let after = Activity::after(Some(self.doing), sign).filter(|after| *after != self.doing);
        if let Some(after) = after {
            (self.doing, self.since) = (after, at);
        }
    }
}

/// The sign that the entry is of its actor.
fn sign(entry: &Entry) -> Option<Sign> {
    match &entry.kind {
        EntryKind::SessionStarted(_) | EntryKind::MemberJoined(_) => Some(Sign::Joins),
        EntryKind::Turn(turn) => match turn.event {
            TurnEvent::Started => Some(Sign::StartsTurn),
            TurnEvent::Ended if turn.by_subagent => Some(Sign::Leaves),
            TurnEvent::Ended | TurnEvent::Idle => Some(Sign::EndsTurn),
        },
        EntryKind::Message(message) if message.event == MessageEvent::ShutdownApproved => {
            Some(Sign::ApprovesShutdown)
        }
        EntryKind::Message(message) if !message.automatic => Some(Sign::Acts),
        EntryKind::Task(change) if !matches!(change.event, TaskEvent::Found | TaskEvent::Erased) => {
            Some(Sign::Acts)
        }
        EntryKind::MemberLeft | EntryKind::SessionEnded(_) => Some(Sign::Leaves),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Source;
    use super::super::entry::{MessageEntry, SessionEntry, TurnEntry, VerdictEntry};
    use super::*;
    use teamkeep_core::policy::Decision;

    #[test]
    fn the_state_follows_the_timeline() {
        let mut state = LiveState::default();
        let entry = |at: i64, kind: EntryKind, actor: &str| {
            Entry::new(Timestamp::from_millis(at).unwrap(), actor, Source::Hook, kind)
        };
        let turn = |event| {
            EntryKind::Turn(TurnEntry {
                event,
                description: None,
                text: None,
                agent: None,
                by_subagent: false,
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
                .map(|member| format!("{} {} {}", member.name, member.doing.word(), member.since.millis()))
                .collect()
        };
        state.apply(&entry(1, started, "team-lead"));
        state.apply(&entry(2, EntryKind::MemberJoined(Default::default()), "alice"));
        state.apply(&entry(3, turn(TurnEvent::Started), "alice"));
        state.apply(&entry(4, message(true), "client"));
        state.apply(&entry(4, message(false), "team-lead"));
        assert_eq!(doing(&state), ["team-lead works 4", "alice works 3"]);
        let mut task = |event, id: &str| {
            let (from, to, id) = (None, Some(TaskStatus::Pending), id.to_owned());
            let change = TaskEntry { event, id, subject: None, from, to, owner: None, is_renamed: false };
            state.apply(&entry(5, EntryKind::Task(change), "team-lead"));
        };
        task(TaskEvent::Created, "2");
        task(TaskEvent::Created, "10");
        task(TaskEvent::Erased, "2");
        let tasks =
            state.tasks.iter().map(|((_, id), task)| (id.as_str(), task.status.clone(), task.erased.clone()));
        let pending = || Some(TaskStatus::Pending);
        assert_eq!(tasks.collect::<Vec<_>>(), [("2", None, pending()), ("10", pending(), None)]);
        state.apply(&entry(6, turn(TurnEvent::Ended), "alice"));
        state.apply(&entry(7, turn(TurnEvent::Idle), "alice"));
        let verdict = VerdictEntry {
            decision: Decision::Warn,
            gate: "g".to_owned(),
            reason: String::new(),
            agent: None,
            judged: "e".to_owned(),
            blocks: None,
            paused: false,
            repeated: false,
        };
        let verdict = entry(7, EntryKind::Verdict(verdict), "alice");
        let before = state.clone();
        state.apply(&verdict);
        assert_eq!(state, before, "a verdict does not show that its agent works");
        state.apply(&entry(8, EntryKind::TeamErased { ended_by: None }, "client"));
        state.apply(&entry(9, turn(TurnEvent::Ended), "alice"));
        assert_eq!(doing(&state), ["team-lead gone 8", "alice gone 8"]);
    }
}
