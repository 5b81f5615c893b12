//! How the time went: at work, waiting, idle; and what working side by side saved.

use serde::{Deserialize, Serialize};

use super::case::{Case, millis};
use super::spans::Spans;
use super::tasks::TaskLife;
use super::turns::Turn;

/// How the time of a run went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// What each agent did with it.
    pub agents: Vec<Effort>,
    /// How long everybody worked, added up, in milliseconds; `None` where no turn is on record.
    pub worked_ms: Option<i64>,
    /// How long at least one of them worked, in milliseconds.
    pub busy_ms: Option<i64>,
    /// What one after the other would have taken longer, in milliseconds: the first less the second.
    pub saved_ms: Option<i64>,
}

/// How one agent's time went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// Who.
    pub agent: String,
    /// How many turns it took.
    pub turns: usize,
    /// How many of them nothing saw begin: they are not in the time at work.
    pub unseen_turns: usize,
    /// In its turns, in milliseconds; `None` where none of its turns is on record.
    pub working_ms: Option<i64>,
    /// Out of them, with something still to be done: a teammate that owns an unfinished task, the lead while somebody
    /// else works. In milliseconds.
    pub waiting_ms: Option<i64>,
    /// Out of them, with nothing to do. In milliseconds.
    pub idle_ms: Option<i64>,
}

/// Adds it up.
pub fn work(case: &Case<'_>, turns: &[Turn], tasks: &[TaskLife]) -> Work {
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
        let busy = if *name == case.lead {
            Spans::any(names.iter().zip(&working).filter(|(other, _)| *other != name).map(|(_, spans)| spans))
        } else {
            let owned = tasks.iter().flat_map(|task| task.owned_by(name, &case.end));
            Spans::of(owned.map(|(from, until)| (millis(from), millis(until))))
        };
        let known = |ms: i64| (count > unseen).then_some(ms);
        Effort {
            agent: (*name).to_owned(),
            turns: count,
            unseen_turns: unseen,
            working_ms: known(own.total()),
            waiting_ms: known(out.both(&busy).total()),
            idle_ms: known(out.without(&busy).total()),
        }
    });
    let agents: Vec<Effort> = efforts.collect();
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

/// When it was there: from its joining to its leaving, as often as it came.
fn here(case: &Case<'_>, name: &str, end: i64) -> Spans {
    use crate::timeline::Kind;
    let start = millis(&case.material.run.started_at);
    if name == case.lead {
        return Spans::of([(start, end)]);
    }
    let mut spans = Vec::new();
    let mut since = None;
    for entry in case.entries.iter().filter(|entry| entry.actor == name) {
        match entry.kind {
            Kind::MemberJoined => since = since.or(Some(millis(&entry.at))),
            Kind::MemberLeft => spans.extend(since.take().map(|since| (since, millis(&entry.at)))),
            _ => {}
        }
    }
    spans.extend(since.map(|since| (since, end)));
    Spans::of(spans)
}
