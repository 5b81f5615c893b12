//! The terminal board of a run: `teamkeep watch`.
//!
//! A [`Recording`] holds all data of the run, a [`Moment`] its state at one time, and a [`WatchState`] the choices of the user:
//! panel, selection, filter and, as a [`Player`], the time. [`WatchState::press`] handles a key, [`WatchState::point`] the mouse, and
//! [`draw()`] draws all three.

mod draw;
mod keys;
mod lists;
mod recording;
mod terminal;

pub use draw::{draw, draw_waiting};
pub use keys::{Outcome, is_quit};
pub use lists::{Lists, Panel, Selection, Subject};
pub use recording::{Alert, Moment, Playback, Player, Recording, Speed};
pub use terminal::{Input, Screen, close};

use ratatui_core::layout::{Position, Rect};

use teamkeep_model::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Board,
    /// The filter is being typed; it had this text before.
    Filter {
        before: String,
    },
    Details {
        subject: Subject,
        scroll: usize,
    },
    Help {
        scroll: usize,
    },
}

/// The choices of the user, and the places of the screen that a mouse can click.
#[derive(Debug, Clone, Default)]
pub struct WatchState {
    pub panel: Panel,
    pub selection: Selection,
    pub filter: String,
    pub mode: Mode,
    pub player: Player,
    /// The text that the last key has copied.
    pub copied: Option<String>,
    /// The time that was shown at first.
    pub opened: Playback,
    /// The places of the screen, as drawn last.
    pub spots: Spots,
}

impl WatchState {
    /// The state in which a run opens: if it is over, at its worst incident.
    pub fn of(recording: &Recording) -> WatchState {
        let mut state = WatchState::default();
        if let Some((incident, playback)) = recording.worst() {
            (state.panel, state.selection.alert) = (Panel::Alerts, Some(incident.id.clone()));
            (state.player.playback, state.opened) = (playback, playback);
        }
        state
    }

    /// Whether the user chose a moment of the past: neither the end nor the moment that was shown at first.
    pub fn is_in_past(&self) -> bool {
        ![Playback::End, self.opened].contains(&self.player.playback)
    }

    /// Selects a row of the current panel.
    pub fn select(&mut self, lists: &Lists<'_>, row: usize) {
        let selection = &mut self.selection;
        match self.panel {
            Panel::Alerts => selection.alert = lists.alerts.get(row).map(|alert| alert.id.clone()),
            Panel::Agents => selection.agent = lists.agents.get(row).map(|member| member.name.clone()),
            Panel::Tasks => {
                let column = lists.column(selection);
                selection.task = lists.columns[column].get(row).map(|task| task.id.clone());
            }
            Panel::Messages => {
                // The newest is followed.
                let is_newest = row + 1 >= lists.messages.len();
                selection.message = lists.messages.get(row).copied().filter(|_| !is_newest);
            }
        }
    }

    /// Selects an item, and the panel that it is in.
    pub fn select_item(&mut self, subject: &Subject, lists: &Lists<'_>) {
        self.panel = subject.panel();
        match subject {
            Subject::Incident(id) => self.selection.alert = Some(id.clone()),
            Subject::Agent(name) => self.selection.agent = Some(name.clone()),
            Subject::Task(id) => self.selection.task = Some(id.clone()),
            Subject::Message(place) => {
                let row = lists.messages.binary_search(place).unwrap_or(0);
                self.select(lists, row);
            }
        }
    }

    /// Moves the selection by so many rows. If nothing is selected, the first step selects the first row.
    pub fn move_by(&mut self, lists: &Lists<'_>, rows: isize) {
        let count = lists.count(self.panel, &self.selection);
        let row = match lists.selected(self.panel, &self.selection) {
            Some(row) => row.saturating_add_signed(rows),
            None => 0_usize.saturating_add_signed(rows.saturating_sub(1)),
        };
        if let Some(last) = count.checked_sub(1) {
            self.select(lists, row.min(last));
        }
    }

    /// Selects the column of the task board on that side, if it has tasks.
    pub fn move_column(&mut self, lists: &Lists<'_>, columns: isize) {
        let row = lists.row(Panel::Tasks, &self.selection).unwrap_or(0);
        let mut column = lists.column(&self.selection);
        while let Some(next) = column.checked_add_signed(columns).filter(|next| *next < lists.columns.len()) {
            column = next;
            let tasks = &lists.columns[column];
            if let Some(task) = tasks.get(row).or(tasks.last()) {
                self.selection.task = Some(task.id.clone());
                return;
            }
        }
    }

    /// Moves to the next panel that has rows, in this direction.
    pub fn move_panel(&mut self, lists: &Lists<'_>, steps: isize) {
        let count = Panel::ALL.len();
        let mut place = self.panel as usize;
        for _ in 0..count {
            place = (place + count).saturating_add_signed(steps) % count;
            if let Some(row) = lists.row(Panel::ALL[place], &self.selection) {
                self.panel = Panel::ALL[place];
                self.select(lists, row);
                return;
            }
        }
    }

    /// Selects the next incident, after the last one the first.
    pub fn next_alert(&mut self, lists: &Lists<'_>) {
        if lists.alerts.is_empty() {
            return;
        }
        let selected = lists.alerts.iter().position(|alert| Some(&alert.id) == self.selection.alert.as_ref());
        let next = match selected {
            Some(row) if self.panel == Panel::Alerts => (row + 1) % lists.alerts.len(),
            Some(row) => row,
            None => 0,
        };
        self.panel = Panel::Alerts;
        self.select(lists, next);
    }

    /// The item whose details Enter shows.
    pub fn subject(&self, lists: &Lists<'_>) -> Option<Subject> {
        let row = lists.row(self.panel, &self.selection)?;
        match self.panel {
            Panel::Alerts => lists.alerts.get(row).map(|alert| Subject::Incident(alert.id.clone())),
            Panel::Agents => lists.agents.get(row).map(|member| Subject::Agent(member.name.clone())),
            Panel::Tasks => {
                let column = &lists.columns[lists.column(&self.selection)];
                column.get(row).map(|task| Subject::Task(task.id.clone()))
            }
            Panel::Messages => lists.messages.get(row).copied().map(Subject::Message),
        }
    }

    /// The remedy of the incident whose details are shown, else of the selected one, else of the worst.
    pub fn remedy(&self, recording: &Recording, lists: &Lists<'_>) -> Option<String> {
        let row = lists.row(Panel::Alerts, &self.selection);
        let id = match &self.mode {
            Mode::Details { subject: Subject::Incident(id), .. } => Some(id),
            _ => row.and_then(|row| lists.alerts.get(row)).map(|alert| &alert.id),
        };
        id.and_then(|id| recording.incident(id))
            .and_then(|incident| incident.remedy.as_ref().map(ToString::to_string))
    }

    /// Adapts the state to a new recording: of another run, everything that was chosen in the old one is forgotten.
    pub fn renew(&mut self, before: &Recording, after: &Recording) {
        if before.data.run.run != after.data.run.run {
            *self = WatchState { filter: std::mem::take(&mut self.filter), ..WatchState::of(after) };
        } else if let Some(place) = self.selection.message {
            // A message that became known late moves the later ones.
            let entry = before.messages.get(place).map(|place| &before.entries()[*place]);
            let moved = after.messages.iter().position(|place| Some(&after.entries()[*place]) == entry);
            self.selection.message = moved.or(Some(place));
        }
    }
}

/// The content of a place of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spot {
    Panel(Panel),
    /// An item of the panel that it is in.
    Item(Subject),
    /// The bar of the time from one end to the other.
    Time(Timestamp, Timestamp),
}

/// The places of the screen with their contents, the later ones above the earlier ones.
#[derive(Debug, Clone, Default)]
pub struct Spots(Vec<(Rect, Spot)>);

impl Spots {
    pub fn put(&mut self, area: Rect, spot: Spot) {
        self.0.push((area, spot));
    }

    /// The places below the pointer, the topmost first.
    pub fn below(&self, pointer: Position) -> impl Iterator<Item = &(Rect, Spot)> {
        self.0.iter().rev().filter(move |(area, _)| area.contains(pointer))
    }

    /// The panel below the pointer.
    pub fn panel(&self, pointer: Position) -> Option<Panel> {
        self.below(pointer).find_map(|(_, spot)| match spot {
            Spot::Panel(panel) => Some(*panel),
            _ => None,
        })
    }
}
