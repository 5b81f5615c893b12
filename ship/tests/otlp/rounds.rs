//! `teamkeep ship` with receivers that do not accept everything.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::machine;
use super::receiver::{Answer, BUSY, Receiver};
use super::sent::{attribute, records, spans};
use crate::http;
use crate::support::Machine;

const LOGS: &str = "/v1/logs";
const TRACES: &str = "/v1/traces";
const RUNS: [&str; 2] = ["v328-inprocess", "v328-panes"];

/// The numbers of records of each kind, each ID counted once.
fn received(receiver: &Receiver) -> BTreeMap<String, usize> {
    let requests = receiver.requests();
    let record = |name: &str, id: Option<String>| (name.to_owned(), id.unwrap());
    let all: BTreeSet<(String, String)> = records(&requests)
        .iter()
        .map(|one| record(&one.event_name, attribute(&one.attributes, "log.record.uid")))
        .collect();
    let mut counts = BTreeMap::new();
    all.into_iter().for_each(|(name, _)| *counts.entry(name).or_default() += 1);
    counts
}

/// The receiver has every event and every run.
fn assert_received(machine: &Machine, receiver: &Receiver) {
    let received = received(receiver);
    assert_eq!(received["teamkeep.events"], machine.log_lines().len());
    assert_eq!(received["teamkeep.runs"], machine.reports().len());
}

#[test]
fn a_receiver_gets_the_signals_that_are_configured() {
    for (signals, expected) in [
        ("", &[LOGS][..]),
        ("otlp-signals = \"logs\"", &[LOGS]),
        ("otlp-signals = \"traces\"", &[TRACES]),
        ("otlp-signals = \"both\"", &[LOGS, TRACES]),
    ] {
        let receiver = Receiver::start();
        let machine = machine(&RUNS, &receiver, signals);
        machine.ship_all();
        assert_eq!(machine.status().matches("  sent: 2 runs\n  not sent: nothing\n").count(), 2);
        let paths: BTreeSet<String> = receiver.paths().into_iter().collect();
        assert!(paths.iter().eq(expected), "{signals}: {paths:?}");
        let runs = spans(&receiver.requests()).iter().filter(|span| span.parent_span_id.is_empty()).count();
        assert_eq!(runs, if expected.contains(&TRACES) { 2 } else { 0 });
        assert_eq!(received(&receiver).is_empty(), !expected.contains(&LOGS));
        machine.ship_all();
        assert!(receiver.paths().is_empty());
    }
}

#[test]
fn a_wrong_address_or_wrong_credentials_are_an_error_and_nothing_counts_as_sent() {
    for (status, hint) in [
        ("404 Not Found", "hint: check ship.otlp and ship.otlp-signals"),
        ("401 Unauthorized", "hint: check the credentials in ship.otlp-headers-file"),
    ] {
        let receiver = Receiver::responding(move |_| Answer::Refused(status, ""));
        let machine = machine(&RUNS, &receiver, "");
        let text = machine.ship_in_vain();
        assert!(text.contains(hint) && text.contains(&status[..3]), "{text}");
        assert_eq!(receiver.paths(), [LOGS], "the first request ends the round");
        let shown = machine.status();
        assert!(shown.contains("  sent: 0 runs\n  not sent: 2 runs, "), "{shown}");
        assert!(shown.contains("error: cannot send logs: "), "{shown}");
        receiver.set_busy(false);
        machine.ship_all();
        assert_received(&machine, &receiver);
        assert!(!machine.status().contains("error: "));
    }
}

#[test]
fn a_rejected_request_is_one_warning_and_the_round_continues() {
    let receiver = Receiver::start();
    let refuse = |path: &str| match path {
        LOGS => Answer::Refused("400 Bad Request", ""),
        _ => Answer::Accepted,
    };
    receiver.respond(refuse);
    let machine = machine(&RUNS, &receiver, "otlp-signals = \"both\"");
    let text = machine.ship_all();
    let warning = "warning: the OTLP receiver rejected a request with logs: HTTP status 400 Bad Request\n";
    assert!(text.matches("warning: ").count() == 1 && text.contains(warning), "{text}");
    assert!(receiver.paths().contains(&TRACES.to_owned()));
    assert_eq!(machine.status().matches("not sent: nothing").count(), 2);
    machine.ship_all();
    assert!(receiver.paths().is_empty());
}

#[test]
fn a_receiver_that_is_busy_for_a_moment_gets_everything_in_the_same_round() {
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        let mut refused = 0;
        let receiver = Receiver::responding(move |_| {
            refused += 1;
            if refused <= 2 { Answer::Refused(status, "Retry-After: 0\r\n") } else { Answer::Accepted }
        });
        let machine = machine(&RUNS, &receiver, "");
        machine.ship_all();
        assert_received(&machine, &receiver);
        assert_eq!(receiver.requests().len() + 2, receiver.paths().len());
    }
}

#[test]
fn a_busy_receiver_ends_the_round_at_the_first_request_and_gets_everything_later() {
    let receiver = Receiver::responding(|_| BUSY);
    let machine = machine(&RUNS, &receiver, "");
    let text = machine.ship_in_vain();
    assert!(text.contains("/v1/logs: HTTP status 503"), "{text}");
    assert_eq!(receiver.paths().len(), 1);
    // The object store is another destination.
    assert_eq!(machine.rows("runs").len(), 2);
    receiver.set_busy(false);
    machine.ship_all();
    assert_received(&machine, &receiver);
    assert_eq!(machine.objects().len(), 1);
}

#[test]
fn a_lost_response_repeats_the_request_with_the_same_ids() {
    let mut requests = 0;
    let receiver = Receiver::responding(move |_| {
        requests += 1;
        if requests == 1 { Answer::Lost } else { Answer::Accepted }
    });
    let machine = machine(&RUNS, &receiver, "");
    machine.ship_all();
    let requests = receiver.requests();
    assert_eq!((requests.len(), &requests[0]), (2, &requests[1]));
    assert_received(&machine, &receiver);
}

#[test]
fn what_a_failed_round_had_sent_is_sent_again_with_the_same_ids() {
    let mut logs = 0;
    let receiver = Receiver::responding(move |path| {
        logs += usize::from(path == LOGS);
        if path == LOGS && logs < 3 {
            Answer::Accepted
        } else {
            Answer::Refused("500 Internal Server Error", "")
        }
    });
    let machine = machine(&RUNS, &receiver, "otlp-signals = \"both\"");
    let text = machine.ship_in_vain();
    assert!(text.contains("HTTP status 500"), "{text}");
    assert!(!receiver.requests().is_empty());
    receiver.set_busy(false);
    machine.ship_all();
    assert_received(&machine, &receiver);
    let received = receiver.requests();
    assert!(records(&received).len() > machine.log_lines().len() + 100);
}

#[test]
fn a_round_that_cannot_start_is_in_the_status() {
    let receiver = Receiver::start();
    let machine = machine(&RUNS, &receiver, "pseudonym-key-file = \"/nowhere/key\"");
    machine.ship_in_vain();
    let status = machine.status();
    assert!(status.contains("error: cannot use `ship.pseudonym-key-file`"), "{status}");
}

#[test]
fn a_time_that_could_not_be_stored_is_an_error() {
    let receiver = Receiver::start();
    let machine = machine(&RUNS, &receiver, "");
    machine.ship_all();
    let lock = std::fs::File::open(machine.store().join("locks/shipping")).unwrap();
    lock.lock().unwrap();
    let output = machine.ship(&["--once", "--since", "2026-11-01"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("cannot store the time of --since"), "{text}");
    assert!(machine.ship(&["--once"]).status.success());
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
    RUNS.iter().for_each(|run| machine.record(run));
    let text = machine.ship_in_vain();
    assert!(text.contains("hint: the server does not use TLS"), "{text}");
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[test]
fn a_run_that_cannot_be_redacted_does_not_keep_the_others_from_being_sent() {
    let receiver = Receiver::start();
    let pattern = "privacy = \"redacted\"\n[[privacy.pattern]]\nname = \"x\"\nregex = \"^open-work$\"";
    let machine = machine(&["v328-gc", "v328-inprocess", "v328-notasks"], &receiver, pattern);
    for has_sent in [true, false] {
        let text = machine.ship_in_vain();
        assert!(text.contains("was not sent: cannot redact a run"), "{text}");
        assert_eq!(text.contains("sent 0 events and 0 runs (0 rows, 0 KiB)"), !has_sent, "{text}");
    }
    assert_eq!(received(&receiver)["teamkeep.runs"], 2);
    // No rows of the other run are there.
    let runs: BTreeSet<_> = machine.rows("messages").iter().map(|row| row["run"].to_string()).collect();
    assert!(runs.len() <= 2 && machine.rows("runs").len() == 2, "{runs:?}");
    assert_eq!(machine.all_rows("agents").len(), machine.rows("agents").len());
}
