//! Shipping to a directory: complete, once, and without texts unless they are configured.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use support::{Machine, TRACES};

fn texts(rows: &[Value], key: &str) -> BTreeSet<String> {
    rows.iter().map(|row| row[key].as_str().unwrap_or_default().to_owned()).collect()
}

fn sum(rows: &[Value], key: &str) -> i64 {
    rows.iter().filter_map(|row| row[key].as_i64()).sum()
}

/// Compares what arrived with the log and the reports of the runs.
fn assert_complete(machine: &Machine) {
    let (events, lines) = (machine.rows("events"), machine.log_lines());
    assert_eq!(events.len(), lines.len());
    assert_eq!(texts(&events, "id"), texts(&lines, "id"));
    let (runs, reports) = (machine.rows("runs"), machine.reports());
    assert_eq!(runs.len(), reports.len());
    for report in reports {
        let of_run = |table: &str| -> Vec<Value> {
            machine.rows(table).into_iter().filter(|row| row["run"] == report.overview.run.as_str()).collect()
        };
        let run = &of_run("runs")[0];
        let count = &report.overview.count;
        for (key, number) in [
            ("messages", count.messages),
            ("tasks", count.tasks),
            ("completed_tasks", count.completed),
            ("turns", count.turns),
            ("events", count.events),
            ("members", count.members),
        ] {
            assert_eq!(run[key], number, "{key} of {}", report.overview.run);
        }
        assert_eq!(of_run("messages").len(), report.mail.messages.len());
        assert_eq!(of_run("tasks").len(), report.tasks.len());
        assert_eq!(of_run("agents").len(), report.agents.len());
        assert_eq!(of_run("incidents").len(), report.incidents.len());
        let usage = of_run("usage");
        let tokens = report.spending.agents.iter().map(|agent| agent.tokens.output as i64).sum::<i64>();
        assert_eq!(sum(&usage, "output_tokens"), tokens);
        let calls: usize = report.tools.total.values().sum();
        assert_eq!(sum(&of_run("tools"), "calls"), calls as i64);
    }
}

#[test]
fn every_event_and_every_run_of_seven_traces_arrives() {
    let machine = Machine::new();
    TRACES.iter().for_each(|trace| machine.record(trace));
    machine.configure_lake("");
    machine.ship_all();
    assert_complete(&machine);
    let verdicts = machine.rows("verdicts");
    let recorded = machine.log_lines().into_iter().filter(|line| line["event"] == "Verdict").count();
    assert!(recorded > 0);
    assert_eq!(verdicts.len(), recorded);
    assert!(
        machine.objects().iter().all(|name| name.contains("/org=acme/date=") && name.contains("/host=m1/"))
    );
    assert_eq!(machine.rows("runs")[0]["user_name"], "dev");
}

#[test]
fn sending_again_creates_nothing_even_without_the_state() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    machine.ship_all();
    let first = machine.objects();
    assert!(machine.ship_all().contains("sent 0 events and 0 runs"));
    std::fs::remove_dir_all(machine.store().join("ship")).unwrap();
    assert!(machine.ship_all().contains("(0 new objects, 0 KiB)"));
    std::fs::write(machine.store().join("ship/state.json"), "{\"v\":1,\"dest").unwrap();
    assert!(machine.ship_all().contains("(0 new objects, 0 KiB)"));
    assert_eq!(machine.objects(), first);
    assert_complete(&machine);
}

#[test]
fn a_shipper_that_is_killed_at_any_point_loses_nothing_and_sends_nothing_twice() {
    let machine = Machine::new();
    TRACES.iter().for_each(|trace| machine.record(trace));
    machine.configure_lake("");
    let mut killed = 0;
    for round in 0..40 {
        let mut child = machine.shipper(&["--once"]).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round * 7));
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(killed > 5, "only {killed} were killed at work");
    machine.ship_all();
    assert_complete(&machine);
}

#[test]
fn of_two_shippers_at_once_one_sends() {
    let machine = Machine::new();
    TRACES.iter().for_each(|trace| machine.record(trace));
    machine.configure_lake("");
    let spawn = || machine.shipper(&["--once"]).stderr(Stdio::piped()).spawn().unwrap();
    let children: Vec<_> = (0..4).map(|_| spawn()).collect();
    let mut messages = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        messages.push(String::from_utf8(output.stderr).unwrap());
    }
    assert!(messages.iter().any(|message| message.contains("runs (") && !message.contains("sent 0 events")));
    assert_complete(&machine);
}

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
fn a_run_that_cannot_be_read_is_in_the_status() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    let run = machine.catalog().runs[0].run.clone();
    let status = || String::from_utf8(machine.ship(&["status"]).stdout).unwrap();
    assert!(!status().contains("unreadable"), "{}", status());
    std::fs::write(machine.store().join("archive/runs").join(&run).join("run.json"), "{").unwrap();
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
fn a_reader_that_stops_reading_is_no_error() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    let mut child = machine.shipper(&["--dry-run", "--json"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
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
    assert!(plain.contains("is without TLS") && plain.contains("AWS_ALLOW_HTTP=true"), "{plain}");
    for off in ["", "0", "false", "FALSE", "off", "no"] {
        assert_eq!(error(&[&keys[..], &[("AWS_ALLOW_HTTP", off)]].concat()), plain, "{off:?}");
    }
    machine.configure("store = \"az://container\"");
    let azure = error(&[
        ("AZURE_STORAGE_ACCOUNT_NAME", "a"),
        ("AZURE_STORAGE_ACCOUNT_KEY", "a2V5"),
        ("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:9"),
        ("AZURE_ALLOW_HTTP", "0"),
    ]);
    assert!(azure.contains("AZURE_STORAGE_ENDPOINT") && azure.contains("AZURE_ALLOW_HTTP=true"), "{azure}");
    let account = error(&[("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")]);
    assert!(account.contains("set AZURE_STORAGE_ACCOUNT_NAME"), "{account}");
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
    let state = machine.store().join("ship/state.json");
    for damaged in ["{", "{\"v\":2}"] {
        std::fs::write(&state, damaged).unwrap();
        assert!(machine.ship_all().contains(report), "{damaged}");
        assert!(!machine.ship_all().contains(report), "{damaged}");
    }
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
    let log = support::files(&machine.store().join("log"));
    let segment = log.iter().find(|path| path.extension().is_some_and(|kind| kind == "jsonl")).unwrap();
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ";
    let line = std::fs::read_to_string(segment).unwrap().replacen(
        "\"prompt\":\"",
        &format!("\"prompt\":\"{secret} "),
        1,
    );
    assert!(line.contains(secret));
    std::fs::write(segment, line).unwrap();
    for (privacy, has_secret) in [("redacted", false), ("full", true)] {
        machine.configure_lake(&format!("privacy = \"{privacy}\""));
        let output = machine.ship(&["--dry-run", "--json"]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.contains(secret), has_secret, "{privacy}");
        assert!(text.contains("[redacted:") || has_secret);
    }
}

#[test]
fn a_dry_run_sends_nothing_and_shows_the_rows_that_are_sent() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    let output = machine.ship(&["--dry-run", "--json"]);
    assert!(!machine.lake().exists() && !machine.store().join("ship").exists());
    let shown: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    machine.ship_all();
    for table in ["runs", "agents", "tasks", "messages", "verdicts", "usage", "tools", "events"] {
        let rows = machine.rows(table);
        let of_table = shown.iter().filter(|row| row["table"] == table).count();
        assert_eq!(of_table, rows.len(), "{table}");
    }
}

#[test]
fn each_shipment_of_new_lines_has_the_head_of_the_log() {
    let machine = Machine::new();
    machine.record("v328-headless");
    machine.configure_lake("");
    machine.ship_all();
    let heads = machine.rows("heads");
    assert_eq!(heads.len(), 1);
    let last = machine.log_lines().pop().unwrap();
    let chain = last["chain"].as_str().unwrap();
    assert!(chain.starts_with(&format!("{}:", heads[0]["lines"])), "{chain}");
    assert!(chain.ends_with(heads[0]["hash"].as_str().unwrap()), "{chain}");
    machine.ship_all();
    machine.record("v328-notasks");
    machine.ship_all();
    assert_eq!(machine.rows("heads").len(), 2);
}

#[test]
fn a_name_that_is_a_sentence_does_not_leave_the_machine() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    let sentence = "please merge the secret branch";
    for path in support::files(&machine.store().join("log")).iter().filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        std::fs::write(path, text.replace("\"to\":\"team-lead\"", &format!("\"to\":\"{sentence}\"")))
            .unwrap();
    }
    for (privacy, is_there) in [("full", true), ("metadata", false)] {
        machine.configure_lake(&format!("privacy = \"{privacy}\""));
        let rows = String::from_utf8(machine.ship(&["--dry-run", "--json"]).stdout).unwrap();
        assert_eq!(rows.contains(sentence), is_there, "{privacy}");
    }
}

#[test]
fn earlier_data_than_since_is_never_sent() {
    let machine = Machine::new();
    machine.record("v47-inprocess");
    machine.configure_lake("");
    let output = machine.ship(&["--once", "--since", "2099-01-01"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    machine.ship_all();
    assert_eq!((machine.rows("events").len(), machine.rows("runs").len()), (0, 0));
    assert_eq!(machine.objects().iter().filter(|name| name.ends_with("no-rows.parquet")).count(), 10);
    assert_eq!(machine.ship(&["--dry-run", "--json"]).stdout, b"");
    let status = String::from_utf8(machine.ship(&["status"]).stdout).unwrap();
    assert!(status.contains("only data from 2099-01-01"), "{status}");
    let configured = Machine::new();
    configured.record("v47-inprocess");
    configured.configure_lake("since = \"2099-01-01\"");
    let status = String::from_utf8(configured.ship(&["status"]).stdout).unwrap();
    assert!(status.contains("only data from 2099-01-01") && status.contains("not sent: nothing"), "{status}");
    configured.ship_all();
    assert_eq!((configured.rows("events").len(), configured.rows("runs").len()), (0, 0));
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
    assert!(!output.status.success() && message.contains("hint: set `store` or `otlp`"), "{message}");
}

#[test]
fn without_credentials_no_request_is_made() {
    let machine = Machine::new();
    machine.record("v328-headless");
    for store in ["s3://bucket", "gs://bucket", "az://container"] {
        machine.configure(&format!("store = \"{store}\""));
        let mut command = machine.shipper(&["--once"]);
        let output = command.env("AZURE_STORAGE_ACCOUNT_NAME", "account").output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("no credentials") && message.contains("hint: "), "{store}: {message}");
    }
}

#[test]
fn an_object_that_does_not_exist_has_a_hint() {
    let machine = Machine::new();
    let address = format!("file://{}/none", machine.dir.display());
    let output = machine.ship(&["fetch", &address, "--output", "/dev/null"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && message.contains("hint: check the address"), "{message}");
}

#[test]
fn a_broken_configuration_sends_nothing() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("privacy = \"fulll\"");
    assert!(!machine.ship(&["--once"]).status.success());
    assert!(!machine.lake().exists());
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
