//! Which agent changed which lines of which file, when and for which task, and which commits it made, by the results of
//! its tool calls.

mod agent_trace;
mod attribution;
mod blame;
mod file_history;
mod line_owners;

pub use agent_trace::agent_trace;
pub use attribution::{Attribution, Change, MadeCommit, TaskRef};
pub use blame::{FoundBy, PresentLine, blame};
pub use file_history::{FileHistory, file_histories};
