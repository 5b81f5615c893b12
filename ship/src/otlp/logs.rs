//! The log records of a run: messages, verdicts and incidents.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber};
use teamkeep::report::{Incident, MessageRow, Severity};
use teamkeep_core::client::json;
use teamkeep_core::policy::Decision;
use teamkeep_core::sys::clock::Timestamp;

use super::attributes::{Attributes, body, nanos, word};
use super::batch::batches;
use super::ids::{Item, ItemId, ItemIds};
use super::run_context::{RunContext, bare};
use super::{Request, Resource, RunExport, names};
use crate::verdicts::RunVerdict;

/// Flags of a log record: its trace is sampled.
const SAMPLED: u32 = 1;

/// The log records of a run that were not sent before, by time.
pub fn logs(resource: &Resource<'_>, export: &RunExport<'_>) -> Vec<Request> {
    let context = RunContext::new(resource, export);
    let mut records = message_records(&context);
    records.extend(verdict_records(&context));
    records.extend(incident_records(&context));
    records.sort_by_key(|record| record.time_unix_nano);
    let request = |log_records| {
        let scope = Some(resource.scope());
        let scope_logs = vec![ScopeLogs { scope, log_records, ..ScopeLogs::default() }];
        let resource = Some(resource.to_otlp());
        let resource_logs = vec![ResourceLogs { resource, scope_logs, ..ResourceLogs::default() }];
        Request::Logs(ExportLogsServiceRequest { resource_logs })
    };
    batches(records).into_iter().map(request).collect()
}

/// The fields in which the three kinds of records differ.
struct Draft<'a> {
    name: &'static str,
    at: Timestamp,
    severity: SeverityNumber,
    id: ItemId,
    span: ItemId,
    text: Option<&'a str>,
    attributes: Attributes,
}

impl Draft<'_> {
    fn finish(self, context: &RunContext<'_>) -> LogRecord {
        let severity_text = match self.severity {
            SeverityNumber::Debug => "DEBUG",
            SeverityNumber::Info => "INFO",
            SeverityNumber::Warn => "WARN",
            _ => "ERROR",
        };
        let id = Attributes::default().text(names::ID, self.id.hex());
        LogRecord {
            time_unix_nano: nanos(self.at),
            observed_time_unix_nano: nanos(self.at),
            severity_number: self.severity.into(),
            severity_text: severity_text.to_owned(),
            body: self.text.map(body),
            attributes: id.all(&context.conversation_attributes()).all(&self.attributes).into_list(),
            flags: SAMPLED,
            trace_id: context.ids.trace(),
            span_id: self.span.bytes(),
            event_name: self.name.to_owned(),
            ..LogRecord::default()
        }
    }
}

fn message_records(context: &RunContext<'_>) -> Vec<LogRecord> {
    let mut ids = ItemIds::new(&context.ids, Item::Message);
    let messages = context.export.report.mail.messages.iter().map(|message| {
        let at = message.at.millis().to_string();
        (message, ids.next(&[&at, &message.from, &message.to, &message.kind]))
    });
    let new = messages.filter(|(message, _)| context.export.is_new(message.at));
    new.map(|(message, id)| message_draft(context, message, id).finish(context)).collect()
}

fn message_draft<'a>(context: &'a RunContext<'_>, message: &'a MessageRow, id: ItemId) -> Draft<'a> {
    let text = |text: &'a Option<String>| context.export.text(text.as_deref()?);
    let attributes = Attributes::default()
        .text(names::AGENT_NAME, bare(&message.from))
        .text(names::MESSAGE_TO, context.name(&message.to))
        .text(names::MESSAGE_KIND, word(&message.kind))
        .count(names::MESSAGE_CHARS, message.chars)
        .maybe_flag(names::MESSAGE_AUTOMATIC, Some(message.automatic))
        .maybe_flag(names::MESSAGE_DELIVERED, message.delivered)
        .maybe_flag(names::MESSAGE_REJECTED, Some(message.refused.is_some()))
        .flag(names::MESSAGE_BLOCKED, message.blocked)
        .maybe(names::MESSAGE_SUMMARY, text(&message.summary))
        .maybe(names::MESSAGE_REJECTION, text(&message.refused));
    Draft {
        name: names::MESSAGE,
        at: message.at,
        severity: match () {
            () if message.refused.is_some() => SeverityNumber::Warn,
            () if message.automatic => SeverityNumber::Debug,
            () => SeverityNumber::Info,
        },
        id,
        span: context.span_at(bare(&message.from), message.at),
        text: context.export.text(&message.text),
        attributes,
    }
}

fn verdict_records(context: &RunContext<'_>) -> Vec<LogRecord> {
    let mut ids = ItemIds::new(&context.ids, Item::Verdict);
    let verdicts = context.export.verdicts.iter().map(|verdict| {
        let at = verdict.at.millis().to_string();
        (verdict, ids.next(&[&at, &verdict.event, &verdict.gate]))
    });
    let new = verdicts.filter(|(verdict, _)| context.export.is_new(verdict.at));
    new.map(|(verdict, id)| verdict_draft(context, verdict, id).finish(context)).collect()
}

fn verdict_draft<'a>(context: &RunContext<'_>, verdict: &'a RunVerdict, id: ItemId) -> Draft<'a> {
    let attributes = Attributes::default()
        .text(names::AGENT_NAME, &verdict.agent)
        .maybe(names::AGENT_ID, verdict.agent_id.as_ref())
        .text(names::VERDICT_DECISION, json::serde_name(&verdict.decision))
        .text(names::VERDICT_GATE, &verdict.gate)
        .text(names::VERDICT_EVENT, &verdict.event)
        .maybe_count(names::VERDICT_BLOCKS, verdict.blocks)
        .flag(names::VERDICT_PAUSED, verdict.paused)
        .flag(names::VERDICT_REPEATED, verdict.repeated);
    Draft {
        name: names::VERDICT,
        at: verdict.at,
        severity: match verdict.decision {
            Decision::Block => SeverityNumber::Warn,
            Decision::Warn => SeverityNumber::Info,
            Decision::Allow => SeverityNumber::Debug,
        },
        id,
        span: context.span_at(&verdict.agent, verdict.at),
        text: context.export.text(&verdict.reason),
        attributes,
    }
}

fn incident_records(context: &RunContext<'_>) -> Vec<LogRecord> {
    let mut ids = ItemIds::new(&context.ids, Item::Incident);
    let incidents =
        context.export.report.incidents.iter().map(|incident| (incident, ids.next(&[&incident.id])));
    let end = context.export.end();
    let new = incidents.filter(|(incident, _)| context.export.is_new(incident.to.unwrap_or(end)));
    new.map(|(incident, id)| incident_draft(context, incident, id).finish(context)).collect()
}

fn incident_draft<'a>(context: &RunContext<'_>, incident: &'a Incident, id: ItemId) -> Draft<'a> {
    let cause = incident.agents.first().map(|agent| context.name(agent));
    let remedy = incident.remedy.as_deref().and_then(|remedy| context.export.text(remedy));
    let attributes = Attributes::default()
        .maybe(names::AGENT_NAME, cause)
        .text(names::INCIDENT_ID, &incident.id)
        .text(names::INCIDENT_KIND, incident.kind.name())
        .text(names::INCIDENT_SEVERITY, incident.severity.name())
        .texts(names::INCIDENT_AGENTS, incident.agents.iter().map(|agent| context.name(agent)))
        .texts(names::INCIDENT_TASKS, &incident.tasks)
        .count(names::INCIDENT_SECONDS, incident.cost.seconds)
        .count(names::INCIDENT_TASKS_LOST, incident.cost.tasks_lost)
        .maybe_count(names::INCIDENT_TOKENS, incident.cost.tokens)
        .maybe_double(names::INCIDENT_COST, incident.cost.usd)
        .maybe(names::INCIDENT_REMEDY, remedy);
    Draft {
        name: names::INCIDENT,
        at: incident.from,
        severity: match incident.severity {
            Severity::High => SeverityNumber::Error,
            Severity::Medium => SeverityNumber::Warn,
            Severity::Low => SeverityNumber::Info,
        },
        id,
        span: cause.map_or_else(|| context.run_span(), |agent| context.span_at(agent, incident.from)),
        text: context.export.text(&incident.summary),
        attributes,
    }
}
