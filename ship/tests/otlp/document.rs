//! `docs/organization/opentelemetry.md` has the names that are sent. `TEAMKEEP_GENERATE=1` updates its tables.

use std::collections::BTreeSet;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use teamkeep_core::config::ShipPrivacy;
use teamkeep_ship::otlp::names::{self, ATTRIBUTES, METRICS};
use teamkeep_ship::otlp::{Request, requests};

use super::sample::{RESOURCE, Sample};
use super::sent::{metrics, points, records, spans};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/organization/opentelemetry.md");

/// Replaces the lines between the markers of a table.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let marker = |edge: &str| format!("<!-- {edge} {name} -->\n");
    let (before, rest) = page.split_once(&marker("begin")).unwrap();
    let (_, after) = rest.split_once(&marker("end")).unwrap();
    format!("{before}{}{table}{}{after}", marker("begin"), marker("end"))
}

fn attribute_table() -> String {
    let rows = ATTRIBUTES.iter().map(|attribute| {
        let text = if attribute.is_text { " (text)" } else { "" };
        let (name, on, origin) = (attribute.name, attribute.on, attribute.origin.name());
        format!("| `{name}` | {on} | {origin} | {}{text} |\n", attribute.meaning)
    });
    format!("| Attribute | On | Conventions | Meaning |\n|---|---|---|---|\n{}", rows.collect::<String>())
}

fn metric_table() -> String {
    let rows = METRICS.iter().map(|metric| {
        let attributes: Vec<String> = metric.attributes.iter().map(|name| format!("`{name}`")).collect();
        let (name, unit, instrument) = (metric.name, metric.unit, metric.instrument.name());
        format!("| `{name}` | {instrument} | `{unit}` | {} | {} |\n", metric.meaning, attributes.join(", "))
    });
    format!(
        "| Metric | Kind | Unit | Meaning | Attributes |\n|---|---|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

#[test]
fn the_page_lists_every_attribute_and_metric() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let expected = with_table(&page, "attributes", &attribute_table());
    let expected = with_table(&expected, "metrics", &metric_table());
    if std::env::var_os("TEAMKEEP_GENERATE").is_some() {
        std::fs::write(PAGE, &expected).unwrap();
        return;
    }
    assert_eq!(
        page, expected,
        "to update it: TEAMKEEP_GENERATE=1 cargo test -p teamkeep-ship --test otlp document"
    );
    for name in [names::MESSAGE, names::VERDICT, names::INCIDENT, names::TASK_CHANGED] {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn everything_that_is_sent_is_listed_and_the_other_way_round() {
    let sample = Sample::new();
    let sent = requests(&RESOURCE, &sample.export(ShipPrivacy::Full, 60, None));
    let names = keys(&sent);
    assert_eq!(names, ATTRIBUTES.iter().map(|attribute| attribute.name.to_owned()).collect());
    // Without texts, all but the texts.
    let metadata = keys(&requests(&RESOURCE, &sample.export(ShipPrivacy::Metadata, 60, None)));
    let others = ATTRIBUTES.iter().filter(|attribute| !attribute.is_text);
    assert_eq!(metadata, others.map(|attribute| attribute.name.to_owned()).collect());
    for (metric, listed) in metrics(&sent).iter().zip(METRICS) {
        assert_eq!((metric.name.as_str(), metric.unit.as_str()), (listed.name, listed.unit));
        for point in points(metric) {
            let own = point.attributes.iter().map(|attribute| attribute.key.as_str());
            let own: Vec<&str> = own.filter(|key| ![names::RUN_ID, names::TEAM].contains(key)).collect();
            assert!(own.iter().all(|key| listed.attributes.contains(key)), "{}: {own:?}", metric.name);
        }
    }
    assert_eq!(metrics(&sent).len(), METRICS.len());
}

/// The names of all attributes.
fn keys(sent: &[Request]) -> BTreeSet<String> {
    let mut lists: Vec<&[KeyValue]> = Vec::new();
    for request in sent {
        lists.extend(resources(request));
    }
    for span in spans(sent) {
        lists.push(&span.attributes);
        lists.extend(span.events.iter().map(|event| event.attributes.as_slice()));
        lists.extend(span.links.iter().map(|link| link.attributes.as_slice()));
    }
    lists.extend(records(sent).into_iter().map(|record| record.attributes.as_slice()));
    lists.extend(metrics(sent).into_iter().flat_map(points).map(|point| point.attributes.as_slice()));
    lists.iter().flat_map(|list| list.iter().map(|attribute| attribute.key.clone())).collect()
}

fn resources(request: &Request) -> Vec<&[KeyValue]> {
    let resources: Vec<_> = match request {
        Request::Traces(request) => request.resource_spans.iter().map(|one| &one.resource).collect(),
        Request::Logs(request) => request.resource_logs.iter().map(|one| &one.resource).collect(),
        Request::Metrics(request) => request.resource_metrics.iter().map(|one| &one.resource).collect(),
    };
    resources.into_iter().flatten().map(|resource| resource.attributes.as_slice()).collect()
}
