//! Checks the store for damage: every object against its hash, every manifest, every event in the log.
//!
//! Changes nothing, and keeps only hashes and ids in memory, regardless of the size of the store.

mod derived_files;
mod events;
mod finding;
mod runs;
mod verifier;

pub use finding::{Finding, Findings, Kind, VerifyStats};
pub use verifier::{Scope, Verifier};
