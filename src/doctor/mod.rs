//! Checks the whole setup: Claude Code, its settings, teamkeep's hooks, the policy, the store.
//!
//! [`Facts`] are collected once; each subject has one file that turns them into findings. Only [`mend`] changes
//! anything, and only with safe fixes.

mod answer;
mod client;
mod client_flags;
mod code;
mod duplicate_hooks;
mod enabled;
mod events;
mod facts;
mod finding;
pub mod fix;
mod hooks;
mod lists;
mod matcher;
mod plugin;
mod policy;
mod program;
mod record;
mod run_checks;
mod store;
mod teams;
mod versions;

pub use code::Code;
pub use facts::Facts;
pub use finding::{Finding, Health, Verdict};
pub use run_checks::run_checks;
