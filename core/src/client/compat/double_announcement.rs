//! Tool calls that Claude Code announces twice. Seen with 2.1.330.
//!
//! For SendMessage and Agent, it calls a PreToolUse hook of managed settings twice, one after the other and with the
//! same `tool_use_id`: first with the input that the model wrote, then with the input that Claude Code made of it, which
//! has more keys (`recipient`, `type`, `content`) or fewer (`run_in_background`). Nothing in either call shows that there
//! are two. If the first call blocks, there is no second; otherwise only the second response reaches the model and the user.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::client::payload::{Kind, Payload};
use crate::model::Tool;

/// Maximum number of calls to keep. The second comes right after the first, or not at all.
const MAX_CALLS: usize = 8;

/// The last tool calls that may be announced again, the newest last: a JSON array of [`RecentCall`]s, which is parsed
/// only for the few hook calls that need it. Empty if there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecentCalls(String);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecentCall {
    /// The `tool_use_id`.
    pub call: String,
    /// The id of its event in the log.
    pub event: String,
    pub tool: String,
    /// Hashes of the input's values, by key.
    pub input: BTreeMap<String, String>,
    /// The policy's verdicts on it, without their reasons.
    pub verdicts: Vec<Value>,
}

impl RecentCall {
    pub fn of(payload: &Payload, kind: Kind, event: &str) -> Option<RecentCall> {
        let (tool, input) = (payload.tool_name()?, payload.tool_input().as_object()?);
        let again = match Tool::named(tool) {
            // The second input has this key, and so has the only input of 2.1.47 and of hooks in other settings files.
            Tool::SendMessage => !input.contains_key("recipient"),
            Tool::Agent => true,
            _ => false,
        };
        if kind != Kind::PreToolUse || !again || payload.cut || payload.malformed.is_some() {
            return None;
        }
        Some(RecentCall {
            call: payload.tool_use_id().filter(|id| !id.is_empty())?.to_owned(),
            event: event.to_owned(),
            tool: tool.to_owned(),
            input: marks(payload),
            verdicts: Vec::new(),
        })
    }

    /// Whether an event repeats this one: the keys that both inputs have are equal.
    fn is_again(&self, payload: &Payload) -> bool {
        let same = |input: BTreeMap<String, String>| {
            let mut shared =
                self.input.iter().filter_map(|(key, mark)| Some((mark, input.get(key)?))).peekable();
            shared.peek().is_some() && shared.all(|(one, other)| one == other)
        };
        payload.tool_use_id() == Some(&self.call)
            && payload.tool_name() == Some(&self.tool)
            && same(marks(payload))
    }
}

impl RecentCalls {
    pub fn earlier(&self, payload: &Payload, kind: Kind) -> Option<RecentCall> {
        if kind != Kind::PreToolUse || self.is_empty() || payload.cut {
            return None;
        }
        // As it is written in the array.
        let id = serde_json::to_string(payload.tool_use_id()?).ok()?;
        let known = if self.0.contains(&id) { self.parse() } else { return None };
        known.into_iter().rfind(|call| call.is_again(payload))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn note(&mut self, announced: RecentCall) {
        let mut known = self.parse();
        known.retain(|call| call.call != announced.call);
        known.push(announced);
        let surplus = known.len().saturating_sub(MAX_CALLS);
        self.0 = serde_json::to_string(&known[surplus..]).unwrap_or_default();
    }

    /// Adds the announcements that another hook call stored; it had these `before`.
    pub fn merge(&mut self, other: &RecentCalls, before: &RecentCalls) {
        if self == before {
            self.clone_from(other);
            return;
        }
        let known = self.parse();
        other.parse().into_iter().filter(|call| !known.contains(call)).for_each(|call| self.note(call));
    }

    fn parse(&self) -> Vec<RecentCall> {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl Serialize for RecentCalls {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let text = if self.is_empty() { "[]" } else { &self.0 };
        RawValue::from_string(text.to_owned()).map_err(serde::ser::Error::custom)?.serialize(out)
    }
}

impl<'de> Deserialize<'de> for RecentCalls {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<RecentCalls, D::Error> {
        <&RawValue>::deserialize(from).map(|text| RecentCalls(text.get().to_owned()))
    }
}

fn marks(payload: &Payload) -> BTreeMap<String, String> {
    let input = payload.tool_input().as_object();
    let mark = |text: String| blake3::hash(text.as_bytes()).to_hex()[..16].to_owned();
    input.into_iter().flatten().map(|(key, value)| (key.clone(), mark(value.to_string()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn payload(tool: &str, id: &str, input: Value) -> Payload {
        let fields = json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_use_id": id, "tool_input": input});
        Payload::from_raw(&serde_json::value::to_raw_value(&fields).unwrap())
    }

    #[test]
    fn the_second_announcement_has_the_same_id_and_equal_values_under_shared_keys() {
        let raw = json!({"to": "bob", "message": "hello"});
        let full = json!({"to": "bob", "message": "hello", "recipient": "bob", "type": "message", "content": "hello"});
        let other =
            json!({"to": "bob", "message": "bye", "recipient": "bob", "type": "message", "content": "bye"});
        let mut announced = RecentCalls::default();
        let first = payload("SendMessage", "u1", raw);
        announced.note(RecentCall::of(&first, Kind::PreToolUse, "e1").unwrap());
        let earlier =
            |payload: Payload| announced.earlier(&payload, Kind::PreToolUse).map(|earlier| earlier.event);
        assert_eq!(earlier(payload("SendMessage", "u1", full.clone())).as_deref(), Some("e1"));
        assert_eq!(earlier(payload("SendMessage", "u2", full.clone())), None);
        assert_eq!(
            earlier(payload("SendMessage", "u1", other)),
            None,
            "an id says nothing about another input"
        );
        assert_eq!(earlier(payload("Agent", "u1", full.clone())), None);
        assert_eq!(earlier(payload("SendMessage", "u1", json!({}))), None);
        assert!(RecentCall::of(&payload("SendMessage", "u1", full), Kind::PreToolUse, "e1").is_none());
        assert!(RecentCall::of(&first, Kind::PostToolUse, "e1").is_none());
    }

    #[test]
    fn an_input_without_a_key_is_the_same_call_and_only_the_last_calls_are_stored() {
        let mut announced = RecentCalls::default();
        for number in 0..20 {
            let input = json!({"name": "bob", "run_in_background": true});
            let first = payload("Agent", &number.to_string(), input);
            announced.note(RecentCall::of(&first, Kind::PreToolUse, "e").unwrap());
        }
        let second = |id: &str| payload("Agent", id, json!({"name": "bob"}));
        assert!(announced.earlier(&second("19"), Kind::PreToolUse).is_some());
        assert!(announced.earlier(&second("2"), Kind::PreToolUse).is_none());
    }

    #[test]
    fn calls_of_an_earlier_version_are_read_and_concurrent_calls_are_merged() {
        let call = |id: &str| {
            RecentCall::of(&payload("SendMessage", id, json!({"to": "bob"})), Kind::PreToolUse, "e").unwrap()
        };
        let text = serde_json::to_string(&[call("u1")]).unwrap();
        let before: RecentCalls = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&before).unwrap(), text);
        let with = |id| {
            let mut announced = before.clone();
            announced.note(call(id));
            announced
        };
        let (mine, mut theirs) = (with("u2"), with("u3"));
        theirs.merge(&mine, &before);
        let calls: Vec<String> = theirs.parse().into_iter().map(|known| known.call).collect();
        assert_eq!(calls, ["u1", "u3", "u2"]);
        let mut same = before.clone();
        same.merge(&mine, &before);
        assert_eq!(same, mine);
        let damaged: RecentCalls = serde_json::from_str("7").unwrap();
        assert!(damaged.parse().is_empty());
    }
}
