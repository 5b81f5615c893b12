//! Tasks, tools, time and tokens.

use super::page::{Block, Graph, Table};
use super::sections::{UNKNOWN, lasted, when};
use crate::render::words::first_line;
use crate::report::{Change, Spending, TaskLife, Tools, Work};

/// Each task, and every change of it.
pub fn tasks(tasks: &[TaskLife], start: &str) -> Vec<Block> {
    if tasks.is_empty() {
        return Vec::new();
    }
    let mut board = Table::of(&["task#", "status", "owner", "after", "subject"]);
    let mut lives = Table::of(&["task#", "when#", "by", "change"]);
    for task in tasks {
        let gone = if task.removed_at.is_some() && task.status != "deleted" { ", erased" } else { "" };
        board.row([
            task.id.clone(),
            format!("{}{gone}", task.status),
            task.owner.clone().unwrap_or_else(|| "-".to_owned()),
            task.blocked_by.join(", "),
            first_line(task.subject.as_deref().unwrap_or_default()),
        ]);
        for change in &task.changes {
            lives.row([task.id.clone(), when(start, Some(&change.at)), change.by.clone(), became(change)]);
        }
    }
    let mut blocks = vec![Block::Table(board)];
    let graph = dependencies(tasks);
    if !graph.edges.is_empty() {
        blocks.extend([Block::Line("what has to be done before what".to_owned()), Block::Graph(graph)]);
    }
    blocks.extend([Block::Line("changes".to_owned()), Block::Table(lives)]);
    blocks
}

/// Which tasks wait for which. One that is waited for and that nobody ever saw has its id alone.
fn dependencies(tasks: &[TaskLife]) -> Graph {
    let about = |task: &TaskLife| first_line(task.subject.as_deref().unwrap_or_default());
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

/// What a change made of a task.
fn became(change: &Change) -> String {
    let from = change.from.as_deref().unwrap_or("(none)");
    let to = match change.kind.as_str() {
        "task-deleted" => "(deleted)",
        _ => change.to.as_deref().unwrap_or("(erased)"),
    };
    let status = if from == to { from.to_owned() } else { format!("{from} → {to}") };
    let name = |owner: &Option<String>| owner.clone().unwrap_or_else(|| "nobody".to_owned());
    match change.owner_from == change.owner {
        true => status,
        false => format!("{status}, owner {} → {}", name(&change.owner_from), name(&change.owner)),
    }
}

/// Who used which tools.
pub fn tools(tools: &Tools) -> Vec<Block> {
    if tools.by_agent.is_empty() {
        return Vec::new();
    }
    let mut table = Table::of(&["agent", "uses#", "failed#", "tools"]);
    let names = |tools: &std::collections::BTreeMap<String, usize>| {
        let mut tools: Vec<_> = tools.iter().collect();
        tools.sort_by_key(|(_, uses)| std::cmp::Reverse(**uses));
        tools.iter().map(|(tool, uses)| format!("{tool} {uses}")).collect::<Vec<_>>().join(", ")
    };
    for user in &tools.by_agent {
        let uses: usize = user.tools.values().sum();
        table.row([
            user.agent.clone(),
            format!("{}{uses}", if user.complete { "" } else { "at least " }),
            user.failed.map_or_else(|| UNKNOWN.to_owned(), |failed| failed.to_string()),
            names(&user.tools),
        ]);
    }
    table.row([
        "all".to_owned(),
        tools.total.values().sum::<usize>().to_string(),
        String::new(),
        names(&tools.total),
    ]);
    vec![Block::Table(table)]
}

/// Where the time went.
pub fn time(work: &Work) -> Vec<Block> {
    let mut table = Table::of(&["agent", "turns#", "working#", "waiting#", "idle#", ""]);
    for effort in &work.agents {
        let unseen = match effort.unseen_turns {
            0 => String::new(),
            some => format!("of {some} turns the beginning is not on record"),
        };
        let spans = [effort.working_ms, effort.waiting_ms, effort.idle_ms].map(lasted);
        let row = [effort.agent.clone(), effort.turns.to_string()];
        table.row(row.into_iter().chain(spans).chain([unseen]));
    }
    let [worked, busy, saved] = [work.worked_ms, work.busy_ms, work.saved_ms].map(lasted);
    let sum = format!("{worked} of work in {busy}: working side by side saved {saved}");
    vec![Block::Table(table), Block::Line(sum)]
}

/// What the model's messages took.
pub fn tokens(spending: &Spending) -> Vec<Block> {
    let Some(total) = &spending.total else {
        return vec![Block::Line(format!("{UNKNOWN}: no transcript is on record"))];
    };
    let titles = ["agent", "messages#", "input#", "output#", "from cache#", "into cache#", "cost#", "model"];
    let mut table = Table::of(&titles);
    let cost = |cost: Option<f64>| cost.map_or_else(String::new, |cost| format!("{cost:.2}"));
    for spent in &spending.agents {
        let tokens = &spent.tokens;
        let numbers = [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write];
        let row = [spent.agent.clone(), spent.messages.to_string()].into_iter();
        let row = row.chain(numbers.map(|number| number.to_string()));
        table.row(row.chain([cost(spent.cost), spent.models.join(", ")]));
    }
    let numbers = [total.input, total.output, total.cache_read, total.cache_write];
    let messages: usize = spending.agents.iter().map(|spent| spent.messages).sum();
    let row = ["all".to_owned(), messages.to_string()].into_iter();
    let row = row.chain(numbers.map(|number| number.to_string()));
    table.row(row.chain([cost(spending.cost), String::new()]));
    let mut blocks = vec![Block::Table(table)];
    if !spending.unknown.is_empty() {
        blocks.push(Block::Line(format!("{UNKNOWN} for {}", spending.unknown.join(", "))));
    }
    blocks
}
