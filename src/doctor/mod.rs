//! Checks the whole setup: Claude Code, its settings, teamkeep's hooks, the policy, the store.
//!
//! [`Facts`] are collected once; each subject has one file that turns them into findings. Only [`mend`] changes
//! anything, and only with safe fixes.

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
