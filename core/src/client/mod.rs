//! The formats of Claude Code: the files that it writes, its payloads, and the responses that it reads.

pub mod command;
pub mod compat;
pub mod json;
pub mod payload;
pub mod response;
pub mod team;
