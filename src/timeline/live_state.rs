//! The state of each agent and task at a point of the timeline.

use std::collections::BTreeMap;

use super::entry::{Entry, Kind};
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
        if let (true, Some(id)) = (entry.kind.is_task(), &entry.task) {
            self.task(id, entry);
        }
        let doing = match entry.kind {
            Kind::SessionStarted | Kind::MemberJoined => Activity::Here,
            Kind::TurnStarted => Activity::Works,
            Kind::TurnEnded if entry.by_subagent => Activity::Gone,
            Kind::TurnEnded | Kind::Idle => Activity::Idles,
            Kind::ShutdownApproved => Activity::Stops,
            Kind::MemberLeft | Kind::SessionEnded => Activity::Gone,
            Kind::TeamErased => {
                for seat in self.roster.iter_mut().filter(|seat| seat.doing != Activity::Gone) {
                    (seat.doing, seat.since) = (Activity::Gone, entry.at.clone());
                }
                return true;
            }
            // The start of a turn is not always recorded, so any action of an agent counts as working.
            _ if is_deed(entry) && self.rests(&entry.actor) => Activity::Works,
            _ => return entry.kind.is_task(),
        };
        self.seat(&entry.actor, doing, &entry.at);
        true
    }

    fn task(&mut self, id: &str, entry: &Entry) {
        let card = self.tasks.entry((id.parse().unwrap_or(u64::MAX), id.to_owned())).or_default();
        match entry.kind {
            Kind::TaskDeleted => card.status = Some(TaskStatus::Deleted),
            Kind::TaskErased => card.status = None,
            _ => {
                card.status.clone_from(&entry.to_status);
                card.owner = entry.owner.clone().flatten();
            }
        }
        if let Some(subject) = &entry.summary {
            card.subject.clone_from(subject);
        }
    }

    fn rests(&self, name: &str) -> bool {
        let seat = self.roster.iter().find(|seat| seat.name == name);
        seat.is_some_and(|seat| matches!(seat.doing, Activity::Here | Activity::Idles))
    }

    fn seat(&mut self, name: &str, doing: Activity, at: &str) {
        if ["client", "unknown", "helper", "user"].contains(&name) {
            return;
        }
        let place = self.roster.iter().position(|seat| seat.name == name).unwrap_or_else(|| {
            self.roster.push(MemberState { name: name.to_owned(), doing, since: at.to_owned() });
            self.roster.len() - 1
        });
        let seat = &mut self.roster[place];
        // The start of a session or a roster entry does not interrupt an agent's work, and a turn can end after its
        // agent left.
        let stays = match doing {
            Activity::Here => seat.doing != Activity::Gone,
            Activity::Idles | Activity::Stops => seat.doing == Activity::Gone,
            Activity::Works | Activity::Gone => false,
        };
        if seat.doing != doing && !stays {
            (seat.doing, seat.since) = (doing, at.to_owned());
        }
    }
}

/// Whether an agent does this during a turn.
fn is_deed(entry: &Entry) -> bool {
    let kinds = [Kind::TaskCreated, Kind::TaskChanged, Kind::TaskCompleted, Kind::TaskDeleted];
    let told = [Kind::Message, Kind::MessageRefused, Kind::ShutdownRequested, Kind::ShutdownRejected];
    !entry.automatic && (kinds.contains(&entry.kind) || told.contains(&entry.kind))
}

#[cfg(test)]
mod tests {
    use super::super::entry::Source;
    use super::*;

    #[test]
    fn a_board_follows_the_story() {
        let mut board = LiveState::default();
        let thing = |at: &str, kind: Kind, actor: &str| Entry::new(at, kind, actor, Source::Hook);
        let doing = |board: &LiveState| -> Vec<String> {
            let seats = board.roster.iter();
            seats.map(|seat| format!("{} {} {}", seat.name, seat.doing.word(), seat.since)).collect()
        };
        board.apply(&thing("1", Kind::SessionStarted, "team-lead"));
        board.apply(&thing("2", Kind::MemberJoined, "alice"));
        board.apply(&thing("3", Kind::TurnStarted, "alice"));
        assert!(!board.apply(&Entry { automatic: true, ..thing("4", Kind::Message, "client") }));
        board.apply(&thing("4", Kind::Message, "team-lead"));
        assert_eq!(doing(&board), ["team-lead works 4", "alice works 3"]);
        let mut task = thing("5", Kind::TaskCreated, "team-lead");
        (task.task, task.to_status) = (Some("2".to_owned()), Some(TaskStatus::Pending));
        board.apply(&task);
        board.apply(&Entry { task: Some("10".to_owned()), summary: Some("Ten".to_owned()), ..task.clone() });
        board.apply(&Entry { kind: Kind::TaskErased, ..task });
        let cards: Vec<(&str, &str)> =
            board.tasks.iter().map(|((_, id), card)| (id.as_str(), card.word())).collect();
        assert_eq!(cards, [("2", "erased"), ("10", "pending")]);
        board.apply(&thing("6", Kind::TurnEnded, "alice"));
        board.apply(&thing("7", Kind::Idle, "alice"));
        assert!(!board.apply(&thing("7", Kind::Verdict, "alice")), "who is judged need not work");
        board.apply(&thing("8", Kind::TeamErased, "client"));
        board.apply(&thing("9", Kind::TurnEnded, "alice"));
        assert_eq!(doing(&board), ["team-lead gone 8", "alice gone 8"]);
    }
}
