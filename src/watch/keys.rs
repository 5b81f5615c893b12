//! The effects of the keys.

use chrono::TimeDelta;

use super::lists::{Lists, Panel};
use super::player::Playback;
use super::recording::Recording;
use super::state::{Mode, WatchState};
use crate::watch::key_reader::Key;
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

impl WatchState {
    /// Handles a key. `lists` are the rows that are shown, `at` is the time that is shown.
    pub fn press(&mut self, key: Key, recording: &Recording, lists: &Lists<'_>, at: Timestamp) -> Outcome {
        if matches!(key, Key::Ctrl('c' | 'd')) {
            return Outcome::Quit;
        }
        match self.mode {
            Mode::Filter { .. } => self.press_in_filter(key),
            Mode::Details { .. } | Mode::Help { .. } => self.press_in_page(key, lists),
            Mode::Board if key == Key::Char('q') => return Outcome::Quit,
            Mode::Board => {
                self.press_on_board(key, lists);
                self.press_for_time(key, recording, at);
            }
        }
        Outcome::Continue
    }

    fn press_on_board(&mut self, key: Key, lists: &Lists<'_>) {
        match key {
            Key::Tab => self.move_panel(lists, 1),
            Key::BackTab => self.move_panel(lists, -1),
            Key::Char('j') | Key::Down => self.move_by(lists, 1),
            Key::Char('k') | Key::Up => self.move_by(lists, -1),
            Key::PageDown => self.move_by(lists, PAGE),
            Key::PageUp => self.move_by(lists, -PAGE),
            Key::Char('g') | Key::Home => self.move_by(lists, isize::MIN),
            Key::Char('G') | Key::End => self.move_by(lists, isize::MAX),
            Key::Char('l') if self.panel == Panel::Tasks => self.move_column(lists, 1),
            Key::Char('h') if self.panel == Panel::Tasks => self.move_column(lists, -1),
            Key::Char('!') => self.next_alert(lists),
            Key::Char('/') => self.mode = Mode::Filter { before: self.filter.clone() },
            Key::Char('?') => self.mode = Mode::Help { scroll: 0 },
            Key::Escape => self.filter.clear(),
            Key::Enter => {
                if let Some(subject) = self.subject(lists) {
                    self.mode = Mode::Details { subject, scroll: 0 };
                }
            }
            _ => {}
        }
    }

    fn press_for_time(&mut self, key: Key, recording: &Recording, at: Timestamp) {
        let player = &mut self.player;
        let minute = TimeDelta::minutes(1);
        match key {
            Key::Left => player.playback = Playback::Paused(recording.previous_time(at).unwrap_or(at)),
            Key::Right => player.playback = paused(recording, recording.next_time(at)),
            Key::ShiftLeft | Key::Char('[') => {
                let before = at.checked_sub(minute).unwrap_or(at);
                player.playback = Playback::Paused(before.max(recording.start()));
            }
            Key::ShiftRight | Key::Char(']') => player.playback = paused(recording, at.checked_add(minute)),
            Key::Char('0') => player.playback = Playback::Paused(recording.start()),
            Key::Char(' ') => {
                player.playback = match player.playback {
                    Playback::Playing(at) => Playback::Paused(at),
                    Playback::Paused(at) => Playback::Playing(at),
                    // The end of a run that is over is left by playing it again.
                    Playback::End if recording.is_running() => Playback::Paused(at),
                    Playback::End => Playback::Playing(recording.start()),
                };
            }
            Key::Char('+' | '=') => player.speed = player.speed.faster(),
            Key::Char('-') => player.speed = player.speed.slower(),
            Key::Char('f') => {
                player.playback = Playback::End;
                self.selection.message = None;
            }
            _ => {}
        }
    }

    fn press_in_filter(&mut self, key: Key) {
        let Mode::Filter { before } = &mut self.mode else { return };
        match key {
            Key::Char(c) if self.filter.chars().count() < MAX_FILTER_CHARS => self.filter.push(c),
            Key::Backspace => drop(self.filter.pop()),
            Key::Ctrl('u') => self.filter.clear(),
            Key::Enter => self.mode = Mode::Board,
            Key::Escape => {
                self.filter = std::mem::take(before);
                self.mode = Mode::Board;
            }
            _ => {}
        }
    }

    fn press_in_page(&mut self, key: Key, lists: &Lists<'_>) {
        if key == Key::Char('!') && matches!(self.mode, Mode::Details { .. }) {
            self.next_alert(lists);
            if let Some(subject) = self.subject(lists) {
                self.mode = Mode::Details { subject, scroll: 0 };
            }
            return;
        }
        let (Mode::Details { scroll, .. } | Mode::Help { scroll }) = &mut self.mode else { return };
        match key {
            Key::Char('j') | Key::Down => *scroll = scroll.saturating_add(1),
            Key::Char('k') | Key::Up => *scroll = scroll.saturating_sub(1),
            Key::PageDown | Key::Char(' ') => *scroll = scroll.saturating_add(PAGE as usize),
            Key::PageUp => *scroll = scroll.saturating_sub(PAGE as usize),
            Key::Char('g') | Key::Home => *scroll = 0,
            Key::Char('G') | Key::End => *scroll = usize::MAX,
            Key::Char('q' | '?') | Key::Escape | Key::Enter => self.mode = Mode::Board,
            _ => {}
        }
    }
}

/// A later time of the past; the end if there is nothing later.
fn paused(recording: &Recording, at: Option<Timestamp>) -> Playback {
    match at.filter(|at| *at < recording.end()) {
        Some(at) => Playback::Paused(at),
        None => Playback::End,
    }
}
