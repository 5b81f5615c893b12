//! Several agents that worked under one name at once: of one spawn or of several. Each does the same work, and a message to the
//! name reaches one of them.

use std::collections::BTreeMap;

use super::draft::{Draft, listed};
use super::scene::Scene;
use super::{IncidentKind, Severity};
use crate::report::input::Spans;
use crate::timeline::{AgentTurn, Entry, Kind};
use teamkeep_model::time::{Timestamp, duration};

/// A shorter overlap, in milliseconds, can be the end of a turn and the begin of the next one, recorded in the wrong order.
const MIN_OVERLAP: i64 = 1_000;

/// Number of agents whose start is evidence. Before 2.1.178 each turn has another id.
const MAX_STEPS: usize = 20;

pub(super) fn shared_names(scene: &Scene<'_>) -> Vec<Draft> {
    let shared = scene.case.data.shared_names.of_teammates();
    shared.filter_map(|(name, turns)| shared_name(scene, name, turns)).collect()
}

/// The turns that began while another agent of the name was in one.
#[derive(Default)]
struct Extras<'a> {
    /// The turn in which the first of them began.
    first: Option<&'a AgentTurn>,
    turns: Vec<&'a AgentTurn>,
    /// When at least two agents worked.
    overlaps: Vec<(i64, i64)>,
    /// The largest number of agents at once.
    most: usize,
}

impl<'a> Extras<'a> {
    /// `turns` are sorted by start.
    fn of(turns: &'a [AgentTurn], span: impl Fn(&AgentTurn) -> (i64, i64)) -> Extras<'a> {
        let mut found = Extras::default();
        let mut running: Vec<&AgentTurn> = Vec::new();
        for turn in turns {
            let (from, to) = span(turn);
            running.retain(|other| span(other).1 >= from + MIN_OVERLAP && other.id != turn.id);
            let until = running.iter().map(|other| span(other).1.min(to)).max();
            if let Some(until) = until.filter(|until| until - from >= MIN_OVERLAP) {
                found.first = found.first.or(running.first().copied());
                found.turns.push(turn);
                found.overlaps.push((from, until));
                found.most = found.most.max(running.len() + 1);
            }
            running.push(turn);
        }
        found
    }
}

fn shared_name(scene: &Scene<'_>, name: &str, turns: &[AgentTurn]) -> Option<Draft> {
    let end = |turn: &AgentTurn| turn.to.map_or(scene.end, Timestamp::millis);
    let span = |turn: &AgentTurn| (turn.from.millis(), end(turn).min(scene.end));
    let extras = Extras::of(turns, span);
    // Before about 2.1.100, the last turn of a teammate that is shut down has no recorded end.
    let overlaps = Spans::of(extras.overlaps).intersection(&scene.presence(name));
    let (from, to) = (overlaps.iter().next()?.0, overlaps.iter().last()?.1);
    let mut draft = Draft::new(IncidentKind::DuplicateAgents, Severity::Medium, (from, to));
    draft.lasted = Some(overlaps.total());
    draft.agent(name);
    let mut by_id: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
    let mut ids: Vec<String> = Vec::new();
    for turn in &extras.turns {
        by_id.entry(&turn.id).or_default().push(span(turn));
        if !ids.contains(&turn.id) {
            ids.push(turn.id.clone());
        }
    }
    for (id, times) in by_id {
        draft.spend(scene.spending.spent_by_id(id, times));
    }
    for turn in extras.first.into_iter().chain(extras.turns.iter().copied()).take(MAX_STEPS) {
        let is_its = |entry: &&Entry| entry.at == turn.from && entry.agent() == Some(&turn.id);
        if let Some(entry) = scene.entries(Kind::TurnStarted).find(is_its) {
            draft.step(entry, format!("{name} ({}) started a turn", turn.id));
        }
    }
    let time = duration(overlaps.total());
    draft.summary = format!(
        "{} agents named {name} ran at the same time for {time}; started later: {}",
        extras.most,
        listed(&ids)
    );
    draft.remedy = Some(if scene.lasts(to) {
        "Stop the later agents by id (TaskStop), then check what they changed".to_owned()
    } else {
        format!("Check the work of {name}: its agents can have changed the same files")
    });
    Some(draft)
}
