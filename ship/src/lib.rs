//! Ships what teamkeep recorded, as rows: to an object store, to a file that another program follows, and to an OpenTelemetry receiver.
//!
//! ```text
//! log segments ─▶ segment_events ─┐                              ┌─▶ objects
//! selection ─▶ shipped_run ───────┼─▶ rows ─▶ shipment ─▶ delivery ┼─▶ directory
//! host_state ─────────────────────┘                              ├─▶ otlp ─▶ receiver
//!                                                                └─▶ dry_run
//! ```
//!
//! [`rounds`] runs this for each destination. [`rows`] declares every column once, [`privacy`] decides which texts leave the machine, and
//! [`setup`] under which names.

pub mod cli;
mod credential_process;
mod delivery;
mod directory;
mod dry_run;
mod gateway;
mod host_state;
mod objects;
pub mod otlp;
mod part;
mod patience;
mod privacy;
mod profile;
mod requests;
mod rounds;
pub mod rows;
mod segment_events;
pub mod selection;
mod setup;
mod shipment;
mod shipped_run;
mod status;
mod store_settings;
mod tls;
