//! Ships what teamkeep recorded to OpenTelemetry collectors and object stores.
//!
//! ```text
//! log segments ─▶ event_objects ─▶ tables::events ─┐
//!                                                  ├─▶ parquet_file ─▶ objects
//! unsent_runs ─▶ shipped_run ─▶ run_objects ─▶ tables ┘
//!                          └─▶ run_telemetry ─▶ otlp ─▶ collector
//! ```
//!
//! [`rounds`] runs this for each destination; [`shipper`] has what the parts of a round share. [`run_size`] bounds the memory,
//! [`privacy`] decides which texts leave the machine, and [`identity`] under which names.

pub mod cli;
mod credential_process;
mod dry_run;
mod event_objects;
mod fetch;
mod gateway;
mod identity;
mod objects;
pub mod otlp;
pub mod parquet_file;
mod patience;
mod privacy;
mod profile;
mod receiver_problems;
mod requests;
mod rounds;
mod run_objects;
pub mod run_size;
mod run_telemetry;
mod segment_events;
mod setup;
mod shipped_run;
mod shipper;
mod status;
mod store_settings;
pub mod tables;
mod tls_problem;
mod unsent_runs;
pub mod verdicts;
