//! The policy at work: what it needs is gathered, what it says is kept, and what it must not repeat is counted.

mod call;
mod desk;
mod line;
mod overrides;
mod state;

pub use call::{Call, Judgement};
pub use desk::{Desk, Notebook};
pub use line::{VERDICT, line};
pub use overrides::{OverrideFile, Overrides, Pause};
pub use state::team_state;
