//! The log and the archive: damage, retention, prune, verify, export and import.

pub mod bundle;
pub mod bundle_refused;
pub mod bundle_sandbox;
pub mod bundle_traces;
pub mod damaged_store;
#[cfg(unix)]
pub mod killed_calls;
pub mod large_contents;
pub mod log;
pub mod metadata_only;
pub mod missing_events;
pub mod prune;
pub mod prune_damage;
pub mod retention;
pub mod run_sandbox;
pub mod sessions;
pub mod tamper;
pub mod tamper_attacks;
pub mod tamper_scene;
pub mod verify;
