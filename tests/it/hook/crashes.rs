//! Clients that were killed: a run ends with its last sign of life, however late anybody notices.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::store::run_sandbox::ended_process;
use crate::support::client_files::{Lead, only};
use crate::support::sandbox::Sandbox;

const ONE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const TWO: &str = "bbbbbbbb-0000-4000-8000-000000000002";

/// A team whose client was killed after its third hook call.
fn crashed(sandbox: &Sandbox) -> Lead<'_> {
    let lead = Lead::of(sandbox, ONE);
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": ended_process()}}));
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": "go"}));
    lead.hook("Stop", json!({}));
    sandbox.set_clock(432_000_000);
    lead
}

#[test]
fn a_crashed_run_ends_at_its_last_event() {
    let sandbox = Sandbox::new();
    crashed(&sandbox);
    Lead::of(&sandbox, TWO).start("startup");
    assert_eq!(sandbox.teams()[0]["ended_at"], "2026-02-03T04:05:08.000Z", "and not five days later");
    let entries = sandbox.replay("session-aaaaaaaa");
    assert_eq!(only(&entries, "session-ended"), entries.last().unwrap());
    assert_eq!(entries.last().unwrap()["at"], "2026-02-03T04:05:08.000Z");
}

#[test]
fn a_crashed_run_without_recorded_events_ends_at_its_last_snapshot() {
    let sandbox = Sandbox::new();
    crashed(&sandbox);
    sandbox.segments().iter().for_each(|segment| std::fs::remove_file(segment).unwrap());
    Lead::of(&sandbox, TWO).start("startup");
    assert_eq!(sandbox.teams()[0]["ended_at"], "2026-02-03T04:05:06.000Z");
}

#[test]
fn an_end_that_could_not_be_recorded_is_recorded_by_a_later_call() {
    let sandbox = Sandbox::new();
    sandbox.configure("[log]\nlock-patience = \"20ms\"\n");
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_000, &["alice"]);
    lead.start("startup");
    let path = sandbox.keep("locks/team-session-aaaaaaaa");
    let held = teamkeep_system::fs::lock(&path, Duration::from_secs(60)).unwrap();
    assert!(held.is_some());
    lead.end("other");
    let ended = sandbox.last();
    assert_eq!(sandbox.teams()[0]["ended_at"], json!(null));
    drop(held);
    let is_open = || sandbox.archive().has_endings();
    let start = Instant::now();
    while is_open() {
        assert!(start.elapsed() < Duration::from_secs(60), "{}", sandbox.diagnostics());
        Lead::of(&sandbox, TWO).hook("Notification", json!({}));
    }
    let team = &sandbox.teams()[0];
    assert_eq!((&team["ended_at"], &team["ended_by"]), (&json!(ended), &json!("session-end")));
}

#[test]
fn run_of_an_exited_client_is_not_listed_as_running() {
    let sandbox = Sandbox::new();
    crashed(&sandbox);
    let log = sandbox.printed(&["log"]);
    assert!(log.contains("process gone") && log.contains("2 s") && !log.contains("running"), "{log}");
    let list = sandbox.printed(&["list"]);
    assert!(list.contains("✗ ") && list.contains("2 s") && !list.contains('●'), "{list}");
    assert_eq!(sandbox.teams()[0]["ended_at"], json!(null), "nothing shows its end yet");
}

#[test]
fn run_of_a_live_client_is_listed_as_running() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.config(1_000, &["alice"], json!({"leadProcess": {"pid": std::process::id()}}));
    lead.start("startup");
    assert!(sandbox.printed(&["log"]).contains("running"));
    assert!(sandbox.printed(&["list"]).contains("● "));
}
