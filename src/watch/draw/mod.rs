//! Draws the board.

mod agents;
mod alerts;
mod canvas;
mod details;
mod header;
mod layout;
mod messages;
mod page;
mod panel;
mod subject;
mod tasks;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::lists::{Lists, Panel};
use super::recording::{Moment, Recording};
use super::state::{Mode, WatchState};
use canvas::Canvas;
use layout::{Need, share};
use panel::Focus;

/// From this width on, the messages are beside the agents.
const WIDE: u16 = 120;

/// The content of the screen.
#[derive(Debug, Clone, Copy)]
struct Scene<'a> {
    recording: &'a Recording,
    moment: &'a Moment,
    lists: &'a Lists<'a>,
    state: &'a WatchState,
}

impl Scene<'_> {
    fn focus(&self, panel: Panel) -> Focus {
        if self.state.panel == panel { Focus::Here } else { Focus::Elsewhere }
    }

    fn selected(&self, panel: Panel) -> usize {
        self.lists.row(panel, &self.state.selection).unwrap_or(0)
    }
}

/// Formats the screen for a terminal of this size. No line is wider than the columns minus one. The scroll position of a
/// page is limited to its end.
pub fn screen(
    recording: &Recording,
    moment: &Moment,
    state: &mut WatchState,
    (columns, rows): (usize, usize),
) -> Vec<String> {
    let limit = |size: usize| u16::try_from(size).unwrap_or(u16::MAX).min(1_000);
    let area = Rect::new(0, 0, limit(columns.saturating_sub(1).max(1)), limit(rows.max(1)));
    let mut buffer = Buffer::empty(area);
    let lists = Lists::of(recording, moment, &state.filter);
    if let Mode::Details { .. } | Mode::Help { .. } = state.mode {
        let canvas = Canvas { buffer: &mut buffer, area };
        details::draw(canvas, recording, moment, &mut state.mode);
    } else {
        let scene = Scene { recording, moment, lists: &lists, state };
        board(&mut Canvas { buffer: &mut buffer, area }, scene);
    }
    canvas::lines(&buffer)
}

fn board(canvas: &mut Canvas<'_>, scene: Scene<'_>) {
    let area = canvas.area;
    let head = header::rows(scene, canvas.rows()).min(area.height);
    let foot = if area.height >= 8 { 1 } else { 0 };
    header::draw(canvas.part(Rect { height: head, ..area }), scene);
    let body = Rect { y: area.y + head, height: area.height - head - foot, ..area };
    if area.width >= WIDE {
        wide(canvas, scene, body)
    } else {
        narrow(canvas, scene, body)
    }
    if foot > 0 {
        header::footer(canvas.part(Rect { y: area.bottom() - 1, height: 1, ..area }), scene);
    }
}

fn need(scene: Scene<'_>, panel: Panel) -> Need {
    match panel {
        Panel::Alerts => alerts::need(scene),
        Panel::Agents => agents::need(scene),
        Panel::Tasks => tasks::need(scene),
        Panel::Messages => messages::need(scene),
    }
}

fn panel(canvas: Canvas<'_>, scene: Scene<'_>, panel: Panel) {
    match panel {
        Panel::Alerts => alerts::draw(canvas, scene),
        Panel::Agents => agents::draw(canvas, scene),
        Panel::Tasks => tasks::draw(canvas, scene),
        Panel::Messages => messages::draw(canvas, scene),
    }
}

/// The agents with the messages beside them, below the incidents and above the tasks.
fn wide(canvas: &mut Canvas<'_>, scene: Scene<'_>, body: Rect) {
    let (alerts, agents) = (need(scene, Panel::Alerts), need(scene, Panel::Agents));
    let tasks = need(scene, Panel::Tasks);
    // The messages can use any number of rows.
    let middle = Need { least: agents.least.max(6), all: agents.all.max(usize::from(body.height) / 2) };
    let focus = (scene.state.panel as usize).min(2);
    let rows = share(usize::from(body.height), &[alerts, middle, tasks], focus);
    let heights: Vec<u16> = rows.iter().map(|rows| u16::try_from(*rows).unwrap_or(0)).collect();
    let [above, middle, below] = heights[..] else { return };
    let band = |y: u16, height: u16| Rect { y, height, ..body };
    panel(canvas.part(band(body.y, above)), scene, Panel::Alerts);
    let middle = band(body.y + above, middle);
    let left = middle.width * 11 / 20;
    panel(canvas.part(Rect { width: left, ..middle }), scene, Panel::Agents);
    let beside = Rect { x: middle.x + left + 1, width: middle.width - left - 1, ..middle };
    panel(canvas.part(beside), scene, Panel::Messages);
    panel(canvas.part(band(middle.bottom(), below)), scene, Panel::Tasks);
}

/// All panels below each other.
fn narrow(canvas: &mut Canvas<'_>, scene: Scene<'_>, body: Rect) {
    let mut y = body.y;
    let needs = Panel::ALL.map(|panel| need(scene, panel));
    let rows = share(usize::from(body.height), &needs, scene.state.panel as usize);
    for (shown, rows) in Panel::ALL.into_iter().zip(rows) {
        let height = u16::try_from(rows).unwrap_or(0);
        if height > 0 {
            panel(canvas.part(Rect { y, height, ..body }), scene, shown);
        }
        y += height;
    }
}
