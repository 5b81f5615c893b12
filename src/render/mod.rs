//! What was kept, told to people.

mod cells;
mod detail;
mod doctor;
mod findings;
mod heading;
mod log;
mod notice;
mod objection;
mod phrase;
mod report;
mod restore;
mod state;
mod story;
mod teams;
mod words;

pub use detail::detail;
pub use doctor::health;
pub use findings::findings;
pub use log::LogView;
pub use objection::{Objection, counts, objections};
pub use report::{Listing, report, report_markdown};
pub use restore::{restored_files, restored_tasks, undone};
pub use state::state;
pub use story::{Telling, story};
pub use teams::teams;
pub use words::{count, since};
