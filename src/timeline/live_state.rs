//! The state of a team at a point of its timeline: the only fold of entries. Only this module knows from a timeline who is on
//! the team, what each agent does, and which state each task has.

use std::collections::BTreeMap;

use super::entry::{Entry, EntryKind, MessageEvent, TaskEntry, TaskEvent, TurnEntry, TurnEvent};
use teamkeep_model::TaskStatus;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{Activity, Sign};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberState {
    pub name: String,
    pub doing: Activity,
    /// Start of this state.
    pub since: Timestamp,
    /// Why it did not end its last turn, if it has not worked since.
    pub why: Option<String>,
    /// When it joined the team and left it, for each of its stays; `None` if it did not leave.
    pub stays: Vec<(Timestamp, Option<Timestamp>)>,
    /// When it asked the lead to approve its plan, until that answers, or it continues without a recorded answer.
    pub plan: Option<Timestamp>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskState {
    /// Its last status; of a removed task, the one before its removal.
    pub status: Option<TaskStatus>,
    pub owner: Option<String>,
    pub subject: Option<String>,
    /// When its status or owner last changed.
    pub since: Timestamp,
    /// Its removal, if it does not exist any more.
    pub removed: Option<Removal>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub at: Timestamp,
    pub by: String,
    /// Whether an agent deleted it; otherwise Claude Code erased its file.
    pub is_deletion: bool,
}

impl TaskState {
    pub fn is_deleted(&self) -> bool {
        let is_deletion = self.removed.as_ref().is_some_and(|removal| removal.is_deletion);
        is_deletion || self.status == Some(TaskStatus::Deleted)
    }

    /// Whether this agent has it in progress.
    pub fn is_held(&self, agent: &str) -> bool {
        let is_in_progress = self.status == Some(TaskStatus::InProgress) && self.removed.is_none();
        is_in_progress && self.owner.as_deref() == Some(agent)
    }

    /// Applies a change of the task, which `entry` has.
    pub fn apply(&mut self, entry: &Entry, change: &TaskEntry) {
        let is_changed = (&self.status, &self.owner) != (&change.to, &change.owner);
        if change.event != TaskEvent::Erased && (is_changed || change.event == TaskEvent::Created) {
            self.since = entry.at;
        }
        if change.to.is_some() {
            self.status.clone_from(&change.to);
            self.owner.clone_from(&change.owner);
        }
        if change.subject.is_some() {
            self.subject.clone_from(&change.subject);
        }
        let is_deletion = change.event == TaskEvent::Deleted;
        if !is_deletion && change.event != TaskEvent::Erased {
            self.removed = None;
        } else if !self.is_deleted() || is_deletion {
            self.removed = Some(Removal { at: entry.at, by: entry.actor.clone(), is_deletion });
        }
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
            self.roster.iter_mut().for_each(|member| member.set(Activity::Gone, entry.at));
            return;
        }
        if let Some(change) = entry.task() {
            let key = (change.id.parse().unwrap_or(u64::MAX), change.id.clone());
            self.tasks.entry(key).or_default().apply(entry, change);
        }
        self.follow_plans(entry);
        for (name, sign) in signs(entry) {
            self.member(entry, name, sign);
        }
    }

    /// The agents that are on the team.
    pub fn present(&self) -> impl Iterator<Item = &MemberState> {
        self.roster.iter().filter(|member| matches!(member.stays.last(), Some((_, None))))
    }

    /// When an agent was on the team.
    pub fn stays(&self, name: &str) -> &[(Timestamp, Option<Timestamp>)] {
        let member = self.roster.iter().find(|member| member.name == name);
        member.map_or(&[], |member| &member.stays)
    }

    /// The tasks that were not deleted, each with its id.
    pub fn not_deleted(&self) -> impl Iterator<Item = (&str, &TaskState)> {
        let tasks = self.tasks.iter().filter(|(_, task)| !task.is_deleted());
        tasks.map(|((_, id), task)| (id.as_str(), task))
    }

    /// Applies the requests to approve a plan, and what ends the wait for an answer.
    fn follow_plans(&mut self, entry: &Entry) {
        let word = entry.message().map(|message| message.word.as_str());
        let (name, plan) = match word {
            Some("plan_approval_request") => (Some(entry.actor.as_str()), Some(entry.at)),
            Some("plan_approval_response") => {
                (entry.message().and_then(|message| message.to.as_deref()), None)
            }
            _ if changes_own_task(entry) => (Some(entry.actor.as_str()), None),
            _ => return,
        };
        let member = self.roster.iter_mut().find(|member| name == Some(&member.name));
        member.into_iter().for_each(|member| member.plan = plan);
    }

    fn member(&mut self, entry: &Entry, name: &str, sign: Sign) {
        let at = entry.at;
        let place = self.roster.iter().position(|member| member.name == name);
        let is_known = place.is_some() || matches!(entry.kind, EntryKind::MemberJoined(_));
        let is_agent = !["client", "unknown", "helper", "user"].contains(&name) && name == entry.actor;
        if !is_known && !is_agent {
            return;
        }
        let doing = Activity::after(place.map(|place| self.roster[place].doing), sign);
        let Some(doing) = doing else { return };
        let place = place.unwrap_or_else(|| {
            self.roster.push(MemberState {
                name: name.to_owned(),
                doing,
                since: at,
                why: None,
                stays: Vec::new(),
                plan: None,
            });
            self.roster.len() - 1
        });
        let member = &mut self.roster[place];
        member.set(doing, at);
        if matches!(doing, Activity::Failed | Activity::Idles)
            && let Some(why) = entry.turn().and_then(TurnEntry::why)
        {
            member.why = Some(why);
        }
        match (&entry.kind, member.stays.last_mut()) {
            (EntryKind::MemberJoined(_), None | Some((_, Some(_)))) => member.stays.push((at, None)),
            (EntryKind::MemberLeft, Some((_, left @ None))) => *left = Some(at),
            (EntryKind::AgentStopped(_), Some((_, left @ None))) if sign == Sign::Leaves => *left = Some(at),
            _ => {}
        }
    }
}

impl MemberState {
    fn set(&mut self, doing: Activity, at: Timestamp) {
        if self.doing != doing {
            (self.doing, self.since, self.why) = (doing, at, None);
        }
        if doing == Activity::Gone {
            self.plan = None;
        }
    }

    /// Whether it does nothing until the lead approves its plan. It can work meanwhile, for example on a message.
    pub fn awaits_approval(&self) -> bool {
        self.plan.is_some() && matches!(self.doing, Activity::Idles | Activity::Here)
    }
}

/// Whether an agent begins or completes a task. An agent whose plan is not approved cannot do its work.
pub fn changes_own_task(entry: &Entry) -> bool {
    entry.task().is_some_and(|change| {
        let is_work = matches!(change.to, Some(TaskStatus::InProgress | TaskStatus::Completed));
        is_work && change.from != change.to
    })
}

/// The signs that an entry is of agents: of its actor, and of the agent that the actor stopped.
pub fn signs(entry: &Entry) -> impl Iterator<Item = (&str, Sign)> {
    let stopped = match &entry.kind {
        EntryKind::AgentStopped(stop) if !stop.beside_another => Some((stop.name.as_str(), Sign::Leaves)),
        _ => None,
    };
    stopped.into_iter().chain(sign(entry).map(|sign| (entry.actor.as_str(), sign)))
}

/// The sign that the entry is of its actor.
fn sign(entry: &Entry) -> Option<Sign> {
    match &entry.kind {
        EntryKind::SessionStarted(_) | EntryKind::MemberJoined(_) => Some(Sign::Joins),
        EntryKind::Turn(turn) => match turn.event {
            TurnEvent::Started => Some(Sign::StartsTurn),
            // The row is of the name, under which another agent still works.
            TurnEvent::Ended | TurnEvent::Failed | TurnEvent::Interrupted | TurnEvent::Idle
                if turn.beside_another =>
            {
                None
            }
            TurnEvent::Ended | TurnEvent::Failed | TurnEvent::Interrupted if turn.by_subagent => {
                Some(Sign::Leaves)
            }
            TurnEvent::Ended | TurnEvent::Interrupted => Some(Sign::EndsTurn),
            TurnEvent::Failed => Some(Sign::FailsTurn),
            TurnEvent::Idle => Some(Sign::GoesIdle),
        },
        EntryKind::Message(message) if message.event == MessageEvent::ShutdownApproved => {
            Some(Sign::ApprovesShutdown)
        }
        EntryKind::Message(message) if !message.automatic => Some(Sign::Acts),
        EntryKind::Task(change) if !matches!(change.event, TaskEvent::Found | TaskEvent::Erased) => {
            Some(Sign::Acts)
        }
        EntryKind::MemberLeft | EntryKind::SessionEnded(_) => Some(Sign::Leaves),
        EntryKind::AgentStopped(_) => Some(Sign::Acts),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Source;
    use super::super::entry::{MessageEntry, SessionEntry, VerdictEntry};
    use super::*;
    use teamkeep_policy::Decision;

    fn entry(at: i64, kind: EntryKind, actor: &str) -> Entry {
        Entry::new(Timestamp::from_millis(at).unwrap(), actor, Source::Hook, kind)
    }

    fn changed(event: TaskEvent, id: &str) -> EntryKind {
        let (from, to, id) = (None, Some(TaskStatus::Pending), id.to_owned());
        EntryKind::Task(TaskEntry { event, id, subject: None, from, to, owner: None, is_renamed: false })
    }

    #[test]
    fn a_deleted_task_stays_deleted_when_its_file_is_erased_until_it_is_created_again() {
        let mut state = LiveState::default();
        let mut apply = |at, event| {
            state.apply(&entry(at, changed(event, "1"), if at == 2 { "bob" } else { "client" }));
            let removed = state.tasks.values().next().and_then(|task| task.removed.clone());
            removed.map(|removal| (removal.at.millis(), removal.by, removal.is_deletion))
        };
        assert_eq!(apply(1, TaskEvent::Created), None);
        let deleted = Some((2, "bob".to_owned(), true));
        assert_eq!(apply(2, TaskEvent::Deleted), deleted);
        assert_eq!(apply(3, TaskEvent::Erased), deleted);
        assert_eq!(apply(4, TaskEvent::Created), None);
        assert_eq!(apply(5, TaskEvent::Erased), Some((5, "client".to_owned(), false)));
    }

    #[test]
    fn each_stay_of_a_member_has_its_begin_and_end_whatever_its_name_is() {
        let mut state = LiveState::default();
        let joined = || EntryKind::MemberJoined(Default::default());
        state.apply(&entry(1, changed(TaskEvent::Created, "1"), "helper"));
        assert!(state.roster.is_empty());
        for (at, kind) in [(2, joined()), (3, joined()), (4, EntryKind::MemberLeft), (6, joined())] {
            state.apply(&entry(at, kind, "helper"));
        }
        let time = |at| Timestamp::from_millis(at).unwrap();
        assert_eq!(state.stays("helper"), [(time(2), Some(time(4))), (time(6), None)]);
        assert_eq!(state.present().count(), 1);
        state.apply(&entry(7, EntryKind::MemberLeft, "helper"));
        assert_eq!(state.present().count(), 0);
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
        state.apply(&entry(1, started, "team-lead"));
        state.apply(&entry(2, EntryKind::MemberJoined(Default::default()), "alice"));
        state.apply(&entry(3, turn(TurnEvent::Started), "alice"));
        state.apply(&entry(4, message(true), "client"));
        state.apply(&entry(4, message(false), "team-lead"));
        assert_eq!(doing(&state), ["team-lead Works 4", "alice Works 3"]);
        let mut task = |event, id: &str| state.apply(&entry(5, changed(event, id), "team-lead"));
        task(TaskEvent::Created, "2");
        task(TaskEvent::Created, "10");
        task(TaskEvent::Erased, "2");
        let tasks = state
            .tasks
            .iter()
            .map(|((_, id), task)| (id.as_str(), task.status.clone(), task.removed.is_some()));
        let pending = || Some(TaskStatus::Pending);
        assert_eq!(tasks.collect::<Vec<_>>(), [("2", pending(), true), ("10", pending(), false)]);
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
            ignored: false,
        };
        let verdict = entry(7, EntryKind::Verdict(verdict), "alice");
        let before = state.clone();
        state.apply(&verdict);
        assert_eq!(state, before, "a verdict does not show that its agent works");
        state.apply(&entry(8, EntryKind::TeamErased { ended_by: None }, "client"));
        state.apply(&entry(9, turn(TurnEvent::Ended), "alice"));
        assert_eq!(doing(&state), ["team-lead Gone 8", "alice Gone 8"]);
    }
}
