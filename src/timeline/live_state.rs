//! The state of each agent and task at a point of the timeline.

use std::collections::BTreeMap;

use super::entry::Entry;
use super::entry_kind::{EntryKind, MessageEvent, TaskEntry, TaskEvent, TurnEvent};
use crate::model::TaskStatus;

/// The state of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// A turn is in progress.
    Works,
    /// It approved its shutdown.
    Stops,
    /// It has joined, and had no turn yet.
    Here,
    /// It waits for work.
    Idles,
    /// It left, its session ended, or its work as a subagent is done.
    Gone,
}

impl Activity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Activity::Works => "works",
            Activity::Stops => "stops",
            Activity::Here => "here",
            Activity::Idles => "idle",
            Activity::Gone => "gone",
        }
    }
}

/// An agent of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberState {
    /// The name.
    pub name: String,
    /// Its state.
    pub doing: Activity,
    /// Start of this state, RFC 3339.
    pub since: String,
}

/// The state of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskState {
    /// The status; `None` if Claude Code erased its file.
    pub status: Option<TaskStatus>,
    /// The owner.
    pub owner: Option<String>,
    /// The subject.
    pub subject: String,
}

impl TaskState {
    /// The status in one word.
    pub fn word(&self) -> &str {
        self.status.as_ref().map_or("erased", TaskStatus::as_str)
    }

    /// Whether its file is gone.
    pub fn is_gone(&self) -> bool {
        matches!(self.status, None | Some(TaskStatus::Deleted))
    }
}

/// The agents and tasks at a point of the timeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveState {
    /// All agents in the order in which they joined.
    pub roster: Vec<MemberState>,
    /// The tasks; those with numeric ids in numeric order.
    pub tasks: BTreeMap<(u64, String), TaskState>,
}

impl LiveState {
    /// Applies one entry. Returns whether the display may change.
    pub fn apply(&mut self, entry: &Entry) -> bool {
        let doing = match &entry.kind {
            EntryKind::SessionStarted(_) | EntryKind::MemberJoined(_) => Activity::Here,
            EntryKind::Turn(turn) => match turn.event {
                TurnEvent::Started => Activity::Works,
                TurnEvent::Ended if turn.by_subagent => Activity::Gone,
                TurnEvent::Ended | TurnEvent::Idle => Activity::Idles,
            },
            EntryKind::Message(message) if message.event == MessageEvent::ShutdownApproved => Activity::Stops,
            EntryKind::MemberLeft | EntryKind::SessionEnded(_) => Activity::Gone,
            EntryKind::TeamErased { .. } => {
                for member in self.roster.iter_mut().filter(|member| member.doing != Activity::Gone) {
                    (member.doing, member.since) = (Activity::Gone, entry.at.clone());
                }
                return true;
            }
            EntryKind::Task(change) => {
                self.task(change);
                if matches!(change.event, TaskEvent::Found | TaskEvent::Erased) || !self.rests(&entry.actor) {
                    return true;
                }
                Activity::Works
            }
            // The start of a turn is not always recorded, so any action of an agent counts as working.
            EntryKind::Message(message) if !message.automatic && self.rests(&entry.actor) => Activity::Works,
            EntryKind::TeamCreated { .. } | EntryKind::Message(_) | EntryKind::Verdict(_) => return false,
        };
        self.member(&entry.actor, doing, &entry.at);
        true
    }

    fn task(&mut self, change: &TaskEntry) {
        let key = (change.id.parse().unwrap_or(u64::MAX), change.id.clone());
        let task = self.tasks.entry(key).or_default();
        match change.event {
            TaskEvent::Deleted => task.status = Some(TaskStatus::Deleted),
            TaskEvent::Erased => task.status = None,
            _ => {
                task.status.clone_from(&change.to);
                task.owner.clone_from(&change.owner);
            }
        }
        if let Some(subject) = &change.subject {
            task.subject.clone_from(subject);
        }
    }

    fn rests(&self, name: &str) -> bool {
        let member = self.roster.iter().find(|member| member.name == name);
        member.is_some_and(|member| matches!(member.doing, Activity::Here | Activity::Idles))
    }

    fn member(&mut self, name: &str, doing: Activity, at: &str) {
        if ["client", "unknown", "helper", "user"].contains(&name) {
            return;
        }
        let place = self.roster.iter().position(|member| member.name == name).unwrap_or_else(|| {
            self.roster.push(MemberState { name: name.to_owned(), doing, since: at.to_owned() });
            self.roster.len() - 1
        });
        let member = &mut self.roster[place];
        // The start of a session or a roster entry does not interrupt an agent's work, and a turn can end after its
        // agent left.
        let stays = match doing {
            Activity::Here => member.doing != Activity::Gone,
            Activity::Idles | Activity::Stops => member.doing == Activity::Gone,
            Activity::Works | Activity::Gone => false,
        };
        if member.doing != doing && !stays {
            (member.doing, member.since) = (doing, at.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Source;
    use super::super::entry_kind::{MessageEntry, SessionEntry, TurnEntry, VerdictEntry};
    use super::*;
    use crate::policy::Decision;

    #[test]
    fn a_board_follows_the_story() {
        let mut state = LiveState::default();
        let entry = |at: &str, kind: EntryKind, actor: &str| Entry::new(at, actor, Source::Hook, kind);
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
                .map(|member| format!("{} {} {}", member.name, member.doing.word(), member.since))
                .collect()
        };
        state.apply(&entry("1", started, "team-lead"));
        state.apply(&entry("2", EntryKind::MemberJoined(Default::default()), "alice"));
        state.apply(&entry("3", turn(TurnEvent::Started), "alice"));
        assert!(!state.apply(&entry("4", message(true), "client")));
        state.apply(&entry("4", message(false), "team-lead"));
        assert_eq!(doing(&state), ["team-lead works 4", "alice works 3"]);
        let mut task = |event, id: &str| {
            let (from, to, id) = (None, Some(TaskStatus::Pending), id.to_owned());
            let change = TaskEntry { event, id, subject: None, from, to, owner: None, is_renamed: false };
            state.apply(&entry("5", EntryKind::Task(change), "team-lead"));
        };
        task(TaskEvent::Created, "2");
        task(TaskEvent::Created, "10");
        task(TaskEvent::Erased, "2");
        let tasks: Vec<(&str, &str)> =
            state.tasks.iter().map(|((_, id), task)| (id.as_str(), task.word())).collect();
        assert_eq!(tasks, [("2", "erased"), ("10", "pending")]);
        state.apply(&entry("6", turn(TurnEvent::Ended), "alice"));
        state.apply(&entry("7", turn(TurnEvent::Idle), "alice"));
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
        let verdict = entry("7", EntryKind::Verdict(verdict), "alice");
        assert!(!state.apply(&verdict), "who is judged need not work");
        state.apply(&entry("8", EntryKind::TeamErased { ended_by: None }, "client"));
        state.apply(&entry("9", turn(TurnEvent::Ended), "alice"));
        assert_eq!(doing(&state), ["team-lead gone 8", "alice gone 8"]);
    }
}
