//! Facts of Claude Code that several modules need.

pub mod compat;
