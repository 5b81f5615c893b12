//! Work that was done twice, completed too early, or useless; and actions that the loop guard had to allow.

use std::collections::BTreeMap;

use super::draft::{Draft, count, task_names};
use super::scene::Scene;
use super::stalls::{millis, restore};
use super::{IncidentKind, Severity};
use crate::report::messages::bare;
use crate::report::turns::Turn;
use crate::timeline::{Entry, Kind};
use teamkeep_config::Gate;
use teamkeep_model::payload::{EventKind as Event, Message};
use teamkeep_model::time::{Timestamp, duration};
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
        let about = subject(scene, entry, &verdict.judged);
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
    draft.remedy = Some("Give idle teammates a task, or shut them down".to_owned());
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
        false => format!("Ask {} to create {} again", scene.case.lead, task_names(&draft.tasks)),
    });
    Some(draft)
}

/// Agents that were started again under a second name (`alice-2`) and worked beside the first one.
pub(super) fn duplicates(scene: &Scene<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    let history = scene.case.data.history.members();
    let prompt = |name: &str| history.get(name).and_then(|member| member.prompt.as_deref()).map(str::trim);
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
            draft.remedy = scene.lasts(span.1).then(|| format!("Shut {second} down"));
            found.push(draft);
        }
    }
    found
}
