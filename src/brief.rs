//! The facts about a team for an agent that has lost its context, or for a session that continues the team's work.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::status::{AgentState, Item, Observed};
use teamkeep_history::timeline::{
    Entry, EntryKind, Kind, MessageEvent, RunData, UnsentAnswer, state_after, unsent_answers,
};
use teamkeep_model::TaskStatus;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{Decision, TaskEvent};
use teamkeep_store::archive::RunRecord;
use teamkeep_system::process;

/// Number of blocks that are listed, the last ones.
const MAX_BLOCKS: usize = 3;

/// Number of changes that are listed, the last ones.
const MAX_CHANGES: usize = 8;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Brief {
    pub v: u32,
    pub run: String,
    pub team: Option<String>,
    pub started_at: Timestamp,
    /// The moment that it describes.
    pub at: Timestamp,
    /// Whether it is before the last moment of the run.
    #[serde(skip)]
    pub is_past: bool,
    /// Whether work in git worktrees is recorded.
    #[serde(skip)]
    pub has_worktrees: bool,
    /// Whether the agents were there at that moment. After the end of a run they are gone.
    pub is_running: bool,
    /// The agent that it is written for; `None` for any of them.
    #[serde(rename = "for")]
    pub reader: Option<String>,
    /// The other agents.
    pub agents: Vec<Colleague>,
    /// Answers of other agents that no agent received.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsent_answers: Vec<UnsentAnswer>,
    /// Numbers of tasks, without deleted ones. Those that Claude Code removed when all were completed count.
    pub completed: usize,
    pub tasks: usize,
    /// The unfinished tasks: those of the reader first, then those in progress.
    pub open: Vec<Item>,
    /// Messages between the reader and another agent that the recipient has not answered, the last one first.
    pub unanswered: Vec<Said>,
    /// Changes by other agents since the reader's last action, the last one first: of tasks, and agents that joined or left.
    pub changes: Vec<Entry>,
    /// The reader's last blocked calls, the last one first.
    pub blocks: Vec<Blocked>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Colleague {
    pub name: String,
    pub state: AgentState,
    /// When the state began.
    pub since: Timestamp,
    /// Why its last turn failed, or that the user interrupted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether it waits for the lead's approval of its plan.
    pub awaits_approval: bool,
    /// The ids of its tasks in progress.
    pub tasks: Vec<String>,
    /// Number of unread messages in its inbox.
    pub unread: usize,
    /// Its last message to another agent.
    pub last_message: Option<Said>,
}

/// A message. The text begins with the summary, if there is one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Said {
    pub at: Timestamp,
    pub from: String,
    pub to: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Blocked {
    pub at: Timestamp,
    pub gate: String,
    pub reason: String,
}

impl Brief {
    /// The facts at a moment of the run; without one, or after the last one, now or at its end.
    pub fn of(data: &RunData, observed: &Observed, reader: Option<&str>, at: Option<Timestamp>) -> Brief {
        let end = observed.end(data);
        let at = at.filter(|at| *at < end);
        let is_past = at.is_some();
        let board = at.map_or_else(|| observed.board(data), |at| observed.board_at(data, at));
        let at = at.unwrap_or(end);
        let entries = &observed.timeline.entries;
        let entries = &entries[..entries.partition_point(|entry| entry.at <= at)];
        let team = state_after(entries);
        let tasks = team.not_deleted();
        let mut unsent_answers = unsent_answers(data, entries);
        unsent_answers.retain(|answer| Some(answer.agent.as_str()) != reader);
        let mut last_messages: HashMap<&str, &Entry> = HashMap::new();
        for entry in entries.iter().filter(|entry| is_said(entry)) {
            last_messages.insert(&entry.actor, entry);
        }
        let last_message = |name: &str| last_messages.get(name).and_then(|entry| said(entry));
        let others = board.members.iter().filter(|member| Some(member.name.as_str()) != reader);
        let agents = others.map(|member| Colleague {
            name: member.name.clone(),
            state: member.state,
            since: member.since,
            why: member.why.clone(),
            awaits_approval: member.awaits_approval,
            tasks: member.tasks.clone(),
            unread: member.unread,
            last_message: last_message(&member.name),
        });
        Brief {
            v: 1,
            run: data.run.run.clone(),
            team: data.run.team.clone(),
            started_at: data.run.started_at,
            at,
            is_past,
            has_worktrees: !data.worktrees(is_past.then_some(at)).is_empty(),
            is_running: observed.is_running || is_past,
            reader: reader.map(str::to_owned),
            agents: agents.collect(),
            unsent_answers,
            completed: tasks.iter().filter(|(_, task)| task.status == Some(TaskStatus::Completed)).count(),
            tasks: tasks.len(),
            unanswered: reader.map(|reader| unanswered(entries, reader)).unwrap_or_default(),
            changes: reader.map(|reader| changes(entries, reader)).unwrap_or_default(),
            blocks: reader.map(|reader| blocks(entries, reader)).unwrap_or_default(),
            open: open(board.tasks, reader),
        }
    }
}

impl Brief {
    /// After the lead's session was resumed: only agents whose own process still runs are there.
    pub fn resumed(mut self, run: &RunRecord) -> Brief {
        let is_alive = |name: &str| {
            let own = run.sessions.iter().filter(|session| session.name.as_deref() == Some(name));
            own.filter_map(|session| session.process.as_ref()).any(|one| !process::is_over(one))
        };
        let agents = self.agents.iter_mut();
        agents.filter(|agent| !is_alive(&agent.name)).for_each(|agent| agent.state = AgentState::Left);
        self.is_running = self.agents.iter().any(|agent| agent.state != AgentState::Left);
        self
    }
}

/// Whether an entry is a message. Automatic, rejected and shutdown messages are left out.
fn is_said(entry: &Entry) -> bool {
    entry.message().is_some_and(|message| {
        message.event == MessageEvent::Sent && (!message.automatic || message.answer.is_some())
    })
}

fn said(entry: &Entry) -> Option<Said> {
    let message = entry.message().filter(|_| is_said(entry))?;
    let own = message.answer.as_ref().map_or(&message.text, |answer| &answer.text);
    // An approval can have no text.
    if own.is_empty() {
        return None;
    }
    let summary = message.summary.as_deref().filter(|summary| !summary.is_empty() && summary != own);
    let text = summary.map_or_else(|| own.clone(), |summary| format!("{summary}: {own}"));
    Some(Said { at: entry.at, from: entry.actor.clone(), to: message.to.clone().unwrap_or_default(), text })
}

/// The last message between the reader and each other agent, in both directions, unless it was answered: by a message or a
/// shutdown request or response of the other direction, or by a message to everyone. An agent that left expects no answer
/// and gives none. The answer at the end of a turn, which is often one line, is listed beside the message before it.
fn unanswered(entries: &[Entry], reader: &str) -> Vec<Said> {
    // By the other agent, and whether it is such an answer.
    let mut last: BTreeMap<(&str, bool), &Entry> = BTreeMap::new();
    for entry in entries {
        let actor = entry.actor.as_str();
        match &entry.kind {
            EntryKind::MemberLeft | EntryKind::SessionEnded(_) => last.retain(|(name, _), _| *name != actor),
            EntryKind::AgentStopped(stop) => last.retain(|(name, _), _| *name != stop.name),
            EntryKind::Message(message) => {
                let to = message.to.as_deref().unwrap_or_default();
                let other = if actor == reader { to } else { actor };
                match message.event {
                    MessageEvent::ShutdownApproved => last.retain(|(name, _), _| *name != actor),
                    MessageEvent::ShutdownRequested if to == "*" && actor == reader => last.clear(),
                    MessageEvent::Sent if to == "*" && is_said(entry) => {
                        // It answers what its recipients asked its sender.
                        last.retain(|(name, _), open| match actor == reader {
                            true => open.actor == reader,
                            false => *name != actor || open.actor != reader,
                        });
                    }
                    _ if actor == to || ![actor, to].contains(&reader) => {}
                    MessageEvent::ShutdownRequested | MessageEvent::ShutdownRejected => {
                        last.retain(|(name, _), _| *name != other);
                    }
                    _ if is_said(entry) => {
                        let is_answer = message.answer.is_some();
                        last.retain(|(name, was_answer), open| {
                            *name != other || (open.actor == actor && is_answer && !was_answer)
                        });
                        last.insert((other, is_answer), entry);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    let mut open: Vec<Said> = last.into_values().filter_map(said).collect();
    open.sort_by_key(|message| std::cmp::Reverse(message.at));
    open
}

fn changes(entries: &[Entry], reader: &str) -> Vec<Entry> {
    let is_action = |entry: &&Entry| entry.actor == reader && entry.kind() != Kind::SessionStarted;
    let Some(last) = entries.iter().rev().find(is_action) else { return Vec::new() };
    let later = entries.iter().rev().take_while(|entry| entry.at > last.at);
    let is_change = |entry: &&Entry| {
        let is_of_team = match &entry.kind {
            // Claude Code removes the files of completed tasks.
            EntryKind::Task(task) => task.event != TaskEvent::Erased,
            EntryKind::MemberJoined(_) | EntryKind::MemberLeft | EntryKind::AgentStopped(_) => true,
            _ => false,
        };
        is_of_team && entry.actor != reader
    };
    later.filter(is_change).take(MAX_CHANGES).cloned().collect()
}

fn blocks(entries: &[Entry], reader: &str) -> Vec<Blocked> {
    let own = entries.iter().rev().filter(|entry| entry.actor == reader);
    let verdicts = own.filter_map(|entry| Some((entry.at, entry.verdict()?)));
    let blocked = verdicts.filter(|(_, verdict)| verdict.decision == Decision::Block);
    let blocks =
        blocked.map(|(at, verdict)| Blocked { at, gate: verdict.gate.clone(), reason: verdict.text.clone() });
    blocks.take(MAX_BLOCKS).collect()
}

fn open(tasks: Vec<Item>, reader: Option<&str>) -> Vec<Item> {
    let is_open = |task: &Item| !matches!(task.status, TaskStatus::Completed | TaskStatus::Deleted);
    let mut open: Vec<Item> = tasks.into_iter().filter(is_open).collect();
    open.sort_by_key(|task| {
        (
            task.owner.is_none() || task.owner.as_deref() != reader,
            task.status != TaskStatus::InProgress,
            task.owner.is_none(),
        )
    });
    open
}
