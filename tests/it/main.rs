//! The integration tests: one binary, one folder for each subject, `support` for what they share.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod docs;
mod doctor;
mod fuzz;
mod history;
mod hook;
mod mcp;
mod notify;
mod policy;
mod redact;
mod report;
mod restore;
mod search;
mod settings;
mod shipping;
mod store;
mod support;
mod watch;
