//! Problems of a rule or a check as a whole.

use std::collections::{BTreeMap, HashSet};

use super::check::{Entry, Walk};
use super::keys::REDACTABLE;
use super::parse_value::quoted;
use super::problem::Code;
use super::units::parse_duration;
use crate::payload::{JUDGED, Kind};

/// Tools of Claude Code. Their names are case-sensitive.
const TOOLS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Edit",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "SendMessage",
    "Skill",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// The tool that this word names in another case.
fn other_case(word: &str) -> Option<&'static str> {
    TOOLS.iter().copied().find(|tool| *tool != word && tool.eq_ignore_ascii_case(word))
}

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
                found.push((Code::BadValue, name.at, "the rule's name is blank".to_owned(), None));
            } else if !names.insert(name.value.to_string()) {
                let message =
                    format!("duplicate rule name {}", quoted(name.value.as_str().unwrap_or_default()));
                found.push((Code::DuplicateRule, name.at, message, None));
            }
        }
        if let Some(action) = entry("action").filter(|action| action.value == "block")
            && blank(entry("reason"))
        {
            let message = "a rule that blocks needs a `reason` for the model".to_owned();
            let hint = "add `reason = \"what is blocked, and what to do instead\"`".to_owned();
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
            let message = format!("the rule only warns at {}, which cannot be blocked", unblocked.join(", "));
            let judged: Vec<&str> = JUDGED.iter().map(|kind| kind.name()).collect();
            let hint = format!("the events that can be blocked are {}", judged.join(", "));
            found.push((Code::OnlyWarns, action.at, message, Some(hint)));
        }
        if let Some(tools) = entry("tools").filter(|tools| tools.value != serde_json::json!([]))
            && events.is_some_and(|events| !events.is_empty() && !events.iter().any(has_tool))
        {
            let message = "the rule names tools, but none of its events has a tool".to_owned();
            let hint = "add PreToolUse, or another tool event".to_owned();
            found.push((Code::NeverMatches, tools.at, message, Some(hint)));
        }
        let named = entry("tools").and_then(|tools| Some((tools.at, tools.value.as_array()?)));
        if let Some((at, tools)) = named {
            for (word, tool) in
                tools.iter().filter_map(|word| Some((word.as_str()?, other_case(word.as_str()?)?)))
            {
                let message = format!("there is no tool {}: names of tools are case-sensitive", quoted(word));
                found.push((Code::NeverMatches, at, message, Some(format!("did you mean \"{tool}\"?"))));
            }
        }
        let warns = entry("action").is_some_and(|action| action.value == "warn");
        let elsewhere = events.is_some_and(|events| !events.is_empty() && !events.iter().any(tool));
        if let Some(lasting) =
            entry("lasting").filter(|lasting| lasting.value == true && (warns || elsewhere))
        {
            let why = if warns { "the rule blocks nothing" } else { "none of its events has a tool" };
            let hint = "`lasting` applies only to a block at PreToolUse".to_owned();
            found.push((
                Code::UselessKey,
                lasting.at,
                format!("`lasting` has no effect here: {why}"),
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
            let message = "with a timeout of zero the check never passes".to_owned();
            let hint = "to turn the gate off, set its mode to \"off\"".to_owned();
            found.push((Code::BadDuration, timeout.at, message, Some(hint)));
        }
    }
    let waiting = walk.entries.iter().find(|entry| entry.path == "policy.idle-with-work.waiting-key");
    if let Some(key) = waiting.filter(|key| key.value.as_str().is_none_or(is_blank)) {
        found.push((Code::BadValue, key.at, "the key is blank".to_owned(), None));
    }
    names.clear();
    for (_, pattern) in items(&walk.entries, "privacy.pattern[") {
        let Some(name) = pattern.iter().find(|entry| entry.path.ends_with("].name")) else { continue };
        let written = name.value.as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if written.is_empty() || !written.chars().all(plain) || REDACTABLE.contains(&written) {
            let message = format!("invalid pattern name {}", quoted(written));
            let hint =
                format!("use letters, digits, `-`, `_` and `.`, and none of {}", REDACTABLE.join(", "));
            found.push((Code::BadValue, name.at, message, Some(hint)));
        } else if !names.insert(name.value.to_string()) {
            found.push((
                Code::BadValue,
                name.at,
                format!("duplicate pattern name {}", quoted(written)),
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

/// The entries of each item of a list, by index.
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
