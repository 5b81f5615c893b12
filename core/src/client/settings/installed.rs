//! The coverage of the installed hooks: which rules of the policy they evaluate, and the command that makes them
//! evaluate the others.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde_json::Value;

use crate::client::payload::Kind as Event;
use crate::client::settings::command::{HookProgram, is_bare, is_executable, quoted, typed_to_install};
use crate::client::settings::hook_command::Entry;
use crate::client::settings::install_record::Records;
use crate::client::settings::layer::{
    Kind, SettingsLayer, layers, managed_with_hooks, managed_with_switch, plugins, running, with_most_hooks,
};
use crate::client::settings::managed;
use crate::client::settings::matcher::{MAX_PATTERNS, matches, widened};
use crate::client::settings::needs::{Demand, HookSet, Needs, Subject};
use crate::client::settings::version::{FIRST_WITH_TEAMS, Version, knows, since};
use crate::config::pattern::is_plain;
use crate::sys::env::Env;
use crate::sys::paths::Paths;

/// Sample names for a `*`. A matcher that matches all of them is taken to match every name.
const SAMPLES: [&str; 4] = ["", "Bash", "x_9", "mcp__server__tool-1"];
/// How many tools of a rule are listed.
const MAX_LISTED: usize = 5;

/// The hooks of a session.
#[derive(Debug)]
pub struct Installed {
    pub coverage: Coverage,
    /// The command that makes them cover the policy in force.
    pub command: String,
    /// Whether the command finds the settings file from the project's directory.
    pub is_in_project: bool,
    /// The version of Claude Code that they were written for, if it is known.
    pub client: Option<Version>,
}

impl Installed {
    /// Reads the settings files of a session. If these have no hook, files that `install` wrote elsewhere count.
    pub fn find(env: &Env, paths: &Paths) -> Installed {
        let layers = layers(env, paths);
        let (mut coverage, mut command) = (Coverage::of(&layers), install_command(env, &layers));
        let records = Records::at(paths.installs());
        let client =
            |layer: &SettingsLayer| records.find(&layer.path.canonicalize().ok()?)?.client?.parse().ok();
        if !coverage.is_empty() {
            let most = with_most_hooks(&layers);
            let is_in_project = most.is_some_and(|layer| matches!(layer.kind, Kind::Project | Kind::Local));
            return Installed { coverage, command, is_in_project, client: most.and_then(client) };
        }
        let elsewhere =
            records.all().map(|record| SettingsLayer::read(Kind::User, Path::new(&record.settings)));
        let elsewhere: Vec<SettingsLayer> = elsewhere.filter(|layer| !layer.ours().is_empty()).collect();
        elsewhere.iter().for_each(|layer| coverage.add(layer));
        if let Some(layer) = elsewhere.last() {
            let (call, path) = (typed_to_install(env), quoted(&layer.path.to_string_lossy()));
            command = format!("{call} install --settings {path}{}", program_option(env, layer));
        }
        let client = elsewhere.last().and_then(client);
        Installed { coverage, command, is_in_project: false, client }
    }
}

/// The command that repeats the installation: in managed settings if these have hooks, because a second installation would
/// run as well, else in the file with the most hooks, else in the user's.
pub fn install_command(env: &Env, layers: &[SettingsLayer]) -> String {
    let call = typed_to_install(env);
    let again = |layer: &SettingsLayer| layer.command(&call, "install") + &program_option(env, layer);
    match (managed_with_hooks(layers), with_most_hooks(layers)) {
        (Some(managed), _) => format!("{}  # with --all-tools for users' rules", again(managed)),
        (None, Some(layer)) => again(layer),
        (None, None) => format!("{call} install"),
    }
}

/// The option that keeps the program of a file's hooks, if it is not the running one.
fn program_option(env: &Env, layer: &SettingsLayer) -> String {
    let written = layer.ours().into_iter().find(Entry::is_written);
    let program = written.and_then(|entry| entry.words().into_iter().next());
    let is_running = |named: &str| HookProgram::running(env).is_ok_and(|running| running.replaces(named));
    program
        .filter(|named| (is_bare(named) || is_executable(Path::new(named))) && !is_running(named))
        .map_or(String::new(), |named| format!(" --command {}", quoted(&named)))
}

/// The events and matchers of the hooks that Claude Code runs.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    hooks: Vec<RunHook>,
}

/// A hook that Claude Code runs.
#[derive(Debug, Clone)]
struct RunHook {
    event: String,
    matcher: Option<Value>,
    /// The permission rule that limits it.
    condition: Option<Value>,
}

/// A rule or a gate that is not evaluated at some of its events or tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncovered {
    pub subject: Subject,
    /// Where it is defined, `path:line`; empty if that is unknown.
    pub file_line: String,
    pub gaps: Vec<Gap>,
}

/// An event at which no installed hook runs for these tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub event: Event,
    /// The tools, as they are spelled there; empty for all tools, and for an event without tools.
    pub tools: Vec<String>,
}

impl Coverage {
    /// The coverage of the hooks in these settings files, and those of a plugin that they enable.
    pub fn of(layers: &[SettingsLayer]) -> Coverage {
        let mut coverage = Coverage::default();
        running(layers).for_each(|layer| coverage.add(layer));
        let is_only_managed = managed_with_switch(layers, managed::ONLY_MANAGED).is_some();
        if !is_only_managed && !plugins(layers).is_empty() {
            coverage.hooks.extend(Coverage::of_plugin().hooks);
        }
        coverage
    }

    /// The coverage of the plugin's hooks.
    pub fn of_plugin() -> Coverage {
        let builtin = Needs::builtin();
        let hooks = builtin.matchers().map(|(event, matcher)| RunHook {
            event: event.to_owned(),
            matcher: matcher.map(Value::String),
            condition: None,
        });
        Coverage { hooks: hooks.collect() }
    }

    fn add(&mut self, layer: &SettingsLayer) {
        self.hooks.extend(layer.ours().into_iter().map(|entry| RunHook {
            matcher: entry.group.get("matcher").cloned(),
            condition: entry.hook().get("if").cloned(),
            event: entry.event,
        }));
    }

    /// The events with a hook, each once, by name.
    pub fn events(&self) -> BTreeSet<String> {
        self.hooks.iter().map(|hook| hook.event.clone()).collect()
    }

    /// Whether it has no hooks.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// The rules and gates that are not evaluated at all their events and tools.
    pub fn uncovered(&self, demands: &[Demand]) -> Vec<Uncovered> {
        let of = |demand: &Demand| {
            let gaps = demand.hooks.iter().flat_map(|set| {
                set.events.iter().filter_map(|event| self.gap(set, *event, demand.is_for_any_event))
            });
            let gaps: Vec<Gap> = gaps.collect();
            let (subject, file_line) = (demand.subject.clone(), demand.file_line.clone());
            (!gaps.is_empty()).then_some(Uncovered { subject, file_line, gaps })
        };
        demands.iter().filter_map(of).collect()
    }

    fn gap(&self, set: &HookSet, event: Event, is_for_any_event: bool) -> Option<Gap> {
        let has_condition = |hook: &&RunHook| match (&hook.condition, set.condition) {
            (None, _) => true,
            (Some(known), Some(condition)) => known == condition,
            (Some(_), None) => false,
        };
        let hooks = self.hooks.iter().filter(|hook| hook.event == event.name()).filter(has_condition);
        let hooks: Vec<&RunHook> = hooks.collect();
        if !event.has_tool() {
            // A rule without events applies to the events that this version of Claude Code has.
            let is_late = is_for_any_event && since(event.name()).is_some_and(|v| v > FIRST_WITH_TEAMS);
            return (hooks.is_empty() && !is_late).then(|| Gap { event, tools: Vec::new() });
        }
        let covers = |name: &String| {
            let mut patterns = MAX_PATTERNS;
            hooks.iter().any(|hook| matches(hook.matcher.as_ref(), Some(name), &mut patterns))
        };
        if set.tools.is_empty() {
            return (!samples("*").iter().all(covers)).then(|| Gap { event, tools: Vec::new() });
        }
        let uncovered = |glob: &&String| !samples(glob).iter().all(covers);
        let tools: Vec<String> = set.tools.iter().filter(uncovered).cloned().collect();
        (!tools.is_empty()).then_some(Gap { event, tools })
    }
}

/// Sample names for a glob, as a matcher expresses it.
fn samples(glob: &str) -> Vec<String> {
    let sample = |star: &str| widened(glob).replace('*', star);
    let names = SAMPLES.into_iter().map(sample).filter(|name| !name.is_empty());
    if is_plain(glob) { vec![glob.to_owned()] } else { names.collect() }
}

impl Uncovered {
    /// The message for the user.
    pub fn message(&self) -> String {
        format!("{} is not evaluated at {self}: no installed hook covers it", self.subject)
    }

    /// The command that fixes it, with a note if this version of Claude Code must be upgraded first.
    pub fn remedy(&self, command: &str, client: Option<Version>) -> String {
        let mut events = self.gaps.iter().map(|gap| gap.event.name());
        let mut lacks = |version| events.find(|event| knows(version, event) == Some(false));
        match client.and_then(|version| Some((version, lacks(version)?))) {
            Some((version, event)) => {
                format!("{command}  # upgrade Claude Code first: {version} does not have {event}")
            }
            None => command.to_owned(),
        }
    }
}

impl fmt::Display for Uncovered {
    /// `PreToolUse for Bash, Edit; TaskCreated`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Gap { event, tools }) in self.gaps.iter().enumerate() {
            write!(out, "{}{}", if index > 0 { "; " } else { "" }, event.name())?;
            let named = tools.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
            match tools.len() {
                _ if !event.has_tool() => {}
                0 => out.write_str(" for every tool")?,
                all if all > MAX_LISTED => write!(out, " for {named} and {} more", all - MAX_LISTED)?,
                _ => write!(out, " for {named}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Mode, Rule, Settings};
    use serde_json::json;

    fn rule(events: &[&str], tools: &[&str]) -> Rule {
        let rule = json!({"name": "mine", "action": "warn", "events": events, "tools": tools});
        serde_json::from_value(rule).unwrap()
    }

    fn gaps(hooks: &[(&str, Option<&str>)], rule: &Rule) -> Vec<String> {
        let hook = |(event, matcher): &(&str, Option<&str>)| RunHook {
            event: (*event).to_owned(),
            matcher: matcher.map(Value::from),
            condition: None,
        };
        let coverage = Coverage { hooks: hooks.iter().map(hook).collect() };
        let demands = Demand::of_rules(std::slice::from_ref(rule));
        coverage.uncovered(&demands).iter().map(Uncovered::to_string).collect()
    }

    #[test]
    fn rule_is_covered_where_a_hook_runs_for_each_of_its_tools() {
        let before = |matcher| [("PreToolUse", Some(matcher))];
        for (matcher, tools, left) in [
            ("Agent|Task", &["Bash"][..], Some("PreToolUse for Bash")),
            ("Agent|Bash", &["Bash"], None),
            ("*", &["Bash"], None),
            ("B.*", &["Bash"], None),
            ("Agent", &["Agent", "Bash", "Edit"], Some("PreToolUse for Bash, Edit")),
            ("^(Agent|mcp__.*)$", &["mcp__*"], None),
            ("mcp__git", &["mcp__*"], Some("PreToolUse for mcp__*")),
            ("^mcp__", &["mcp__*", "mcp__[!a]?t"], None),
            ("Bash|Agent", &[], Some("PreToolUse for every tool")),
            (".*", &[], None),
            ("(?!Read)", &["Bash"], Some("PreToolUse for Bash")),
        ] {
            let found = gaps(&before(matcher), &rule(&["PreToolUse"], tools));
            assert_eq!(found.first().map(String::as_str), left, "{matcher} {tools:?}");
        }
        let two = [("PreToolUse", Some("Agent")), ("PreToolUse", Some("Bash"))];
        assert_eq!(gaps(&two, &rule(&["pre-tool-use"], &["Bash", "Agent"])), [""; 0]);
    }

    #[test]
    fn rule_without_events_needs_the_events_that_every_client_with_teams_has() {
        let all = rule(&[], &[]);
        let mut hooks: Vec<(&str, Option<&str>)> =
            ["TeammateIdle", "TaskCompleted", "SubagentStop", "Stop"].map(|event| (event, None)).into();
        assert_eq!(gaps(&hooks, &all), ["PreToolUse for every tool"]);
        hooks.push(("PreToolUse", None));
        assert_eq!(gaps(&hooks, &all), [""; 0], "TaskCreated came later");
        assert_eq!(gaps(&hooks, &rule(&["TaskCreated", "Stop"], &[])), ["TaskCreated"]);
        assert_eq!(gaps(&hooks[1..], &rule(&["TeammateIdle"], &["Bash"])), [""; 0], "it never matches");
    }

    #[test]
    fn a_hook_with_a_condition_covers_only_the_gates_that_need_no_more() {
        let mut config = Config::default();
        config.policy.history_rewrite.mode = Mode::Warn;
        let limited = |condition: Option<&str>| {
            let hook = |event: &str, matcher: &str, condition: Option<&str>| RunHook {
                event: event.to_owned(),
                matcher: Some(matcher.into()),
                condition: condition.map(Value::from),
            };
            let edits = |event| hook(event, "Edit|MultiEdit|NotebookEdit|Write", None);
            Coverage {
                hooks: vec![
                    edits("PreToolUse"),
                    edits("PostToolUseFailure"),
                    hook("PreToolUse", "Bash", condition),
                    hook("PostToolUse", "Bash", condition),
                ],
            }
        };
        let gaps = |coverage: &Coverage, demands: &[Demand]| {
            coverage
                .uncovered(demands)
                .iter()
                .map(|one| format!("{}: {one}", one.subject))
                .collect::<Vec<_>>()
        };
        let gate = Demand::all(&config, &Settings::default());
        for condition in [None, Some("Bash(*git *)")] {
            assert_eq!(gaps(&limited(condition), &gate), [""; 0], "{condition:?}");
        }
        let none = ["gate history-rewrite: PreToolUse for Bash; PostToolUse for Bash"];
        assert_eq!(gaps(&limited(Some("Bash(git push *)")), &gate), none);
        let rules = Demand::of_rules(&[rule(&["PreToolUse"], &["Bash"])]);
        assert_eq!(gaps(&limited(Some("Bash(*git *)")), &rules), ["rule \"mine\": PreToolUse for Bash"]);
        config.policy.edit_collision.mode = Mode::Block;
        let both = Demand::all(&config, &Settings::default());
        assert_eq!(gaps(&limited(None), &both), ["gate edit-collision: PreToolUse for Read"]);
    }
}
