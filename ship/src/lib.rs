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
mod event_objects;
mod fetch;
mod identity;
mod objects;
pub mod otlp;
pub mod parquet_file;
mod patience;
mod privacy;
mod profile;
mod round;
mod run_data;
mod run_objects;
mod run_telemetry;
mod segment_events;
mod setup;
mod shipper;
mod status;
pub mod tables;
mod unsent_runs;
pub mod verdicts;
