//! What a policy would have said of what is on record: each event again, with the state as it was at it.
//!
//! What would have been held back happened all the same: the record goes on as it did, and so does the ledger. What the
//! policy says of a later event is what it would say if it had only watched until then.

mod compare;
mod expect;
mod past;
mod record;
mod test;

pub use compare::{Difference, compare};
pub use expect::{Expectation, Unmet, check, expectations};
pub use past::Past;
pub use record::{Record, records};
pub use test::{Counts, Found, Tested, is_held_back, judged, test};
