//! The table `events`: every line of the event logs, verdicts and pauses included.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use teamkeep_core::model::event::ActorKind;
use teamkeep_core::sys::clock::Timestamp;

use super::{Column, Table};
use crate::privacy::Texts;

/// The version of the lines that this program reads.
const VERSION: u8 = 1;

/// A line of the log, parsed as far as its columns need.
#[derive(Debug)]
pub struct EventRow<'a> {
    line: Line<'a>,
    payload: Fields<'a>,
    verdict: VerdictFields<'a>,
    place: Place<'a>,
    payload_bytes: Option<i64>,
    content: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    v: u8,
    at: Timestamp,
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    session: Option<Cow<'a, str>>,
    #[serde(borrow)]
    team: Option<Cow<'a, str>>,
    #[serde(borrow)]
    actor: Actor<'a>,
    #[serde(borrow)]
    run: Option<Cow<'a, str>>,
    #[serde(borrow)]
    traceparent: Option<Cow<'a, str>>,
    #[serde(borrow)]
    malformed: Option<Cow<'a, str>>,
    #[serde(borrow)]
    verdict: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Actor<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    kind: ActorKind,
}

/// The fields of a payload that are columns. Values of other types are ignored with the rest.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fields<'a> {
    #[serde(borrow)]
    tool_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    task_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    source: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct VerdictFields<'a> {
    #[serde(borrow)]
    decision: Option<Cow<'a, str>>,
    #[serde(borrow)]
    gate: Option<Cow<'a, str>>,
    #[serde(borrow)]
    of: Option<Cow<'a, str>>,
}

/// Where a line is.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub segment: &'a str,
    /// From 1.
    pub number: i64,
    /// Its place in the chain, if it is the last of a closed segment.
    pub head: Option<&'a str>,
}

impl<'a> EventRow<'a> {
    /// Parses a line; `None` if it is not a valid event.
    pub fn parse(bytes: &'a [u8], place: Place<'a>, texts: &Texts) -> Option<EventRow<'a>> {
        let line: Line<'a> =
            serde_json::from_slice(bytes).ok().filter(|line: &Line<'a>| line.v == VERSION)?;
        let raw = line.payload.map(RawValue::get).filter(|raw| *raw != "null");
        let payload = raw.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
        let verdict = line.verdict.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let content = raw.and_then(|raw| texts.payload(raw));
        Some(EventRow {
            payload,
            verdict,
            place,
            payload_bytes: raw.and_then(|raw| i64::try_from(raw.len()).ok()),
            content,
            line,
        })
    }
}

pub fn events<'a>() -> Table<EventRow<'a>> {
    Table {
        name: "events",
        row: "one line of the event log: a hook call, a verdict (`event` is `Verdict`), or a pause (`PolicyOverride`)",
        columns: vec![
            Column::time("time", "start of the hook call", |row| Some(row.line.at)),
            Column::text("id", "unique, sorts by time", |row| Some(&row.line.id)),
            Column::text("event", "name of the event", |row| Some(&row.line.event)),
            Column::text("session", "session ID", |row| row.line.session.as_deref()),
            Column::text("team", "name of the team", |row| row.line.team.as_deref()),
            Column::text("run", "ID of the run; null if the session had no run yet", |row| {
                row.line.run.as_deref()
            }),
            Column::text("agent", "name of the agent", |row| row.line.actor.name.as_deref()),
            Column::text("agent_id", "ID of the agent", |row| row.line.actor.id.as_deref()),
            Column::text("agent_kind", "`lead`, `teammate`, `subagent`, `helper` or `unknown`", |row| {
                Some(row.line.actor.kind.name())
            }),
            Column::text("tool", "name of the tool", |row| row.payload.tool_name.as_deref()),
            Column::text("tool_use_id", "ID of the tool call", |row| row.payload.tool_use_id.as_deref()),
            Column::text("task", "ID of the task, in task events", |row| row.payload.task_id.as_deref()),
            Column::text("source", "why a session started", |row| row.payload.source.as_deref()),
            Column::text("decision", "of a verdict: `block`, `warn` or `allow`", |row| {
                row.verdict.decision.as_deref()
            }),
            Column::text("gate", "of a verdict: the gate; `rule` for every rule", |row| {
                row.verdict.gate.as_deref()
            }),
            Column::text("judged", "of a verdict: `id` of the judged event", |row| row.verdict.of.as_deref()),
            Column::text("traceparent", "trace context of Claude Code's own telemetry", |row| {
                row.line.traceparent.as_deref()
            }),
            Column::flag("malformed", "whether the payload was not one JSON object", |row| {
                Some(row.line.malformed.is_some())
            }),
            Column::integer("payload_bytes", "size of the payload", |row| row.payload_bytes),
            Column::text("payload", "the payload as JSON; only with `redacted` and `full`", |row| {
                row.content.as_deref()
            }),
            Column::text("segment", "the log and its file", |row| Some(row.place.segment)),
            Column::integer("line", "line in the file, from 1", |row| Some(row.place.number)),
            Column::text(
                "head",
                "of the last line of a file: the head of the log's hash chain, a value of `--against` in `teamkeep verify`",
                |row| row.place.head,
            ),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'static> = Place { segment: "r/s", number: 7, head: Some("r:7:0") };

    #[test]
    fn a_line_has_a_value_for_each_column() {
        let line = br#"{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"i","event":"PreToolUse","session":"s1","team":"t","actor":{"name":"bob","id":"a1","kind":"teammate"},"run":"r","payload":{"tool_name":"Bash","tool_use_id":"u","tool_input":{"command":"ls \u0041"},"task_id":"3"}}"#;
        let table = events();
        let row = EventRow::parse(line, PLACE, &Texts::Kept).unwrap();
        let json = table.to_json(&row);
        assert_eq!(json["tool"], "Bash");
        assert_eq!(json["agent_kind"], "teammate");
        assert_eq!(json["task"], "3");
        assert_eq!(
            (&json["segment"], &json["line"], &json["head"]),
            (&"r/s".into(), &7.into(), &"r:7:0".into())
        );
        assert!(json["payload"].as_str().unwrap().contains("ls"));
        let row = EventRow::parse(line, PLACE, &Texts::Dropped).unwrap();
        assert_eq!(table.to_json(&row)["payload"], serde_json::Value::Null);
    }

    #[test]
    fn a_verdict_has_the_judged_event() {
        let line = br#"{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"i","event":"Verdict","verdict":{"decision":"block","gate":"premature-shutdown","reason":"secret","of":"e1"},"payload":null}"#;
        let json = events().to_json(&EventRow::parse(line, PLACE, &Texts::Dropped).unwrap());
        assert_eq!((&json["decision"], &json["judged"]), (&"block".into(), &"e1".into()));
        assert!(!json.to_string().contains("secret"));
        assert_eq!(json["payload_bytes"], serde_json::Value::Null);
    }

    #[test]
    fn a_payload_with_unexpected_types_is_an_event_all_the_same() {
        let line = br#"{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"i","event":"PreToolUse","payload":{"tool_name":[1]}}"#;
        let json = events().to_json(&EventRow::parse(line, PLACE, &Texts::Dropped).unwrap());
        assert_eq!((&json["event"], &json["tool"]), (&"PreToolUse".into(), &serde_json::Value::Null));
        for bad in [&b"{"[..], b"[]", br#"{"v":2,"id":"i"}"#, b"\xff"] {
            assert!(EventRow::parse(bad, PLACE, &Texts::Dropped).is_none());
        }
    }
}
