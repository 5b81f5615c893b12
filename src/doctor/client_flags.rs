//! Checks Claude Code's switches for agent teams and task tools.

use serde_json::Value;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::config::{Gate, Mode, Policy, PrematureShutdown};
use crate::settings::layer::SettingsLayer;
use crate::settings::version::{FIRST_WITH_TEAMS, Version};

const TEAMS: &str = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";
const TASKS: &str = "CLAUDE_CODE_ENABLE_TODO_TOOLS";

/// Since this version the task tools are off on current models unless enabled.
const FIRST_WITHOUT_TASKS: Version = Version(2, 1, 233);

/// The value of a variable in a session, and its origin: settings files override the environment.
fn value_of(name: &str, layers: &[SettingsLayer], env: Option<&String>) -> Option<(String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let set = |layer: &SettingsLayer| {
        let value = layer.value()?.get("env")?.get(name)?;
        Some((text(value), layer.path.display().to_string()))
    };
    layers.iter().find_map(set).or_else(|| env.map(|value| (value.clone(), "the environment".to_owned())))
}

fn is_on(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

fn set(facts: &Facts<'_>, name: &str) -> String {
    let user = facts.layers.last().map(|layer| layer.path.display().to_string());
    let path = user.unwrap_or_else(|| "settings.json".to_owned());
    format!("set \"{name}\": \"1\" under \"env\" in {path}")
}

/// Checks that agent teams are enabled.
pub fn teams(facts: &Facts<'_>) -> Finding {
    let code = Code::AgentTeams;
    if let Some(version) = facts.version().filter(|version| *version < FIRST_WITH_TEAMS) {
        let what = format!("Claude Code {version} has no agent teams (added in {FIRST_WITH_TEAMS})");
        return Finding::bad(code, what).with_fix("claude update");
    }
    match value_of(TEAMS, &facts.layers, facts.env.agent_teams.as_ref()) {
        Some((value, from)) if is_on(&value) => {
            Finding::ok(code, format!("agent teams are on ({TEAMS} in {from})"))
        }
        Some((value, from)) => {
            let what = format!("agent teams are off: {TEAMS} is {value:?} in {from}");
            Finding::warn(code, what).with_fix(set(facts, TEAMS))
        }
        None => {
            let what = format!("agent teams are off: {TEAMS} is not set");
            Finding::warn(code, what).with_fix(set(facts, TEAMS))
        }
    }
}

/// Checks that the task tools are enabled.
pub fn tasks(facts: &Facts<'_>) -> Finding {
    let code = Code::TaskTools;
    let Some(version) = facts.version() else {
        return Finding::unknown(code, "task tools unknown: Claude Code version not found");
    };
    let set_to = value_of(TASKS, &facts.layers, facts.env.task_tools.as_ref());
    match &set_to {
        Some((value, from)) if is_on(value) => {
            return Finding::ok(code, format!("the task tools are on ({TASKS} in {from})"));
        }
        _ if version < FIRST_WITHOUT_TASKS => {
            return Finding::ok(code, format!("the task tools are on by default in Claude Code {version}"));
        }
        _ => {}
    }
    let dead = asked(&facts.policy.config.policy);
    let mut what = format!(
        "the task tools are off by default on current models since Claude Code {FIRST_WITHOUT_TASKS}"
    );
    if !dead.is_empty() {
        what.push_str(&format!("; {} inactive", are(&dead)));
    }
    what.push_str(weaker(&facts.policy.config.policy.premature_shutdown));
    // A check of the user's that never runs is a problem.
    let checks = dead.contains(&Gate::CompletionCheck);
    let finding = if checks { Finding::bad(code, what) } else { Finding::warn(code, what) };
    finding.with_fix(set(facts, TASKS))
}

/// The enabled gates that need tasks.
fn asked(policy: &Policy) -> Vec<Gate> {
    let has_checks =
        |gate: &Gate| *gate != Gate::CompletionCheck || !policy.completion_check.check.is_empty();
    let asked = |gate: &Gate| gate.needs_tasks() && gate.mode(policy) != Some(Mode::Off) && has_checks(gate);
    Gate::ALL.into_iter().filter(asked).collect()
}

/// How the shutdown gate works without tasks: by missing reports.
fn weaker(gate: &PrematureShutdown) -> &'static str {
    match (gate.mode, gate.without_tasks) {
        (Mode::Off, _) => "",
        (_, Mode::Off) => "; premature-shutdown allows every shutdown",
        (_, Mode::Warn) => {
            "; premature-shutdown only warns, based on missing reports (`without-tasks` is \"warn\")"
        }
        (_, Mode::Block) => "; premature-shutdown blocks based on missing reports",
    }
}

fn are(gates: &[Gate]) -> String {
    match gates {
        [gate] => format!("{} is", gate.name()),
        gates => format!("{} are", gates.iter().map(|gate| gate.name()).collect::<Vec<_>>().join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::Verdict;
    use crate::doctor::facts::tests::facts;
    use crate::settings::layer::Kind;

    #[test]
    fn the_strongest_file_decides_on_a_switch() {
        let env = |value: Value| json!({"env": {TEAMS: value, TASKS: "1"}});
        let settings = [(Kind::Managed, env(json!("0"))), (Kind::User, env(json!("1")))];
        let finding = teams(&facts(Version(2, 1, 328), &settings));
        assert_eq!(finding.verdict, Verdict::Warn);
        assert_eq!(finding.what, format!("agent teams are off: {TEAMS} is \"0\" in /Managed.json"));
        for on in [json!("1"), json!(1), json!(true), json!("true")] {
            let finding = teams(&facts(Version(2, 1, 328), &[(Kind::User, env(on))]));
            assert_eq!(finding.verdict, Verdict::Ok);
        }
    }

    #[test]
    fn task_tools_are_off_from_2_1_233_on() {
        let verdict = |version, settings: &[(Kind, Value)]| tasks(&facts(version, settings)).verdict;
        let nothing = [(Kind::User, json!({}))];
        assert_eq!(verdict(Version(2, 1, 232), &nothing), Verdict::Ok);
        assert_eq!(verdict(Version(2, 1, 233), &nothing), Verdict::Warn);
        let on = [(Kind::User, json!({"env": {TASKS: "1"}}))];
        assert_eq!(verdict(Version(2, 1, 233), &on), Verdict::Ok);
    }
}
