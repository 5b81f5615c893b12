//! The table `turns`: the turns of the agents, with the tasks in progress and the calls of Claude Code's own telemetry in them.

use std::collections::{BTreeMap, HashMap};

use teamkeep_history::report::{TaskHistory, Turn};
use teamkeep_model::time::Timestamp;
use teamkeep_model::{TaskStatus, TraceParent};

use super::Table;
use super::runs::Row;

/// A hook call in a span of Claude Code's own telemetry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCall {
    pub span: TraceParent,
    pub at: Timestamp,
    pub session: Option<String>,
    /// The name of the agent that acted.
    pub agent: Option<String>,
}

/// A turn with its times: without a recorded end it lasted to the end of the run.
#[derive(Debug)]
pub struct TurnFacts<'a> {
    turn: &'a Turn,
    from: Timestamp,
    to: Timestamp,
    tasks: Vec<String>,
    client_spans: Vec<String>,
}

pub type TurnRow<'a> = Row<'a, TurnFacts<'a>>;

pub fn turns<'a>() -> Table<TurnRow<'a>> {
    run_table!("turns", "a turn of an agent in a run", |row: &TurnRow<'a>| {
        Text "agent" "name of the agent" = Some(&row.item.turn.agent);
        Text "agent_id" "ID of the agent; of a lead and of a teammate in a pane, the session ID"
            = row.item.turn.instance.as_deref();
        Time "time" "start of the turn" = Some(row.item.from);
        Time "ended_at" "end of the turn; of one without an end, that of the run" = Some(row.item.to);
        Texts "task_ids" "IDs of the tasks that the agent had in progress" = &row.item.tasks;
        Texts "client_spans" "trace contexts of Claude Code's own telemetry in which hooks were called"
            = &row.item.client_spans;
    })
}

impl<'a> TurnFacts<'a> {
    /// The turns of a run that ended then. `calls` are in the order of their times.
    pub fn of(
        turns: &'a [Turn],
        tasks: &[TaskHistory],
        calls: &[ClientCall],
        ended_at: Timestamp,
    ) -> Vec<TurnFacts<'a>> {
        let in_progress = TimesInProgress::of(tasks, ended_at);
        let mut next_starts: HashMap<&str, Timestamp> = HashMap::new();
        let facts = |turn: &'a Turn| {
            let to = turn.to.unwrap_or(ended_at);
            let from = turn.from.unwrap_or(to).min(to);
            let next = next_starts.insert(&turn.agent, from);
            TurnFacts {
                turn,
                from,
                to,
                tasks: in_progress.during(&turn.agent, from, to),
                client_spans: client_spans(turn, calls, from, next),
            }
        };
        let mut all: Vec<TurnFacts<'a>> = turns.iter().rev().map(facts).collect();
        all.reverse();
        all
    }
}

/// The spans of the calls that the agent made until its next turn, each once: a session calls its last hook after the end of
/// its last turn. A call without an agent belongs to its session.
fn client_spans(turn: &Turn, calls: &[ClientCall], from: Timestamp, next: Option<Timestamp>) -> Vec<String> {
    let begin = calls.partition_point(|call| call.at < from);
    let end = calls.partition_point(|call| next.is_none_or(|next| call.at < next));
    let is_own = |call: &&ClientCall| match &call.agent {
        Some(agent) => *agent == turn.agent,
        None => call.session.is_some() && call.session == turn.instance,
    };
    let mut spans: Vec<String> = Vec::new();
    for call in calls.get(begin..end).unwrap_or_default().iter().filter(is_own) {
        if spans.iter().all(|known| known != call.span.as_str()) {
            spans.push(call.span.as_str().to_owned());
        }
    }
    spans
}

/// The tasks that each agent had in progress, each with begin and end.
struct TimesInProgress<'a>(BTreeMap<&'a str, Vec<(&'a str, Timestamp, Timestamp)>>);

impl<'a> TimesInProgress<'a> {
    fn of(tasks: &'a [TaskHistory], ended_at: Timestamp) -> TimesInProgress<'a> {
        let mut times: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for TaskHistory { id, changes, .. } in tasks {
            let until = changes.iter().skip(1).map(|change| change.at).chain([ended_at]);
            for (change, until) in changes.iter().zip(until) {
                if let (Some(TaskStatus::InProgress), Some(owner)) = (&change.to, &change.owner) {
                    let owner = owner.split('@').next().unwrap_or(owner);
                    times.entry(owner).or_default().push((id.as_str(), change.at, until));
                }
            }
        }
        TimesInProgress(times)
    }

    fn during(&self, agent: &str, from: Timestamp, to: Timestamp) -> Vec<String> {
        let mut tasks: Vec<String> = Vec::new();
        for (task, begin, end) in self.0.get(agent).into_iter().flatten() {
            if *begin < to && from < *end && tasks.iter().all(|known| known != task) {
                tasks.push((*task).to_owned());
            }
        }
        tasks
    }
}
