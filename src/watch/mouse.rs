//! The effects of the mouse: a click selects the item below the pointer, a second one opens it, the wheel scrolls.

use chrono::TimeDelta;
use ratatui_core::layout::{Position, Rect};
use ratatui_crossterm::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::keys::paused;
use super::lists::Lists;
use super::recording::Recording;
use super::spots::Spot;
use super::state::{Mode, WatchState};
use teamkeep_model::time::Timestamp;

/// Rows that one step of the wheel scrolls.
const STEP: isize = 3;

impl WatchState {
    /// Handles an event of the mouse. `lists` are the rows that are shown.
    pub fn point(&mut self, event: MouseEvent, recording: &Recording, lists: &Lists<'_>) {
        let pointer = Position::new(event.column, event.row);
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                self.copied = None;
                self.click(pointer, recording, lists);
            }
            MouseEventKind::Drag(MouseButton::Left) => {
                if let Some((area, Spot::Time(from, to))) = self.spots.below(pointer).next() {
                    self.player.playback = paused(recording, time_at(pointer, *area, *from, *to));
                }
            }
            MouseEventKind::ScrollDown => self.scroll(pointer, lists, STEP),
            MouseEventKind::ScrollUp => self.scroll(pointer, lists, -STEP),
            _ => {}
        }
    }

    fn click(&mut self, pointer: Position, recording: &Recording, lists: &Lists<'_>) {
        let Some((area, spot)) = self.spots.below(pointer).next().cloned() else { return };
        match spot {
            Spot::Panel(panel) => {
                if let Some(row) = lists.row(panel, &self.selection) {
                    self.panel = panel;
                    self.select(lists, row);
                }
            }
            Spot::Item(subject) => {
                // Compared as a whole: the newest message is selected by no selection, which follows it.
                let before = (self.panel, self.selection.clone());
                self.select_item(&subject, lists);
                if before == (self.panel, self.selection.clone()) {
                    self.mode = Mode::Details { subject, scroll: 0 };
                }
            }
            Spot::Time(from, to) => {
                self.player.playback = paused(recording, time_at(pointer, area, from, to));
            }
        }
    }

    fn scroll(&mut self, pointer: Position, lists: &Lists<'_>, rows: isize) {
        if let Mode::Details { scroll, .. } | Mode::Help { scroll } = &mut self.mode {
            *scroll = scroll.saturating_add_signed(rows);
        } else if let Some(panel) = self.spots.panel(pointer) {
            self.panel = panel;
            self.move_by(lists, rows);
        }
    }
}

/// The time of the column below the pointer, in a bar from one time to another.
fn time_at(pointer: Position, bar: Rect, from: Timestamp, to: Timestamp) -> Option<Timestamp> {
    let part = f64::from(pointer.x - bar.x) / f64::from(bar.width.saturating_sub(1).max(1));
    from.checked_add(TimeDelta::milliseconds(((to - from).num_milliseconds() as f64 * part) as i64))
}
