//! The terminal board of a run: `teamkeep watch`.
//!
//! A [`Recording`] holds all data of the run, a [`Moment`] its state at one time, and a [`WatchState`] the choices of the user:
//! panel, selection, filter and, as a [`Player`], the time. [`WatchState::press`] handles a key, [`WatchState::point`] the mouse, and
//! [`draw()`] draws all three.

mod draw;
mod keys;
mod lists;
mod recording;
mod state;
mod terminal;

pub use draw::{draw, draw_waiting};
pub use keys::{Outcome, is_quit};
pub use lists::{Lists, Panel, Selection, Subject};
pub use recording::{Alert, Moment, Playback, Player, Recording, Speed};
pub use state::{Mode, Spot, Spots, WatchState};
pub use terminal::{Input, Screen, close};
