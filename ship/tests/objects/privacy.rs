//! The names and texts that leave the machine.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use super::texts;
use crate::support::Machine;

#[test]
fn metadata_has_no_text_and_full_has_all() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    let rows = |privacy: &str| {
        machine.configure_lake(&format!("privacy = \"{privacy}\""));
        let output = machine.ship(&["--dry-run", "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let (metadata, full) = (rows("metadata"), rows("full"));
    let prompts: BTreeSet<String> = machine
        .log_lines()
        .iter()
        .flat_map(|line| {
            let input = &line["payload"]["tool_input"];
            [
                &input["message"],
                &input["prompt"],
                &input["description"],
                &input["subject"],
                &line["payload"]["prompt"],
            ]
            .map(|text| text.as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned())
        })
        .filter(|text| text.len() > 20 && !text.contains(['"', '\\']))
        .collect();
    assert!(prompts.len() > 5, "{prompts:?}");
    for text in &prompts {
        assert!(full.contains(text.as_str()), "{text}");
        assert!(!metadata.contains(text.as_str()), "{text}");
    }
    assert!(!metadata.contains("/home/") && full.contains("/home/"));
}

#[test]
fn the_account_names_the_user_without_a_variable() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    assert!(machine.shipper(&["--once"]).env_remove("USER").status().unwrap().success());
    let account = Command::new("id").arg("-un").output().unwrap();
    let account = String::from_utf8(account.stdout).unwrap();
    let users = texts(&machine.rows("runs"), "user_name");
    assert_eq!(users, BTreeSet::from([account.trim().to_owned()]));
}

#[test]
fn metadata_has_no_text_in_place_of_the_id_of_a_task() {
    let machine = Machine::new();
    let (ids, sentence) =
        (r#"\"blockedBy\": [\n    \"1\"\n"#, r#"\"blockedBy\": [\n    \"planted words\", \"1\"\n"#);
    machine.record_with("v328-inprocess", |trace| trace.replace(ids, sentence));
    let blockers = |privacy: &str| {
        machine.configure_lake(&format!("privacy = \"{privacy}\""));
        let output = machine.ship(&["--dry-run", "--json"]).stdout;
        let rows = output.split(|byte| *byte == b'\n').filter_map(|row| serde_json::from_slice(row).ok());
        let tasks = rows.map(|row: Value| row["row"]["blocked_by"].clone());
        tasks.filter(|blockers| blockers.as_array().is_some_and(|all| !all.is_empty())).collect::<Vec<_>>()
    };
    assert_eq!(blockers("full"), [json!(["1", "planted words"])]);
    assert_eq!(blockers("metadata"), [json!(["1", "unknown"])]);
}

#[test]
fn redacted_has_texts_without_secrets() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ";
    machine.change_log(|text| text.replacen("\"prompt\":\"", &format!("\"prompt\":\"{secret} "), 1));
    assert!(machine.log_lines().iter().any(|line| line.to_string().contains(secret)));
    for (privacy, has_secret) in [("redacted", false), ("full", true)] {
        machine.configure_lake(&format!("privacy = \"{privacy}\""));
        let output = machine.ship(&["--dry-run", "--json"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.contains(secret), has_secret, "{privacy}");
        assert!(text.contains("[redacted:") || has_secret);
    }
}

#[test]
fn a_name_that_is_a_sentence_does_not_leave_the_machine() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    let sentence = "please merge the secret branch";
    machine.change_log(|text| text.replace("\"to\":\"team-lead\"", &format!("\"to\":\"{sentence}\"")));
    for (privacy, is_there) in [("full", true), ("metadata", false)] {
        machine.configure_lake(&format!("privacy = \"{privacy}\""));
        let rows = String::from_utf8(machine.ship(&["--dry-run", "--json"]).stdout).unwrap();
        assert_eq!(rows.contains(sentence), is_there, "{privacy}");
    }
}

#[test]
fn pseudonyms_replace_host_user_and_project_and_need_a_private_key() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    let key = machine.dir.join("key");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef").unwrap();
    machine.configure_lake(&format!("pseudonym-key-file = \"{}\"", key.display()));
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let refused = machine.ship(&["--once"]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && message.contains("chmod 600"), "{message}");
    assert!(!machine.lake().exists());
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    machine.ship_all();
    let runs = machine.rows("runs");
    assert!(runs[0]["user_name"].as_str().unwrap().starts_with("user-"));
    assert!(runs[0]["project"].as_str().unwrap().starts_with("project-"));
    assert!(machine.objects().iter().all(|name| !name.contains("=m1/") && name.contains("/host=host-")));
}

#[test]
fn bundles_are_sent_with_texts_only() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("bundles = true");
    assert!(machine.ship_all().contains("bundles are not sent"));
    machine.configure(
        "store = \"{lake}\"\norganization = \"acme\"\nhost = \"m2\"\nbundles = true\nprivacy = \"redacted\"",
    );
    machine.ship_all();
    let bundles: Vec<String> =
        machine.objects().into_iter().filter(|name| name.starts_with("bundles/")).collect();
    assert_eq!(bundles.len(), 1, "{bundles:?}");
    let copy = machine.dir.join("copy.teamkeep");
    let address = format!("file://{}/{}", machine.lake().display(), bundles[0]);
    let fetched = machine.ship(&["fetch", &address, "-o", &copy.display().to_string()]);
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
    assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(machine.lake().join(&bundles[0])).unwrap());
}
