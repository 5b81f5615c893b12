//! Rows as OpenTelemetry data: their names and texts, and how receivers take them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

#[path = "../support/collector.rs"]
mod collector;
#[path = "../support/engines.rs"]
mod engines;
mod faults;
#[path = "../support/http.rs"]
mod http;
#[path = "../support/receiver.rs"]
mod receiver;
mod records;
mod rotel;
mod rounds;
#[path = "../support/sent.rs"]
mod sent;
#[path = "../support/mod.rs"]
mod support;
mod traces;

use receiver::Receiver;
use support::Machine;

/// A machine that ships to a directory that serves as an object store, and to a receiver.
fn machine(traces: &[&str], receiver: &Receiver, more: &str) -> Machine {
    let machine = Machine::new();
    traces.iter().for_each(|trace| machine.record(trace));
    machine.configure_lake(&format!("otlp = \"{}\"\n{more}", receiver.base));
    machine
}
