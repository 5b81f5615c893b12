//! Draws the board.

mod agents;
mod alerts;
mod details;
mod header;
mod messages;
mod panel;
mod tasks;

use std::cell::RefCell;

use ratatui_core::layout::{Constraint, Layout, Rect};
use ratatui_core::terminal::Frame;

use super::lists::{Lists, Panel};
use super::recording::{Moment, Recording};
use super::{Mode, Spot, Spots, WatchState};
use crate::view::DIM;
use panel::{Need, PLAIN, Page, put, share};
use teamkeep_system::error::Error;

/// From this width on, the messages are beside the agents.
const WIDE: u16 = 120;

/// The content of the screen.
#[derive(Debug, Clone, Copy)]
struct Scene<'a> {
    recording: &'a Recording,
    moment: &'a Moment,
    lists: &'a Lists<'a>,
    state: &'a WatchState,
    spots: &'a RefCell<Spots>,
}

impl Scene<'_> {
    fn put_spot(&self, area: Rect, spot: Spot) {
        self.spots.borrow_mut().put(area, spot);
    }

    fn has_focus(&self, panel: Panel) -> bool {
        self.state.panel == panel
    }

    /// The row of a panel that is always in view.
    fn selected(&self, panel: Panel) -> usize {
        self.lists.row(panel, &self.state.selection).unwrap_or(0)
    }

    /// The row with the mark, in the panel that has the focus.
    fn marked(&self, panel: Panel) -> Option<usize> {
        self.lists.selected(panel, &self.state.selection).filter(|_| self.has_focus(panel))
    }
}

/// Draws the screen. The scroll position of a page is limited to its end.
pub fn draw(frame: &mut Frame<'_>, recording: &Recording, moment: &Moment, state: &mut WatchState) {
    if let Mode::Details { .. } | Mode::Help { .. } = state.mode {
        details::draw(frame, recording, moment, state);
        state.spots = Spots::default();
    } else {
        let spots = RefCell::default();
        let lists = Lists::of(recording, moment, &state.filter);
        board(frame, Scene { recording, moment, lists: &lists, state, spots: &spots });
        state.spots = spots.into_inner();
    }
}

/// Draws the screen as long as nothing is recorded.
pub fn draw_waiting(frame: &mut Frame<'_>, empty: &Error) {
    let mut page = Page::new(frame.area().width.into());
    page.row(PLAIN, format!("{empty}; waiting for a team …"));
    empty.hints.iter().for_each(|hint| page.row(DIM, hint));
    page.row(DIM, "q quit");
    for (row, area) in page.rows.into_iter().zip(frame.area().rows()) {
        put(frame, area, [row]);
    }
}

/// The panels below each other. On a wide screen, the messages are beside the agents.
fn board(frame: &mut Frame<'_>, scene: Scene<'_>) {
    let area = frame.area();
    let (head, foot) = (header::rows(scene, area.height), u16::from(area.height >= 8));
    let rows = [Constraint::Length(head), Constraint::Fill(1), Constraint::Length(foot)];
    let [head, body, foot] = Layout::vertical(rows).areas(area);
    header::draw(frame, head, scene);
    header::footer(frame, foot, scene);
    let mut panels = Panel::ALL.to_vec();
    let mut needs = Panel::ALL.map(|panel| need(scene, panel)).to_vec();
    if area.width >= WIDE {
        panels.truncate(3);
        needs.truncate(3);
        // The messages can use any number of rows.
        let Need { least, all } = needs[1];
        needs[1] = Need { least: least.max(6), all: all.max(usize::from(body.height) / 2) };
    }
    let focus = panels.iter().position(|panel| scene.has_focus(*panel)).unwrap_or(1);
    let areas = Layout::vertical(share(body.height, &needs, focus)).split(body);
    for (shown, mut area) in panels.into_iter().zip(areas.iter().copied()) {
        if shown == Panel::Agents && area.width >= WIDE {
            let beside =
                Layout::horizontal([Constraint::Fill(11), Constraint::Fill(9)]).spacing(1).split(area);
            panel(frame, beside[1], scene, Panel::Messages);
            area = beside[0];
        }
        panel(frame, area, scene, shown);
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

fn panel(frame: &mut Frame<'_>, area: Rect, scene: Scene<'_>, panel: Panel) {
    scene.put_spot(area, Spot::Panel(panel));
    match panel {
        Panel::Alerts => alerts::draw(frame, area, scene),
        Panel::Agents => agents::draw(frame, area, scene),
        Panel::Tasks => tasks::draw(frame, area, scene),
        Panel::Messages => messages::draw(frame, area, scene),
    }
}
