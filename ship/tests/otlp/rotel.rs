//! A run is sent to the collector rotel, which prints all that it receives.

use teamkeep_core::config::{OtlpEncoding, ShipPrivacy};
use teamkeep_ship::otlp::{Headers, OtlpTarget, Sender, names, requests};

use super::collector::{Collector, Output};
use super::engines::{Engine, engine};
use super::sample::{RESOURCE, Sample};
use super::sent::{records, spans};

fn received(encoding: OtlpEncoding, privacy: ShipPrivacy) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let mut collector = Collector::start(&engine(Engine::Rotel)?, dir.path(), Output::Printed);
    let target = OtlpTarget { base: collector.base(), encoding, headers: Headers::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sender = Sender::new(&target).unwrap();
    for request in requests(&RESOURCE, &Sample::new().export(privacy, 60, None)) {
        runtime.block_on(sender.send(&request)).unwrap();
    }
    collector.stop();
    Some(collector.printed())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether the output has everything of the sample.
fn check(output: &str) {
    let sent = requests(&RESOURCE, &Sample::new().export(ShipPrivacy::Full, 60, None));
    for span in spans(&sent) {
        assert!(
            output.contains(&span.name) && output.contains(&hex(&span.span_id)),
            "{}: {output}",
            span.name
        );
        assert!(output.contains(&hex(&span.trace_id)), "{}", span.name);
    }
    for record in records(&sent) {
        assert!(output.contains(&record.event_name), "{}: {output}", record.event_name);
    }
    for attribute in names::ATTRIBUTES {
        assert!(output.contains(attribute.name), "{}: {output}", attribute.name);
    }
    for metric in names::METRICS {
        assert!(output.contains(metric.name), "{}: {output}", metric.name);
    }
}

#[test]
fn a_collector_receives_protobuf() {
    if let Some(output) = received(OtlpEncoding::Protobuf, ShipPrivacy::Full) {
        check(&output);
    }
}

#[test]
fn a_collector_receives_json() {
    if let Some(output) = received(OtlpEncoding::Json, ShipPrivacy::Full) {
        check(&output);
    }
}

#[test]
fn a_collector_receives_no_text_in_metadata_mode() {
    if let Some(output) = received(OtlpEncoding::Protobuf, ShipPrivacy::Metadata) {
        assert!(
            output.contains("invoke_workflow parser") && !output.contains(super::sample::PLANTED),
            "{output}"
        );
    }
}
