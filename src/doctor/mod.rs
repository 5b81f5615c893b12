//! Checks the whole setup: Claude Code, its settings, teamkeep's hooks, the policy, the store.
//!
//! [`Facts`] are collected once. The table in `code` has one function for each check, which turns them into findings.
//! Only [`fix`] changes anything, and only with safe fixes.

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
mod store;
mod teams;
mod versions;

pub use code::{Code, run_checks};
pub use facts::Facts;
pub use finding::{Finding, Health, Verdict};
