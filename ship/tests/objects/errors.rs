//! Errors, hints and the status.

use serde_json::Value;

use crate::delivery::assert_complete;
use crate::support::Machine;

#[test]
fn a_run_that_cannot_be_read_is_in_the_status() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    let run = machine.catalog().runs[0].run.clone();
    let status = || String::from_utf8(machine.ship(&["status"]).stdout).unwrap();
    assert!(!status().contains("unreadable"), "{}", status());
    std::fs::write(machine.store().join("runs").join(&run).join("run.json"), "{").unwrap();
    machine.ship_all();
    let expected = format!("unreadable: 1 run; to see why: teamkeep verify {run}\n");
    assert!(status().contains(&expected), "{}", status());
}

#[test]
fn global_options_come_before_a_command_or_after_it() {
    let machine = Machine::new();
    machine.configure_lake("");
    for args in
        [&["--color", "auto", "--quiet", "--utc", "status", "--json"][..], &["status", "--json", "--utc"]]
    {
        let output = machine.ship(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap();
    }
}

#[test]
fn a_reader_that_stops_reading_causes_no_error() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = machine.shipper(&["--dry-run", "--json"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn an_address_without_tls_has_to_be_allowed_and_a_profile_without_keys_is_named() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure("store = \"s3://bucket\"");
    let error = |environment: &[(&str, &str)]| {
        let output = machine.shipper(&["--once"]).envs(environment.iter().copied()).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let keys = [
        ("AWS_ACCESS_KEY_ID", "a"),
        ("AWS_SECRET_ACCESS_KEY", "b"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
    ];
    let plain = error(&keys);
    assert!(plain.contains("does not use TLS") && plain.contains("AWS_ALLOW_HTTP=true"), "{plain}");
    for off in ["", "0", "false", "FALSE", "off", "no", "maybe"] {
        assert_eq!(error(&[&keys[..], &[("AWS_ALLOW_HTTP", off)]].concat()), plain, "{off:?}");
    }
    machine.configure("store = \"s3://bucket\"");
    let profile = error(&[("AWS_PROFILE", "sso")]);
    assert!(profile.contains("the profile \"sso\" has no keys"), "{profile}");
}

#[test]
fn a_damaged_state_is_reported_once() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    let report = "the state of shipping was lost: everything is sent again";
    assert!(!machine.ship_all().contains(report));
    let state = machine.store().join("shipping.json");
    for damaged in ["{", "{\"v\":2}"] {
        std::fs::write(&state, damaged).unwrap();
        assert!(machine.ship_all().contains(report), "{damaged}");
        assert!(!machine.ship_all().contains(report), "{damaged}");
    }
}

#[test]
fn a_store_that_cannot_be_written_is_reported_and_nothing_counts_as_sent() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    std::fs::write(machine.lake(), "in the way").unwrap();
    let output = machine.ship(&["--once"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && message.contains("cannot create"), "{message}");
    let status = String::from_utf8(machine.ship(&["status"]).stdout).unwrap();
    assert!(status.contains("error: cannot create") && status.contains("not sent: 1 run"), "{status}");
    std::fs::remove_file(machine.lake()).unwrap();
    machine.ship_all();
    assert_complete(&machine);
}

#[test]
fn without_a_destination_there_is_a_hint() {
    let machine = Machine::new();
    machine.configure("organization = \"acme\"");
    let output = machine.ship(&["--once"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && message.contains("hint: set `store`, `directory` or `otlp`"),
        "{message}"
    );
}

#[test]
fn without_credentials_no_request_is_made() {
    let machine = Machine::new();
    machine.record("v328-headless");
    machine.configure("store = \"s3://bucket\"");
    let message = String::from_utf8(machine.ship(&["--once"]).stderr).unwrap();
    assert!(message.contains("no credentials") && message.contains("hint: "), "{message}");
}

#[test]
fn a_broken_configuration_sends_nothing() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("privacy = \"fulll\"");
    assert!(!machine.ship(&["--once"]).status.success());
    assert!(!machine.lake().exists());
}
