//! A small recorded run of a real team, played through the recorder into a scratch directory.

mod play;

pub use play::{Played, play, reenact};
