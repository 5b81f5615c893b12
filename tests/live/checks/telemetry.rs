//! The collector has the telemetry of Claude Code and that of teamkeep, and they are joined: by sessions, and by spans.

use std::collections::BTreeSet;

use super::super::record::{Record, text};
use super::super::telemetry::{CLIENT, Span, SpanId, TEAMKEEP, Telemetry};
use super::{differ, same, short};

pub fn differences(telemetry: &Telemetry, record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    for service in [CLIENT, TEAMKEEP] {
        let signals = [
            ("spans", telemetry.of(service).next().is_some()),
            ("log records", telemetry.with_records.contains(service)),
            // teamkeep sends none.
            ("metrics", service == TEAMKEEP || telemetry.with_metrics.contains(service)),
        ];
        let missing = signals.into_iter().filter(|(_, is_received)| !is_received);
        found.extend(missing.map(|(what, _)| format!("the collector has no {what} of {service}")));
    }
    found.extend(sessions(telemetry, record));
    found.extend(spans(telemetry, record));
    found.extend(agents(telemetry));
    found
}

/// Each agent that Claude Code's spans name is an agent of teamkeep's spans: by name and team in the lead's process, by its
/// session elsewhere.
fn agents(telemetry: &Telemetry) -> Vec<String> {
    let of = |span: &Span, key: &str| span.attributes.get(key).cloned();
    let known = telemetry.of(TEAMKEEP).filter(|span| span.name.starts_with("invoke_agent "));
    let known: BTreeSet<String> = known
        .flat_map(|span| {
            let (name, team) = (of(span, "gen_ai.agent.name"), of(span, "teamkeep.team"));
            let named = name.zip(team).map(|(name, team)| format!("{name}@{team}"));
            [named, of(span, "gen_ai.agent.id")].into_iter().flatten()
        })
        .collect();
    let acting =
        telemetry.of(CLIENT).filter_map(|span| of(span, "agent_id").or_else(|| of(span, "session.id")));
    let acting: BTreeSet<String> = acting.collect();
    let unknown = acting.iter().filter(|agent| !known.contains(*agent));
    let mut found: Vec<String> =
        unknown.map(|agent| format!("{agent} of Claude Code's spans has no turn in teamkeep's")).collect();
    // The lead alone would be one.
    found.extend((acting.len() < 2).then(|| format!("Claude Code's spans name no teammate: {acting:?}")));
    found
}

/// A span of the run, an agent or a turn names the session of the lead; each agent's own session is one of Claude Code's.
fn sessions(telemetry: &Telemetry, record: &Record) -> Vec<String> {
    let hooks = record.log.iter().filter(|event| event["payload"]["hook_event_name"].is_string());
    let recorded: BTreeSet<String> = hooks.map(|event| text(event, "session")).collect();
    let mut found = differ("sessions", recorded, telemetry.sessions.clone());
    let conversations: BTreeSet<&String> =
        telemetry.of(TEAMKEEP).filter_map(|span| span.attributes.get("gen_ai.conversation.id")).collect();
    let begun = |name: &str| telemetry.of(TEAMKEEP).any(|span| span.name.starts_with(name));
    let missing =
        ["invoke_workflow ", "agent ", "invoke_agent ", "task "].into_iter().filter(|name| !begun(name));
    found.extend(missing.map(|name| format!("the collector has no span {name:?} of teamkeep")));
    let lead = text(&record.run, "lead_session");
    found.extend(same("conversations", BTreeSet::from([&lead]), conversations));
    found
}

/// Each span of Claude Code that called a hook was received, and a span of teamkeep has a link to it.
fn spans(telemetry: &Telemetry, record: &Record) -> Vec<String> {
    let called: BTreeSet<SpanId> = callers(record).into_iter().collect();
    let received: BTreeSet<&SpanId> = telemetry.of(CLIENT).map(|span| &span.id).collect();
    let linked: BTreeSet<SpanId> = telemetry
        .of(TEAMKEEP)
        .flat_map(|span| &span.links)
        .filter(|link| link.attributes.get("teamkeep.link").is_some_and(|kind| kind == "client"))
        .map(|link| link.to.clone())
        .collect();
    let absent = called.iter().filter(|id| !received.contains(id));
    let mut found: Vec<String> =
        absent.map(|id| format!("the collector has no span of Claude Code {}", short(id))).collect();
    found.extend(differ("links to spans of Claude Code", called.clone(), linked));
    if called.is_empty() {
        found.push("log: no hook call has a trace context".to_owned());
    }
    found
}

/// The span in the trace context of each hook call that has one.
fn callers(record: &Record) -> Vec<SpanId> {
    let contexts = record.log.iter().filter_map(|event| event["traceparent"].as_str());
    let ids = contexts.filter_map(|context| {
        let mut fields = context.split('-').skip(1).map(str::to_owned);
        Some((fields.next()?, fields.next()?))
    });
    ids.collect()
}
