//! The names and texts that leave the machine.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use super::receiver::Receiver;
use super::sent::{attributes, records, spans};
use super::texts;
use crate::support::{Machine, TRACES, parsed};

/// All texts of more than a few words in payloads of the log, which a user, an agent or a program wrote: each as a part that has the same
/// characters in JSON.
fn texts_of_payloads(machine: &Machine) -> BTreeSet<String> {
    fn collect(value: &Value, all: &mut BTreeSet<String>) {
        match value {
            Value::String(text) => {
                let parts = text.split(['"', '\\', '\n', '\t', '\r', '\u{1b}']);
                all.extend(parts.filter(|part| part.len() > 12 && part.contains(' ')).map(str::to_owned));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, all)),
            Value::Object(fields) => fields.values().for_each(|field| collect(field, all)),
            _ => {}
        }
    }
    let mut all = BTreeSet::new();
    for line in machine.log_lines() {
        collect(&line["payload"], &mut all);
        collect(&line["verdict"]["reason"], &mut all);
    }
    for report in machine.reports() {
        collect(&serde_json::to_value(&report.mail.messages).unwrap(), &mut all);
        collect(&serde_json::to_value(&report.incidents).unwrap(), &mut all);
        report.tasks.iter().for_each(|task| collect(&json!([task.subject, task.description]), &mut all));
    }
    all
}

#[test]
fn metadata_has_no_text_in_any_destination_and_full_has_all() {
    let machine = Machine::new();
    TRACES.iter().for_each(|trace| machine.record(trace));
    let texts = texts_of_payloads(&machine);
    assert!(texts.len() > 400, "{}", texts.len());
    for (privacy, is_sent) in [("metadata", false), ("full", true)] {
        let receiver = Receiver::start();
        let dir = machine.dir.join(format!("rows-{privacy}"));
        let more = format!(
            "privacy = \"{privacy}\"\notlp = \"{}\"\notlp-signals = \"both\"\ndirectory = \"{}\"",
            receiver.base,
            dir.display()
        );
        let _ = std::fs::remove_file(machine.state());
        let _ = std::fs::remove_dir_all(machine.lake());
        machine.configure_lake(&more);
        machine.ship_all();
        let in_store: String = machine.objects().iter().map(|name| machine.object(name)).collect();
        let in_directory = std::fs::read_to_string(dir.join("teamkeep-rows.jsonl")).unwrap();
        let requests = receiver.requests();
        let mut otlp = String::new();
        for record in records(&requests) {
            otlp += &Value::Object(attributes(&record.attributes)).to_string();
            otlp += &format!("{:?}", record.body);
        }
        for span in spans(&requests) {
            otlp += &format!("{} {}", span.name, Value::Object(attributes(&span.attributes)));
        }
        let mut found = [0; 3];
        for text in &texts {
            for (count, sent) in found.iter_mut().zip([&in_store, &in_directory, &otlp]) {
                let is_there = sent.contains(text.as_str());
                assert!(!is_there || is_sent, "{privacy}: {text}");
                *count += usize::from(is_there);
            }
        }
        // A receiver gets texts up to a maximum length, with other escapes.
        assert!(
            !is_sent || found[0] == found[1] && found[0] * 10 > texts.len() * 9 && found[2] > 100,
            "{found:?} of {}",
            texts.len()
        );
        for sent in [in_store, in_directory, otlp] {
            assert_eq!(sent.contains("/home/"), is_sent, "{privacy}");
        }
    }
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
        let tasks = parsed(&machine.dry_run()).into_iter().map(|row| row["blocked_by"].clone());
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
        let text = machine.dry_run();
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
        assert_eq!(machine.dry_run().contains(sentence), is_there, "{privacy}");
    }
}

#[test]
fn only_the_name_of_a_projects_directory_is_sent() {
    let machine = Machine::new();
    let [unix, windows] =
        ["/home/dev/parser", r"C:\\\\Users\\\\dev\\\\parser"].map(|dir| format!(r#"\"cwd\": \"{dir}\""#));
    machine.record("v328-inprocess");
    machine.record_with("v328-notasks", |trace| {
        assert!(trace.contains(&unix));
        trace.replace(&unix, &windows)
    });
    machine.configure_lake("privacy = \"metadata\"");
    machine.ship_all();
    let runs = machine.rows("runs");
    assert_eq!(runs.iter().map(|run| &run["project"]).collect::<Vec<_>>(), ["parser", "parser"]);
}

#[test]
fn pseudonyms_replace_host_user_and_project_and_need_a_private_key() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    let key = machine.dir.join("key");
    std::fs::write(&key, "0123456789abcdef0123456789abcdef").unwrap();
    machine.configure_lake(&format!("pseudonym-key-file = \"{}\"", key.display()));
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let message = machine.ship_in_vain();
    assert!(message.contains("chmod 600"), "{message}");
    assert!(!machine.lake().exists());
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    machine.ship_all();
    let runs = machine.rows("runs");
    assert!(runs[0]["user_name"].as_str().unwrap().starts_with("user-"));
    assert!(runs[0]["project"].as_str().unwrap().starts_with("project-"));
    assert_eq!(machine.rows("hosts")[0]["user_name"], runs[0]["user_name"]);
    assert!(machine.objects().iter().all(|name| !name.contains("=m1/") && name.contains("/host=host-")));
}
