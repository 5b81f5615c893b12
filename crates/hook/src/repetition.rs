//! Repeated calls for one event, which is recorded and judged once.
//!
//! Claude Code calls teamkeep twice for an event in two cases:
//!
//! - With the plugin beside hooks in the settings, it runs both hooks at the same time, with the same payload.
//! - It calls a PreToolUse hook of managed settings twice for SendMessage and Agent, one call after the other and with the same
//!   `tool_use_id`: first with the input that the model wrote, then with the one that Claude Code made of it, which has more keys
//!   (`recipient`, `type`, `content`) or fewer (`run_in_background`). The second call comes only if the first one
//!   does not block, and then only its response is shown. Seen with 2.1.330 and 2.1.332.
//!
//! An equal payload is not enough: payloads have no time, and the same TeammateIdle was seen 151 ms after another, the same Stop
//! after 108 ms. So each of plugin and settings repeats only what the other one recorded.
//!
//! The log's end shows the earlier call, under the lock under which the event would be appended. If it does not, for example because
//! the lock was not free in time, the event is recorded twice. That is better than once too seldom. Most calls do not search: a mark in
//! the store shows whether the plugin's hook was ever called.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use teamkeep_model::Tool;
use teamkeep_model::event::{Event, Id};
use teamkeep_model::payload::{EventKind, Payload};
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{Decision, RecordedVerdict, Verdict};
use teamkeep_system::fs::Appender;

/// How long after the earlier call the second one can come, in milliseconds: the timeout of teamkeep's hooks.
const WINDOW_MS: u64 = 10_000;

/// How much of the log is searched in addition to the size of the payload, in bytes.
const SEARCHED_BYTES: usize = 32 << 10;

/// An event that the log has from an earlier call.
#[derive(Debug)]
pub(crate) struct RepeatedEvent {
    pub id: Id,
    /// Whether the other of plugin and settings recorded it. That call runs at the same time, and answers.
    pub is_of_other: bool,
    /// The policy's verdicts on it so far.
    pub verdicts: Vec<Verdict>,
}

/// The `tool_use_id` of a call of a tool that Claude Code can announce twice.
pub(crate) fn announced_twice(kind: EventKind, payload: &Payload) -> Option<&str> {
    let is_such =
        kind == EventKind::PreToolUse && matches!(payload.tool(), Some(Tool::SendMessage | Tool::Agent));
    payload.tool_use_id().filter(|_| is_such)
}

/// A line of the log, as far as it is compared.
#[derive(Deserialize)]
struct Line<'a> {
    at: Timestamp,
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(default)]
    plugin: bool,
    #[serde(borrow, default)]
    verdict: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

impl RepeatedEvent {
    /// Finds the event in the end of its log. `beside_plugin`: the plugin's hook and one of the settings may be called for it.
    /// `tool_use` is that of [`announced_twice`].
    pub(crate) fn find(
        event: &Event<'_>,
        beside_plugin: bool,
        tool_use: Option<&str>,
        log: &Appender,
    ) -> Option<RepeatedEvent> {
        if !beside_plugin && tool_use.is_none() {
            return None;
        }
        let payload = event.payload.get();
        let text = log.last_lines(SEARCHED_BYTES.saturating_add(payload.len().saturating_mul(2)));
        let is_known =
            tool_use.is_some_and(|id| text.contains(id)) || (beside_plugin && text.contains(payload));
        if !is_known {
            return None;
        }
        let lines: Vec<Line<'_>> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let call = Line::of(event);
        let repeated = lines.iter().rfind(|line| line.is_repeated_by(&call))?;
        let verdicts = lines.iter().filter_map(|line| RecordedVerdict::read(line.verdict?));
        let verdicts: Vec<Verdict> =
            verdicts.filter(|one| one.of == repeated.id).map(|one| one.verdict).collect();
        let is_of_other = repeated.plugin != event.plugin;
        // A blocked call is not made again; the same ID is another attempt, which counts.
        let is_blocked = verdicts.iter().any(|verdict| verdict.decision == Decision::Block);
        let id = Id::known(&repeated.id)?;
        (is_of_other || !is_blocked).then_some(RepeatedEvent { id, is_of_other, verdicts })
    }
}

impl<'a> Line<'a> {
    fn of(event: &Event<'a>) -> Line<'a> {
        Line {
            at: event.at,
            id: event.id.into(),
            event: event.event.into(),
            plugin: event.plugin,
            verdict: None,
            payload: event.payload,
        }
    }

    fn is_repeated_by(&self, call: &Line<'_>) -> bool {
        let is_same = || self.plugin != call.plugin && self.payload.get() == call.payload.get();
        let is_tool_call =
            || call.event == EventKind::PreToolUse.name() && is_same_tool_call(self.payload, call.payload);
        self.at.millis().abs_diff(call.at.millis()) < WINDOW_MS
            && self.event == call.event
            && (is_same() || is_tool_call())
    }
}

/// Whether the second payload is that of the second call for a tool use: the keys that both inputs have are equal. An ID is not
/// enough, because not every server of models gives each call another one.
fn is_same_tool_call(first: &RawValue, second: &RawValue) -> bool {
    let [first, second]: [Value; 2] =
        [first, second].map(|payload| serde_json::from_str(payload.get()).unwrap_or_default());
    let (Some(input), Some(later)) = (first["tool_input"].as_object(), second["tool_input"].as_object())
    else {
        return false;
    };
    let can_come_again = match Tool::named(first["tool_name"].as_str().unwrap_or_default()) {
        // The second input has this key, and so has the only input of hooks in other settings files.
        Tool::SendMessage => !input.contains_key("recipient"),
        Tool::Agent => true,
        _ => false,
    };
    let is_equal = |key: &str| first.get(key) == second.get(key);
    let mut shared = input.iter().filter_map(|(key, value)| Some((value, later.get(key)?))).peekable();
    can_come_again
        && first["tool_use_id"].is_string()
        && ["session_id", "tool_name", "tool_use_id"].into_iter().all(is_equal)
        && shared.peek().is_some()
        && shared.all(|(one, other)| one == other)
}

#[cfg(test)]
mod tests;
