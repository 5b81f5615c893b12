//! Runs as OpenTelemetry data: their names and texts, and how receivers take them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

mod document;
mod faults;
mod privacy;
mod recorded;
mod revisions;
mod rotel;
mod sample;
mod signals;
