//! Every row is a log record.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use serde_json::{Map, Value, json};
use teamkeep_model::time;
use teamkeep_ship::otlp::CONVENTIONS;
use teamkeep_ship::rows::{Common, descriptions};

use super::machine;
use super::receiver::Receiver;
use super::sent::{attribute, attributes, records, resources};
use crate::support::TRACES;

/// The ID by which a receiver can drop duplicates.
const ID: &str = "log.record.uid";

/// The names of the attributes with a column.
fn name_of(column: &str) -> String {
    let known = CONVENTIONS.iter().find(|(name, _)| *name == column);
    known.map_or_else(|| format!("teamkeep.{column}"), |(_, name)| (*name).to_owned())
}

fn nanos(time: &Value) -> u64 {
    let time = time.as_str().map(|text| time::parse(text).unwrap().millis());
    u64::try_from(time.unwrap_or_default()).unwrap() * 1_000_000
}

/// A text as it is sent, at most so many bytes long.
fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        text.to_owned()
    } else {
        format!("{}…", &text[..text.floor_char_boundary(max - 3)])
    }
}

/// A row without the values that are in the resource, and those that differ between two shipments.
fn comparable(row: &Value) -> String {
    let mut row = row.as_object().unwrap().clone();
    let body = ["text", "reason", "payload", "summary"].iter().find_map(|name| row.shift_remove(*name));
    let table = row["table"].as_str().unwrap().to_owned();
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    for (column, value) in &row {
        let is_elsewhere =
            ["table", "v", "org", "host", "store", "shipped_at", "time"].contains(&column.as_str());
        if !is_elsewhere && *value != json!([]) {
            let value = value.as_str().map_or_else(|| value.clone(), |text| json!(cut(text, 4 << 10)));
            all.insert(name_of(column), value);
        }
    }
    let body = body.map(|body| cut(body.as_str().unwrap(), 64 << 10));
    format!("{table} {} {} {body:?}", nanos(row.get("time").unwrap_or(&Value::Null)), json!(all))
}

/// The same of a record.
fn comparable_record(record: &LogRecord) -> String {
    let table = record.event_name.strip_prefix("teamkeep.").unwrap();
    let mut all: BTreeMap<String, Value> = attributes(&record.attributes).into_iter().collect();
    all.remove(ID).unwrap();
    let body = record.body.as_ref().map(|body| match body.value.as_ref().unwrap() {
        Any::StringValue(text) => text.clone(),
        other => panic!("{other:?}"),
    });
    format!("{table} {} {} {body:?}", record.time_unix_nano, json!(all))
}

#[test]
fn every_row_is_one_record_with_the_same_values() {
    for privacy in ["metadata", "full"] {
        let receiver = Receiver::start();
        let machine = machine(&TRACES, &receiver, &format!("privacy = \"{privacy}\""));
        machine.ship_all();
        let tables = descriptions().map(|table| table.name);
        let is_compared = |row: &String| !row.starts_with("hosts ");
        let rows = tables.iter().flat_map(|table| machine.rows(table)).map(|row| comparable(&row));
        let mut rows: Vec<String> = rows.filter(is_compared).collect();
        let requests = receiver.requests();
        assert!(requests.len() > 1 && records(std::slice::from_ref(&requests[0])).len() <= 1_000);
        let all = records(&requests);
        let mut received: Vec<String> =
            all.iter().map(|record| comparable_record(record)).filter(is_compared).collect();
        rows.sort();
        received.sort();
        assert_eq!(received.len(), rows.len());
        received.iter().zip(&rows).for_each(|(received, row)| assert_eq!(received, row));
        // The state of the machine has other numbers at each destination.
        let host = all.last().unwrap();
        assert_eq!(
            (host.event_name.as_str(), host.time_unix_nano),
            ("teamkeep.hosts", host.observed_time_unix_nano)
        );
        assert_eq!(attribute(&host.attributes, "user.id").unwrap(), "dev");

        let ids: BTreeSet<_> = all.iter().map(|record| attribute(&record.attributes, ID).unwrap()).collect();
        assert_eq!(ids.len(), all.len());
        let store = machine.rows("hosts")[0]["store"].clone();
        let expected = json!({"service.name": "teamkeep", "service.version": env!("CARGO_PKG_VERSION"),
            "host.name": "m1", "teamkeep.organization": "acme", "teamkeep.store": store});
        assert!(resources(&requests).iter().all(|resource| Value::Object(resource.clone()) == expected));
    }
}

#[test]
fn a_repeated_record_has_the_same_id_and_content_but_for_the_time_of_the_shipment() {
    let receiver = Receiver::start();
    let machine = machine(&["v328-inprocess", "v328-panes"], &receiver, "privacy = \"full\"");
    machine.ship_all();
    let first = receiver.requests();
    std::fs::remove_file(machine.state()).unwrap();
    machine.ship_all();
    let both = receiver.requests();
    let keyed = |record: &&LogRecord| {
        let record = LogRecord { observed_time_unix_nano: 0, ..(*record).clone() };
        (record.event_name != "teamkeep.hosts")
            .then(|| (attribute(&record.attributes, ID).unwrap(), format!("{record:?}")))
    };
    let once: BTreeMap<_, _> = records(&first).iter().filter_map(keyed).collect();
    let twice: Vec<_> = records(&both).iter().filter_map(keyed).collect();
    assert_eq!(twice.len(), 2 * once.len());
    assert_eq!(twice.into_iter().collect::<BTreeMap<_, _>>(), once);
}

#[test]
fn records_of_incidents_and_blocks_have_their_severity() {
    let receiver = Receiver::start();
    machine(&TRACES, &receiver, "").ship_all();
    let requests = receiver.requests();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for record in records(&requests) {
        let text = |name: &str| attribute(&record.attributes, name);
        let expected = match (text("teamkeep.severity").as_deref(), text("teamkeep.decision").as_deref()) {
            (Some("high"), _) => "ERROR",
            (Some("medium"), _) | (_, Some("block")) => "WARN",
            _ => "INFO",
        };
        assert_eq!(record.severity_text, expected);
        *found.entry(expected.to_owned()).or_default() += 1;
    }
    assert!(found.len() == 3, "{found:?}");
}

#[test]
fn the_page_lists_every_attribute_that_is_not_named_after_a_column() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/organization/opentelemetry.md");
    let page = std::fs::read_to_string(page).unwrap();
    let receiver = Receiver::start();
    let machine = machine(&TRACES, &receiver, "privacy = \"full\"\notlp-signals = \"both\"");
    machine.change_logs_with_spans();
    machine.ship_all();
    let requests = receiver.requests();
    let mut sent: BTreeSet<String> = BTreeSet::new();
    let mut add = |all: Map<String, Value>| sent.extend(all.into_iter().map(|(name, _)| name));
    resources(&requests).into_iter().for_each(&mut add);
    records(&requests).iter().for_each(|record| add(attributes(&record.attributes)));
    for span in super::sent::spans(&requests) {
        add(attributes(&span.attributes));
        span.links.iter().for_each(|link| add(attributes(&link.attributes)));
    }
    let columns = descriptions().into_iter().flat_map(|table| table.columns).chain(Common::COLUMNS);
    let columns: BTreeSet<String> = columns.map(|[name, ..]| format!("teamkeep.{name}")).collect();
    for name in sent.difference(&columns) {
        assert!(page.contains(&format!("`{name}`")), "docs/organization/opentelemetry.md lacks `{name}`");
    }
    assert!(sent.len() > 80, "{sent:?}");
}
