//! Checks teamkeep's hooks: where they are installed, whether they are complete and called once, their matchers, and
//! their timeout at SessionEnd.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Diagnosis, Facts, InstalledHook, bad, hook_form, ok, unknown, warn};
use crate::settings::plan::{count, wanted};
use teamkeep_core::client::payload;
use teamkeep_core::client::settings::command::{HookProgram, quoted};
use teamkeep_core::client::settings::hook_command::Entry;
use teamkeep_core::client::settings::layer::{Kind, SettingsLayer, managed_with_switch};
use teamkeep_core::client::settings::managed;
use teamkeep_core::client::settings::matcher::evaluate;
use teamkeep_core::client::settings::needs::{Needs, embedded};
use teamkeep_core::client::settings::version::LAST_COMPARING_COMMANDS;

/// Events whose matcher Claude Code ignores.
const UNMATCHED: &[&str] = &["UserPromptSubmit", "Stop", "TeammateIdle", "TaskCreated", "TaskCompleted"];
/// Limits for the length of a matcher in bytes and for the matchers of one event: those of a repository could be slow.
const MAX_MATCHER_BYTES: usize = 4_096;
const MAX_MATCHERS: usize = 64;
/// Maximum number of listed matchers.
const MAX_LISTED_MATCHERS: usize = 8;
/// Maximum number of listed programs.
const MAX_LISTED: usize = 5;

/// Checks where they are installed.
pub fn installed(facts: &Facts<'_>) -> Diagnosis {
    let in_file = |layer: &SettingsLayer| {
        let ours = layer.ours();
        // A command of the user's that calls teamkeep is not a hook that `install` counts.
        let written = ours.iter().filter(|entry| entry.is_written()).count();
        let counts = [(written, "hook"), (ours.len() - written, "custom hook")];
        let counts = counts.into_iter().filter(|(number, _)| *number > 0);
        let counts: Vec<String> = counts.map(|(number, thing)| count(number, thing)).collect();
        (!counts.is_empty()).then(|| format!("{} in {}", counts.join(" and "), layer.path.display()))
    };
    let is_ignored = |layer: &&SettingsLayer| hook_form::is_ignored(layer, facts.version());
    let counted = facts.layers.iter().filter(|layer| !is_ignored(layer));
    let mut places: Vec<String> = counted.filter_map(in_file).collect();
    places.extend(facts.plugins.iter().map(|plugin| format!("the plugin {plugin}")));
    if !places.is_empty() {
        return ok(places.join("; "));
    }
    // Hooks in a file that Claude Code cannot read or ignores do not run.
    if let Some(ignored) = facts.layers.iter().find(|layer| is_ignored(layer) && in_file(layer).is_some()) {
        let path = ignored.path.display();
        return unknown(format!("hooks in {path} do not count: Claude Code ignores the file"));
    }
    match facts.layers.iter().find(|layer| layer.kind == Kind::User && layer.is_lost()) {
        Some(lost) => {
            let path = lost.path.display();
            unknown(format!("hooks in {path} do not count: Claude Code cannot read the file"))
        }
        None => bad("teamkeep's hooks are not installed").with_fix(facts.install()),
    }
}

/// Checks that there is a hook for every event that Claude Code has.
pub fn complete(facts: &Facts<'_>) -> Diagnosis {
    let (ours, has_plugin) = (facts.ours(), !facts.plugins.is_empty());
    if ours.is_empty() {
        let plugin = "the plugin has its own hooks";
        return if has_plugin { ok(plugin) } else { unknown("no hooks to check") };
    }
    let all = wanted(&facts.probe.answer, &HookProgram::bare(), &[], &Needs::builtin());
    let events = all.iter().map(|entry| entry.event.as_str());
    let missing: Vec<&str> =
        events.filter(|event| !ours.iter().any(|ours| ours.entry.event == *event)).collect();
    if !missing.is_empty() && !has_plugin {
        return warn(format!("no hook for {}", missing.join(", "))).with_fix(facts.install());
    }
    let whom = match facts.version() {
        Some(version) => format!("of Claude Code {version}"),
        None => "that every version with agent teams has".to_owned(),
    };
    ok(format!("all {} {whom} are recorded", count(all.len(), "event")))
}

/// Checks the timeout of the SessionEnd hook.
pub fn budget(facts: &Facts<'_>) -> Diagnosis {
    let ours = facts.ours();
    let mut ends = ours.iter().filter(|ours| ours.entry.event == "SessionEnd").peekable();
    if ends.peek().is_none() && facts.plugins.is_empty() {
        return unknown("no SessionEnd hook to check");
    }
    if ends.peek().is_none() {
        let what =
            "the plugin's SessionEnd hook has 1.5 seconds and leaves longer work to a background process";
        return ok(what);
    }
    let timeouts = ends.filter_map(|ours| ours.entry.hook().get("timeout")?.as_f64());
    let what = match timeouts.reduce(f64::max) {
        None => "the SessionEnd hook has no `timeout`; all SessionEnd hooks share 1.5 seconds".to_owned(),
        Some(seconds) if seconds < 2.0 => {
            format!("the SessionEnd hook has a `timeout` of {seconds} s, which may be too short")
        }
        Some(seconds) => return ok(format!("the SessionEnd hook has a `timeout` of {seconds} s")),
    };
    warn(what).with_fix(facts.install())
}

/// Finds events that run two different hooks. Claude Code runs the same one in several files once; since some version after
/// 2.1.177, only if matcher and timeout are the same, too.
pub fn duplicates(facts: &Facts<'_>) -> Diagnosis {
    let ours = facts.ours();
    let mut handlers: BTreeMap<&str, BTreeSet<Vec<String>>> = BTreeMap::new();
    for ours in &ours {
        handlers.entry(&ours.entry.event).or_default().insert(handler(ours));
    }
    let mut twice = handlers.iter().filter(|(_, handlers)| handlers.len() > 1);
    if let Some((event, commands)) = twice.next() {
        let others = match twice.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let programs = commands.iter().filter_map(|words| words.first()).take(MAX_LISTED);
        let programs = programs.cloned().collect::<Vec<_>>().join(", ");
        let at_event: Vec<_> = ours.iter().filter(|ours| ours.entry.event == *event).collect();
        let own = at_event.iter().find(|ours| !ours.entry.is_written());
        let mut files: Vec<String> =
            at_event.iter().map(|ours| ours.layer.path.display().to_string()).collect();
        files.dedup();
        // An install replaces all of teamkeep's hooks in one file. Of several files one must be chosen. The user's own
        // command stays.
        let fix = match (own, files.len()) {
            (Some(own), _) => edit(own),
            (None, 1) => facts.install(),
            (None, _) => uninstall(facts),
        };
        let files = files.join(", ");
        let what = format!("teamkeep is called twice at {event}{others}: {programs} (in {files})");
        return bad(what).with_fix(fix);
    }
    if let Some((event, files)) = differing(facts, &ours) {
        let what =
            format!("teamkeep is called twice at {event}: the hooks in {files} differ in matcher or timeout");
        return bad(what).with_fix(uninstall(facts));
    }
    let is_only_managed = managed_with_switch(&facts.layers, managed::ONLY_MANAGED).is_some();
    let (Some(plugin), false) = (facts.plugins.first(), ours.is_empty() || is_only_managed) else {
        return ok("no event calls teamkeep twice");
    };
    ok(format!("the plugin {plugin} and the hooks in the settings both run, and record each event once"))
}

/// An event at which two files have the same call with another matcher or timeout, and both run.
fn differing<'a>(facts: &Facts<'_>, ours: &'a [InstalledHook<'_>]) -> Option<(&'a str, String)> {
    if facts.version().is_some_and(|version| version <= LAST_COMPARING_COMMANDS) {
        return None;
    }
    let both_run = |one: &InstalledHook<'_>, other: &InstalledHook<'_>| {
        let (one, other) = (&one.entry, &other.entry);
        let words =
            [one, other].map(|entry| entry.matcher().split(|c: char| !(c.is_alphanumeric() || c == '_')));
        let names = subjects(&one.event).into_iter().chain(words.into_iter().flatten().map(str::to_owned));
        let runs = |entry: &Entry, name: &str| {
            matches!(entry.matcher(), "" | "*") || evaluate(entry.matcher(), name) == Some(true)
        };
        one.event == other.event
            && one.group != other.group
            && names.chain([String::new()]).any(|name| runs(one, &name) && runs(other, &name))
    };
    ours.iter().enumerate().find_map(|(index, one)| {
        let mut later = ours.iter().skip(index + 1).filter(|other| other.layer.path != one.layer.path);
        let other = later.find(|other| both_run(one, other))?;
        let files = format!("{} and {}", one.layer.path.display(), other.layer.path.display());
        Some((one.entry.event.as_str(), files))
    })
}

/// The identity of a hook: the words of teamkeep's call, or the whole command of the user.
fn handler(ours: &InstalledHook<'_>) -> Vec<String> {
    match ours.entry.hook().get("command").and_then(Value::as_str).filter(|_| !ours.entry.is_written()) {
        Some(line) => vec![format!("`{}`", line.chars().take(80).collect::<String>())],
        None => ours.entry.words(),
    }
}

/// The instruction for a command of the user's.
fn edit(ours: &InstalledHook<'_>) -> String {
    let path = quoted(&ours.layer.path.to_string_lossy());
    format!("${{EDITOR:-vi}} {path}  # remove teamkeep from that command")
}

/// The command that removes the hooks from the file of lower precedence.
fn uninstall(facts: &Facts<'_>) -> String {
    let last = facts.layers.iter().rev().find(|layer| !layer.ours().is_empty());
    last.map_or_else(|| format!("{} uninstall", facts.call), |layer| layer.command(&facts.call, "uninstall"))
}

/// Checks that no matcher prevents a needed hook call, event by event.
pub fn matchers(facts: &Facts<'_>) -> Vec<Diagnosis> {
    let ours = facts.ours();
    let mut matchers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for ours in &ours {
        matchers.entry(&ours.entry.event).or_default().push(ours.entry.matcher());
    }
    let found = matchers.iter().filter_map(|(event, matchers)| matcher_problem(event, matchers));
    let found: Vec<Diagnosis> = found.map(|problem| problem.with_fix(facts.install())).collect();
    match (found.is_empty(), ours.is_empty()) {
        (false, _) => found,
        (true, true) => unknown("no matchers to check").into(),
        (true, false) => ok("the matchers cover everything that teamkeep records").into(),
    }
}

/// The problem with the matchers of an event, if any.
fn matcher_problem(event: &str, matchers: &[&str]) -> Option<Diagnosis> {
    // `rules-asked` checks the hooks that only rules need.
    let is_unlimited = matchers.iter().any(|matcher| matches!(*matcher, "" | "*"));
    if payload::Kind::named(event).is_for_rules() || UNMATCHED.contains(&event) || is_unlimited {
        return None;
    }
    if matchers.len() > MAX_MATCHERS {
        return Some(unknown(format!("too many matchers to check at {event}: {}", matchers.len())));
    }
    let all = matchers.iter().take(MAX_LISTED_MATCHERS).copied().collect::<Vec<_>>().join(", ");
    let subjects = subjects(event);
    if subjects.is_empty() {
        return Some(warn(format!("the {event} hook runs only for {all:?}")));
    }
    let mut excluded = Vec::new();
    for subject in &subjects {
        let evaluate =
            |matcher: &&str| (matcher.len() <= MAX_MATCHER_BYTES).then(|| evaluate(matcher, subject))?;
        match matchers.iter().map(evaluate).collect::<Option<Vec<bool>>>() {
            None => return Some(unknown(format!("cannot interpret the {event} matcher {all:?}"))),
            Some(matches) if matches.contains(&true) => {}
            Some(_) => excluded.push(subject.as_str()),
        }
    }
    if excluded.is_empty() {
        None
    } else if excluded.len() == subjects.len() {
        Some(bad(format!("the {event} hook never runs: {all:?} matches no recorded tool or event")))
    } else {
        let names = excluded.join(", ");
        Some(warn(format!("the {event} hook does not run for {names}: its matcher is {all:?}")))
    }
}

/// The names that the matcher of an event must match.
fn subjects(event: &str) -> Vec<String> {
    let embedded = embedded().into_iter().find(|entry| entry.event == event);
    let words = match event {
        "SessionStart" => "startup|resume|clear|compact",
        "SessionEnd" => "clear|logout|prompt_input_exit|other",
        "PreCompact" => "manual|auto",
        _ => embedded.as_ref().map_or("", Entry::matcher),
    };
    words.split('|').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    fn verdict(event: &str, matchers: &[&str]) -> Option<Verdict> {
        matcher_problem(event, matchers).map(|finding| finding.verdict)
    }

    #[test]
    fn matcher_problem_is_found_for_recorded_tools() {
        let tools = subjects("PreToolUse").join("|");
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
