//! What is wrong with a rule or a check as a whole.

use std::collections::{BTreeMap, HashSet};

use super::check::{Entry, Walk};
use super::keys::REDACTABLE;
use super::problem::Code;
use super::value::parse_duration;
use super::written::quoted;
use crate::payload::{JUDGED, Kind};

/// Checks each rule and check of the file.
pub(super) fn check(walk: &mut Walk<'_>) {
    let mut found = Vec::new();
    let mut names = HashSet::new();
    for (_, rule) in items(&walk.entries, "rule[") {
        let entry =
            |name: &str| rule.iter().find(|entry| entry.path.ends_with(&format!("].{name}"))).copied();
        let blank = |entry: Option<&Entry>| entry.and_then(|entry| entry.value.as_str()).is_none_or(is_blank);
        if let Some(name) = entry("name") {
            if blank(Some(name)) {
                found.push((Code::BadValue, name.at, "a rule's name is blank".to_owned(), None));
            } else if !names.insert(name.value.to_string()) {
                let message =
                    format!("there is a rule {} already", quoted(name.value.as_str().unwrap_or_default()));
                found.push((Code::DuplicateRule, name.at, message, None));
            }
        }
        if let Some(action) = entry("action").filter(|action| action.value == "block")
            && blank(entry("reason"))
        {
            let message = "a rule that blocks needs a reason: the model reads it".to_owned();
            let hint = "add `reason = \"what is refused, and what to do instead\"`".to_owned();
            found.push((Code::MissingReason, action.at, message, Some(hint)));
        }
        let events = entry("events").and_then(|events| events.value.as_array());
        let kind = |event: &serde_json::Value| event.as_str().map_or(Kind::Unknown, Kind::named);
        let tool = |event: &serde_json::Value| kind(event) == Kind::PreToolUse;
        let has_tool = |event: &serde_json::Value| kind(event).has_tool();
        let known = events.into_iter().flatten().map(kind).filter(|kind| *kind != Kind::Unknown);
        let unblocked: Vec<&str> = known.filter(|kind| !kind.is_judged()).map(Kind::name).collect();
        if let Some(action) =
            entry("action").filter(|action| action.value == "block" && !unblocked.is_empty())
        {
            let message =
                format!("the rule only warns at {}: nothing can be blocked there", unblocked.join(", "));
            let judged: Vec<&str> = JUDGED.iter().map(|kind| kind.name()).collect();
            let hint = format!("the events that can be blocked are {}", judged.join(", "));
            found.push((Code::OnlyWarns, action.at, message, Some(hint)));
        }
        if let Some(tools) = entry("tools").filter(|tools| tools.value != serde_json::json!([]))
            && events.is_some_and(|events| !events.is_empty() && !events.iter().any(has_tool))
        {
            let message = "the rule names tools, and none of its events has a tool".to_owned();
            let hint = "name PreToolUse, or another event of a tool".to_owned();
            found.push((Code::NeverMatches, tools.at, message, Some(hint)));
        }
        let warns = entry("action").is_some_and(|action| action.value == "warn");
        let elsewhere = events.is_some_and(|events| !events.is_empty() && !events.iter().any(tool));
        if let Some(lasting) =
            entry("lasting").filter(|lasting| lasting.value == true && (warns || elsewhere))
        {
            let why = if warns { "the rule blocks nothing" } else { "none of its events has a tool" };
            let hint = "only a block at PreToolUse lasts: there is always something else to do".to_owned();
            found.push((
                Code::UselessKey,
                lasting.at,
                format!("`lasting` does nothing here: {why}"),
                Some(hint),
            ));
        }
    }
    for (_, check) in items(&walk.entries, "policy.completion-check.check[") {
        let run = check.iter().find(|entry| entry.path.ends_with("].run"));
        if let Some(run) = run.filter(|run| run.value.as_str().is_none_or(is_blank)) {
            found.push((Code::BadValue, run.at, "the command is blank".to_owned(), None));
        }
    }
    for (_, check) in items(&walk.entries, "policy.completion-check.check[") {
        let timeout = check.iter().find(|entry| entry.path.ends_with("].timeout"));
        let time = timeout.and_then(|timeout| parse_duration(timeout.value.as_str()?));
        if let Some(timeout) = timeout.filter(|_| time.is_some_and(|time| time.is_zero())) {
            let message = "a check that has no time is never run, and no task is completed".to_owned();
            let hint = "to turn the gate off, set its mode to \"off\"".to_owned();
            found.push((Code::BadDuration, timeout.at, message, Some(hint)));
        }
    }
    let waiting = walk.entries.iter().find(|entry| entry.path == "policy.idle-with-work.waiting-key");
    if let Some(key) = waiting.filter(|key| key.value.as_str().is_none_or(is_blank)) {
        found.push((
            Code::BadValue,
            key.at,
            "the key is blank, and no task has such a one in its metadata".to_owned(),
            None,
        ));
    }
    names.clear();
    for (_, pattern) in items(&walk.entries, "privacy.pattern[") {
        let Some(name) = pattern.iter().find(|entry| entry.path.ends_with("].name")) else { continue };
        let written = name.value.as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if written.is_empty() || !written.chars().all(plain) || REDACTABLE.contains(&written) {
            let message = format!("{} is no name for a pattern", quoted(written));
            let hint = format!("letters, digits, `-`, `_` and `.`; and none of {}", REDACTABLE.join(", "));
            found.push((Code::BadValue, name.at, message, Some(hint)));
        } else if !names.insert(name.value.to_string()) {
            found.push((
                Code::BadValue,
                name.at,
                format!("there is a pattern {} already", quoted(written)),
                None,
            ));
        }
    }
    for (code, at, message, hint) in found {
        walk.complain_with(code, at, message, hint);
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The entries of each item of a list, by its place in it.
fn items<'a>(entries: &'a [Entry], list: &str) -> BTreeMap<usize, Vec<&'a Entry>> {
    let mut items: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let place = entry.path.strip_prefix(list).and_then(|rest| rest.split(']').next());
        if let Some(place) = place.and_then(|place| place.parse().ok()) {
            items.entry(place).or_default().push(entry);
        }
    }
    items
}
