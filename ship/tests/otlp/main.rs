//! Runs as OpenTelemetry data: what is sent, what is not, and how receivers take it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

mod document;
mod faults;
mod privacy;
mod recorded;
mod revisions;
mod rotel;
mod sample;
mod signals;
