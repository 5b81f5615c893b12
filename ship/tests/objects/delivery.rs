//! All data arrives, in one object for each shipment.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use teamkeep_model::time::{self, Timestamp};
use teamkeep_ship::rows::{Common, descriptions};
use teamkeep_store::log::{Appending, SegmentName};

use super::texts;
use crate::support::{Machine, TRACES, parsed};

fn sum(rows: &[Value], key: &str) -> i64 {
    rows.iter().filter_map(|row| row[key].as_i64()).sum()
}

/// Compares the rows that count with the log and the reports of the runs.
pub fn assert_complete(machine: &Machine) {
    let (events, lines) = (machine.rows("events"), machine.log_lines());
    assert_eq!(events.len(), lines.len());
    assert_eq!(texts(&events, "id"), texts(&lines, "id"));
    let (runs, reports) = (machine.rows("runs"), machine.reports());
    assert_eq!(runs.len(), reports.len());
    let tables = ["messages", "tasks", "agents", "turns", "verdicts", "incidents", "usage", "tools"];
    let tables = tables.map(|table| (table, machine.rows(table)));
    for report in reports {
        let id = report.overview.run.as_str();
        let of_run = |table: &str| -> Vec<Value> {
            let (_, rows) = tables.iter().find(|(name, _)| *name == table).unwrap();
            rows.iter().filter(|row| row["run"] == id).cloned().collect()
        };
        let run = runs.iter().find(|row| row["run"] == id).unwrap();
        let count = &report.overview.count;
        for (key, number) in [
            ("messages", count.messages),
            ("tasks", count.tasks),
            ("completed_tasks", count.completed),
            ("turns", count.turns),
            ("events", count.events),
            ("members", count.members),
        ] {
            assert_eq!(run[key], number, "{key} of {id}");
        }
        let verdicts = lines.iter().filter(|line| line["event"] == "Verdict" && line["run"] == id).count();
        for (table, number) in [
            ("messages", report.mail.messages.len()),
            ("tasks", report.tasks.len()),
            ("agents", report.agents.len()),
            ("turns", report.turns.len()),
            ("incidents", report.incidents.len()),
            ("usage", report.spending.agents.len()),
            ("verdicts", verdicts),
        ] {
            assert_eq!(of_run(table).len(), number, "{table} of {id}");
        }
        let tokens = report.spending.agents.iter().map(|agent| agent.tokens.output as i64).sum::<i64>();
        assert_eq!(sum(&of_run("usage"), "output_tokens"), tokens);
        let calls: usize = report.tools.total.values().sum();
        assert_eq!(sum(&of_run("tools"), "calls"), calls as i64);
    }
}

#[test]
fn a_shipment_is_one_object_whose_name_has_the_time_and_the_hash_of_its_content() {
    let machine = Machine::new();
    TRACES.iter().for_each(|trace| machine.record(trace));
    machine.configure_lake("");
    machine.ship_all();
    assert_complete(&machine);
    assert!(!machine.rows("verdicts").is_empty());
    assert_eq!(machine.rows("runs")[0]["user_name"], "dev");

    let objects: Vec<String> = machine.objects().into_iter().collect();
    let [name] = objects.as_slice() else { panic!("{objects:?}") };
    let content = machine.object(name);
    let rows = parsed(&content);
    let at = time::parse(rows[0]["shipped_at"].as_str().unwrap()).unwrap();
    let (day, time) = (at.date(), at.utc().format("%Y%m%dT%H%M%S%3fZ"));
    let hash = blake3::hash(content.as_bytes()).to_hex();
    assert_eq!(*name, format!("rows/org=acme/date={day}/host=m1/{time}-{}.jsonl.gz", &hash[..16]));
    assert!(content.ends_with('\n') && rows.iter().all(|row| row["shipped_at"] == rows[0]["shipped_at"]));

    let last_of =
        |run: &Value| rows.iter().rfind(|row| row["run"] == *run && row["table"] != "events").unwrap();
    for run in rows.iter().filter(|row| row["table"] == "runs") {
        assert_eq!(last_of(&run["run"])["table"], "runs");
    }
    assert_eq!(rows.last().unwrap()["table"], "hosts");
    assert_eq!(rows.iter().filter(|row| row["table"] == "hosts").count(), 1);
}

#[test]
fn rows_have_the_declared_columns_in_their_order_and_with_their_types() {
    let machine = Machine::new();
    TRACES.iter().for_each(|trace| machine.record(trace));
    machine.configure_lake("privacy = \"full\"");
    let mut seen = std::collections::BTreeSet::new();
    for row in parsed(&machine.dry_run()) {
        let row = row.as_object().unwrap();
        let table = row["table"].as_str().unwrap();
        let of_table = descriptions().into_iter().find(|one| one.name == table).unwrap().columns;
        let columns: Vec<[&str; 3]> = Common::COLUMNS.into_iter().chain(of_table).collect();
        let mut rest = columns.iter();
        for (name, value) in row {
            // Null columns are left out, so that some are skipped.
            let [_, kind, _] =
                rest.find(|column| column[0] == name).unwrap_or_else(|| panic!("{table}.{name}"));
            let is_valid = match *kind {
                "string" => value.is_string(),
                "int64" => value.is_i64(),
                "double" => value.is_number(),
                "boolean" => value.is_boolean(),
                "timestamp" => {
                    value.as_str().is_some_and(|text| text.len() == 24 && time::parse(text).is_some())
                }
                "list of strings" => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
                other => panic!("{other}"),
            };
            assert!(is_valid, "{table}.{name}: {value} is not {kind}");
            seen.insert(format!("{table}.{name}"));
        }
        let lists = columns.iter().filter(|[_, kind, _]| *kind == "list of strings");
        lists.for_each(|[name, ..]| assert!(row.contains_key(*name), "{table}.{name}"));
        for [name, ..] in Common::COLUMNS {
            assert!(row.contains_key(name), "{table}.{name}");
        }
    }
    assert!(seen.len() > 150, "{}", seen.len());
    assert_eq!(parsed(&machine.dry_run())[0]["v"], 1);
}

#[test]
fn a_shipment_of_nothing_new_is_no_object_and_after_a_day_of_silence_one_with_only_a_host() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.configure_lake("");
    machine.ship_all();
    assert!(machine.ship_all().starts_with("sent 0 events and 0 runs (0 rows, 0 KiB)"));
    assert_eq!(machine.objects().len(), 1);
    machine.change_state(|destination| destination["at"] = json!("2026-02-03T04:05:06.789Z"));
    machine.ship_all();
    machine.ship_all();
    let objects = machine.objects();
    assert_eq!(objects.len(), 2);
    let rows = parsed(&machine.object(objects.last().unwrap()));
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (&rows[0]["table"], &rows[0]["runs"], &rows[0]["events"]),
        (&json!("hosts"), &json!(0), &json!(0))
    );
    assert_eq!(
        (&rows[0]["heads"], &rows[0]["day"]),
        (&json!([]), &json!(&rows[0]["time"].as_str().unwrap()[..10]))
    );
}

#[test]
fn the_day_of_a_row_is_that_on_which_its_run_began_or_its_event_happened() {
    let machine = Machine::new();
    machine.record("v328-inprocess");
    machine.record("v47-inprocess");
    machine.configure_lake("");
    machine.ship_all();
    let runs = machine.rows("runs");
    let started = |row: &Value| runs.iter().find(|run| run["run"] == row["run"]).unwrap()["time"].clone();
    for table in ["agents", "turns", "tasks", "messages", "usage", "tools", "runs"] {
        for row in machine.rows(table) {
            assert_eq!(row["day"], started(&row).as_str().unwrap()[..10], "{table}");
        }
    }
    machine.rows("events").iter().for_each(|row| assert_eq!(row["day"], row["time"].as_str().unwrap()[..10]));
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
    let dry = parsed(&machine.dry_run());
    assert_eq!(dry.iter().filter(|row| row["table"] == "events").count(), 1, "{dry:?}");
    age(&path);
    machine.ship_all();
    let rows = machine.rows("events");
    assert_eq!((rows.len(), &rows[0]["log"]), (1, &json!("session-no-session")));
    assert_eq!(rows[0].get("line"), None);
    assert_eq!(machine.rows("hosts").last().unwrap()["heads"], json!([]));
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
    let text = machine.ship_in_vain();
    assert!(text.contains("of session-no-session was not sent"), "{text}");
    let own = |id: &str| id.starts_with("own-");
    let ids = texts(&machine.rows("events"), "id");
    assert_eq!(ids.iter().filter(|id| own(id)).collect::<Vec<_>>(), ["own-0"]);
    assert!(ids.len() > 10 && machine.rows("runs").len() == machine.reports().len());
    let heads = &machine.rows("hosts")[0]["heads"];
    assert!(
        heads
            .as_array()
            .unwrap()
            .iter()
            .any(|head| head.as_str().unwrap().starts_with("session-no-session:1:"))
    );
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
    machine.ship_all();
    let nothing = |machine: &Machine| machine.rows("events").is_empty() && machine.rows("runs").is_empty();
    // Only that there is a machine.
    assert!(nothing(&machine) && machine.rows("hosts").len() == 1);
    assert_eq!(machine.dry_run(), "");
    assert!(machine.status().contains("only data from 2099-01-01"), "{}", machine.status());
    let configured = Machine::new();
    configured.record("v47-inprocess");
    configured.configure_lake("since = \"2099-01-01\"");
    let status = configured.status();
    assert!(status.contains("only data from 2099-01-01") && status.contains("not sent: nothing"), "{status}");
    configured.ship_all();
    assert!(nothing(&configured));
}
