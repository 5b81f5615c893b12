//! A hook call starts the shipper when it is due, and never waits for it.

use std::time::{Duration, SystemTime};

use serde_json::json;

use super::ship_sandbox::{SESSION, SHIP, ShipSandbox, script};
use crate::notify::stalled_team::wait;
use crate::support::client_files::Lead;
use crate::support::sandbox::feed;

fn configured(ship: &ShipSandbox) {
    ship.sandbox.configure(SHIP);
}

/// Sets the last start back by an hour.
fn let_interval_pass(ship: &ShipSandbox) {
    let started = std::fs::File::options().write(true).open(ship.sandbox.keep("marks/ship-started")).unwrap();
    started.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
}

#[test]
fn nothing_is_started_or_written_without_a_destination() {
    let ship = ShipSandbox::new();
    ship.hook("UserPromptSubmit", json!({"prompt": "go"}));
    ship.hook("SessionEnd", json!({"reason": "other"}));
    assert!(
        !ship.sandbox.keep("marks/ship-started").exists() && !ship.sandbox.keep("shipping.json").exists()
    );
}

#[test]
fn the_shipper_is_started_once_an_interval() {
    let ship = ShipSandbox::new();
    configured(&ship);
    for _ in 0..3 {
        ship.hook("UserPromptSubmit", json!({"prompt": "go"}));
    }
    wait(|| ship.calls() == ["run --after-hook unfinished=0"]);
    let_interval_pass(&ship);
    for _ in 0..3 {
        ship.hook("Stop", json!({}));
    }
    wait(|| ship.calls().len() >= 2);
    assert_eq!(ship.calls().len(), 2);
    assert_eq!(ship.sandbox.diagnostics(), "");
}

#[test]
fn the_end_of_a_session_starts_the_shipper_at_once() {
    let ship = ShipSandbox::new();
    configured(&ship);
    ship.hook("UserPromptSubmit", json!({"prompt": "go"}));
    wait(|| ship.calls().len() == 1);
    ship.hook("SessionEnd", json!({"reason": "other"}));
    wait(|| ship.calls().len() == 2);
    assert!(ship.shipping().is_requested());
}

#[test]
fn after_the_end_of_a_run_its_transcripts_are_archived_first() {
    let ship = ShipSandbox::new();
    configured(&ship);
    let lead = Lead::of(&ship.sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    let hook = |event: &str, fields| {
        let payload = lead.payload(event, fields).to_string();
        assert_eq!(feed(&mut ship.command(&["hook"]), payload.as_bytes()).err, "");
    };
    hook("SessionStart", json!({"source": "startup"}));
    hook("UserPromptSubmit", json!({"prompt": "go"}));
    wait(|| !ship.calls().is_empty());
    ship.sandbox.finish();
    let before = ship.calls().len();
    lead.erase();
    hook("SessionEnd", json!({"reason": "other"}));
    wait(|| ship.calls().len() > before);
    assert_eq!(ship.calls().last().unwrap(), "run --after-hook unfinished=0");
    assert_eq!(ship.calls().len(), before + 1);
}

#[test]
fn no_second_shipper_is_started_while_one_runs_but_it_is_asked_for_another_round() {
    let ship = ShipSandbox::new();
    configured(&ship);
    let running = ship.shipping().lock(Duration::from_secs(60)).unwrap().unwrap();
    running.begin().unwrap();
    ship.hook("UserPromptSubmit", json!({"prompt": "go"}));
    assert!(!ship.shipping().is_requested());
    ship.hook("SessionEnd", json!({"reason": "other"}));
    assert!(ship.shipping().is_requested());
    drop(running);
    let_interval_pass(&ship);
    ship.hook("UserPromptSubmit", json!({"prompt": "go"}));
    wait(|| !ship.calls().is_empty());
    assert_eq!(ship.calls().len(), 1);
}

#[test]
fn a_missing_program_is_noted_once_a_day_and_not_taken_from_a_relative_directory() {
    let ship = ShipSandbox::bare();
    configured(&ship);
    let project = ship.sandbox.home().join("parser");
    std::os::unix::fs::symlink(script(), project.join("teamkeep-ship")).unwrap();
    for _ in 0..2 {
        for search in ["/usr/bin:/bin", ".:/usr/bin:/bin", ":", ""] {
            let payload = json!({"session_id": SESSION, "hook_event_name": "SessionEnd", "reason": "other"});
            let mut command = ship.command(&["hook"]);
            let result = feed(command.env("PATH", search), payload.to_string().as_bytes());
            assert_eq!((result.code, result.out.as_str(), result.err.as_str()), (Some(0), "", ""));
        }
        let_interval_pass(&ship);
    }
    assert_eq!(ship.calls(), [""; 0]);
    let noted = ship.sandbox.diagnostics();
    assert_eq!(noted.matches("teamkeep-ship is not installed: nothing is sent").count(), 1, "{noted}");
    let mut command = ship.command(&["hook", "stop"]);
    let search = format!("{}:/usr/bin", project.display());
    feed(command.env("PATH", search), json!({"session_id": SESSION}).to_string().as_bytes());
    wait(|| ship.calls().len() == 1);
}

#[test]
fn a_store_that_cannot_be_written_starts_nothing_and_fails_no_call() {
    let ship = ShipSandbox::new();
    configured(&ship);
    std::fs::create_dir_all(ship.sandbox.keep("")).unwrap();
    std::fs::write(ship.sandbox.keep("marks"), "a file").unwrap();
    ship.hook("UserPromptSubmit", json!({"prompt": "go"}));
    ship.hook("SessionEnd", json!({"reason": "other"}));
    assert_eq!(ship.calls(), [""; 0]);
    assert!(ship.sandbox.diagnostics().contains("cannot start the shipper: "));
}
