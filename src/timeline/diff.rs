//! The changes between two moments of a run.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::Value;

use super::state::State;

/// The output of `show --diff --json`.
#[derive(Debug, PartialEq, Serialize)]
pub struct Diff {
    /// The run.
    pub run: String,
    /// The earlier moment, RFC 3339.
    pub from: String,
    /// The later moment, RFC 3339.
    pub to: String,
    /// Tasks by id, without the trackers of 2.1.47.
    pub tasks: Things,
    /// Members by name.
    pub members: Things,
    /// Messages in inboxes.
    pub mail: Mail,
}

/// Items that are new, gone or changed.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Things {
    /// Items that exist only at the later moment.
    pub new: BTreeMap<String, Value>,
    /// Items that exist only at the earlier moment.
    pub gone: BTreeMap<String, Value>,
    /// Items that exist at both: the changes, by field.
    pub changed: BTreeMap<String, BTreeMap<&'static str, Change>>,
    /// Their titles at the later moment, for text output.
    #[serde(skip)]
    pub titles: BTreeMap<String, String>,
}

/// The values of a field at two moments; null if missing.
#[derive(Debug, PartialEq, Serialize)]
pub struct Change {
    /// At the earlier moment.
    pub from: Value,
    /// At the later moment.
    pub to: Value,
}

/// Messages by inbox.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Mail {
    /// Only at the later moment.
    pub new: BTreeMap<String, Vec<Value>>,
    /// At both, and read only at the later.
    pub read: BTreeMap<String, Vec<Value>>,
    /// Only at the earlier moment: current versions of Claude Code remove delivered messages.
    pub gone: BTreeMap<String, Vec<Value>>,
}

/// The fields of a task: name in the output, name in the file.
const OF_TASKS: &[(&str, &str)] = &[
    ("status", "status"),
    ("owner", "owner"),
    ("subject", "subject"),
    ("description", "description"),
    ("blocked_by", "blockedBy"),
];
/// The same for a member.
const OF_MEMBERS: &[(&str, &str)] = &[("active", "isActive")];

/// Compares the states at two moments, the earlier first.
pub fn diff(from: &State, to: &State) -> Diff {
    let at = |state: &State| state.at.clone().unwrap_or_default();
    Diff {
        run: to.run.clone(),
        from: at(from),
        to: at(to),
        tasks: things(&from.tasks, &to.tasks, OF_TASKS),
        members: things(&from.members, &to.members, OF_MEMBERS),
        mail: mail(from, to),
    }
}

impl Diff {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        let same =
            |things: &Things| things.new.is_empty() && things.gone.is_empty() && things.changed.is_empty();
        let Mail { new, read, gone } = &self.mail;
        same(&self.tasks) && same(&self.members) && [new, read, gone].iter().all(|mail| mail.is_empty())
    }
}

fn things(
    from: &BTreeMap<String, Value>,
    to: &BTreeMap<String, Value>,
    fields: &[(&'static str, &str)],
) -> Things {
    let is_tracker = |thing: &Value| thing.pointer("/metadata/_internal") == Some(&Value::Bool(true));
    let mut things = Things::default();
    for (name, now) in to.iter().filter(|(_, thing)| !is_tracker(thing)) {
        let Some(then) = from.get(name) else {
            things.new.insert(name.clone(), now.clone());
            continue;
        };
        let changes: BTreeMap<_, _> =
            fields.iter().filter_map(|(ours, theirs)| change(ours, theirs, then, now)).collect();
        if !changes.is_empty() {
            things.changed.insert(name.clone(), changes);
            let title = now.get("subject").and_then(Value::as_str).unwrap_or_default();
            things.titles.insert(name.clone(), title.to_owned());
        }
    }
    let gone = from.iter().filter(|(name, thing)| !to.contains_key(*name) && !is_tracker(thing));
    things.gone = gone.map(|(name, thing)| (name.clone(), thing.clone())).collect();
    things
}

fn change(ours: &'static str, theirs: &str, then: &Value, now: &Value) -> Option<(&'static str, Change)> {
    // No owner is written as a missing key, null or an empty string.
    let read = |thing: &Value| {
        let value = thing.get(theirs).filter(|value| !matches!(value.as_str(), Some("")));
        value.cloned().unwrap_or(Value::Null)
    };
    let (from, to) = (read(then), read(now));
    (from != to).then_some((ours, Change { from, to }))
}

/// The parts by which the same message is found in two states of an inbox.
fn identity(message: &Value) -> [Option<&str>; 4] {
    ["msg_id", "from", "timestamp", "text"].map(|key| message.get(key).and_then(Value::as_str))
}

fn mail(from: &State, to: &State) -> Mail {
    let mut mail = Mail::default();
    let none = Vec::new();
    let inboxes: std::collections::BTreeSet<&String> = from.inboxes.keys().chain(to.inboxes.keys()).collect();
    for inbox in inboxes {
        let (then, now) = (from.inboxes.get(inbox).unwrap_or(&none), to.inboxes.get(inbox).unwrap_or(&none));
        let mut left: HashMap<_, Vec<&Value>> = HashMap::new();
        then.iter().rev().for_each(|message| left.entry(identity(message)).or_default().push(message));
        let put = |part: &mut BTreeMap<String, Vec<Value>>, message: &Value| {
            part.entry(inbox.clone()).or_default().push(message.clone());
        };
        let is_read = |message: &Value| message.get("read") == Some(&Value::Bool(true));
        for message in now {
            match left.get_mut(&identity(message)).and_then(Vec::pop) {
                None => put(&mut mail.new, message),
                Some(before) if is_read(message) && !is_read(before) => put(&mut mail.read, message),
                Some(_) => {}
            }
        }
        for message in then {
            if let Some(place) = left.get_mut(&identity(message)).filter(|left| !left.is_empty()) {
                place.pop();
                put(&mut mail.gone, message);
            }
        }
    }
    mail
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::departures::Departures;
    use super::*;

    fn state(at: &str, tasks: Value, members: Value, inboxes: Value) -> State {
        State {
            run: "r".to_owned(),
            at: Some(at.to_owned()),
            config: None,
            members: serde_json::from_value(members).unwrap(),
            tasks: serde_json::from_value(tasks).unwrap(),
            inboxes: serde_json::from_value(inboxes).unwrap(),
            gone: Departures::default(),
            torn: Vec::new(),
        }
    }

    #[test]
    fn two_moments_differ_in_what_came_what_went_and_what_changed() {
        let tracker = json!({"metadata": {"_internal": true}});
        let hi = |read: bool| json!({"from": "bob", "text": "hi", "timestamp": "t", "read": read});
        let from = state(
            "a",
            json!({"1": {"status": "pending"}, "2": {"status": "pending", "owner": ""}, "9": tracker}),
            json!({"alice": {"isActive": true}, "bob": {}}),
            json!({"alice": [hi(false), {"from": "bob", "text": "old"}]}),
        );
        let to = state(
            "b",
            json!({"2": {"status": "in_progress", "owner": "bob", "subject": "S"}, "3": {}, "8": tracker}),
            json!({"alice": {"isActive": false}, "carol": {}}),
            json!({"alice": [hi(true), hi(true)]}),
        );
        let told = serde_json::to_value(diff(&from, &to)).unwrap();
        assert_eq!(
            told["tasks"],
            json!({"new": {"3": {}}, "gone": {"1": {"status": "pending"}}, "changed": {"2": {
                "owner": {"from": null, "to": "bob"},
                "status": {"from": "pending", "to": "in_progress"},
                "subject": {"from": null, "to": "S"},
            }}})
        );
        assert_eq!(
            told["members"],
            json!({"new": {"carol": {}}, "gone": {"bob": {}}, "changed": {"alice": {"active": {"from": true, "to": false}}}})
        );
        let old = json!({"from": "bob", "text": "old"});
        assert_eq!(
            told["mail"],
            json!({"new": {"alice": [hi(true)]}, "read": {"alice": [hi(true)]}, "gone": {"alice": [old]}})
        );
        assert!(!diff(&from, &to).is_empty() && diff(&to, &to).is_empty());
    }
}
