//! The facts about the team in the requests: an agent that lost its context read what is true, and no other read any.

use super::super::ledger::{Context, Ledger};
use super::super::scenarios::{Facts, Scenario};
use super::super::sent::{Message, Sent};
use super::super::version::Version;

pub fn differences(version: Version, scenario: &Scenario, ledger: &Ledger) -> Vec<String> {
    let read = ledger.contexts();
    let Some(facts) = scenario.facts else {
        return read
            .iter()
            .map(|context| format!("context: {:?} read {}", context.part, context.text))
            .collect();
    };
    let is_meant =
        |context: &&Context| context.part.as_deref() == Some(facts.part) && context.act == facts.act;
    let Some(context) = read.iter().find(is_meant) else {
        let Facts { part, act, .. } = facts;
        return vec![format!(
            "context: no request of {part} in {act} holds the facts; {} others do",
            read.len()
        )];
    };
    let sent = Sent::until(ledger, context.entries);
    let expected = if scenario.has_reader(version) { expected(&sent, facts) } else { for_anyone(&sent) };
    let missing = expected.iter().filter(|(begin, end)| {
        !context.text.lines().any(|line| line.contains(begin.as_str()) && line.ends_with(end.as_str()))
    });
    let mut found: Vec<String> =
        missing.map(|(begin, end)| format!("context: the agent did not read {begin:?} … {end:?}")).collect();
    let lines = context.text.lines().filter(|line| line.starts_with("- #")).count();
    let tasks = expected.iter().filter(|(begin, _)| begin.starts_with("- #")).count();
    if lines != tasks {
        found.push(format!("context: {lines} tasks, and there were {tasks}"));
    }
    if !found.is_empty() {
        found.push(format!("context: the agent read {}", context.text));
    }
    found
}

/// A piece of each line about the tasks, and its end.
fn tasks(sent: &Sent) -> Vec<(String, String)> {
    let done = |id: &str| {
        sent.tasks.get(id).is_some_and(|task| task.states.last().is_some_and(|last| last.1 == "completed"))
    };
    let count = sent.tasks.keys().filter(|id| done(id)).count();
    let mut facts = vec![(format!("{count} of {} tasks completed", sent.tasks.len()), String::new())];
    for (id, task) in sent.tasks.iter().filter(|(id, _)| !done(id)) {
        let Some((_, status, owner)) = task.states.last() else { continue };
        let blockers: Vec<String> =
            task.blocked_by.iter().filter(|id| !done(id)).map(|id| format!("#{id}")).collect();
        let owner = owner.as_deref().unwrap_or("unassigned");
        let end =
            if blockers.is_empty() { String::new() } else { format!(", blocked by {}", blockers.join(", ")) };
        let begin = format!("- #{id} {:?}: {} for ", task.subject, status.replace('_', " "));
        facts.push((begin, format!(", {owner}{end}")));
    }
    facts
}

/// Every agent and task. Which agent does what at that moment is not certain.
fn for_anyone(sent: &Sent) -> Vec<(String, String)> {
    let agents = sent.members.keys().map(String::as_str).chain(["team-lead"]);
    tasks(sent).into_iter().chain(agents.map(|name| (format!("- {name}: "), String::new()))).collect()
}

/// A piece of each line, and its end.
fn expected(sent: &Sent, read: Facts) -> Vec<(String, String)> {
    let mut facts = tasks(sent);
    let lead = "team-lead".to_owned();
    let reader = if read.part == "lead" { &lead } else { read.part };
    for name in sent.members.keys().chain([&lead]).filter(|name| *name != reader) {
        let state = if *name == lead { "" } else { read.state };
        facts.push((format!("- {name}: {state}"), String::new()));
        let is_between = |message: &&Message| {
            let ends = [message.from.as_str(), message.to.as_str()];
            message.kind == "message" && ends.contains(&name.as_str()) && ends.contains(&reader)
        };
        if let Some(last) = sent.messages.iter().rfind(is_between) {
            let said = format!("{} to {}: \"{}: {}\"", last.from, last.to, last.summary, last.text);
            facts.push((String::new(), said));
        }
    }
    facts
}
