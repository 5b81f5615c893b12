//! Receivers that refuse large requests get the same data in smaller ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/http.rs"]
mod http;
#[path = "support/receiver.rs"]
mod receiver;
#[path = "support/sent.rs"]
mod sent;
mod support;

use std::process::Output;

use receiver::Receiver;
use sent::{metrics, records, spans};
use support::Machine;
use teamkeep_core::config::OtlpEncoding;
use teamkeep_ship::otlp::Request;

fn machine() -> Machine {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.record("v328-panes");
    machine
}

fn ship(machine: &Machine, receiver: &Receiver) -> (Output, String) {
    machine.configure(&format!("otlp = \"{}\"\norganization = \"acme\"\nhost = \"m1\"", receiver.base));
    let output = machine.ship(&["--once"]);
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    (output, text)
}

/// The requests that a receiver without a limit gets.
fn requests(machine: &Machine) -> Vec<Request> {
    let receiver = Receiver::start();
    let (output, text) = ship(machine, &receiver);
    assert!(output.status.success(), "{text}");
    receiver.requests()
}

/// Requests with one item each.
fn singles(request: Request) -> Vec<Request> {
    match request.halves() {
        Some(halves) => halves.into_iter().flat_map(singles).collect(),
        None => vec![request],
    }
}

fn size(request: &Request) -> usize {
    request.encode(OtlpEncoding::Protobuf).unwrap().len()
}

/// All items, sorted.
fn items(requests: &[Request]) -> Vec<String> {
    let spans = spans(requests).into_iter().map(|item| format!("{item:?}"));
    let records = records(requests).into_iter().map(|item| format!("{item:?}"));
    let metrics = metrics(requests).into_iter().map(|item| format!("{item:?}"));
    let mut items: Vec<String> = spans.chain(records).chain(metrics).collect();
    items.sort();
    items
}

#[test]
fn a_request_that_is_too_large_arrives_in_parts_and_each_item_once() {
    let machine = machine();
    let all = requests(&machine);
    let largest = all.iter().cloned().flat_map(singles).map(|single| size(&single)).max().unwrap();
    let receiver = Receiver::start();
    receiver.set_limit(largest + 1);
    let (output, text) = ship(&machine, &receiver);
    assert!(output.status.success() && text == "sent 2 runs\n", "{text}");
    assert!(receiver.refused() > 0);
    assert_eq!(items(&receiver.requests()), items(&all));
}

#[test]
fn only_an_item_that_is_too_large_by_itself_is_given_up() {
    let machine = machine();
    let singles: Vec<Request> = requests(&machine).into_iter().flat_map(singles).collect();
    let largest = singles.iter().map(size).max().unwrap();
    let (given_up, rest): (Vec<Request>, Vec<Request>) =
        singles.into_iter().partition(|single| size(single) == largest);
    let receiver = Receiver::start();
    receiver.set_limit(largest);
    let (output, text) = ship(&machine, &receiver);
    assert!(output.status.success() && text.contains("sent 2 runs\n"), "{text}");
    assert_eq!(items(&receiver.requests()), items(&rest));
    let warnings = text.lines().filter(|line| line.starts_with("warning: cannot send a single ")).count();
    assert!(warnings == 1 && text.contains("413"), "{} items: {text}", given_up.len());
    let (output, _) = ship(&machine, &receiver);
    assert!(output.status.success());
    assert_eq!(items(&receiver.requests()), items(&rest));
}

#[test]
fn a_receiver_that_refuses_every_size_does_not_get_each_item() {
    let machine = machine();
    let items = items(&requests(&machine)).len();
    let receiver = Receiver::start();
    receiver.set_limit(0);
    let (output, text) = ship(&machine, &receiver);
    assert!(!output.status.success() && text.contains("hint: raise the receiver's limit"), "{text}");
    assert!(text.contains(" was not sent: cannot send a single span to "), "{text}");
    assert!(receiver.refused() < items / 2, "{} of {items}", receiver.refused());
    assert!(receiver.requests().is_empty());
}

#[test]
fn runs_of_which_each_item_is_too_large_are_given_up() {
    let machine = machine();
    let all = items(&requests(&machine)).len();
    let receiver = Receiver::start();
    // Only an empty request is smaller.
    receiver.set_limit(1);
    let (output, text) = ship(&machine, &receiver);
    assert!(output.status.success() && text.contains("sent 0 runs\n"), "{text}");
    let given_up = text.lines().filter(|line| line.starts_with("warning: cannot send a single ")).count();
    assert_eq!(given_up, 3, "{text}");
    // One empty request for each signal.
    let empty = receiver.requests();
    assert!(empty.len() == 3 && items(&empty).is_empty(), "{empty:?}");
    let refused = receiver.refused();
    assert!((all..2 * all).contains(&refused), "{refused} of {all}");
    let (output, text) = ship(&machine, &receiver);
    assert!(output.status.success() && text == "sent 0 runs\n", "{text}");
    assert_eq!((receiver.requests().len(), receiver.refused()), (3, refused));
}
