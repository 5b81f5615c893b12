//! The use of time: working, waiting and idle, and the time saved by parallelism.

use serde::{Deserialize, Serialize};

use super::input::{ReportInput, millis};
use super::intervals::Spans;
use super::messages::MessageStats;
use super::tasks::TaskHistory;
use super::turns::Turn;
use super::waiting;

/// The use of time in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// By agent.
    pub agents: Vec<TimePerAgent>,
    /// Sum of all agents' working time in milliseconds; `None` without a recorded turn.
    pub worked_ms: Option<i64>,
    /// Time in which at least one agent worked, in milliseconds.
    pub busy_ms: Option<i64>,
    /// Time saved by parallelism, in milliseconds: the first minus the second.
    pub saved_ms: Option<i64>,
}

/// The use of time of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimePerAgent {
    /// The agent.
    pub agent: String,
    /// Number of turns.
    pub turns: usize,
    /// Number of turns without a known start. They are not part of the working time.
    pub unseen_turns: usize,
    /// Time in turns, in milliseconds; `None` without a recorded turn.
    pub working_ms: Option<i64>,
    /// Time outside turns in which the agent depends on another one, in milliseconds: a teammate that asked a question
    /// and has no answer yet, or whose unfinished tasks all depend on unfinished tasks; the lead while another agent
    /// works.
    pub waiting_ms: Option<i64>,
    /// All other time outside turns, in milliseconds, with or without an unfinished task.
    pub idle_ms: Option<i64>,
}

/// Adds it up.
pub fn work(case: &ReportInput<'_>, turns: &[Turn], tasks: &[TaskHistory], mail: &MessageStats) -> Work {
    let end = millis(&case.end);
    let mut names: Vec<&str> = vec![case.lead];
    for name in case.teammates().chain(turns.iter().map(|turn| turn.agent.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let working: Vec<Spans> = names.iter().map(|name| at_work(turns, name, end)).collect();
    let efforts = names.iter().zip(&working).map(|(name, own)| {
        let taken = turns.iter().filter(|turn| turn.agent == *name);
        let unseen = taken.clone().filter(|turn| turn.from.is_none()).count();
        let count = taken.count();
        let out = here(case, name, end).without(own);
        let waits = if *name == case.lead {
            Spans::any(names.iter().zip(&working).filter(|(other, _)| *other != name).map(|(_, spans)| spans))
        } else {
            Spans::any([&waiting::answers(mail, name, end), &waiting::tasks(tasks, name, end)])
        };
        let known = |ms: i64| (count > unseen).then_some(ms);
        TimePerAgent {
            agent: (*name).to_owned(),
            turns: count,
            unseen_turns: unseen,
            working_ms: known(own.total()),
            waiting_ms: known(out.both(&waits).total()),
            idle_ms: known(out.without(&waits).total()),
        }
    });
    let agents: Vec<TimePerAgent> = efforts.collect();
    let worked = working.iter().map(Spans::total).sum::<i64>();
    let busy = Spans::any(&working).total();
    let known = |ms: i64| (!turns.is_empty()).then_some(ms);
    Work { agents, worked_ms: known(worked), busy_ms: known(busy), saved_ms: known(worked - busy) }
}

fn at_work(turns: &[Turn], name: &str, end: i64) -> Spans {
    let own = turns.iter().filter(|turn| turn.agent == name);
    Spans::of(
        own.filter_map(|turn| Some((millis(turn.from.as_deref()?), turn.to.as_deref().map_or(end, millis)))),
    )
}

/// The times during which an agent was in the team.
fn here(case: &ReportInput<'_>, name: &str, end: i64) -> Spans {
    use crate::timeline::Kind;
    let start = millis(&case.material.run.started_at);
    if name == case.lead {
        return Spans::of([(start, end)]);
    }
    let mut spans = Vec::new();
    let mut since = None;
    for entry in case.entries.iter().filter(|entry| entry.actor == name) {
        match entry.kind() {
            Kind::MemberJoined => since = since.or(Some(millis(&entry.at))),
            Kind::MemberLeft => spans.extend(since.take().map(|since| (since, millis(&entry.at)))),
            _ => {}
        }
    }
    spans.extend(since.map(|since| (since, end)));
    Spans::of(spans)
}
