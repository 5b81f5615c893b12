//! The task board: pending, in progress, done.

use anstyle::Style;

use super::Scene;
use super::canvas::Canvas;
use super::layout::Need;
use super::panel::{Focus, PLAIN, Window, short, state, title};
use crate::status::{Item, Member};
use crate::view::{DIM, GREEN, Span, YELLOW, bold, dim, name_style, styled};
use crate::watch::lists::{COLUMNS, Panel};
use teamkeep_model::TaskStatus;

pub fn need(scene: Scene<'_>) -> Need {
    let longest = scene.lists.columns.iter().map(Vec::len).max().unwrap_or_default();
    if scene.moment.board.tasks.is_empty() {
        return Need { least: 0, all: 0 };
    }
    Need { least: 2 + longest.min(2), all: 2 + longest }
}

pub fn draw(mut canvas: Canvas<'_>, scene: Scene<'_>) {
    let board = &scene.moment.board;
    let blocked = board.tasks.iter().filter(|task| !task.blocked_by.is_empty()).count();
    let mut heading = vec![bold("Tasks "), dim(format!("{} of {} done", board.done(), board.tasks.len()))];
    if blocked > 0 {
        heading.push(styled(YELLOW, format!(", {blocked} blocked")));
    }
    title(&mut canvas, scene.focus(Panel::Tasks), &heading);
    let area = canvas.area;
    let width = area.width / 3;
    for index in 0..3 {
        let x = area.x + width * index;
        let place = ratatui_core::layout::Rect {
            x,
            y: area.y + 1,
            // The last column has the rest.
            width: if index == 2 { area.right() - x } else { width.saturating_sub(1) },
            height: area.height.saturating_sub(1),
        };
        column_of_board(canvas.part(place), scene, usize::from(index));
    }
}

fn column_of_board(mut canvas: Canvas<'_>, scene: Scene<'_>, index: usize) {
    let tasks = &scene.lists.columns[index];
    let style: Style = [PLAIN, GREEN, DIM][index];
    canvas.row(0, &[styled(style.bold(), format!(" {} {}", COLUMNS[index], tasks.len()))]);
    let selection = &scene.state.selection;
    let (focus, selected) = match scene.lists.column(selection) == index {
        true => (scene.focus(Panel::Tasks), scene.selected(Panel::Tasks)),
        false => (Focus::Elsewhere, 0),
    };
    let window = Window::from_start(tasks.len(), canvas.rows().saturating_sub(1), selected);
    for (row, place) in (window.start..window.end).enumerate() {
        let pieces = [vec![focus.mark(place, selected)], task(scene, tasks[place])].concat();
        canvas.row(row + 1, &pieces);
    }
    if window.is_cut {
        let hidden = tasks[..window.start].len() + tasks[window.end..].len();
        canvas.row(window.end - window.start + 1, &[dim(format!(" +{hidden} more"))]);
    }
}

fn task(scene: Scene<'_>, task: &Item) -> Vec<Span> {
    let is_done = task.status == TaskStatus::Completed;
    let style = if is_done { DIM } else { PLAIN };
    let mut pieces = vec![styled(style, format!("#{} ", task.id))];
    for blocker in &task.blocked_by {
        pieces.push(styled(YELLOW, format!("⛔#{blocker} ")));
    }
    if let Some(owner) = task.owner.as_ref().filter(|_| !is_done) {
        pieces.push(owner_of(scene, owner));
    }
    if task.status == TaskStatus::InProgress {
        pieces.push(dim(format!("{} ", short(task.since, scene.moment.at))));
    }
    pieces.push(styled(style, &task.subject));
    pieces
}

/// The owner, with the sign of its state if it needs attention.
fn owner_of(scene: Scene<'_>, owner: &str) -> Span {
    let is_owner = |member: &&Member| member.name == owner && member.state.needs_attention();
    match scene.moment.board.members.iter().find(is_owner) {
        Some(member) => {
            let (style, sign) = state(member.state);
            styled(style, format!("{sign}{owner} "))
        }
        None => styled(name_style(owner), format!("{owner} ")),
    }
}
