//! What was kept, told to people.

mod cells;
mod detail;
mod log;

pub use detail::detail;
pub use log::LogView;
