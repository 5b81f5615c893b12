//! An object store and a receiver: one that is in trouble does not keep the other from getting its data.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/http.rs"]
mod http;
#[path = "support/receiver.rs"]
mod receiver;
#[path = "support/sent.rs"]
mod sent;
mod support;

use receiver::Receiver;
use sent::spans;
use support::{Machine, TRACES};

/// A machine with all recorded runs, which ships to a directory and to the receiver.
fn machine(receiver: &Receiver) -> Machine {
    let machine = Machine::new();
    TRACES.iter().for_each(|trace| machine.record(trace));
    machine.configure_lake(&format!("otlp = \"{}\"\notlp-signals = \"both\"", receiver.base));
    machine
}

/// Ships, which fails; returns the error.
fn ship_in_vain(machine: &Machine) -> String {
    let output = machine.ship(&["--once"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{message}");
    message
}

/// The runs whose span the receiver got.
fn runs(receiver: &Receiver) -> usize {
    let requests = receiver.requests();
    spans(&requests).iter().filter(|span| span.name.starts_with("invoke_workflow")).count()
}

fn assert_complete(machine: &Machine) {
    assert_eq!(machine.rows("events").len(), machine.log_lines().len());
    assert_eq!(machine.rows("runs").len(), machine.reports().len());
}

#[test]
fn a_busy_receiver_does_not_keep_the_store_from_getting_everything() {
    let receiver = Receiver::start();
    let machine = machine(&receiver);
    receiver.set_busy(true);
    let message = ship_in_vain(&machine);
    assert!(message.contains("/v1/logs: HTTP status 503"), "{message}");
    assert_complete(&machine);
    assert_eq!(runs(&receiver), 0);
    receiver.set_busy(false);
    let objects = machine.objects();
    machine.ship_all();
    assert_eq!(machine.objects(), objects);
    assert_eq!(runs(&receiver), machine.reports().len());
}

#[test]
fn a_store_in_trouble_does_not_keep_the_receiver_from_getting_everything() {
    let receiver = Receiver::start();
    let machine = machine(&receiver);
    std::fs::write(machine.lake(), "in the way").unwrap();
    let message = ship_in_vain(&machine);
    assert!(message.contains("cannot create"), "{message}");
    assert_eq!(runs(&receiver), machine.reports().len());
    let requests = receiver.requests().len();
    std::fs::remove_file(machine.lake()).unwrap();
    machine.ship_all();
    assert_complete(&machine);
    assert_eq!(receiver.requests().len(), requests);
}

#[test]
fn with_both_in_trouble_both_errors_are_shown_and_nothing_counts_as_sent() {
    let receiver = Receiver::start();
    let machine = machine(&receiver);
    receiver.set_busy(true);
    std::fs::write(machine.lake(), "in the way").unwrap();
    let message = ship_in_vain(&machine);
    assert!(message.contains("cannot create") && message.contains("HTTP status 503"), "{message}");
    std::fs::remove_file(machine.lake()).unwrap();
    receiver.set_busy(false);
    machine.ship_all();
    assert_complete(&machine);
    assert_eq!(runs(&receiver), machine.reports().len());
}
