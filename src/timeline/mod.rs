//! The story of a run: what hooks, snapshots, inboxes and transcripts saw, merged so that each thing is told once.

mod board;
mod diff;
mod drafts;
mod entry;
mod events;
mod filter;
mod fresh;
mod gone;
mod history;
mod library;
mod life;
mod material;
mod merge;
mod messages;
mod pulse;
mod quotes;
mod rulings;
mod state;
mod summary;
mod tasks;
mod voices;
mod when;

pub use board::{Board, Card, Doing, Seat};
pub use diff::{Diff, Things, diff};
pub use entry::{Entry, Kind, Source};
pub use events::{Told, by_run};
pub use filter::Filter;
pub use fresh::Fresh;
pub use gone::Gone;
pub use history::{Copy, History};
pub use library::{Library, Opened};
pub use material::Material;
pub use merge::{Timeline, merge};
pub use pulse::Pulse;
pub use state::{State, state};
pub use summary::Summary;
