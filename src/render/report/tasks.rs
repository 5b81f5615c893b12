//! Tasks, tools, time and tokens.

use super::page::{Block, Graph, Table};
use super::sections::{UNKNOWN, duration, when};
use crate::model::TaskStatus;
use crate::render::format::{actor, count, first_line, thousands};
use crate::report::{Change, TaskHistory, TokenUsage, Tools, Work};

/// Each task with all its changes.
pub fn tasks(tasks: &[TaskHistory], start: &str) -> Vec<Block> {
    if tasks.is_empty() {
        return Vec::new();
    }
    let mut board = Table::of(&["task#", "status", "owner", "depends on", "subject"]);
    let mut lives = Table::of(&["task#", "when#", "by", "change"]);
    for task in tasks {
        let gone =
            if task.removed_at.is_some() && task.status != TaskStatus::Deleted { ", erased" } else { "" };
        board.row([
            task.id.clone(),
            format!("{}{gone}", task.status),
            task.owner.clone().unwrap_or_else(|| "-".to_owned()),
            task.blocked_by.join(", "),
            first_line(task.subject.as_deref().unwrap_or_default()),
        ]);
        for change in &task.changes {
            lives.row([
                task.id.clone(),
                when(start, Some(&change.at)),
                actor(&change.by).to_owned(),
                became(change),
            ]);
        }
    }
    let mut blocks = vec![Block::Table(board)];
    let graph = dependencies(tasks);
    if !graph.edges.is_empty() {
        blocks.extend([Block::Line("Dependencies".to_owned()), Block::Graph(graph)]);
    }
    blocks.extend([Block::Line("Changes".to_owned()), Block::Table(lives)]);
    blocks
}

/// The dependencies of tasks. An unknown task has only its id.
fn dependencies(tasks: &[TaskHistory]) -> Graph {
    let about = |task: &TaskHistory| first_line(task.subject.as_deref().unwrap_or_default());
    let mut graph =
        Graph { nodes: tasks.iter().map(|task| (task.id.clone(), about(task))).collect(), edges: Vec::new() };
    for (place, task) in tasks.iter().enumerate() {
        for id in &task.blocked_by {
            let known = graph.nodes.iter().position(|(known, _)| known == id);
            let before = known.unwrap_or_else(|| {
                graph.nodes.push((id.clone(), String::new()));
                graph.nodes.len() - 1
            });
            graph.edges.push((before, place));
        }
    }
    graph
}

/// The result of a change.
fn became(change: &Change) -> String {
    let from = change.from.as_ref().map_or("(none)", TaskStatus::as_str);
    let to = match change.kind.as_str() {
        "task-deleted" => "(deleted)",
        _ => change.to.as_ref().map_or("(erased)", TaskStatus::as_str),
    };
    let status = if from == to { from.to_owned() } else { format!("{from} → {to}") };
    let name = |owner: &Option<String>| owner.clone().unwrap_or_else(|| "none".to_owned());
    match change.owner_from == change.owner {
        true => status,
        false => match (&change.owner_from, &change.owner) {
            (Some(from), None) => format!("{status}, unassigned (was {from})"),
            (None, Some(to)) => format!("{status}, assigned to {to}"),
            (from, to) => format!("{status}, owner {} → {}", name(from), name(to)),
        },
    }
}

/// Tool calls by agent.
pub fn tools(tools: &Tools) -> Vec<Block> {
    if tools.by_agent.is_empty() {
        return Vec::new();
    }
    let mut table = Table::of(&["agent", "calls#", "failed#", "tools"]);
    let names = |tools: &std::collections::BTreeMap<String, usize>| {
        let mut tools: Vec<_> = tools.iter().collect();
        tools.sort_by_key(|(_, uses)| std::cmp::Reverse(**uses));
        tools
            .iter()
            .map(|(tool, uses)| format!("{tool} {}", thousands(**uses as u64)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    for user in &tools.by_agent {
        let uses: usize = user.tools.values().sum();
        table.row([
            user.agent.clone(),
            format!("{}{}", if user.complete { "" } else { "at least " }, thousands(uses as u64)),
            user.failed.map_or_else(|| UNKNOWN.to_owned(), |failed| thousands(failed as u64)),
            names(&user.tools),
        ]);
    }
    table.row([
        "total".to_owned(),
        thousands(tools.total.values().sum::<usize>() as u64),
        String::new(),
        names(&tools.total),
    ]);
    vec![Block::Table(table)]
}

/// The use of time.
pub fn time(work: &Work) -> Vec<Block> {
    let mut table = Table::of(&["agent", "turns#", "working#", "waiting#", "idle#", ""]);
    for effort in &work.agents {
        let unseen = match effort.unseen_turns {
            0 => String::new(),
            some => format!("{} not timed (start not recorded)", count(some, "turn")),
        };
        let spans = [effort.working_ms, effort.waiting_ms, effort.idle_ms].map(duration);
        let row = [effort.agent.clone(), thousands(effort.turns as u64)];
        table.row(row.into_iter().chain(spans).chain([unseen]));
    }
    let [worked, busy, saved] = [work.worked_ms, work.busy_ms, work.saved_ms].map(duration);
    let sum = match work.worked_ms {
        None => format!("agent time {UNKNOWN}: no turns recorded"),
        Some(_) => format!("{worked} of agent time in {busy} wall time ({saved} saved by parallelism)"),
    };
    vec![Block::Table(table), Block::Line(sum)]
}

/// Token usage.
pub fn tokens(spending: &TokenUsage) -> Vec<Block> {
    let Some(total) = &spending.total else {
        return vec![Block::Line(format!("{UNKNOWN}: no transcript recorded"))];
    };
    let titles = ["agent", "messages#", "input#", "output#", "cache read#", "cache write#", "cost#", "model"];
    let mut table = Table::of(&titles);
    let cost = |cost: Option<f64>| cost.map_or_else(String::new, |cost| format!("{cost:.2}"));
    for spent in &spending.agents {
        let tokens = &spent.tokens;
        let numbers = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write];
        let row = [spent.agent.clone(), thousands(spent.messages as u64)].into_iter();
        let row = row.chain(numbers.map(thousands));
        table.row(row.chain([cost(spent.cost), spent.models.join(", ")]));
    }
    let numbers = [total.input, total.output, total.cache_read, total.cache_write];
    let messages: usize = spending.agents.iter().map(|spent| spent.messages).sum();
    let row = ["total".to_owned(), thousands(messages as u64)].into_iter();
    let row = row.chain(numbers.map(thousands));
    table.row(row.chain([cost(spending.cost), String::new()]));
    let mut blocks = vec![Block::Table(table)];
    if !spending.unknown.is_empty() {
        blocks.push(Block::Line(format!("{UNKNOWN} for {} (no transcript)", spending.unknown.join(", "))));
    }
    blocks
}
