//! `teamkeep ship` with receivers that do not accept everything.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/http.rs"]
mod http;
#[path = "support/responses.rs"]
mod responses;
mod support;

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use responses::{NO_RESPONSE, Receiver, Responses};
use support::Machine;

fn machine(receiver: &Receiver) -> Machine {
    let machine = Machine::new();
    machine.configure(&format!("otlp = \"{}\"", receiver.base));
    machine
}

fn status(machine: &Machine) -> String {
    String::from_utf8(machine.ship(&["status"]).stdout).unwrap()
}

const ALL: [&str; 3] = ["/v1/traces", "/v1/logs", "/v1/metrics"];
const UNSUPPORTED: &str = "does not accept logs and metrics (HTTP status 405), so only traces were sent";

#[test]
fn signals_that_a_receiver_does_not_have_are_reported_once_and_asked_for_once_in_a_round() {
    let receiver = Receiver::start(&["/v1/traces"], "405 Method Not Allowed");
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    machine.record("v328-panes");
    let text = machine.ship_all();
    assert!(text.contains("sent 2 runs\n") && text.matches(UNSUPPORTED).count() == 1, "{text}");
    assert_eq!(receiver.requests(), [ALL[0], ALL[1], ALL[2], ALL[0]]);
    let expected = "  sent: 2 runs\n  not accepted by the receiver: logs and metrics\n  not sent: nothing\n";
    assert!(status(&machine).contains(expected), "{}", status(&machine));

    machine.record("v328-gc");
    let text = machine.ship_all();
    assert!(text.contains("sent 1 run\n") && !text.contains("not accept"), "{text}");
    assert_eq!(receiver.requests(), ALL);

    // The receiver was replaced by one that has all signals, and then by the first one again.
    receiver.accept(&ALL);
    machine.record("v328-notasks");
    machine.ship_all();
    assert!(!status(&machine).contains("not accepted"), "{}", status(&machine));
    receiver.accept(&ALL[..1]);
    machine.record("v177-inprocess");
    assert!(machine.ship_all().contains(UNSUPPORTED));
}

#[test]
fn a_wrong_address_is_an_error_and_nothing_counts_as_sent() {
    let receiver = Receiver::start(&[], "404 Not Found");
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    let output = machine.ship(&["--once"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("hint: check ship.otlp"), "{text}");
    let status = status(&machine);
    assert!(status.contains("sent: 0 runs\n  not sent: 1 run\n") && status.contains("error: "), "{status}");
    receiver.accept(&ALL);
    assert!(machine.ship_all().contains("sent 1 run\n"));
}

#[test]
fn the_same_rejection_of_many_runs_is_one_warning() {
    let receiver = Receiver::start(&["/v1/traces", "/v1/metrics"], "400 Bad Request");
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    machine.record("v328-panes");
    let text = machine.ship_all();
    assert_eq!(text.matches("warning: ").count(), 1, "{text}");
    assert!(text.contains("HTTP status 400 Bad Request (2 times, first in run "), "{text}");
}

#[test]
fn refused_credentials_end_the_round_at_the_first_run() {
    let receiver = Receiver::start(&[], "401 Unauthorized");
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    machine.record("v328-panes");
    let output = machine.ship(&["--once"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("ship.otlp-headers-file"), "{text}");
    assert_eq!(receiver.requests().len(), 1);
    receiver.accept(&ALL);
    assert!(machine.ship_all().contains("sent 2 runs\n"));
}

#[test]
fn a_round_that_cannot_start_is_in_the_status() {
    let receiver = Receiver::start(&ALL, "404 Not Found");
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    let key = machine.dir.join("key");
    let config = format!("otlp = \"{}\"\npseudonym-key-file = \"{}\"", receiver.base, key.display());
    machine.configure(&config);
    let output = machine.ship(&["--once"]);
    assert!(!output.status.success());
    let status = status(&machine);
    assert!(status.contains("error: ") && status.contains("key"), "{status}");
}

#[test]
fn a_time_that_could_not_be_stored_is_an_error() {
    let receiver = Receiver::start(&ALL, "404 Not Found");
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    machine.ship_all();
    let lock = std::fs::File::open(machine.store().join("locks/shipping")).unwrap();
    lock.lock().unwrap();
    let output = machine.ship(&["--once", "--since", "2026-11-01"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("cannot store the time of --since"), "{text}");
    assert!(machine.ship(&["--once"]).status.success());
}

/// The header of a response after which a request is not sent again in this round.
const BUSY: &str = "Retry-After: 600\r\n";

#[test]
fn a_run_without_a_response_does_not_keep_the_others_from_being_sent() {
    let attempts = 7;
    let receiver = Receiver::responding(Responses { remaining: attempts, ..Responses::with(NO_RESPONSE) });
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    machine.record("v328-panes");
    let output = machine.ship(&["--once"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains(" was not sent: cannot send traces"), "{text}");
    assert!(text.contains("sent 1 run\n") && status(&machine).contains("not sent: 1 run\n"), "{text}");
    // After the attempts comes an empty request, which asks whether the receiver responds at all.
    let requests = receiver.requests();
    assert_eq!(requests[..attempts], vec![ALL[0]; attempts]);
    assert_eq!(requests[attempts..], [ALL[0], ALL[0], ALL[1], ALL[2]]);
    assert!(machine.ship_all().contains("sent 1 run\n"));
}

#[test]
fn a_receiver_without_tls_is_not_tried_again_with_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            count.fetch_add(1, Ordering::Relaxed);
            let _ = http::answer(stream.unwrap(), "400 Bad Request", "");
        }
    });
    let machine = Machine::new();
    machine.configure(&format!("otlp = \"{base}\""));
    machine.record("v328-inprocess");
    machine.record("v328-panes");
    let output = machine.ship(&["--once"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("hint: the server does not use TLS"), "{text}");
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[test]
fn a_busy_receiver_is_not_asked_for_each_run() {
    let receiver =
        Receiver::responding(Responses { headers: BUSY, ..Responses::with("503 Service Unavailable") });
    let machine = machine(&receiver);
    for trace in ["v328-inprocess", "v328-panes", "v328-gc", "v328-notasks", "v177-inprocess"] {
        machine.record(trace);
    }
    assert!(!machine.ship(&["--once"]).status.success());
    assert_eq!(receiver.requests().len(), 1);
}

#[test]
fn a_signal_at_which_the_receiver_failed_is_sent_again_without_the_others() {
    let receiver = Receiver::start(&[ALL[0], ALL[2]], "500 Internal Server Error");
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    for requests in [&ALL[..], &ALL[1..2], &ALL[1..2]] {
        let output = machine.ship(&["--once"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{text}");
        assert!(text.contains(" was not sent completely: cannot send logs"), "{text}");
        assert_eq!(receiver.requests(), requests);
        assert!(status(&machine).contains("sent: 0 runs\n  not sent: 1 run\n"));
    }
    receiver.accept(&ALL);
    assert!(machine.ship_all().contains("sent 1 run\n"));
    assert_eq!(receiver.requests(), ALL[1..2]);
    machine.ship_all();
    assert!(receiver.requests().is_empty());
    let state = std::fs::read_to_string(machine.store().join("shipping.json")).unwrap();
    assert!(!state.contains("parts"), "{state}");
}

#[test]
fn a_rejection_is_reported_also_if_the_receiver_failed_at_another_signal_of_the_run() {
    let receiver = Receiver::responding(Responses {
        paths: vec![ALL[0]],
        rejected: vec![ALL[2]],
        ..Responses::with("500 Internal Server Error")
    });
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    let output = machine.ship(&["--once"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("was not sent completely: cannot send logs"), "{text}");
    assert!(text.contains("warning: cannot send metrics to ") && text.contains("status 400"), "{text}");
}

#[test]
fn a_signal_that_is_too_large_in_every_size_is_given_up_also_if_the_receiver_failed_at_another_one() {
    let receiver = Receiver::responding(Responses {
        paths: vec![ALL[0]],
        rejected: vec![ALL[2]],
        rejection: "413 Content Too Large",
        ..Responses::with("500 Internal Server Error")
    });
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    for warnings in [1, 0] {
        let output = machine.ship(&["--once"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains("completely: cannot send logs"), "{text}");
        assert_eq!(text.matches("warning: cannot send a single metric to ").count(), warnings, "{text}");
        let requests = receiver.requests();
        assert_eq!(requests.contains(&ALL[2].to_owned()), warnings > 0, "{requests:?}");
    }
    receiver.accept(&ALL);
    assert!(machine.ship_all().contains("sent 1 run\n"));
    assert_eq!(receiver.requests(), ALL[1..2]);
}

#[test]
fn the_error_of_a_run_is_reported_also_if_a_later_run_ends_the_round() {
    let receiver = Receiver::responding(Responses {
        rejected: ALL.to_vec(),
        rejections_left: ALL.len(),
        ..Responses::with("401 Unauthorized")
    });
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    machine.record("v328-panes");
    let output = machine.ship(&["--once"]);
    let text = String::from_utf8(output.stderr).unwrap();
    let (first, second) = text.split_once("status 400").unwrap();
    assert!(!output.status.success() && first.contains(" was not sent: cannot send traces"), "{text}");
    assert!(second.contains(" was not sent: cannot send traces") && second.contains("status 401"), "{text}");
    assert!(status(&machine).contains("status 400"), "{}", status(&machine));
}

#[test]
fn runs_that_were_not_sent_are_one_error_that_names_the_first() {
    let receiver = Receiver::start(&[ALL[0], ALL[2]], "500 Internal Server Error");
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    machine.record("v328-panes");
    let output = machine.ship(&["--once"]);
    let text = String::from_utf8(output.stderr).unwrap();
    let runs = machine.catalog().runs;
    let first = runs.iter().min_by_key(|run| run.ended_at).unwrap();
    let expected = format!("2 runs were not sent completely; run {}: cannot send logs to ", &first.run[..4]);
    assert!(text.contains(&expected) && text.matches("error: ").count() == 1, "{expected}: {text}");
}

#[test]
fn what_a_receiver_had_before_it_became_busy_is_not_sent_again() {
    let receiver = Receiver::responding(Responses {
        paths: vec![ALL[0]],
        headers: BUSY,
        remaining: 2,
        ..Responses::with("503 Service Unavailable")
    });
    let machine = machine(&receiver);
    machine.record("v328-inprocess");
    assert!(!machine.ship(&["--once"]).status.success());
    assert_eq!(receiver.requests(), ALL[..2]);
    assert!(machine.ship_all().contains("sent 1 run\n"));
    assert_eq!(receiver.requests(), ALL[1..]);
}

#[test]
fn a_run_that_cannot_be_redacted_does_not_keep_the_others_from_being_sent() {
    let receiver = Receiver::start(&ALL, "404 Not Found");
    let machine = machine(&receiver);
    for trace in ["v328-gc", "v328-inprocess", "v328-notasks"] {
        machine.record(trace);
    }
    let pattern = "privacy = \"redacted\"\n[[privacy.pattern]]\nname = \"x\"\nregex = \"^open-work$\"";
    machine.configure(&format!("otlp = \"{}\"\n{pattern}", receiver.base));
    for (sent, requests) in [("sent 2 runs\n", 6), ("sent 0 runs\n", 0)] {
        let output = machine.ship(&["--once"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains(sent), "{text}");
        assert!(text.contains("was not sent: cannot redact a run"), "{text}");
        assert_eq!(text.matches("not sent").count(), 1, "{text}");
        assert_eq!(receiver.requests().len(), requests);
    }
}
