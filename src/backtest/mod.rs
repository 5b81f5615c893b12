//! Evaluates a policy against recorded runs: each event again, with the state at that time.
//!
//! An action that the policy would have blocked happened nevertheless, and the ledger continues with it. So the
//! verdict for a later event is the one that the policy would give if it had only watched until then.

mod compare;
mod record;
mod snapshot_cursor;
mod test;

pub use compare::{Difference, Expectation, Unmet, Verdicts, check, compare, expectations, unexpected};
pub use record::{Record, records};
pub use snapshot_cursor::SnapshotCursor;
pub use test::{Counts, Found, before, judged_event, test};
