//! What every command gets, of teamkeep and of teamkeep-ship: the [`Context`] with the configuration, the paths, the clock and the
//! terminal; times as people type them; and the options of `teamkeep ship`, which both programs read.

mod context;
mod message;
mod pager;
pub mod ship_options;
mod ui;
mod when;

pub use context::{Context, explained};
pub use pager::Paged;
pub use ui::{Progress, Ui, escaped_json, quiet};
pub use when::{RunTimes, When, compact, parse_time};
