//! Ships what teamkeep recorded, as rows: to an object store, to a file that another program follows, and to an OpenTelemetry receiver.
//!
//! ```text
//! log segments ───────────────┐                                ┌─▶ objects
//! selection ─▶ shipped_run ───┼─▶ rows ─▶ shipment ─▶ Delivery ─┼─▶ directory
//! the state of this machine ──┘                                └─▶ otlp ─▶ receiver
//! ```
//!
//! [`rounds`] runs this for each destination, or prints the rows. [`rows`] declares every column once, [`privacy`] decides
//! which texts leave the machine, and
//! [`setup`] under which names.

pub mod cli;
mod directory;
mod objects;
pub mod otlp;
mod part;
mod privacy;
mod requests;
mod rounds;
pub mod rows;
pub mod selection;
mod setup;
mod shipment;
mod shipped_run;
mod store_settings;
