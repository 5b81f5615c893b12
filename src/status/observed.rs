//! A run as it is known at a moment. `status` and `watch` show the same.

use super::board::{AgentState, Board, Item, Member, items, lasts_at};
use teamkeep_config::{Config, Price};
use teamkeep_history::report::{ActivityTimes, BurnRate, Incident, Report};
use teamkeep_history::timeline::{RunData, Timeline, UnreadCounts, merge, open_index, state_after};
use teamkeep_hook::enforcement::SnapshotReader;
use teamkeep_model::TaskStatus;
use teamkeep_model::team::TeamPath;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{Activity, LiveState, TaskState, TeamState};
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
