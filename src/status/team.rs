//! The status of one team.

use std::collections::BTreeMap;

use serde::Serialize;

use super::StatusPaths;
use crate::archive::Index;
use crate::enforcement::team_state;
use crate::model::TaskStatus;
use crate::policy::{Decision, Ledger, TeamState};
use crate::timeline::{Activity, Entry, LiveState, RunCatalog, RunData, TaskState, Timeline};

/// A running team.
#[derive(Debug, Serialize)]
pub struct TeamStatus {
    /// The run.
    pub run: String,
    /// The team.
    pub team: String,
    /// The lead's session.
    pub lead_session: Option<String>,
    /// The first hook call of the run, RFC 3339.
    pub started_at: String,
    /// The last sign of the team, RFC 3339. An old version of Claude Code names no process, so it may be gone since.
    pub heard_at: Option<String>,
    /// All agents in the order in which they joined.
    pub members: Vec<Member>,
    /// The tasks in the order of their ids, without deleted ones.
    pub tasks: Vec<Item>,
    /// Number of unread messages by inbox.
    pub unread: BTreeMap<String, usize>,
    /// Number of blocks.
    pub blocks: usize,
    /// Number of actions that the loop guard allowed.
    pub escalations: usize,
    /// Tasks that tools named and that are not in any known task list: the gates cannot see that work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_tasks: Vec<String>,
    /// Team files that cannot be read, each with the reason: the gates cannot see their content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// Number of warnings, without repeated ones.
    pub warnings: usize,
}

/// An agent of a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// The name.
    pub name: String,
    /// `works`, `stops`, `here`, `idle` or `gone`.
    pub doing: &'static str,
    /// Since when, RFC 3339.
    pub since: String,
    /// The ids of its tasks in progress.
    pub tasks: Vec<String>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: TaskStatus,
    /// The owner.
    pub owner: Option<String>,
    /// The subject.
    pub subject: String,
}

impl TeamStatus {
    /// Builds it from the run's timeline, and the messages from the inboxes.
    pub fn of(
        library: &RunCatalog,
        material: &RunData,
        timeline: &Timeline,
        surroundings: &StatusPaths<'_>,
    ) -> TeamStatus {
        let run = &material.run;
        let mut state = LiveState::default();
        for entry in &timeline.entries {
            state.apply(entry);
        }
        let tasks: Vec<Item> = state
            .tasks
            .iter()
            .filter(|(_, task)| !task.is_gone())
            .map(|((_, id), task)| item(id, task))
            .collect();
        let members = state.roster.iter().map(|member| Member {
            name: member.name.clone(),
            doing: member.doing.word(),
            since: member.since.clone(),
            tasks: at(&tasks, &member.name).map(|task| task.id.clone()).collect(),
        });
        let members = members.collect();
        let index = run.subject().and_then(|subject| library.archive.index(&subject));
        let index = index.filter(|index| index.run == run.run);
        let verdicts = || timeline.entries.iter().filter_map(Entry::verdict);
        let decided = |decision| verdicts().filter(move |verdict| verdict.decision == decision);
        let files = files(library, run.team.as_deref(), index.as_ref(), surroundings);
        TeamStatus {
            run: run.run.clone(),
            team: run.team.clone().unwrap_or_default(),
            lead_session: run.lead_session.clone(),
            started_at: run.started_at.clone(),
            heard_at: material.last_sign().map(str::to_owned),
            members,
            tasks,
            unread: unread(&files),
            missing_tasks: files.missing,
            unreadable: files.unreadable.iter().map(|one| format!("{}: {}", one.path, one.why)).collect(),
            blocks: decided(Decision::Block).count(),
            escalations: verdicts().filter(|verdict| verdict.blocks.is_some()).count(),
            warnings: decided(Decision::Warn).filter(|verdict| !verdict.repeated).count(),
        }
    }

    /// The number of members in this state.
    pub fn doing(&self, doing: Activity) -> usize {
        self.members.iter().filter(|member| member.doing == doing.word()).count()
    }
}

/// Roster, tasks and messages from the files on disk, or else from the last snapshots.
fn files(
    library: &RunCatalog,
    team: Option<&str>,
    index: Option<&Index>,
    surroundings: &StatusPaths<'_>,
) -> TeamState {
    team_state(&library.archive, surroundings.client, (team, None), index, Ledger::default())
}

/// The inboxes with unread messages.
pub(super) fn unread(state: &TeamState) -> BTreeMap<String, usize> {
    state
        .mail
        .iter()
        .filter(|(_, waiting)| **waiting > 0)
        .map(|(owner, waiting)| (owner.clone(), *waiting))
        .collect()
}

fn item(id: &str, task: &TaskState) -> Item {
    Item {
        id: id.to_owned(),
        status: task.status.clone().unwrap_or_else(TaskStatus::unknown),
        owner: task.owner.clone(),
        subject: task.subject.clone(),
    }
}

/// An agent's tasks in progress.
fn at<'a>(tasks: &'a [Item], name: &'a str) -> impl Iterator<Item = &'a Item> {
    tasks
        .iter()
        .filter(move |task| task.status == TaskStatus::InProgress && task.owner.as_deref() == Some(name))
}
