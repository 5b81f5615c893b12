//! Whether everything is set up so that teams are recorded: the client, its settings, our hooks, the policy, the record.
//!
//! [`Facts`] are gathered once; then there is one file a subject, each of which makes findings of them. Nothing is
//! changed but by [`mend`], and that only where it is ours and safe.

mod answer;
mod client;
mod code;
mod enabled;
mod events;
mod examine;
mod facts;
mod finding;
mod hooks;
mod lists;
mod matcher;
pub mod mend;
mod plugin;
mod policy;
mod probe;
mod program;
mod record;
mod store;
mod switches;
mod teams;
mod twice;
mod versions;

pub use code::Code;
pub use examine::examine;
pub use facts::Facts;
pub use finding::{Finding, Health, Verdict};
