//! `teamkeep doctor` on shipping.

use std::time::Duration;

use serde_json::{Value, json};
use teamkeep_model::time::parse;
use teamkeep_store::shipping::Last;

use super::ship_sandbox::{SHIP, ShipSandbox};
use crate::support::access::set_mode;
use crate::support::sandbox::{START, unix_paths};

/// The findings of the check, each as `verdict: line => fix`.
fn findings(ship: &ShipSandbox) -> Vec<String> {
    let value: Value = serde_json::from_str(&ship.run(&["doctor", "--json"]).out).unwrap();
    let checks = value["checks"].as_array().unwrap().iter().filter(|check| check["code"] == "shipping");
    let home = ship.sandbox.home();
    let text = |value: &Value| unix_paths(value.as_str().unwrap_or("none"), home.parent().unwrap(), "");
    checks
        .map(|check| {
            format!("{}: {} => {}", text(&check["verdict"]), text(&check["what"]), text(&check["fix"]))
        })
        .collect()
}

#[test]
#[cfg_attr(windows, ignore = "the shipper of these tests is a shell script")]
fn shipping_that_works_or_is_off_is_no_problem() {
    let ship = ShipSandbox::new();
    assert_eq!(findings(&ship), ["ok: shipping is off => none"]);
    ship.sandbox.configure(&format!("{SHIP}otlp = \"http://localhost:4318/\"\n"));
    let to = "recorded data is shipped to file:///nonexistent/teamkeep and http://localhost:4318";
    assert_eq!(findings(&ship), [format!("ok: {to}; nothing was shipped yet => none")]);
    let note = |error: Option<&str>| {
        let right = ship.shipping().lock(Duration::from_secs(60)).unwrap().unwrap();
        let last = Last { at: parse(START).unwrap(), error: error.map(str::to_owned), ..Last::default() };
        right.update(|state| state.last = Some(last)).unwrap();
    };
    note(None);
    let at = "2026-02-03 04:05:06 UTC (just now)";
    assert_eq!(findings(&ship), [format!("ok: {to}; last shipped {at} => none")]);
    note(Some("connection refused"));
    assert!(
        findings(&ship)[0]
            .starts_with(&format!("warn: not everything was shipped {at}: connection refused => "))
    );
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no file modes")]
fn a_missing_program_open_secrets_a_damaged_state_and_a_backlog_are_reported() {
    let ship = ShipSandbox::bare();
    let home = ship.sandbox.home();
    std::fs::write(home.join("headers"), "Authorization: Bearer x\n").unwrap();
    set_mode(home.join("headers"), 0o644);
    let config =
        "otlp-headers-file = \"~/headers\"\npseudonym-key-file = \"~/key\"\nkeep-unshipped = \"9 KiB\"\n";
    ship.sandbox.configure(&format!("{SHIP}{config}[log]\nsegment-size = \"4 KiB\"\n"));
    std::fs::create_dir_all(ship.sandbox.keep("")).unwrap();
    std::fs::write(ship.sandbox.keep("shipping.json"), "{").unwrap();
    for _ in 0..3 {
        ship.hook("UserPromptSubmit", json!({"prompt": "x".repeat(4_000)}));
    }
    let found = findings(&ship);
    assert_eq!(found.len(), 5, "{found:#?}");
    for (finding, (begin, end)) in found.iter().zip([
        ("bad: [ship] is configured, but teamkeep-ship is neither", "./install.sh --with-ship"),
        (
            "bad: cannot use `otlp-headers-file` under [ship]: other users have access",
            "chmod 600 /home/headers",
        ),
        ("bad: cannot use `pseudonym-key-file` under [ship]: failed to open file", "/home/key)"),
        ("warn: /keep/shipping.json is damaged: ", "ship --once"),
        ("warn: 3 log segments (13.", "ship --once"),
    ]) {
        assert!(finding.starts_with(begin) && finding.ends_with(end), "{finding}");
    }
    // The last digit depends on the length of the directory's name.
    assert!(found[4].contains(" KB) are not shipped; `ship.keep-unshipped` keeps 9.2 KB"), "{}", found[4]);
}
