//! Which agent changed which lines of which file, when and for which task, and which commits it made, by the results of
//! its tool calls.

mod agent_trace;
mod attribution;
mod line_owners;

pub use agent_trace::agent_trace;
pub use attribution::{
    Attribution, FileChange, FileHistory, MadeCommit, TaskRef, ToolChange, file_histories,
};
pub use line_owners::{FoundBy, LineFinder, PresentLine};
