//! All data arrives, once.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use teamkeep_core::store::log::{Appending, SegmentName};
use teamkeep_core::sys::clock::Timestamp;

use super::texts;
use crate::support::{Machine, TRACES, files};

fn sum(rows: &[Value], key: &str) -> i64 {
    rows.iter().filter_map(|row| row[key].as_i64()).sum()
}

/// Compares what arrived with the log and the reports of the runs.
pub fn assert_complete(machine: &Machine) {
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
    std::fs::remove_file(machine.store().join("shipping.json")).unwrap();
    assert!(machine.ship_all().contains("(0 new objects, 0 KiB)"));
    std::fs::write(machine.store().join("shipping.json"), "{\"v\":1,\"dest").unwrap();
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
fn of_several_shippers_at_once_one_sends() {
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
    // A shipper that starts after the one that sends finds nothing to send.
    let is_sender =
        |message: &&String| message.contains("runs (") && !message.contains("sent 0 events and 0 runs");
    assert_eq!(messages.iter().filter(is_sender).count(), 1, "{messages:?}");
    assert_complete(&machine);
}

#[test]
fn a_dry_run_sends_nothing_and_shows_the_rows_that_are_sent() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    let output = machine.ship(&["--dry-run", "--json"]);
    assert!(!machine.lake().exists() && !machine.store().join("shipping.json").exists());
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

/// The heads in the table `events`.
fn shipped_heads(machine: &Machine) -> BTreeSet<String> {
    machine.rows("events").iter().filter_map(|row| row["head"].as_str().map(str::to_owned)).collect()
}

#[test]
fn each_shipment_of_new_lines_has_the_head_of_each_log() {
    let machine = Machine::new();
    machine.configure_lake("");
    machine.record("v328-headless");
    machine.ship_all();
    let first = machine.heads();
    assert!(!first.is_empty());
    assert_eq!(shipped_heads(&machine), first);
    machine.record("v328-notasks");
    machine.ship_all();
    let all = machine.heads();
    assert!(all.len() > first.len());
    assert_eq!(shipped_heads(&machine), all);
}

#[test]
fn the_lines_of_a_log_that_continues_are_sent_once_with_each_head() {
    let machine = Machine::new();
    machine.configure_lake("");
    let log = machine.logs().session(None);
    let (mut expected, patience) = (BTreeSet::new(), Duration::from_secs(60));
    let how = Appending { segment_size: 1 << 20, patience, durable: false };
    for round in 1..=3 {
        for number in 0..2 {
            let line = json!({"v": 1, "at": "2026-02-03T04:05:06.789Z", "id": format!("{round}-{number}"), "event": "E"});
            log.append(line.to_string().as_bytes(), Timestamp::default(), how).unwrap();
        }
        expected.insert(format!("session-no-session:{}", log.head().unwrap()));
        machine.ship_all();
        assert_eq!((machine.rows("events").len(), shipped_heads(&machine)), (2 * round, expected.clone()));
        log.compress().unwrap();
    }
    let prefix = "events/org=acme/date=2026-02-03/host=m1/session-no-session-0000000000";
    let objects = machine.objects();
    assert_eq!(objects.iter().filter(|name| name.starts_with(prefix)).count(), 3, "{objects:?}");
    std::fs::remove_file(machine.store().join("shipping.json")).unwrap();
    assert!(machine.ship_all().contains("(0 new objects, 0 KiB)"));
}

#[test]
fn the_line_of_a_writer_without_the_lock_is_sent_when_it_is_a_minute_old() {
    let machine = Machine::new();
    machine.configure_lake("");
    let log = machine.logs().session(None);
    std::fs::create_dir_all(log.dir()).unwrap();
    let name = SegmentName::single(Timestamp::default()).to_string();
    let path = log.dir().join(&name);
    std::fs::write(&path, "{\"v\":1,\"at\":\"2026-02-03T04:05:06.789Z\",\"id\":\"i\",\"event\":\"E\"}\n")
        .unwrap();
    machine.ship_all();
    assert_eq!(machine.rows("events").len(), 0);
    let dry = String::from_utf8(machine.ship(&["--dry-run", "--json"]).stdout).unwrap();
    assert_eq!(dry.lines().count(), 1, "{dry}");
    age(&path);
    machine.ship_all();
    let rows = machine.rows("events");
    assert_eq!((rows.len(), &rows[0]["head"]), (1, &Value::Null));
    assert_eq!(rows[0]["segment"], format!("session-no-session/{name}"));
    let object = name.replace("events-", "session-no-session-").replace(".jsonl", "-0.parquet");
    let expected = format!("events/org=acme/date=2026-02-03/host=m1/{object}");
    assert!(machine.objects().contains(&expected), "{:?}", machine.objects());
    assert!(machine.ship_all().contains("sent 0 events"));
}

/// Sets the modification time of a file back by an hour.
fn age(path: &Path) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let now = file.metadata().unwrap().modified().unwrap();
    file.set_modified(now - Duration::from_secs(3_600)).unwrap();
}

#[test]
fn the_events_after_a_damaged_first_line_are_sent() {
    let machine = Machine::new();
    machine.configure_lake("");
    machine.record("v328-inprocess");
    let lines = machine.log_lines().len();
    machine.change_log(|text| format!("{}\n{text}", "x".repeat(100)));
    let sent = machine.ship_all();
    assert!(sent.contains("1 line of the log cannot be read"), "{sent}");
    assert_eq!(machine.rows("events").len(), lines);
    let object = format!("events/org=acme/date=1970-01-01/host=m1/{}-", machine.log().owner);
    assert!(machine.objects().iter().any(|name| name.starts_with(&object)), "{:?}", machine.objects());
}

#[test]
fn a_segment_that_cannot_be_read_keeps_only_the_later_ones_of_its_log_from_being_sent() {
    let machine = Machine::new();
    machine.configure_lake("");
    machine.record("v328-inprocess");
    let log = machine.logs().session(None);
    let how = Appending { segment_size: 1, patience: Duration::from_secs(60), durable: false };
    for number in 0..3 {
        let line =
            json!({"v": 1, "at": "2026-02-03T04:05:06.789Z", "id": format!("own-{number}"), "event": "E"});
        log.append(line.to_string().as_bytes(), Timestamp::default(), how).unwrap();
    }
    let second = log.segments().unwrap().remove(1).path();
    let whole = std::fs::read(&second).unwrap();
    std::fs::remove_file(&second).unwrap();
    // It cannot be opened, whoever runs the test.
    let packed = second.with_extension("jsonl.gz");
    std::fs::write(&packed, "no gzip").unwrap();
    let output = machine.ship(&["--once"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("of session-no-session was not sent"), "{text}");
    let own = |id: &str| id.starts_with("own-");
    let ids = texts(&machine.rows("events"), "id");
    assert_eq!(ids.iter().filter(|id| own(id)).collect::<Vec<_>>(), ["own-0"]);
    assert!(ids.len() > 10 && machine.rows("runs").len() == machine.reports().len());
    std::fs::remove_file(&packed).unwrap();
    std::fs::write(&second, whole).unwrap();
    machine.ship_all();
    assert_complete(&machine);
}

#[test]
fn earlier_data_than_since_is_never_sent() {
    let machine = Machine::new();
    machine.record("v47-inprocess");
    machine.configure_lake("");
    let output = machine.ship(&["--once", "--since", "2099-01-01"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let empty = files(&machine.lake().join("runs"));
    assert_eq!(empty.len(), 1);
    std::fs::remove_file(&empty[0]).unwrap();
    machine.ship_all();
    // Objects without rows are created once.
    assert!(!empty[0].exists());
    assert_eq!((machine.rows("events").len(), machine.rows("runs").len()), (0, 0));
    assert_eq!(machine.objects().iter().filter(|name| name.ends_with("no-rows.parquet")).count(), 8);
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
