//! Applies the policy at a hook call: collects the facts, judges, counts, and stores the result.

mod call;
mod carry;
pub mod completion;
mod desk;
mod line;
mod origin;
mod overrides;
mod remember;
mod state;
mod weigh;

pub use call::Call;
pub use carry::{go_on, run_alone};
pub use desk::{Desk, Notebook};
pub use line::{VERDICT, line};
pub use overrides::{Found, GATES, LONGEST_PAUSE, OverrideFile, Overrides, Pause};
pub use remember::{asks_the_team, remember};
pub use state::{File, Piece, Reading, team_state, unreadable};
pub use weigh::{Judgement, weigh};
