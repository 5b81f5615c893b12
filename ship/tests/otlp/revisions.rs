//! A run that is resumed is sent again, without the items that were sent before and with the same ids.

use std::collections::HashMap;

use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::trace::v1::Span;
use teamkeep_core::config::ShipPrivacy;
use teamkeep_ship::otlp::requests;

use super::sample::{RESOURCE, Sample};
use super::sent::{attribute, metrics, points, records, spans};

#[test]
fn what_had_ended_before_is_left_out_and_ids_stay() {
    let sample = Sample::new();
    let first = requests(&RESOURCE, &sample.export(ShipPrivacy::Full, 60, None));
    let again = requests(&RESOURCE, &sample.export(ShipPrivacy::Full, 90, Some(60)));
    let ids: HashMap<&[u8], &Span> =
        spans(&first).into_iter().map(|span| (span.span_id.as_slice(), span)).collect();
    let names: Vec<&str> = spans(&again).iter().map(|span| span.name.as_str()).collect();
    // Only items that had no end, and the run itself.
    assert_eq!(names, ["invoke_workflow parser", "agent alice", "invoke_agent alice", "task 2"]);
    for span in spans(&again) {
        assert_eq!(ids[span.span_id.as_slice()].name, span.name);
        assert_eq!(ids[span.span_id.as_slice()].trace_id, span.trace_id);
    }
    assert_eq!(records(&again).len(), 0);
}

#[test]
fn records_after_the_previous_revision_keep_their_ids() {
    let sample = Sample::new();
    let ids = |previous| {
        let sent = requests(&RESOURCE, &sample.export(ShipPrivacy::Full, 60, previous));
        let own = records(&sent);
        own.iter().map(|record| attribute(&record.attributes, "teamkeep.id").unwrap()).collect::<Vec<_>>()
    };
    let (all, new) = (ids(None), ids(Some(20)));
    // The incident began before, and lasted longer.
    assert_eq!(new, all[3..]);
}

#[test]
fn metrics_are_complete_and_counts_that_can_fall_are_reset() {
    let sample = Sample::new();
    let again = requests(&RESOURCE, &sample.export(ShipPrivacy::Full, 90, Some(60)));
    let counts: HashMap<&str, usize> =
        metrics(&again).iter().map(|metric| (metric.name.as_str(), points(metric).len())).collect();
    assert_eq!((counts["teamkeep.tasks"], counts["teamkeep.messages"]), (5, 2));
    // Each kind of incident in each severity.
    assert_eq!(counts["teamkeep.incidents"], 48);
}

#[test]
fn tokens_and_money_count_once_if_an_agent_used_another_model_after_a_resume() {
    let mut sample = Sample::new();
    let usage = |sample: &mut Sample, models: &[&str], cost: f64| {
        let lead = &mut sample.report.spending.agents[1];
        assert_eq!(lead.agent, "team-lead");
        lead.models = models.iter().map(ToString::to_string).collect();
        (lead.tokens.output, lead.cost) = (lead.tokens.output * 2, Some(cost));
    };
    usage(&mut sample, &["a"], 0.25);
    let mut sent = requests(&RESOURCE, &sample.export(ShipPrivacy::Full, 60, None));
    usage(&mut sample, &["a", "b"], 0.75);
    sent.extend(requests(&RESOURCE, &sample.export(ShipPrivacy::Full, 90, Some(60))));
    // A receiver keeps the last value of each series.
    let mut last: HashMap<(&str, String), f64> = HashMap::new();
    for metric in metrics(&sent) {
        for point in points(metric) {
            let value = match point.value.unwrap() {
                Number::AsInt(number) => number as f64,
                Number::AsDouble(number) => number,
            };
            last.insert((&metric.name, format!("{:?}", point.attributes)), value);
        }
    }
    let sum =
        |name| last.iter().filter(|((metric, _), _)| *metric == name).map(|(_, value)| value).sum::<f64>();
    let agents = &sample.report.spending.agents;
    let tokens = agents.iter().map(|agent| agent.tokens);
    let tokens: u64 = tokens.map(|one| one.input + one.output + one.cache_read + one.cache_write).sum();
    assert_eq!(sum("teamkeep.tokens"), tokens as f64);
    assert_eq!(sum("teamkeep.cost"), agents.iter().filter_map(|agent| agent.cost).sum::<f64>());
}
