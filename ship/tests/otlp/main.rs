//! Runs as OpenTelemetry data: their names and texts, and how receivers take them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

#[path = "../support/collector.rs"]
mod collector;
mod document;
#[path = "../support/engines.rs"]
mod engines;
mod faults;
#[path = "../support/http.rs"]
mod http;
mod privacy;
mod recorded;
mod revisions;
mod rotel;
mod sample;
#[path = "../support/sent.rs"]
mod sent;
mod signals;
