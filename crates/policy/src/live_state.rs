//! Who is on a team, what each agent does, and which state each task has: the only fold of what happens in a team. The [`Ledger`]
//! of the gates turns payloads into changes, and a timeline its entries. [`Activity::after`] decides whether an agent works, is idle
//! or has left.
//!
//! [`Ledger`]: super::Ledger

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use teamkeep_model::TaskStatus;
use teamkeep_model::time::Timestamp;

/// A change in a team.
#[derive(Debug, Clone)]
pub enum Change<'a> {
    /// A sign of an agent's state, and why the agent did not end its turn itself.
    Sign {
        agent: &'a str,
        sign: Sign,
        why: Option<String>,
    },
    /// An agent asks the lead to approve its plan, or no longer waits for the answer.
    Plan {
        agent: &'a str,
        is_open: bool,
    },
    Task {
        by: &'a str,
        change: &'a TaskChange,
    },
    TeamErased,
}

impl<'a> Change<'a> {
    pub fn sign(agent: &'a str, sign: Sign) -> Change<'a> {
        Change::Sign { agent, sign, why: None }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskChange {
    pub event: TaskEvent,
    pub id: String,
    pub subject: Option<String>,
    pub from: Option<TaskStatus>,
    /// `None` if the file of the task is gone.
    pub to: Option<TaskStatus>,
    pub owner: Option<String>,
    pub is_renamed: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TaskEvent {
    Created,
    Found,
    #[default]
    Changed,
    Completed,
    Deleted,
    Erased,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveState {
    /// All agents in the order in which they joined.
    pub roster: Vec<MemberState>,
    pub tasks: BTreeMap<String, TaskState>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemberState {
    pub name: String,
    pub doing: Activity,
    /// Start of this state.
    pub since: Timestamp,
    /// Why it did not end its last turn, if it has not worked since.
    pub why: Option<String>,
    /// When it joined the team and left it, for each of its stays; `None` if it did not leave.
    pub stays: Vec<(Timestamp, Option<Timestamp>)>,
    /// When it asked the lead to approve a plan, and when that answered, or it continued without a recorded answer.
    pub plans: Vec<(Timestamp, Option<Timestamp>)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskState {
    /// Its last status; of a removed task, the one before its removal.
    pub status: Option<TaskStatus>,
    pub owner: Option<String>,
    pub subject: Option<String>,
    /// When its status or owner last changed.
    pub since: Timestamp,
    /// Its removal, if it does not exist any more.
    pub removed: Option<Removal>,
    /// The times in which an agent had it in progress, in order.
    pub holds: Vec<Hold>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    pub at: Timestamp,
    pub by: String,
    /// Whether an agent deleted it; otherwise Claude Code erased its file.
    pub is_deletion: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    pub owner: String,
    pub from: Timestamp,
    pub to: Option<Timestamp>,
}

impl LiveState {
    pub fn apply(&mut self, at: Timestamp, change: Change<'_>) {
        match change {
            Change::Sign { agent, sign, why } => self.sign(at, agent, sign, why),
            Change::Plan { agent, is_open } => {
                match self.roster.iter_mut().find(|member| member.name == agent) {
                    Some(member) if is_open => member.plans.push((at, None)),
                    Some(member) => member.end_plans(at),
                    None => {}
                }
            }
            Change::Task { by, change } => {
                self.tasks.entry(change.id.clone()).or_default().apply(at, by, change);
            }
            Change::TeamErased => {
                self.roster.iter_mut().for_each(|member| member.set(Activity::Gone, at));
            }
        }
    }

    pub fn member(&self, name: &str) -> Option<&MemberState> {
        self.roster.iter().find(|member| member.name == name)
    }

    /// The activity of an agent; `None` if it is unknown.
    pub fn doing(&self, name: &str) -> Option<Activity> {
        self.member(name).map(|member| member.doing)
    }

    /// The agents that are on the team.
    pub fn present(&self) -> impl Iterator<Item = &MemberState> {
        self.roster.iter().filter(|member| matches!(member.stays.last(), Some((_, None))))
    }

    /// When an agent was on the team.
    pub fn stays(&self, name: &str) -> &[(Timestamp, Option<Timestamp>)] {
        self.member(name).map_or(&[], |member| &member.stays)
    }

    /// The tasks that were not deleted, each with its id; those with numeric ids first, in numeric order.
    pub fn not_deleted(&self) -> Vec<(&str, &TaskState)> {
        let tasks = self.tasks.iter().filter(|(_, task)| !task.is_deleted());
        let mut tasks: Vec<_> = tasks.map(|(id, task)| (id.as_str(), task)).collect();
        tasks.sort_by_key(|(id, _)| id.parse().unwrap_or(u64::MAX));
        tasks
    }

    /// The tasks that an agent had in progress at a moment, in the order of their ids, each with that time.
    pub fn held_at(&self, agent: &str, at: Timestamp) -> impl Iterator<Item = (&str, &TaskState, &Hold)> {
        let is_it = move |hold: &&Hold| hold.owner == agent && hold.lasts_at(at);
        self.tasks.iter().filter_map(move |(id, task)| {
            task.holds.iter().rfind(is_it).map(|hold| (id.as_str(), task, hold))
        })
    }

    fn sign(&mut self, at: Timestamp, name: &str, sign: Sign, why: Option<String>) {
        let place = self.roster.iter().position(|member| member.name == name);
        let doing = Activity::after(place.map(|place| self.roster[place].doing), sign);
        let Some(doing) = doing else { return };
        let place = place.unwrap_or_else(|| {
            let (name, since) = (name.to_owned(), at);
            self.roster.push(MemberState { name, doing, since, ..MemberState::default() });
            self.roster.len() - 1
        });
        let member = &mut self.roster[place];
        member.set(doing, at);
        if matches!(doing, Activity::Failed | Activity::Idles) && why.is_some() {
            member.why = why;
        }
        match (sign, member.stays.last_mut()) {
            (Sign::Joins, None | Some((_, Some(_)))) => member.stays.push((at, None)),
            (Sign::Leaves, Some((_, left @ None))) => *left = Some(at),
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
            self.end_plans(at);
        }
    }

    fn end_plans(&mut self, at: Timestamp) {
        self.plans.iter_mut().for_each(|(_, until)| *until = until.or(Some(at)));
    }

    /// When it asked the lead to approve a plan, if it still waits for the answer.
    pub fn open_plan(&self) -> Option<Timestamp> {
        self.plans.last().filter(|(_, until)| until.is_none()).map(|(asked, _)| *asked)
    }

    /// Whether it does nothing until the lead approves its plan. It can work meanwhile, for example on a message.
    pub fn awaits_approval(&self) -> bool {
        self.open_plan().is_some() && matches!(self.doing, Activity::Idles | Activity::Here)
    }
}

impl TaskState {
    pub fn is_deleted(&self) -> bool {
        let is_deletion = self.removed.as_ref().is_some_and(|removal| removal.is_deletion);
        is_deletion || self.status == Some(TaskStatus::Deleted)
    }

    /// The agent that has it in progress.
    pub fn holder(&self) -> Option<&str> {
        self.holds.last().filter(|hold| hold.to.is_none()).map(|hold| hold.owner.as_str())
    }

    fn apply(&mut self, at: Timestamp, by: &str, change: &TaskChange) {
        let is_changed = (&self.status, &self.owner) != (&change.to, &change.owner);
        if change.event != TaskEvent::Erased && (is_changed || change.event == TaskEvent::Created) {
            self.since = at;
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
            self.removed = Some(Removal { at, by: by.to_owned(), is_deletion });
        }
        let is_in_progress = self.status == Some(TaskStatus::InProgress) && self.removed.is_none();
        let owner = self.owner.clone().filter(|_| is_in_progress);
        if self.holder() != owner.as_deref() {
            self.holds.iter_mut().for_each(|hold| hold.to = hold.to.or(Some(at)));
            self.holds.extend(owner.map(|owner| Hold { owner, from: at, to: None }));
        }
    }
}

impl Hold {
    fn lasts_at(&self, at: Timestamp) -> bool {
        self.from <= at && self.to.is_none_or(|to| at < to)
    }
}

/// The state of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    Works,
    /// It approved its shutdown.
    Stops,
    /// It has joined, and had no turn yet.
    #[default]
    Here,
    #[serde(rename = "idle")]
    Idles,
    /// Its turn failed, and it has not worked since.
    Failed,
    /// It left, its session ended, or its work as a subagent is done.
    Gone,
}

/// A sign of an agent's state. Signs of one moment are in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// It is in the roster, or was spawned.
    Joins,
    StartsSession,
    StartsTurn,
    /// It changes a task or sends a message. The start of a turn is not always recorded.
    Acts,
    /// A usage limit or another error of the API ended its turn.
    FailsTurn,
    EndsTurn,
    /// It is idle, whatever ended its turn.
    GoesIdle,
    ApprovesShutdown,
    /// It leaves the team, or its work as a subagent is done.
    Leaves,
    /// Its roster entry can remain.
    EndsSession,
}

impl Activity {
    /// The state after a sign; `None` for an agent that was and stays unknown. The start of a session or a roster entry
    /// does not interrupt an agent's work, and a turn can end after its agent left. An agent whose turn failed is idle, too:
    /// it stays failed until it works again.
    pub fn after(before: Option<Activity>, sign: Sign) -> Option<Activity> {
        match (sign, before) {
            (Sign::Joins | Sign::StartsSession, None | Some(Activity::Gone)) => Some(Activity::Here),
            (Sign::StartsTurn, _) => Some(Activity::Works),
            (Sign::Acts, Some(Activity::Here | Activity::Idles | Activity::Failed)) => Some(Activity::Works),
            (
                Sign::FailsTurn | Sign::EndsTurn | Sign::GoesIdle | Sign::ApprovesShutdown,
                Some(Activity::Gone),
            )
            | (Sign::GoesIdle, Some(Activity::Failed)) => before,
            (Sign::FailsTurn, _) => Some(Activity::Failed),
            (Sign::EndsTurn | Sign::GoesIdle, _) => Some(Activity::Idles),
            (Sign::ApprovesShutdown, _) => Some(Activity::Stops),
            (Sign::Leaves | Sign::EndsSession, _) => Some(Activity::Gone),
            (Sign::Joins | Sign::StartsSession | Sign::Acts, _) => before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use super::{Activity, Sign};

    fn time(at: i64) -> Timestamp {
        Timestamp::from_millis(at).unwrap()
    }

    fn change(event: TaskEvent) -> TaskChange {
        TaskChange { event, id: "1".to_owned(), to: Some(TaskStatus::Pending), ..TaskChange::default() }
    }

    #[test]
    fn a_deleted_task_stays_deleted_when_its_file_is_erased_until_it_is_created_again() {
        let mut state = LiveState::default();
        let mut apply = |at, event| {
            let by = if at == 2 { "bob" } else { "client" };
            state.apply(time(at), Change::Task { by, change: &change(event) });
            let removed = state.tasks["1"].removed.clone();
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
    fn each_stay_of_a_member_has_its_begin_and_end() {
        let mut state = LiveState::default();
        let mut sign = |at, sign| {
            state.apply(time(at), Change::sign("bob", sign));
            state.clone()
        };
        for (at, one) in [(2, Sign::Joins), (3, Sign::Joins), (4, Sign::Leaves)] {
            sign(at, one);
        }
        let joined = sign(6, Sign::Joins);
        assert_eq!(joined.stays("bob"), [(time(2), Some(time(4))), (time(6), None)]);
        assert_eq!(sign(7, Sign::EndsSession).present().count(), 1, "its roster entry is still there");
        assert_eq!(sign(8, Sign::Leaves).present().count(), 0);
    }

    #[test]
    fn a_task_has_the_times_of_each_owner() {
        let mut state = LiveState::default();
        let mut apply = |at, event, to, owner: Option<&str>| {
            let change = TaskChange { to: Some(to), owner: owner.map(str::to_owned), ..change(event) };
            state.apply(time(at), Change::Task { by: "lead", change: &change });
        };
        apply(1, TaskEvent::Created, TaskStatus::Pending, Some("alice"));
        apply(2, TaskEvent::Changed, TaskStatus::InProgress, Some("alice"));
        apply(3, TaskEvent::Changed, TaskStatus::InProgress, Some("alice"));
        apply(4, TaskEvent::Changed, TaskStatus::InProgress, Some("bob"));
        apply(5, TaskEvent::Completed, TaskStatus::Completed, Some("bob"));
        apply(6, TaskEvent::Changed, TaskStatus::InProgress, Some("bob"));
        apply(8, TaskEvent::Erased, TaskStatus::InProgress, Some("bob"));
        let held = |agent: &str| [1, 2, 3, 4, 5, 6, 7, 8].map(|at| state.held_at(agent, time(at)).count());
        assert_eq!(held("alice"), [0, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!(held("bob"), [0, 0, 0, 1, 0, 1, 1, 0]);
        assert_eq!(state.tasks["1"].holder(), None);
    }

    fn after(signs: &[Sign]) -> Option<Activity> {
        signs.iter().fold(None, |before, sign| Activity::after(before, *sign))
    }

    #[test]
    fn an_agent_stays_failed_when_it_goes_idle_until_it_works_again() {
        use Sign::{Acts, EndsTurn, FailsTurn, GoesIdle, Joins, StartsTurn};
        let failed = [Joins, StartsTurn, FailsTurn, GoesIdle];
        assert_eq!(after(&failed), Some(Activity::Failed));
        assert_eq!(after(&[failed.as_slice(), &[Joins]].concat()), Some(Activity::Failed));
        for (sign, state) in
            [(StartsTurn, Activity::Works), (Acts, Activity::Works), (EndsTurn, Activity::Idles)]
        {
            assert_eq!(after(&[failed.as_slice(), &[sign]].concat()), Some(state), "{sign:?}");
        }
    }

    #[test]
    fn an_agent_that_left_does_not_fail() {
        assert_eq!(
            after(&[Sign::Joins, Sign::Leaves, Sign::FailsTurn, Sign::GoesIdle]),
            Some(Activity::Gone)
        );
    }
}
