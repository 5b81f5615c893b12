//! The story of a run: what hooks, snapshots, inboxes and transcripts saw, merged so that each thing is told once.

pub mod digest;
mod drafts;
mod entry;
mod events;
mod gone;
mod history;
mod library;
mod life;
mod material;
mod merge;
mod messages;
mod quotes;
mod rulings;
mod state;
mod summary;
mod tasks;
mod voice;
mod voices;
mod when;

pub use entry::{Entry, Kind, Source};
pub use events::{Told, by_run, lines_of};
pub use gone::Gone;
pub use history::{Copy, History};
pub use library::{Library, Opened};
pub use material::{Material, is_client_gone};
pub use merge::{Timeline, merge};
pub use state::{State, state};
pub use summary::Summary;
pub use voice::{Cost, Heard, Outcome, Use, Voice};
pub use voices::Span;
pub use voices::Voices;
pub use when::When;
