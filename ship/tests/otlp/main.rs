//! Runs as OpenTelemetry data: what is sent, what is not, and how receivers take it.

mod document;
mod faults;
mod privacy;
mod recorded;
mod revisions;
mod rotel;
mod sample;
mod signals;
