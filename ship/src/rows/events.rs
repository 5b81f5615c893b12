//! The table `events`: every line of the event logs, verdicts and pauses included.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use teamkeep_model::event::ActorKind;
use teamkeep_model::time::Timestamp;

use super::Table;
use crate::privacy::Texts;

/// The version of the lines that this program reads.
const VERSION: u8 = 1;

/// A line of the log, parsed as far as its columns need.
#[derive(Debug)]
pub struct EventRow<'a> {
    line: Line<'a>,
    payload: Fields<'a>,
    verdict: VerdictFields<'a>,
    log: &'a str,
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
    chain: Option<Cow<'a, str>>,
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

impl<'a> EventRow<'a> {
    /// The place in the hash chain of the log begins with the number.
    fn line(&self) -> Option<i64> {
        self.line.chain.as_deref()?.split(':').next()?.parse().ok()
    }

    /// When the hook call began.
    pub fn at(&self) -> Timestamp {
        self.line.at
    }

    /// Parses a line; `None` if it is not a valid event.
    pub fn parse(bytes: &'a [u8], log: &'a str, texts: &Texts) -> Option<EventRow<'a>> {
        let line: Line<'a> =
            serde_json::from_slice(bytes).ok().filter(|line: &Line<'a>| line.v == VERSION)?;
        let raw = line.payload.map(RawValue::get).filter(|raw| *raw != "null");
        let payload = raw.and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default();
        let verdict = line.verdict.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let content = raw.and_then(|raw| texts.payload(raw));
        Some(EventRow {
            payload,
            verdict,
            log,
            payload_bytes: raw.and_then(|raw| i64::try_from(raw.len()).ok()),
            content,
            line,
        })
    }
}

pub fn events<'a>() -> Table<EventRow<'a>> {
    table!("events", "one line of the event log: a hook call, a verdict (`event` is `Verdict`), or a pause (`PolicyOverride`)", |row: &EventRow<'a>| {
        Time "time" "start of the hook call" = Some(row.line.at);
        Text "id" "unique, sorts by time" = Some(&row.line.id);
        Text "event" "name of the event" = Some(&row.line.event);
        Text "session" "session ID" = row.line.session.as_deref();
        Text "team" "name of the team" = row.line.team.as_deref();
        Text "run" "ID of the run; null if the session had no run yet" = row.line.run.as_deref();
        Text "agent" "name of the agent" = row.line.actor.name.as_deref();
        Text "agent_id" "ID of the agent" = row.line.actor.id.as_deref();
        Text "agent_kind" "`lead`, `teammate`, `subagent`, `helper` or `unknown`"
            = Some(row.line.actor.kind.name());
        Text "tool" "name of the tool" = row.payload.tool_name.as_deref();
        Text "tool_use_id" "ID of the tool call" = row.payload.tool_use_id.as_deref();
        Text "task" "ID of the task, in task events" = row.payload.task_id.as_deref();
        Text "source" "why a session started" = row.payload.source.as_deref();
        Text "decision" "of a verdict: `block`, `warn` or `allow`" = row.verdict.decision.as_deref();
        Text "gate" "of a verdict: the gate; `rule` for every rule" = row.verdict.gate.as_deref();
        Text "judged" "of a verdict: `id` of the judged event" = row.verdict.of.as_deref();
        Text "traceparent" "trace context of Claude Code's own telemetry" = row.line.traceparent.as_deref();
        Flag "malformed" "whether the payload was not one JSON object" = Some(row.line.malformed.is_some());
        Integer "payload_bytes" "size of the payload" = row.payload_bytes;
        Text "payload" "the payload as JSON; only with `redacted` and `full`" = row.content.as_deref();
        Text "log" "the log: ID of a run, or `session-` and the ID of a session" = Some(row.log);
        Integer "line" "number of the line in the log, from 1; null for one whose writer did not get the lock" = row.line();
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::rows::Common;

    const LOG: &str = "r";

    fn json(line: &[u8], texts: &Texts) -> Value {
        let row = EventRow::parse(line, LOG, texts).unwrap();
        let mut lines = Vec::new();
        let common = Common::new("acme", "h", "0123456789abcdef", row.at()).unwrap();
        common.write_row(&events(), "2026-02-03", &row, &mut lines).unwrap();
        assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 1);
        serde_json::from_slice(&lines).unwrap()
    }

    #[test]
    fn a_line_has_a_value_for_each_column() {
        let line = br#"{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"i","event":"PreToolUse","session":"s1","team":"t","actor":{"name":"bob","id":"a1","kind":"teammate"},"run":"r","payload":{"tool_name":"Bash","tool_use_id":"u","tool_input":{"command":"ls \u0041"},"task_id":"3"},"chain":"7:0:0"}"#;
        let row = json(line, &Texts::Kept);
        assert_eq!((&row["table"], &row["day"]), (&"events".into(), &"2026-02-03".into()));
        assert_eq!((&row["tool"], &row["agent_kind"]), (&"Bash".into(), &"teammate".into()));
        assert_eq!((&row["log"], &row["line"]), (&"r".into(), &7.into()));
        assert!(row["payload"].as_str().unwrap().contains("ls"));
        assert_eq!(json(line, &Texts::Dropped).get("payload"), None);
    }

    #[test]
    fn a_verdict_has_the_judged_event() {
        let line = br#"{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"i","event":"Verdict","verdict":{"decision":"block","gate":"premature-shutdown","reason":"secret","of":"e1"},"payload":null}"#;
        let row = json(line, &Texts::Dropped);
        assert_eq!((&row["decision"], &row["judged"]), (&"block".into(), &"e1".into()));
        assert!(!row.to_string().contains("secret"));
        assert_eq!(row.get("payload_bytes"), None);
    }

    #[test]
    fn a_payload_with_unexpected_types_is_an_event_all_the_same() {
        let line = br#"{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"i","event":"PreToolUse","payload":{"tool_name":[1]}}"#;
        let row = json(line, &Texts::Dropped);
        assert_eq!((&row["event"], row.get("tool")), (&"PreToolUse".into(), None));
        for bad in [&b"{"[..], b"[]", br#"{"v":2,"id":"i"}"#, b"\xff"] {
            assert!(EventRow::parse(bad, LOG, &Texts::Dropped).is_none());
        }
    }
}
