//! Decides whether Claude Code may continue. Pure: policy, event and team state in, verdict out.

mod attempt;
mod background;
mod begun;
mod facts;
pub mod failure;
pub mod gates;
mod guard;
mod judge;
mod ledger;
mod names;
mod observe;
pub mod pattern;
mod reason;
mod rules;
mod ruling;
mod sent;
#[cfg(test)]
mod tests;
mod verdict;

pub use attempt::{Attempt, Origin};
pub use background::Whose;
pub use facts::{Facts, Judged, Part, TeamState, Unreadable};
pub use guard::{Guard, settle};
pub use judge::judge;
pub use ledger::{Began, Deeds, Ledger};
pub use names::{Case, Names};
pub use observe::asks;
pub use reason::{Reason, bare, escaped};
pub use rules::Rules;
pub use ruling::Ruling;
pub use sent::Sent;
pub use verdict::{Decision, Finding, Verdict};
