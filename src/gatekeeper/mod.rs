//! The policy at work: what it needs is gathered, what it says is kept, and what it must not repeat is counted.

mod call;
pub mod completion;
mod desk;
mod overrides;
mod state;

pub use call::{Call, Judgement};
pub use desk::{Desk, Notebook};
pub use overrides::{GATES, OverrideFile, Overrides, Pause};
pub use state::team_state;
