//! A bundled recorded run of a real team, replayed into a scratch directory.

mod play;

pub use play::{DemoOutcome, play, replay_fixture};
