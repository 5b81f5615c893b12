//! Tasks, tools, time and tokens of a report.

use std::collections::BTreeMap;

use super::{UNKNOWN, duration, number, when};
use crate::report::{Change, TaskHistory, TokenUsage, Tools, Work};
use crate::timeline::Kind;
use crate::view::document::{Document, Graph, Table};
use crate::view::format::{actor, count, first_line, thousands};
use teamkeep_core::model::TaskStatus;
use teamkeep_core::sys::clock::Timestamp;

pub fn tasks(tasks: &[TaskHistory], start: Timestamp) -> Document {
    if tasks.is_empty() {
        return Document::default();
    }
    let mut board = Table::of(&["task#", "status", "owner", "depends on", "subject"]);
    let mut changes = Table::of(&["task#", "when#", "by", "change"]);
    for task in tasks {
        let gone =
            if task.removed_at.is_some() && task.status != TaskStatus::Deleted { ", erased" } else { "" };
        board.row([
            task.id.clone(),
            format!("{}{gone}", task.status),
            task.owner.clone().unwrap_or_else(|| "-".to_owned()),
            task.blocked_by.join(", "),
            subject(task),
        ]);
        for change in &task.changes {
            let (at, by) = (when(start, Some(change.at)), actor(&change.by).to_owned());
            changes.row([task.id.clone(), at, by, result(change)]);
        }
    }
    let mut document = Document::from(board);
    let graph = dependencies(tasks);
    if !graph.edges.is_empty() {
        document.paragraph("Dependencies");
        document.graph(graph);
    }
    document.paragraph("Changes");
    document.table(changes);
    document
}

fn subject(task: &TaskHistory) -> String {
    first_line(task.subject.as_deref().unwrap_or_default())
}

/// The dependencies of tasks. An unknown task has only its id.
fn dependencies(tasks: &[TaskHistory]) -> Graph {
    let mut nodes: Vec<_> = tasks.iter().map(|task| (task.id.clone(), subject(task))).collect();
    let mut edges = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        for id in &task.blocked_by {
            let known = nodes.iter().position(|(known, _)| known == id);
            let before = known.unwrap_or_else(|| {
                nodes.push((id.clone(), String::new()));
                nodes.len() - 1
            });
            edges.push((before, place));
        }
    }
    Graph { nodes, edges }
}

fn result(change: &Change) -> String {
    let from = change.from.as_ref().map_or("(none)", TaskStatus::as_str);
    let to = match change.kind {
        Kind::TaskDeleted => "(deleted)",
        _ => change.to.as_ref().map_or("(erased)", TaskStatus::as_str),
    };
    let status = if from == to { from.to_owned() } else { format!("{from} → {to}") };
    match (&change.owner_from, &change.owner) {
        (from, to) if from == to => status,
        (Some(from), None) => format!("{status}, unassigned (was {from})"),
        (None, Some(to)) => format!("{status}, assigned to {to}"),
        (from, to) => {
            let name = |owner: &Option<String>| owner.clone().unwrap_or_else(|| "none".to_owned());
            format!("{status}, owner {} → {}", name(from), name(to))
        }
    }
}

pub fn tools(tools: &Tools) -> Document {
    if tools.by_agent.is_empty() {
        return Document::default();
    }
    let mut table = Table::of(&["agent", "calls#", "failed#", "tools"]);
    let calls = |tools: &BTreeMap<String, usize>| thousands(tools.values().sum::<usize>());
    let names = |tools: &BTreeMap<String, usize>| {
        let mut tools: Vec<_> = tools.iter().collect();
        tools.sort_by_key(|(_, uses)| std::cmp::Reverse(**uses));
        let tools = tools.iter().map(|(tool, uses)| format!("{tool} {}", thousands(**uses)));
        tools.collect::<Vec<_>>().join(", ")
    };
    for user in &tools.by_agent {
        let least = if user.complete { "" } else { "at least " };
        let calls = format!("{least}{}", calls(&user.tools));
        table.row([user.agent.clone(), calls, number(user.failed), names(&user.tools)]);
    }
    table.row(["total".to_owned(), calls(&tools.total), String::new(), names(&tools.total)]);
    Document::from(table)
}

pub fn time(work: &Work) -> Document {
    let mut table = Table::of(&["agent", "turns#", "working#", "waiting#", "idle#", ""]);
    for agent in &work.agents {
        let untimed = match agent.unseen_turns {
            0 => String::new(),
            some => format!("{} not timed (start not recorded)", count(some, "turn")),
        };
        let [working, waiting, idle] = [agent.working_ms, agent.waiting_ms, agent.idle_ms].map(duration);
        let turns = thousands(agent.turns);
        table.row([agent.agent.clone(), turns, working, waiting, idle, untimed]);
    }
    let mut document = Document::from(table);
    let [worked, busy, saved] = [work.worked_ms, work.busy_ms, work.saved_ms].map(duration);
    document.paragraph(match work.worked_ms {
        None => format!("agent time {UNKNOWN}: no turns recorded"),
        Some(_) => format!("{worked} of agent time in {busy} wall time ({saved} saved by parallelism)"),
    });
    document
}

pub fn tokens(usage: &TokenUsage) -> Document {
    let Some(total) = &usage.total else {
        let mut document = Document::default();
        document.paragraph(format!("{UNKNOWN}: no transcript recorded"));
        return document;
    };
    let titles = ["agent", "messages#", "input#", "output#", "cache read#", "cache write#", "cost#", "model"];
    let mut table = Table::of(&titles);
    let messages: usize = usage.agents.iter().map(|agent| agent.messages).sum();
    let agents = usage.agents.iter().map(|agent| {
        (agent.agent.as_str(), agent.messages, &agent.tokens, agent.cost, agent.models.join(", "))
    });
    let total = ("total", messages, total, usage.cost, String::new());
    for (name, messages, tokens, cost, models) in agents.chain([total]) {
        let numbers = [messages as u64, tokens.input, tokens.output, tokens.cache_read, tokens.cache_write]
            .map(thousands);
        let cost = cost.map_or_else(String::new, |cost| format!("{cost:.2}"));
        table.row([name.to_owned()].into_iter().chain(numbers).chain([cost, models]));
    }
    let mut document = Document::from(table);
    if !usage.unknown.is_empty() {
        document.paragraph(format!("{UNKNOWN} for {} (no transcript)", usage.unknown.join(", ")));
    }
    document
}
