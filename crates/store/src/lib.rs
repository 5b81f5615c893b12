//! The data directory: the event log with its hash chain, the archive, retention, the state of
//! shipping, and what keeps the store from being used ([`access`]). With [`metadata_only`],
//! no texts are recorded.

#![warn(unreachable_pub)]

pub mod access;
pub mod archive;
pub mod chain;
pub mod log;
pub mod metadata_only;
pub mod packed;
pub mod retention;
pub mod shipping;

/// How long tests wait for a lock on a busy machine.
#[cfg(test)]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
