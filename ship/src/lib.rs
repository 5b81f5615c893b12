//! Ships what teamkeep recorded to OpenTelemetry collectors and object stores.
//!
//! ```text
//! log segments ─▶ tables::events ─┐
//!                                 ├─▶ parquet_file ─▶ objects
//! ended runs ─▶ run_data ─▶ tables ┘
//!                   └─▶ otlp ─▶ collector
//! ```

pub mod batches;
pub mod cli;
mod dry_run;
pub mod event_shipping;
mod fetch;
pub mod identity;
pub mod objects;
pub mod otlp;
pub mod parquet_file;
mod patience;
pub mod privacy;
pub mod profile;
pub mod receiver_shipping;
pub mod run_data;
pub mod run_shipping;
pub mod segment_events;
pub mod setup;
pub mod shipper;
mod status;
pub mod tables;
