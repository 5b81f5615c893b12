//! A run as it is known at a moment, and its board: the state of each agent, and the tasks that exist. `status` and `watch` show the
//! same.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use teamkeep_config::{Config, Price};
use teamkeep_history::report::{ActivityTimes, BurnRate, Incident, IncidentKind, Report};
use teamkeep_history::timeline::{RunData, Timeline, UnreadCounts, merge, open_index, state_after};
use teamkeep_hook::enforcement::SnapshotReader;
use teamkeep_model::TaskStatus;
use teamkeep_model::team::TeamPath;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::Natural;
use teamkeep_policy::{Activity, LiveState, MemberState, TaskState, TeamState};
use teamkeep_store::archive::Archive;
use teamkeep_system::paths::Paths;

#[derive(Debug)]
pub struct Observed {
    /// When it was made: incidents of a running team are judged as of then.
    pub at: Timestamp,
    /// Whether the team is running.
    pub is_running: bool,
    pub timeline: Timeline,
    pub report: Report,
    /// Roster, tasks and messages from the files on disk, or else from the last snapshots.
    pub files: TeamState,
    activity: ActivityTimes,
    inboxes: UnreadCounts,
    prices: Vec<Price>,
}

/// The input besides the data of the run.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    pub archive: &'a Archive,
    pub paths: &'a Paths,
    pub config: &'a Config,
}

impl Observed {
    pub fn of(data: &RunData, around: Surroundings<'_>, now: Timestamp) -> Observed {
        Observed::with_files(data, around, now, |_| true)
    }

    /// The same without the content of task files on disk: a board takes tasks from the timeline, and there can be
    /// thousands.
    pub fn without_task_files(data: &RunData, around: Surroundings<'_>, now: Timestamp) -> Observed {
        Observed::with_files(data, around, now, |path| matches!(TeamPath::of(path), TeamPath::Inbox(_)))
    }

    fn with_files(
        data: &RunData,
        around: Surroundings<'_>,
        now: Timestamp,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Observed {
        let (run, archive) = (&data.run, around.archive);
        let is_running = run.ended_at.is_none() && run.imported.is_none() && !data.client_gone;
        let mut index = open_index(archive, run).filter(|_| is_running);
        if let Some(index) = &mut index {
            index.files.retain(|path, _| is_wanted(path));
        }
        let client = run.client_dir(around.paths.client.as_deref());
        let reader = SnapshotReader { archive, client: client.as_deref(), live_first: true, until: None };
        let files = reader.team((run.team.as_deref(), None), index.as_ref());
        let timeline = merge(data);
        Observed {
            at: now,
            is_running,
            report: Report::of(data, &timeline, around.config, now),
            activity: ActivityTimes::of(data, &timeline),
            inboxes: UnreadCounts::of(archive, data),
            prices: around.config.report.price.clone(),
            timeline,
            files,
        }
    }

    /// The last moment of the run: now for a running team.
    pub fn end(&self, data: &RunData) -> Timestamp {
        // An event can be later than this process's clock, and an incident than the last event: a crash is dated by the
        // transcripts, too.
        let begins = self.incidents().iter().map(|incident| incident.from);
        let last = begins.fold(data.last_moment(&self.timeline.entries), Timestamp::max);
        if self.is_running { last.max(self.at) } else { last }
    }

    /// The board now, or at the end of the run: with the tasks whose files Claude Code erased, and without agents that
    /// remain.
    pub fn board(&self, data: &RunData) -> Board {
        let at = self.end(data);
        if self.is_running {
            return self.board_until(data, at, |name| self.files.waiting(name));
        }
        let (state, unread) = (state_after(&self.timeline.entries), self.inboxes.unread_at(at));
        let tasks = state.not_deleted();
        let mut board =
            self.board_of(data, (&state, tasks), at, |name| unread.get(name).copied().unwrap_or_default());
        for member in &mut board.members {
            // Where no end is recorded, the agents were gone with their process.
            (member.doing, member.state, member.why) = (Activity::Gone, AgentState::Left, None);
        }
        board
    }

    /// The board at a moment of the past.
    pub fn board_at(&self, data: &RunData, at: Timestamp) -> Board {
        let unread = self.inboxes.unread_at(at);
        self.board_until(data, at, |name| unread.get(name).copied().unwrap_or_default())
    }

    /// The board at a moment, with the tasks that exist then. `unread` returns the number of unread messages of an agent then.
    fn board_until(&self, data: &RunData, at: Timestamp, unread: impl Fn(&str) -> usize) -> Board {
        let entries = &self.timeline.entries;
        let state = state_after(&entries[..entries.partition_point(|entry| entry.at <= at)]);
        let mut existing = state.not_deleted();
        existing.retain(|(_, task)| task.removed.is_none());
        self.board_of(data, (&state, existing), at, unread)
    }

    fn board_of(
        &self,
        data: &RunData,
        (state, tasks): (&LiveState, Vec<(&str, &TaskState)>),
        at: Timestamp,
        unread: impl Fn(&str) -> usize,
    ) -> Board {
        let tasks = items(data, &tasks, at);
        let incidents = self.incidents().iter();
        let lasting: Vec<&Incident> = incidents.filter(|incident| lasts_at(incident, at)).collect();
        let in_progress = |name: &str| {
            let is_own =
                |task: &&Item| task.status == TaskStatus::InProgress && task.owner.as_deref() == Some(name);
            tasks.iter().filter(is_own).map(|task| task.id.clone()).collect()
        };
        let members = state.roster.iter().map(|member| Member {
            name: member.name.clone(),
            doing: member.doing,
            state: AgentState::of(member, &lasting, &tasks),
            since: member.open_plan().map_or(member.since, |asked| asked.max(member.since)),
            why: member.why.clone(),
            awaits_approval: member.awaits_approval(),
            active_at: self.activity.last(&member.name, at),
            unread: unread(&member.name),
            tasks: in_progress(&member.name),
        });
        Board { members: members.collect(), tasks }
    }

    pub fn burn_rate(&self, data: &RunData, at: Timestamp) -> Option<BurnRate> {
        BurnRate::at(data, &self.timeline, &self.prices, at)
    }

    pub fn incidents(&self) -> &[Incident] {
        &self.report.incidents
    }
}

/// The team of a run at a moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Board {
    pub members: Vec<Member>,
    pub tasks: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Member {
    pub name: String,
    pub doing: Activity,
    pub state: AgentState,
    /// When `doing` began, or when it began to wait for the approval of its plan.
    pub since: Timestamp,
    /// Why its last turn failed, or that the user interrupted it. It may quote Claude Code, so escape it for a terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether it waits for the lead's approval of its plan.
    #[serde(skip_serializing_if = "is_false")]
    pub awaits_approval: bool,
    /// The last activity of the agent: a hook call, or an entry of its transcript.
    pub active_at: Option<Timestamp>,
    /// Number of unread messages in its inbox.
    pub unread: usize,
    /// The ids of its tasks in progress.
    pub tasks: Vec<String>,
}

impl Member {
    /// The order of agents for people: who needs attention comes first. A row moves only when its agent changes its state.
    pub fn rank(&self) -> (AgentState, Natural<'_>) {
        (self.state, Natural(&self.name))
    }
}

/// The state of an agent for people, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentState {
    /// Its last turn failed.
    Failed,
    /// It makes no progress, according to an incident.
    Stalled,
    /// It waits for the approval of its plan or, according to an incident, for permission or for another agent.
    Waiting,
    Working,
    ShuttingDown,
    Idle,
    Joined,
    Left,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    pub id: String,
    pub status: TaskStatus,
    pub owner: Option<String>,
    pub subject: String,
    /// When its status or owner last changed.
    pub since: Timestamp,
    /// The unfinished tasks that it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl AgentState {
    pub fn word(self) -> &'static str {
        match self {
            AgentState::Failed => "failed",
            AgentState::Stalled => "stalled",
            AgentState::Waiting => "waiting",
            AgentState::Working => "working",
            AgentState::ShuttingDown => "shutting down",
            AgentState::Idle => "idle",
            AgentState::Joined => "joined",
            AgentState::Left => "left",
        }
    }

    /// Whether a person should look at the agent.
    pub fn needs_attention(self) -> bool {
        matches!(self, AgentState::Failed | AgentState::Stalled | AgentState::Waiting)
    }

    /// The state of an agent that does this, while these incidents last.
    fn of(member: &MemberState, lasting: &[&Incident], tasks: &[Item]) -> AgentState {
        let own = match member.doing {
            Activity::Gone => return AgentState::Left,
            Activity::Idles | Activity::Here if member.awaits_approval() => AgentState::Waiting,
            doing => AgentState::from(doing),
        };
        // Its process is gone, and so is what made it an alert.
        if lasting.iter().any(|incident| is_crash_of(incident, &member.name) && is_completed(incident, tasks))
        {
            return AgentState::Left;
        }
        let agent = (member.name.as_str(), own);
        lasting.iter().filter_map(|incident| effect(incident, agent, tasks)).fold(own, AgentState::min)
    }
}

impl From<Activity> for AgentState {
    fn from(doing: Activity) -> AgentState {
        match doing {
            Activity::Works => AgentState::Working,
            Activity::Stops => AgentState::ShuttingDown,
            Activity::Here => AgentState::Joined,
            Activity::Idles => AgentState::Idle,
            Activity::Failed => AgentState::Failed,
            Activity::Gone => AgentState::Left,
        }
    }
}

/// Whether the incident has begun and not ended at that moment.
pub fn lasts_at(incident: &Incident, at: Timestamp) -> bool {
    incident.from <= at && incident.to.is_none_or(|to| at < to)
}

fn is_crash_of(incident: &Incident, name: &str) -> bool {
    incident.kind == IncidentKind::CrashedAgent && incident.agents.first().is_some_and(|agent| agent == name)
}

/// Whether all tasks of an incident that still exist are completed. Claude Code removes completed tasks, so a resolved
/// incident needs none. At a moment before it was resolved, they exist.
fn is_completed(incident: &Incident, tasks: &[Item]) -> bool {
    let mut tasks = tasks.iter().filter(|task| incident.tasks.contains(&task.id)).peekable();
    (incident.resolved || tasks.peek().is_some()) && tasks.all(|task| task.status == TaskStatus::Completed)
}

/// The state of this agent that follows from an incident. `own` is its state without incidents.
fn effect(incident: &Incident, (name, own): (&str, AgentState), tasks: &[Item]) -> Option<AgentState> {
    let place = incident.agents.iter().position(|agent| agent == name)?;
    let is_assigned = |id: &String| tasks.iter().any(|task| task.id == *id && task.owner.is_some());
    match incident.kind {
        IncidentKind::StalledAgent => Some(AgentState::Stalled),
        // Its process is gone, and nothing has removed it from the team.
        IncidentKind::CrashedAgent if place == 0 => Some(AgentState::Stalled),
        IncidentKind::WaitingPermission | IncidentKind::WaitingApproval if place == 0 => {
            Some(AgentState::Waiting)
        }
        // The first agent is the cause, unless the first task has no owner. An agent that works does not wait.
        IncidentKind::BlockedChain if own != AgentState::Working => {
            let is_cause = place == 0 && incident.tasks.first().is_none_or(is_assigned);
            (!is_cause).then_some(AgentState::Waiting)
        }
        _ => None,
    }
}

/// Number of agents in each state that some are in, worst first.
pub fn count_states(states: impl IntoIterator<Item = AgentState>) -> BTreeMap<AgentState, usize> {
    let mut counts = BTreeMap::new();
    states.into_iter().for_each(|state| *counts.entry(state).or_default() += 1);
    counts
}

impl Board {
    /// Whether the incident needs no attention any more. A condition is over when it ends, and lost work when it is
    /// completed.
    pub fn is_over(&self, incident: &Incident, at: Timestamp) -> bool {
        if incident.kind.is_condition() {
            return !lasts_at(incident, at);
        }
        is_completed(incident, &self.tasks)
    }

    pub fn done(&self) -> usize {
        self.tasks.iter().filter(|task| task.status == TaskStatus::Completed).count()
    }
}

/// The tasks of a board at a moment.
fn items(data: &RunData, tasks: &[(&str, &TaskState)], at: Timestamp) -> Vec<Item> {
    let blockers = blockers(data, at);
    let open = tasks.iter().filter(|(_, task)| task.status != Some(TaskStatus::Completed));
    let open: HashSet<&str> = open.map(|(id, _)| *id).collect();
    let item = |(id, task): &(&str, &TaskState)| Item {
        id: (*id).to_owned(),
        status: task.status.clone().unwrap_or_else(TaskStatus::unknown),
        owner: task.owner.clone(),
        subject: task.subject.clone().unwrap_or_default(),
        since: task.since,
        blocked_by: match &task.status {
            Some(TaskStatus::Completed) => Vec::new(),
            _ => blockers
                .get(id)
                .into_iter()
                .flatten()
                .filter(|id| open.contains(id.as_str()))
                .cloned()
                .collect(),
        },
    };
    tasks.iter().map(item).collect()
}

/// The tasks that each task depended on at that moment. Claude Code keeps the ids of completed ones.
fn blockers(data: &RunData, at: Timestamp) -> HashMap<&str, Vec<String>> {
    let until = data.snapshots.tasks.iter().filter(|(seen_at, _, _)| *seen_at <= at);
    let states = until.filter_map(|(_, id, task)| Some((id.as_str(), task.as_ref()?)));
    let last: HashMap<&str, _> = states.collect();
    last.into_iter().map(|(id, task)| (id, task.blocked_by())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_history::report::{IncidentCost, Severity};

    fn time(minutes: i64) -> Timestamp {
        Timestamp::from_millis(minutes * 60_000).unwrap()
    }

    fn incident(kind: IncidentKind, agents: &[&str], to: Option<i64>) -> Incident {
        Incident {
            id: "0123456789".to_owned(),
            kind,
            severity: Severity::High,
            agents: agents.iter().map(|name| (*name).to_owned()).collect(),
            tasks: vec!["4".to_owned()],
            from: time(10),
            to: to.map(time),
            summary: String::new(),
            happened: String::new(),
            evidence: Vec::new(),
            chain: Vec::new(),
            cost: IncidentCost::default(),
            remedy: None,
            resolved: false,
            counted: Vec::new(),
            silences: Vec::new(),
        }
    }

    fn task(status: TaskStatus, owner: Option<&str>) -> Item {
        Item {
            id: "4".to_owned(),
            status,
            owner: owner.map(str::to_owned),
            subject: String::new(),
            since: time(0),
            blocked_by: Vec::new(),
        }
    }

    /// The state of bob, who does this while the incident lasts.
    fn state(doing: Activity, incident: &Incident, owner: Option<&str>) -> AgentState {
        let member = MemberState { name: "bob".to_owned(), doing, ..MemberState::default() };
        AgentState::of(&member, &[incident], &[task(TaskStatus::Pending, owner)])
    }

    #[test]
    fn an_incident_makes_its_agent_stalled_or_waiting() {
        use IncidentKind::*;
        let of = |kind, agents: &[&str]| state(Activity::Works, &incident(kind, agents, None), None);
        assert_eq!(of(StalledAgent, &["alice", "bob"]), AgentState::Stalled, "a pause of the whole team");
        assert_eq!(of(CrashedAgent, &["bob"]), AgentState::Stalled);
        assert_eq!(of(WaitingPermission, &["bob"]), AgentState::Waiting);
        assert_eq!(of(WaitingApproval, &["alice", "bob"]), AgentState::Working);
        assert_eq!(of(UnreadMessage, &["bob"]), AgentState::Working);
        let gone = state(Activity::Gone, &incident(StalledAgent, &["bob"], None), None);
        assert_eq!(gone, AgentState::Left, "an agent that left waits for nothing");
    }

    #[test]
    fn in_a_blocked_chain_all_but_the_cause_wait() {
        let chain = |agents: &[&str]| incident(IncidentKind::BlockedChain, agents, None);
        let idle = |agents: &[&str], owner| state(Activity::Idles, &chain(agents), owner);
        assert_eq!(idle(&["alice", "bob"], Some("alice")), AgentState::Waiting);
        assert_eq!(idle(&["bob", "alice"], Some("bob")), AgentState::Idle);
        assert_eq!(idle(&["bob"], None), AgentState::Waiting, "the first task has no owner");
        let working = state(Activity::Works, &chain(&["alice", "bob"]), Some("alice"));
        assert_eq!(working, AgentState::Working, "it has other work");
    }

    #[test]
    fn a_condition_is_over_when_it_ends_and_lost_work_when_it_is_done() {
        let board = |status| Board { members: Vec::new(), tasks: vec![task(status, None)] };
        let open = board(TaskStatus::Pending);
        let stall = incident(IncidentKind::StalledAgent, &["bob"], Some(20));
        assert_eq!([15, 20].map(|minute| open.is_over(&stall, time(minute))), [false, true]);
        let lost = incident(IncidentKind::LostWork, &["bob"], Some(20));
        assert!(!open.is_over(&lost, time(30)));
        assert!(board(TaskStatus::Completed).is_over(&lost, time(30)));
        assert!(!Board::default().is_over(&lost, time(30)), "a task that was deleted is not done");
        let resolved = Incident { resolved: true, ..lost };
        assert!(Board::default().is_over(&resolved, time(30)), "Claude Code removed the completed task");
        assert!(!open.is_over(&resolved, time(15)), "it was resolved later");
    }
}
