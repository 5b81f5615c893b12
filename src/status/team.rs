//! How one team stands.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Surroundings;
use crate::archive::Index;
use crate::gatekeeper::team_state;
use crate::policy::{Decision, Ledger, TeamState};
use crate::timeline::{Board, Card, Doing, Kind, Library, Material, Timeline};

/// A team that is alive.
#[derive(Debug, Serialize)]
pub struct TeamStatus {
    /// The run.
    pub run: String,
    /// The team.
    pub team: String,
    /// The session that leads it.
    pub lead_session: Option<String>,
    /// The first hook call that saw it, RFC 3339.
    pub started_at: String,
    /// When it was last heard of, RFC 3339. A client that names no process may be gone since.
    pub heard_at: Option<String>,
    /// Everybody who came, in the order of their coming.
    pub members: Vec<Member>,
    /// The tasks, those with numbers in their order. What was deleted or cleared away is not among them.
    pub tasks: Vec<Item>,
    /// How many messages wait in whose inbox.
    pub unread: BTreeMap<String, usize>,
    /// How often the policy held something back.
    pub blocks: usize,
    /// How often it let something through because it had held it back often enough.
    pub escalations: usize,
    /// Tasks that tools named and that are not in any known task list: the gates cannot see that work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_tasks: Vec<String>,
    /// How often it warned; what it said again is not counted.
    pub warnings: usize,
}

/// Somebody in a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// The name.
    pub name: String,
    /// `works`, `stops`, `here`, `idle` or `gone`.
    pub doing: &'static str,
    /// Since when, RFC 3339.
    pub since: String,
    /// The tasks that it has in progress, by id.
    pub tasks: Vec<String>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its id.
    pub id: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
    /// Whose it is.
    pub owner: Option<String>,
    /// What it is.
    pub subject: String,
}

impl TeamStatus {
    /// Draws it up out of the run's story, and the mail out of the inboxes.
    pub fn of(
        library: &Library,
        material: &Material,
        timeline: &Timeline,
        surroundings: &Surroundings<'_>,
    ) -> TeamStatus {
        let run = &material.run;
        let mut board = Board::default();
        for entry in &timeline.entries {
            board.apply(entry);
        }
        let tasks: Vec<Item> = board
            .tasks
            .iter()
            .filter(|(_, card)| is_there(card))
            .map(|((_, id), card)| item(id, card))
            .collect();
        let members = board.roster.iter().map(|seat| Member {
            name: seat.name.clone(),
            doing: seat.doing.word(),
            since: seat.since.clone(),
            tasks: at(&tasks, &seat.name).map(|task| task.id.clone()).collect(),
        });
        let members = members.collect();
        let index = run.subject().and_then(|subject| library.archive.index(&subject));
        let index = index.filter(|index| index.run == run.run);
        let verdicts = || timeline.entries.iter().filter(|entry| entry.kind == Kind::Verdict);
        let decided =
            |decision| verdicts().filter(|entry| entry.decision == Some(decision) && !entry.repeated).count();
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
            blocks: verdicts().filter(|entry| entry.decision == Some(Decision::Block)).count(),
            escalations: verdicts().filter(|entry| entry.blocks.is_some()).count(),
            warnings: decided(Decision::Warn),
        }
    }

    /// How many of its members do this.
    pub fn doing(&self, doing: Doing) -> usize {
        self.members.iter().filter(|member| member.doing == doing.word()).count()
    }
}

/// Roster, tasks and mail out of the files, as they lie on disk, else as they were last captured.
fn files(
    library: &Library,
    team: Option<&str>,
    index: Option<&Index>,
    surroundings: &Surroundings<'_>,
) -> TeamState {
    team_state(&library.archive, surroundings.client, (team, None), index, Ledger::default())
}

/// The inboxes in which something waits.
pub(super) fn unread(state: &TeamState) -> BTreeMap<String, usize> {
    state
        .mail
        .iter()
        .filter(|(_, waiting)| **waiting > 0)
        .map(|(owner, waiting)| (owner.clone(), *waiting))
        .collect()
}

fn is_there(card: &Card) -> bool {
    !matches!(card.status.as_str(), "deleted" | "erased")
}

fn item(id: &str, card: &Card) -> Item {
    Item {
        id: id.to_owned(),
        status: card.status.clone(),
        owner: card.owner.clone(),
        subject: card.subject.clone(),
    }
}

/// The tasks that somebody has in progress.
fn at<'a>(tasks: &'a [Item], name: &'a str) -> impl Iterator<Item = &'a Item> {
    tasks.iter().filter(move |task| task.status == "in_progress" && task.owner.as_deref() == Some(name))
}
