//! `teamkeep mcp`, as a client of the protocol sees it.

pub mod documented;
#[cfg(unix)]
pub mod python_sdk;
pub mod server;
