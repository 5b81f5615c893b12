//! Which agent changed which lines of which file, when and for which task, and which commits it made, by the results of
//! its tool calls.

mod agent_trace;
mod attribution;

pub use agent_trace::agent_trace;
pub use attribution::{
    Attribution, FileChange, FileHistory, FoundBy, LineFinder, MadeCommit, PresentLine, TaskRef, ToolChange,
    file_histories,
};
