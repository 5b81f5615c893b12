//! Rows are sent to the collector rotel, which prints all that it receives.

use super::collector::{Collector, Output};
use super::engines::{Engine, engine};
use super::receiver::Receiver;
use super::sent::{attributes, records, spans};
use crate::machine;

#[test]
fn a_collector_receives_everything_that_a_receiver_does() {
    let Some(program) = engine(Engine::Rotel) else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut collector = Collector::start(&program, dir.path(), Output::Printed);
    let receiver = Receiver::start();
    let machine = machine(&["v328-inprocess", "v328-panes"], &receiver, "otlp-signals = \"both\"");
    machine.ship_all();
    machine.configure_lake(&format!("otlp-signals = \"both\"\notlp = \"{}\"", collector.base()));
    machine.ship_all();
    collector.stop();
    let printed = collector.printed();
    let requests = receiver.requests();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for span in spans(&requests) {
        for part in [span.name.clone(), hex(&span.span_id), hex(&span.trace_id)] {
            assert!(printed.contains(&part), "{part} of {}", span.name);
        }
    }
    for record in records(&requests).iter().filter(|record| record.event_name != "teamkeep.hosts") {
        let attributes = attributes(&record.attributes);
        let id = attributes["log.record.uid"].as_str().unwrap();
        assert!(printed.contains(id) && printed.contains(&record.event_name), "{id}");
        attributes.keys().for_each(|name| assert!(printed.contains(name), "{name}"));
    }
}
