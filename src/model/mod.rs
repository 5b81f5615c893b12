//! Words of Claude Code as types, so that each spelling is in one place.

mod task_status;
mod tool;

pub use task_status::TaskStatus;
pub use tool::Tool;
