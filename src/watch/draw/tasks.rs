//! The task board: pending, in progress, done.

use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::terminal::Frame;

use super::Scene;
use super::panel::{Need, PLAIN, fitting, list, put, row_below, short, state, title};
use crate::status::{AgentState, Board, Item, Member};
use crate::view::{DIM, GREEN, RED, Span, bold, cut_to, dim, name_style, styled};
use crate::watch::Spot;
use crate::watch::lists::{COLUMNS, Panel, Subject};
use teamkeep_model::TaskStatus;

/// The blockers that a row names.
const MAX_BLOCKERS: usize = 2;
/// Columns of the longest shown owner.
const MAX_OWNER: usize = 16;

pub fn need(scene: Scene<'_>) -> Need {
    let longest = scene.lists.columns.iter().map(Vec::len).max().unwrap_or_default();
    if scene.moment.board.tasks.is_empty() {
        return Need { least: 0, all: 0 };
    }
    Need { least: 2 + longest.min(2), all: 2 + longest }
}

pub fn draw(frame: &mut Frame<'_>, area: Rect, scene: Scene<'_>) {
    let board = &scene.moment.board;
    let blocked = board.tasks.iter().filter(|task| !task.blocked_by.is_empty()).count();
    let mut heading = vec![bold("Tasks "), dim(format!("{} of {} done", board.done(), board.tasks.len()))];
    if blocked > 0 {
        heading.push(dim(format!(", {blocked} blocked")));
    }
    let area = title(frame, area, scene.has_focus(Panel::Tasks), heading);
    let columns = Layout::horizontal([Constraint::Fill(1); 3]).spacing(1).split(area);
    for (index, column) in columns.iter().enumerate() {
        column_of_board(frame, *column, scene, index);
    }
}

fn column_of_board(frame: &mut Frame<'_>, area: Rect, scene: Scene<'_>, index: usize) {
    let tasks = &scene.lists.columns[index];
    let style = [PLAIN, GREEN, DIM][index];
    put(frame, area, [styled(style.bold(), format!(" {} {}", COLUMNS[index], tasks.len()))]);
    let area = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let is_selected = scene.lists.column(&scene.state.selection) == index;
    let selected = if is_selected { scene.selected(Panel::Tasks) } else { 0 };
    let marked = scene.marked(Panel::Tasks).filter(|_| is_selected);
    let shown = fitting(tasks.len(), area, selected);
    list(frame, area, shown.clone(), marked, |place, row| {
        scene.put_spot(row, Spot::Item(Subject::Task(tasks[place].id.clone())));
        task(scene, tasks[place])
    });
    if shown.len() < tasks.len() {
        let hidden = tasks.len() - shown.len();
        put(frame, row_below(area, shown.len()), [dim(format!(" +{hidden} more"))]);
    }
}

fn task(scene: Scene<'_>, task: &Item) -> Vec<Span> {
    let is_done = task.status == TaskStatus::Completed;
    let style = if is_done { DIM } else { PLAIN };
    let mut pieces = vec![styled(style, format!("#{} ", task.id))];
    pieces.extend(after(&scene.moment.board, task));
    if let Some(owner) = task.owner.as_ref().filter(|_| !is_done) {
        pieces.push(owner_of(scene, owner));
    }
    if task.status == TaskStatus::InProgress {
        pieces.push(dim(format!("{} ", short(task.since, scene.moment.at))));
    }
    pieces.push(styled(style, &task.subject));
    pieces
}

/// The tasks that a task waits for, those that do not progress first and in red: `after #4, #5, +2 `.
pub fn after(board: &Board, task: &Item) -> Vec<Span> {
    let mut blockers: Vec<(bool, &String)> =
        task.blocked_by.iter().map(|id| (!is_stuck(board, id), id)).collect();
    blockers.sort_by_key(|(progresses, _)| *progresses);
    let mut pieces = Vec::new();
    for (progresses, id) in blockers.iter().take(MAX_BLOCKERS) {
        pieces.push(dim(if pieces.is_empty() { "after " } else { ", " }));
        pieces.push(styled(if *progresses { DIM } else { RED }, format!("#{id}")));
    }
    match blockers.len().checked_sub(MAX_BLOCKERS) {
        None if blockers.is_empty() => {}
        None | Some(0) => pieces.push(dim(" ")),
        Some(more) => pieces.push(dim(format!(", +{more} "))),
    }
    pieces
}

/// Whether a task does not progress: its owner makes no progress, or no agent has it although it can begin.
pub fn is_stuck(board: &Board, id: &str) -> bool {
    let Some(task) = board.tasks.iter().find(|task| task.id == id) else { return false };
    let Some(owner) = &task.owner else { return task.blocked_by.is_empty() };
    let is_stuck = |state| matches!(state, AgentState::Failed | AgentState::Stalled);
    board.members.iter().any(|member| member.name == *owner && is_stuck(member.state))
}

/// The owner, with the sign of its state if it needs attention.
fn owner_of(scene: Scene<'_>, owner: &str) -> Span {
    let short = cut_to(owner, MAX_OWNER);
    let is_owner = |member: &&Member| member.name == owner && member.state.needs_attention();
    match scene.moment.board.members.iter().find(is_owner) {
        Some(member) => {
            let (style, sign) = state(member.state);
            styled(style, format!("{sign}{short} "))
        }
        None => styled(name_style(owner), format!("{short} ")),
    }
}
