//! `teamkeep mcp`, as a client of the protocol sees it.

pub mod documented;
pub mod python_sdk;
pub mod server;
