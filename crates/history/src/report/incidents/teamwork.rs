//! Work that was done twice, completed too early, or useless; actions that the loop guard had to allow, deleted tasks,
//! and several agents under one name.

use super::scene::{Draft, Scene, task_names};
use super::stalls::{millis, restore};
use super::{IncidentKind, Remedy, Severity};
use crate::report::input::Spans;
use crate::report::messages::bare;
use crate::report::turns::Turn;
use crate::timeline::{AgentTurn, Entry, Kind};
use std::collections::BTreeMap;
use teamkeep_config::Gate;
use teamkeep_model::payload::{EventKind as Event, Message};
use teamkeep_model::time::{Timestamp, duration};
use teamkeep_model::words::{count, listed};
use teamkeep_model::{TaskStatus, Tool};
use teamkeep_policy::{Decision, stopped};

/// Tasks that were completed and started again.
pub(super) fn false_completions(scene: &Scene<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    for task in scene.tasks {
        for pair in task.changes.windows(2) {
            let [done, again] = pair else { continue };
            let is_open = again.to.as_ref().is_some_and(|status| !status.is_done());
            if done.to != Some(TaskStatus::Completed) || !is_open {
                continue;
            }
            let span = (done.at.millis(), again.at.millis());
            let mut draft = Draft::new(IncidentKind::FalseCompletion, Severity::Medium, span);
            draft.agent(&done.by);
            draft.agent(&again.by);
            draft.task(&task.id);
            if let Some(entry) = scene.task_entry(&task.id, span.0) {
                draft.step(entry, format!("{} completed #{}", done.by, task.id));
            }
            if let Some(entry) = scene.task_entry(&task.id, span.1) {
                draft.step(entry, format!("{} started #{} again", again.by, task.id));
            }
            let time = duration(span.1 - span.0);
            draft.summary =
                format!("{} completed #{}, but it was started again {time} later", done.by, task.id);
            found.push(draft);
        }
    }
    found
}

/// The blocks, and the actions that the loop guard allowed after too many of them, by gate and by the agent whose work
/// was at stake. Only those that were allowed have a summary.
pub(super) fn verdicts(scene: &Scene<'_>) -> Vec<Draft> {
    let mut found: BTreeMap<(String, String), Draft> = BTreeMap::new();
    let verdicts =
        scene.entries(Kind::Verdict).filter(|entry| entry.verdict().is_some_and(|one| !one.repeated));
    for entry in verdicts {
        let Some(verdict) = entry.verdict() else { continue };
        let at = entry.at.millis();
        let about = subject(scene, entry, &verdict.judged_event);
        let key = (verdict.gate.clone(), about.clone());
        let done = match verdict.blocks {
            Some(blocks) => format!("allowed after {}", count(blocks, "block")),
            None if verdict.decision == Decision::Block => "blocked".to_owned(),
            None => continue,
        };
        let new = || Draft::new(IncidentKind::PolicyEscalated, Severity::Medium, (at, at));
        let draft = found.entry(key).or_insert_with(new);
        draft.agent(&about);
        draft.agent(&entry.actor);
        draft.step(entry, format!("{} was {done} ({})", entry.actor, verdict.gate));
        draft.span.1 = at;
        if let Some(blocks) = verdict.blocks {
            draft.tasks = scene.held(&about, at).iter().map(|task| task.id.clone()).collect();
            let reason = verdict.reason.trim_end_matches('.');
            let blocks = count(blocks, "block");
            draft.summary =
                format!("the loop guard allowed an action after {blocks}: {reason} ({})", verdict.gate);
            if verdict.gate == Gate::CompletionCheck.name() {
                draft.kind = IncidentKind::FalseCompletion;
            }
        }
    }
    found.into_values().collect()
}

/// The agent whose work the judged event put at stake: the one to be stopped, else the actor.
fn subject(scene: &Scene<'_>, entry: &Entry, judged: &str) -> String {
    let event = scene.case.data.events.iter().find(|event| event.id() == judged);
    let target = event.filter(|event| event.kind == Event::PreToolUse).and_then(|event| {
        let input = event.tool_input();
        match event.tool()? {
            Tool::SendMessage => Message::of(input, event.tool_response())?.to,
            Tool::TaskStop => stopped(input).map(str::to_owned),
            _ => None,
        }
    });
    let target = target.map(|name| bare(&name).to_owned());
    // A message to the lead is about its sender.
    let is_teammate = |name: &String| scene.case.teammates().any(|teammate| teammate == name);
    target.filter(is_teammate).unwrap_or_else(|| entry.actor.clone())
}

/// The lead's turns that only idle notices started.
pub(super) fn ping_pong(scene: &Scene<'_>) -> Option<Draft> {
    let lead = scene.case.lead;
    let useless: Vec<&Turn> =
        scene.turns.iter().filter(|turn| turn.agent == lead && turn.for_idlers).collect();
    if useless.len() < scene.limits.ping_pong as usize {
        return None;
    }
    let spans = useless.iter().filter_map(|turn| {
        let from = turn.from?.millis();
        Some((from, turn.to.map_or(from, Timestamp::millis)))
    });
    let spans: Vec<(i64, i64)> = spans.collect();
    let from = spans.iter().map(|(from, _)| *from).min()?;
    let to = spans.iter().map(|(_, to)| *to).max()?;
    // It lasts until no idle notice has started a turn for a while.
    let lasts = !scene.case.is_over() && scene.end - to < millis(scene.limits.silent);
    let to = if lasts { scene.end } else { to };
    let mut draft = Draft::new(IncidentKind::IdlePingPong, Severity::Low, (from, to));
    draft.agent(lead);
    for (from, _) in spans.iter().take(1).chain(spans.iter().skip(1).next_back()) {
        let notice =
            scene.case.entries.iter().rfind(|entry| entry.is_automatic() && entry.at.millis() <= *from);
        if let Some(notice) = notice {
            draft.step(notice, format!("an idle notice from {} started a turn of {lead}", notice.actor));
        }
    }
    draft.spend(scene.spending.spent(lead, spans.iter().copied()));
    let all = scene.turns.iter().filter(|turn| turn.agent == lead).count();
    draft.summary = format!("only idle notices started {} of the {all} turns of {lead}", useless.len());
    draft.advise("Give idle teammates a task, or shut them down");
    Some(draft)
}

/// Unfinished tasks that Claude Code deleted while the team ran.
pub(super) fn deleted_tasks(scene: &Scene<'_>) -> Option<Draft> {
    let open = |entry: &&Entry| {
        let is_open = entry.task().and_then(|task| task.from.as_ref()).is_some_and(|from| !from.is_done());
        is_open && entry.at.millis() < scene.end
    };
    let ended = scene.entries(Kind::TeamErased).map(|entry| entry.at).min();
    let erased = scene.entries(Kind::TaskErased).filter(open);
    let erased: Vec<&Entry> = erased.filter(|entry| ended.is_none_or(|ended| entry.at < ended)).collect();
    let (first, last) = (erased.first()?, erased.last()?);
    let span = (first.at.millis(), last.at.millis());
    let mut draft = Draft::new(IncidentKind::TasksDeleted, Severity::High, span);
    for entry in &erased {
        if let Some(task) = entry.task() {
            draft.task(&task.id);
            draft.step(entry, format!("the file of #{} was deleted", task.id));
        }
    }
    draft.summary = format!(
        "Claude Code deleted {} before {} completed",
        task_names(&draft.tasks),
        if draft.tasks.len() == 1 { "it was" } else { "they were" }
    );
    draft.remedy = Some(match scene.case.is_over() {
        true => restore(scene),
        false => {
            Remedy::Advice(format!("Ask {} to create {} again", scene.case.lead, task_names(&draft.tasks)))
        }
    });
    Some(draft)
}

/// Agents that were started again under a second name (`alice-2`) and worked beside the first one.
pub(super) fn duplicates(scene: &Scene<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    let snapshots = scene.case.data.snapshots.members();
    let prompt = |name: &str| snapshots.get(name).and_then(|member| member.prompt.as_deref()).map(str::trim);
    for second in scene.case.teammates() {
        let Some((first, number)) = second.rsplit_once('-') else { continue };
        let is_second = number.parse::<u32>().is_ok_and(|number| number > 1);
        let same = prompt(first).filter(|text| !text.is_empty()) == prompt(second);
        if !is_second || !same || prompt(second).is_none() {
            continue;
        }
        let both = scene.presence(first).intersection(&scene.presence(second));
        let worked =
            |name: &str, span: (i64, i64)| scene.next_activity(name, span.0).is_some_and(|at| at <= span.1);
        for span in both.iter().filter(|span| worked(first, *span) && worked(second, *span)) {
            let mut draft = Draft::new(IncidentKind::DuplicateAgents, Severity::Medium, span);
            draft.agent(second);
            draft.agent(first);
            let joined = scene.entries(Kind::MemberJoined).find(|entry| entry.actor == second);
            if let Some(joined) = joined {
                draft.step(joined, format!("{second} was started with the prompt of {first}"));
            }
            draft.spend(scene.spending.spent(second, [span]));
            let time = duration(span.1 - span.0);
            draft.summary = format!("{first} and {second} worked on the same prompt for {time}");
            if scene.lasts(span.1) {
                draft.advise(format!("Shut {second} down"));
            }
            found.push(draft);
        }
    }
    found
}

// Several agents that worked under one name at once: of one spawn or of several. Each does the same work, and a message to the
// name reaches one of them.

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
    draft.advise(if scene.lasts(to) {
        "Stop the later agents by id (TaskStop), then check what they changed".to_owned()
    } else {
        format!("Check the work of {name}: its agents can have changed the same files")
    });
    Some(draft)
}
