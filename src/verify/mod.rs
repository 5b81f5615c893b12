//! Whether the record is whole: every content against its hash, every manifest, every line of the log.
//!
//! Nothing is changed, and no more than hashes and ids is kept in memory, however large the record is.

mod caches;
mod events;
mod finding;
mod runs;
mod verifier;

pub use finding::{Checked, Finding, Findings, Kind};
pub use verifier::{Scope, Verifier};
