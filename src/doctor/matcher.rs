//! Checks that no matcher prevents a needed hook call.

use std::collections::BTreeMap;

use serde_json::Value;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use super::hooks::matcher_of;
use crate::payload::Kind;
use crate::settings::hook_matcher::evaluate;

/// Events whose matcher Claude Code ignores.
const UNMATCHED: &[&str] = &["UserPromptSubmit", "Stop", "TeammateIdle", "TaskCreated", "TaskCompleted"];

/// Limits for the length of a matcher in bytes and for the matchers of one event: those of a repository could be slow.
const MAX_CHARS: usize = 4_096;
const MAX_ENTRIES: usize = 64;
/// Maximum number of listed names.
const MAX_LISTED: usize = 8;

/// Checks the matchers of teamkeep's hooks, event by event.
pub fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let ours = facts.ours();
    let mut matchers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for ours in &ours {
        let matcher = ours.entry.group.get("matcher").and_then(Value::as_str).unwrap_or_default();
        matchers.entry(&ours.entry.event).or_default().push(matcher);
    }
    let found: Vec<Finding> = matchers
        .iter()
        .filter_map(|(event, matchers)| Some(of(event, matchers)?.with_fix(facts.install())))
        .collect();
    match (found.is_empty(), ours.is_empty()) {
        (false, _) => found,
        (true, true) => {
            vec![Finding::unknown(Code::HookMatcher, "no matchers to check")]
        }
        (true, false) => {
            vec![Finding::ok(Code::HookMatcher, "the matchers cover everything that teamkeep records")]
        }
    }
}

/// The problem with the matchers of an event, if any.
fn of(event: &str, matchers: &[&str]) -> Option<Finding> {
    // `rules-asked` checks the hooks that only rules need.
    let is_for_rule = Kind::named(event).is_for_rules();
    if is_for_rule
        || UNMATCHED.contains(&event)
        || matchers.iter().any(|matcher| matches!(*matcher, "" | "*"))
    {
        return None;
    }
    let all = matchers.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ");
    if matchers.len() > MAX_ENTRIES {
        let what = format!("too many matchers to check at {event}: {}", matchers.len());
        return Some(Finding::unknown(Code::HookMatcher, what));
    }
    let subjects = subjects(event);
    if subjects.is_empty() {
        let what = format!("the {event} hook runs only for {all:?}");
        return Some(Finding::warn(Code::HookMatcher, what));
    }
    let mut left = Vec::new();
    for subject in &subjects {
        let evaluate = |matcher: &&str| (matcher.len() <= MAX_CHARS).then(|| evaluate(matcher, subject))?;
        let answers: Option<Vec<bool>> = matchers.iter().map(evaluate).collect();
        match answers {
            None => {
                let what = format!("cannot interpret the {event} matcher {all:?}");
                return Some(Finding::unknown(Code::HookMatcher, what));
            }
            Some(answers) if answers.contains(&true) => {}
            Some(_) => left.push(subject.as_str()),
        }
    }
    if left.is_empty() {
        None
    } else if left.len() == subjects.len() {
        let what = format!("the {event} hook never runs: {all:?} matches no recorded tool or event");
        Some(Finding::bad(Code::HookMatcher, what))
    } else {
        let what = format!("the {event} hook does not run for {}: its matcher is {all:?}", left.join(", "));
        Some(Finding::warn(Code::HookMatcher, what))
    }
}

/// The names that the matcher of an event must match.
fn subjects(event: &str) -> Vec<String> {
    let words = match event {
        "SessionStart" => "startup|resume|clear|compact".to_owned(),
        "SessionEnd" => "clear|logout|prompt_input_exit|other".to_owned(),
        "PreCompact" => "manual|auto".to_owned(),
        _ => matcher_of(event).unwrap_or_default(),
    };
    words.split('|').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    fn verdict(event: &str, matchers: &[&str]) -> Option<Verdict> {
        of(event, matchers).map(|finding| finding.verdict)
    }

    #[test]
    fn a_matcher_is_held_against_what_is_recorded() {
        let tools = matcher_of("PreToolUse").unwrap();
        assert_eq!(verdict("PreToolUse", &[&tools]), None);
        for wide in ["", "*", ".*", "T|.+"] {
            assert_eq!(verdict("PreToolUse", &[wide]), None, "{wide}");
        }
        assert_eq!(verdict("PreToolUse", &["Bash"]), Some(Verdict::Bad));
        assert_eq!(verdict("PreToolUse", &["sendmessage"]), Some(Verdict::Bad), "letters count");
        assert_eq!(verdict("PostToolUse", &["SendMessage|Task"]), Some(Verdict::Warn));
        assert_eq!(verdict("PostToolUse", &["Bash", "Team.*|Agent|Send.*|Task.*"]), None);
        assert_eq!(verdict("PreToolUse", &["(?!x)"]), Some(Verdict::Unknown), "no expression of ours");
        assert_eq!(verdict("SessionStart", &["startup"]), Some(Verdict::Warn));
        assert_eq!(verdict("SubagentStop", &["alice"]), Some(Verdict::Warn));
        assert_eq!(verdict("Stop", &["Bash"]), None, "the client does not look at it");
    }
}
