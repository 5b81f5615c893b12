//! The data directory: event log, archive and retention.

pub mod archive;
pub mod chain;
pub mod log;
pub mod metadata_only;
pub mod retention;
pub mod shipping;
