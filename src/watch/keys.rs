//! The effects of the keys and of the mouse: a click selects the item below the pointer, a second one opens it, the wheel scrolls.

use chrono::TimeDelta;
use ratatui_core::layout::{Position, Rect};
use ratatui_crossterm::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use super::lists::{Lists, Panel};
use super::recording::{Playback, Recording};
use super::{Mode, Spot, WatchState};
use teamkeep_model::time::Timestamp;

/// Rows of a page, for the keys that move by one.
const PAGE: isize = 10;
/// Maximum length of a filter in characters.
const MAX_FILTER_CHARS: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Continue,
    Quit,
}

/// Whether a key quits the board.
pub fn is_quit(key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('c' | 'd') => key.modifiers.contains(KeyModifiers::CONTROL),
        code => code == KeyCode::Char('q'),
    }
}

impl WatchState {
    /// Handles a key. `lists` are the rows that are shown, `at` is the time that is shown.
    pub fn press(
        &mut self,
        key: KeyEvent,
        recording: &Recording,
        lists: &Lists<'_>,
        at: Timestamp,
    ) -> Outcome {
        let code = match key.code {
            KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => match c {
                'c' | 'd' if is_quit(key) => return Outcome::Quit,
                // Some terminals send it for Backspace.
                'h' => KeyCode::Backspace,
                'u' if matches!(self.mode, Mode::Filter { .. }) => {
                    self.filter.clear();
                    return Outcome::Continue;
                }
                _ => return Outcome::Continue,
            },
            code => code,
        };
        self.copied = None;
        match self.mode {
            Mode::Filter { .. } => self.press_in_filter(code),
            _ if code == KeyCode::Char('y') => self.copied = self.remedy(recording, lists),
            Mode::Details { .. } | Mode::Help { .. } => self.press_in_page(code, lists),
            Mode::Board if is_quit(key) => return Outcome::Quit,
            Mode::Board => {
                self.press_on_board(code, lists);
                self.press_for_time(key, recording, at);
            }
        }
        Outcome::Continue
    }

    fn press_on_board(&mut self, key: KeyCode, lists: &Lists<'_>) {
        match key {
            KeyCode::Tab => self.move_panel(lists, 1),
            KeyCode::BackTab => self.move_panel(lists, -1),
            KeyCode::Char('j') | KeyCode::Down => self.move_by(lists, 1),
            KeyCode::Char('k') | KeyCode::Up => self.move_by(lists, -1),
            KeyCode::PageDown => self.move_by(lists, PAGE),
            KeyCode::PageUp => self.move_by(lists, -PAGE),
            KeyCode::Char('g') | KeyCode::Home => self.move_by(lists, isize::MIN),
            KeyCode::Char('G') | KeyCode::End => self.move_by(lists, isize::MAX),
            KeyCode::Char('l') if self.panel == Panel::Tasks => self.move_column(lists, 1),
            KeyCode::Char('h') if self.panel == Panel::Tasks => self.move_column(lists, -1),
            KeyCode::Char('!') => self.next_alert(lists),
            KeyCode::Char('/') => self.mode = Mode::Filter { before: self.filter.clone() },
            KeyCode::Char('?') => self.mode = Mode::Help { scroll: 0 },
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Enter => {
                // The mark shows where Esc returns to.
                self.move_by(lists, 0);
                if let Some(subject) = self.subject(lists) {
                    self.mode = Mode::Details { subject, scroll: 0 };
                }
            }
            _ => {}
        }
    }

    fn press_for_time(&mut self, key: KeyEvent, recording: &Recording, at: Timestamp) {
        let player = &mut self.player;
        let minute = TimeDelta::minutes(1);
        match key.code {
            KeyCode::Left if key.modifiers.is_empty() => {
                player.playback = Playback::Paused(recording.previous_time(at).unwrap_or(at))
            }
            KeyCode::Right if key.modifiers.is_empty() => {
                player.playback = paused(recording, recording.next_time(at))
            }
            KeyCode::Left | KeyCode::Char('[') => {
                let before = at.checked_sub(minute).unwrap_or(at);
                player.playback = Playback::Paused(before.max(recording.start()));
            }
            KeyCode::Right | KeyCode::Char(']') => {
                player.playback = paused(recording, at.checked_add(minute))
            }
            KeyCode::Char('0') => player.playback = Playback::Paused(recording.start()),
            KeyCode::Char(' ') => {
                player.playback = match player.playback {
                    Playback::Playing(at) => Playback::Paused(at),
                    Playback::Paused(at) => Playback::Playing(at),
                    // The end of a run that is over is left by playing it again.
                    Playback::End if recording.is_running() => Playback::Paused(at),
                    Playback::End => Playback::Playing(recording.start()),
                };
            }
            KeyCode::Char('+' | '=') => player.speed = player.speed.faster(),
            KeyCode::Char('-') => player.speed = player.speed.slower(),
            KeyCode::Char('f') => {
                player.playback = Playback::End;
                self.selection.message = None;
            }
            _ => {}
        }
    }

    fn press_in_filter(&mut self, key: KeyCode) {
        let Mode::Filter { before } = &mut self.mode else { return };
        match key {
            KeyCode::Char(c) if self.filter.chars().count() < MAX_FILTER_CHARS => self.filter.push(c),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Enter => self.mode = Mode::Board,
            KeyCode::Esc => {
                self.filter = std::mem::take(before);
                self.mode = Mode::Board;
            }
            _ => {}
        }
    }

    fn press_in_page(&mut self, key: KeyCode, lists: &Lists<'_>) {
        if key == KeyCode::Char('!') && matches!(self.mode, Mode::Details { .. }) {
            self.next_alert(lists);
            if let Some(subject) = self.subject(lists) {
                self.mode = Mode::Details { subject, scroll: 0 };
            }
            return;
        }
        let (Mode::Details { scroll, .. } | Mode::Help { scroll }) = &mut self.mode else { return };
        match key {
            KeyCode::Char('j') | KeyCode::Down => *scroll = scroll.saturating_add(1),
            KeyCode::Char('k') | KeyCode::Up => *scroll = scroll.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => *scroll = scroll.saturating_add(PAGE as usize),
            KeyCode::PageUp => *scroll = scroll.saturating_sub(PAGE as usize),
            KeyCode::Char('g') | KeyCode::Home => *scroll = 0,
            KeyCode::Char('G') | KeyCode::End => *scroll = usize::MAX,
            KeyCode::Char('q' | '?') | KeyCode::Esc | KeyCode::Enter => self.mode = Mode::Board,
            _ => {}
        }
    }
}

/// The playback at a time; at the end, if that is not in the past of the run.
pub(super) fn paused(recording: &Recording, at: Option<Timestamp>) -> Playback {
    match at.filter(|at| *at < recording.end()) {
        Some(at) => Playback::Paused(at),
        None => Playback::End,
    }
}

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
