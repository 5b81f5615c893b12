//! Problems of a rule, a check or a pattern as a whole.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value as Json;

use super::check::Entry;
use super::keys::REDACTABLE;
use super::parse_value::{Issue, quoted};
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

/// The keys of one table of a list.
struct Item<'a>(Vec<&'a Entry>);

impl<'a> Item<'a> {
    fn get(&self, name: &str) -> Option<&'a Entry> {
        self.0.iter().copied().find(|entry| entry.path.ends_with(&format!("].{name}")))
    }

    /// The entry, if its value is this one.
    fn is(&self, name: &str, value: impl Into<Json>) -> Option<&'a Entry> {
        let value = value.into();
        self.get(name).filter(|entry| entry.value == value)
    }

    /// The entry, if it is a text without characters.
    fn blank(&self, name: &str) -> Option<&'a Entry> {
        self.get(name).filter(|entry| is_blank(entry))
    }

    fn list(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let list = self.get(name).and_then(|entry| entry.value.as_array());
        list.into_iter().flatten().filter_map(Json::as_str)
    }
}

/// Checks each rule, check and pattern of the file.
pub(super) fn check(entries: &[Entry]) -> Vec<Issue> {
    let mut found = Vec::new();
    let mut names = HashSet::new();
    for rule in items(entries, "rule[") {
        found.extend(name_of_rule(&rule, &mut names));
        found.extend(missing_reason(&rule));
        found.extend(unblockable_event(&rule));
        found.extend(tools_without_event(&rule));
        found.extend(tools_in_other_case(&rule));
        found.extend(useless_lasting(&rule));
    }
    for check in items(entries, "policy.completion-check.check[") {
        found
            .extend(check.blank("run").map(|run| Issue::new(Code::BadValue, run.at, "the command is blank")));
        found.extend(zero_timeout(&check));
    }
    let waiting = entries.iter().find(|entry| entry.path == "policy.idle-with-work.waiting-key");
    let waiting = waiting.filter(|key| is_blank(key));
    found.extend(waiting.map(|key| Issue::new(Code::BadValue, key.at, "the key is blank")));
    let mut names = HashSet::new();
    for pattern in items(entries, "privacy.pattern[") {
        found.extend(name_of_pattern(&pattern, &mut names));
    }
    found
}

fn name_of_rule<'a>(rule: &Item<'a>, names: &mut HashSet<&'a str>) -> Option<Issue> {
    let name = rule.get("name")?;
    let text = name.value.as_str().unwrap_or_default();
    if is_blank(name) {
        return Some(Issue::new(Code::BadValue, name.at, "the rule's name is blank"));
    }
    let duplicate =
        || Issue::new(Code::DuplicateRule, name.at, format!("duplicate rule name {}", quoted(text)));
    (!names.insert(text)).then(duplicate)
}

fn missing_reason(rule: &Item<'_>) -> Option<Issue> {
    let action = rule.is("action", "block")?;
    let is_missing = rule.get("reason").is_none_or(is_blank);
    let issue = || {
        Issue::new(Code::MissingReason, action.at, "a rule that blocks needs a `reason` for the model")
            .hint("add `reason = \"what is blocked, and what to do instead\"`")
    };
    is_missing.then(issue)
}

fn unblockable_event(rule: &Item<'_>) -> Option<Issue> {
    let action = rule.is("action", "block")?;
    let kinds = rule.list("events").map(Kind::named);
    let kinds = kinds.filter(|kind| *kind != Kind::Unknown && !kind.is_judged());
    let unblockable: Vec<&str> = kinds.map(Kind::name).collect();
    let judged: Vec<&str> = JUDGED.iter().map(|kind| kind.name()).collect();
    let issue = || {
        let events = unblockable.join(", ");
        Issue::new(
            Code::OnlyWarns,
            action.at,
            format!("the rule only warns at {events}, which cannot be blocked"),
        )
        .hint(format!("the events that can be blocked are {}", judged.join(", ")))
    };
    (!unblockable.is_empty()).then(issue)
}

fn tools_without_event(rule: &Item<'_>) -> Option<Issue> {
    let tools = rule.get("tools").filter(|_| rule.list("tools").next().is_some())?;
    let mut events = rule.list("events").peekable();
    events.peek()?;
    let never = events.all(|event| !Kind::named(event).has_tool());
    never.then(|| {
        Issue::new(Code::NeverMatches, tools.at, "the rule names tools, but none of its events has a tool")
            .hint("add PreToolUse, or another tool event")
    })
}

fn tools_in_other_case(rule: &Item<'_>) -> Vec<Issue> {
    let Some(tools) = rule.get("tools") else { return Vec::new() };
    let misspelled = rule.list("tools").filter_map(|word| Some((word, other_case(word)?)));
    let issue = |(word, tool): (&str, &str)| {
        let message = format!("there is no tool {}: names of tools are case-sensitive", quoted(word));
        Issue::new(Code::NeverMatches, tools.at, message).hint(format!("did you mean \"{tool}\"?"))
    };
    misspelled.map(issue).collect()
}

fn useless_lasting(rule: &Item<'_>) -> Option<Issue> {
    let lasting = rule.is("lasting", true)?;
    let mut events = rule.list("events").peekable();
    let has_events = events.peek().is_some();
    let why = match () {
        () if rule.is("action", "warn").is_some() => "the rule blocks nothing",
        () if has_events && events.all(|event| Kind::named(event) != Kind::PreToolUse) => {
            "none of its events has a tool"
        }
        () => return None,
    };
    let issue = Issue::new(Code::UselessKey, lasting.at, format!("`lasting` has no effect here: {why}"));
    Some(issue.hint("`lasting` applies only to a block at PreToolUse"))
}

fn zero_timeout(check: &Item<'_>) -> Option<Issue> {
    let timeout = check.get("timeout")?;
    let time = parse_duration(timeout.value.as_str()?)?;
    time.is_zero().then(|| {
        Issue::new(Code::BadDuration, timeout.at, "with a timeout of zero the check never passes")
            .hint("to turn the gate off, set its mode to \"off\"")
    })
}

fn name_of_pattern<'a>(pattern: &Item<'a>, names: &mut HashSet<&'a str>) -> Option<Issue> {
    let name = pattern.get("name")?;
    let text = name.value.as_str().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || !text.chars().all(plain) || REDACTABLE.contains(&text) {
        let hint = format!("use letters, digits, `-`, `_` and `.`, and none of {}", REDACTABLE.join(", "));
        let message = format!("invalid pattern name {}", quoted(text));
        return Some(Issue::new(Code::BadValue, name.at, message).hint(hint));
    }
    let duplicate =
        || Issue::new(Code::BadValue, name.at, format!("duplicate pattern name {}", quoted(text)));
    (!names.insert(text)).then(duplicate)
}

fn is_blank(entry: &Entry) -> bool {
    entry.value.as_str().is_none_or(|text| text.trim().is_empty())
}

/// The tables of a list, in the order of the file.
fn items<'a>(entries: &'a [Entry], list: &str) -> impl Iterator<Item = Item<'a>> {
    let mut items: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let index = entry.path.strip_prefix(list).and_then(|rest| rest.split(']').next());
        if let Some(index) = index.and_then(|index| index.parse().ok()) {
            items.entry(index).or_default().push(entry);
        }
    }
    items.into_values().map(Item)
}
