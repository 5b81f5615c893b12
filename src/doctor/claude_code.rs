//! Checks Claude Code: its version, its switches, and the settings files that it reads.

use serde_json::Value;
use teamkeep_model::words::count;

use super::{CheckInput, Diagnosis, DoctorCheck, Health, bad, ok, unknown, warn};
use teamkeep_config::{Gate, Mode, Policy, PrematureShutdown};
use teamkeep_settings::document::check_strict;
use teamkeep_settings::layer::{
    DISABLED, ONLY_MANAGED, SettingsLayer, SettingsScope, State, managed_with_hooks, managed_with_switch,
};
use teamkeep_settings::plan::named;
use teamkeep_settings::variables::{TASKS, TEAMS, is_on, value};
use teamkeep_settings::version::{
    ClientVersion, FIRST_LENIENT, FIRST_WITH_ARGS, FIRST_WITH_TEAMS, Version, exists, knows,
};
use teamkeep_system::command::find;
use teamkeep_system::os;

/// Since this version the task tools are off on current models unless enabled.
const FIRST_WITHOUT_TASKS: Version = Version(2, 1, 233);

/// Checks the answer of `claude --version`.
pub fn version(input: &CheckInput<'_>) -> Diagnosis {
    match (&input.probe.at, &input.probe.answer) {
        (Some(at), ClientVersion::Known(version)) => {
            // The bare name is looked up on the search path.
            let path = at.to_str().and_then(|name| find(name, input.env));
            ok(format!("Claude Code {version} ({})", path.as_ref().unwrap_or(at).display()))
        }
        (Some(at), ClientVersion::Unknown(why)) => {
            unknown(why).with_fix(format!("run `{} --version` and fix the error", at.display()))
        }
        (None, ClientVersion::Unknown(why)) => {
            bad(why).with_fix("install Claude Code, or add `claude` to PATH")
        }
        // The user gave the version.
        (None, ClientVersion::Known(version)) => ok(format!("Claude Code {version}")),
    }
}

/// The value of a variable in a session, and its origin: settings files override the environment.
fn value_of(name: &str, layers: &[SettingsLayer], env: Option<&String>) -> Option<(String, String)> {
    let set = |layer: &SettingsLayer| Some((value(layer.value()?, name)?, layer.path.display().to_string()));
    layers.iter().find_map(set).or_else(|| env.map(|value| (value.clone(), "the environment".to_owned())))
}

/// The command that enables it, or an instruction if a settings file disables it.
fn set(input: &CheckInput<'_>, name: &str) -> String {
    if let Some((_, path)) = value_of(name, &input.layers, None) {
        return format!("set \"{name}\": \"1\" under \"env\" in {path}");
    }
    // An install would add hooks beside those of a plugin or project.
    let is_elsewhere = |kind| matches!(kind, SettingsScope::Project | SettingsScope::Local);
    match input.plugins.is_empty() && !input.ours().iter().any(|ours| is_elsewhere(ours.layer.kind)) {
        true => format!("{} install --enable-teams", input.installer),
        false => format!("{} doctor --fix --yes", input.call),
    }
}

/// Whether agent teams or task tools are off, and a variable in the user's settings enables them.
pub fn can_enable(input: &CheckInput<'_>, health: &Health) -> bool {
    let has_teams = input.version().is_none_or(|version| version >= FIRST_WITH_TEAMS);
    let mut variables = [(DoctorCheck::AgentTeams, TEAMS), (DoctorCheck::TaskTools, TASKS)].into_iter();
    has_teams
        && variables
            .any(|(code, name)| health.has_issue(code) && value_of(name, &input.layers, None).is_none())
}

/// Checks that agent teams are enabled.
pub fn teams(input: &CheckInput<'_>) -> Diagnosis {
    if let Some(version) = input.version().filter(|version| *version < FIRST_WITH_TEAMS) {
        let what = format!("Claude Code {version} has no agent teams (added in {FIRST_WITH_TEAMS})");
        return bad(what).with_fix("claude update");
    }
    let why = match value_of(TEAMS, &input.layers, input.env.agent_teams.as_ref()) {
        Some((value, from)) if is_on(&value) => return ok(format!("agent teams are on ({TEAMS} in {from})")),
        Some((value, from)) => format!("{value:?} in {from}"),
        None => "not set".to_owned(),
    };
    warn(format!("agent teams are off: {TEAMS} is {why}")).with_fix(set(input, TEAMS))
}

/// Checks that the task tools are enabled.
pub fn tasks(input: &CheckInput<'_>) -> Diagnosis {
    let Some(version) = input.version() else {
        return unknown("task tools unknown: Claude Code version not found");
    };
    match value_of(TASKS, &input.layers, input.env.task_tools.as_ref()) {
        Some((value, from)) if is_on(&value) => {
            return ok(format!("the task tools are on ({TASKS} in {from})"));
        }
        _ if version < FIRST_WITHOUT_TASKS => {
            return ok(format!("the task tools are on by default in Claude Code {version}"));
        }
        _ => {}
    }
    let policy = &input.policy.config.policy;
    let inactive = enabled_task_gates(policy);
    let mut what = format!(
        "the task tools are off by default on current models since Claude Code {FIRST_WITHOUT_TASKS}"
    );
    if !inactive.is_empty() {
        let verb = if inactive.len() == 1 { "is" } else { "are" };
        let names: Vec<&str> = inactive.iter().map(|gate| gate.name()).collect();
        what += &format!("; {} {verb} inactive", names.join(" and "));
    }
    what += shutdown_without_tasks(&policy.premature_shutdown);
    // A check of the user's that never runs is a problem.
    let diagnosis = if inactive.contains(&Gate::CompletionCheck) { bad(what) } else { warn(what) };
    diagnosis.with_fix(set(input, TASKS))
}

/// The enabled gates that need tasks.
fn enabled_task_gates(policy: &Policy) -> Vec<Gate> {
    let has_checks =
        |gate: &Gate| *gate != Gate::CompletionCheck || !policy.completion_check.check.is_empty();
    let is_enabled =
        |gate: &Gate| gate.needs_tasks() && gate.mode(policy) != Some(Mode::Off) && has_checks(gate);
    Gate::ALL.into_iter().filter(is_enabled).collect()
}

/// How the shutdown gate works without tasks: by missing reports.
fn shutdown_without_tasks(gate: &PrematureShutdown) -> &'static str {
    match (gate.mode, gate.without_tasks) {
        (Mode::Off, _) => "",
        (_, Mode::Off) => "; premature-shutdown allows every shutdown",
        (_, Mode::Warn) => {
            "; premature-shutdown only warns, based on missing reports (`without-tasks` is \"warn\")"
        }
        (_, Mode::Block) => "; premature-shutdown blocks based on missing reports",
    }
}

/// Checks that Claude Code can read each settings file.
pub fn settings(input: &CheckInput<'_>) -> Vec<Diagnosis> {
    let unread = input.layers.iter().filter_map(|layer| {
        let path = layer.path.display().to_string();
        match &layer.state {
            State::Unreadable(why) => {
                let what = if why.contains(&path) { why.clone() } else { format!("{path}: {why}") };
                Some(bad(what).with_fix(format!("make {path} a readable file, or remove it")))
            }
            State::Invalid(content) => {
                let error = check_strict(content).err()?;
                let effect = match layer.kind {
                    SettingsScope::Managed => "; newer versions do not start, for any user",
                    _ => "",
                };
                Some(bad(format!("{path}: {error}{effect}")).with_fix(error.edit(&layer.path)))
            }
            State::Missing | State::Read(_) => None,
        }
    });
    let found: Vec<Diagnosis> = unread.collect();
    if !found.is_empty() {
        return found;
    }
    let there = input.layers.iter().filter(|layer| layer.value().is_some());
    let there: Vec<String> = there.map(|layer| layer.path.display().to_string()).collect();
    if there.is_empty() {
        return ok("no settings file yet").into();
    }
    let files = count(there.len(), "settings file");
    ok(format!("Claude Code can read {files}: {}", there.join(", "))).into()
}

/// Checks that hooks are not disabled.
pub fn hooks_enabled(input: &CheckInput<'_>) -> Vec<Diagnosis> {
    let layers = &input.layers;
    let managed = managed_with_hooks(layers);
    if let Some(layer) = managed_with_switch(layers, DISABLED) {
        let path = layer.path.display();
        let what = format!("no hook runs: `{DISABLED}` is true in the managed settings {path}");
        return bad(what).with_fix(format!("ask an administrator to remove `{DISABLED}` from {path}")).into();
    }
    let mut found: Vec<Diagnosis> = Vec::new();
    let others = layers.iter().filter(|layer| layer.kind != SettingsScope::Managed);
    for layer in others.clone().filter(|layer| layer.has(DISABLED)) {
        let path = layer.path.display();
        let fix = format!("remove `{DISABLED}` from {path}");
        found.push(match managed {
            Some(_) => {
                let what = format!("only hooks of managed settings run: `{DISABLED}` is true in {path}");
                ok(format!("{what}; teamkeep's are among them"))
            }
            None => bad(format!("no hook runs: `{DISABLED}` is true in {path}")).with_fix(fix),
        });
    }
    if let Some(layer) = managed_with_switch(layers, ONLY_MANAGED) {
        let what =
            format!("only hooks of managed settings run: `{ONLY_MANAGED}` in {}", layer.path.display());
        let fix = || {
            let install = format!("{}{} install --scope managed", os::shell::SUDO, input.installer);
            format!("ask an administrator to run: {install}")
        };
        let own = others.clone().find(|layer| !layer.ours().is_empty());
        let is_managed =
            |layer: &SettingsLayer| layer.kind == SettingsScope::Managed && !layer.ours().is_empty();
        found.push(match (layers.iter().any(is_managed), own) {
            (false, _) => bad(format!("{what}; teamkeep's are not among them")).with_fix(fix()),
            (true, None) => ok(format!("{what}; teamkeep's are among them")),
            (true, Some(own)) => {
                let own = own.path.display();
                ok(format!("{what}; teamkeep's are among them, those in {own} do not run"))
            }
        });
    }
    if found.is_empty() {
        found.push(ok("no setting disables hooks"));
    }
    found
}

/// Checks every event in every file, and the form of teamkeep's hooks.
pub fn events(input: &CheckInput<'_>) -> Vec<Diagnosis> {
    let Some(version) = input.version() else {
        return unknown("supported events unknown: Claude Code version not found").into();
    };
    let layers = input.layers.iter();
    let found = layers.flat_map(|layer| {
        [unknown_events(layer, version, &input.installer), args(layer, version, &input.installer)]
    });
    let found: Vec<Diagnosis> = found.flatten().collect();
    if !found.is_empty() {
        return found;
    }
    ok(format!("Claude Code {version} supports every event in its settings")).into()
}

fn unknown_events(layer: &SettingsLayer, version: Version, call: &str) -> Option<Diagnosis> {
    let hooks = layer.value()?.get("hooks").and_then(Value::as_object)?;
    let of = |known: Option<bool>| -> Vec<&str> {
        hooks.keys().filter(|event| knows(version, event) == known).map(String::as_str).collect()
    };
    let path = layer.path.display();
    let events = of(Some(false));
    if events.is_empty() {
        let unsure = of(None);
        let what = format!("Claude Code {version} may not support {} in {path}", named(&unsure));
        return (!unsure.is_empty()).then(|| unknown(what));
    }
    let names = named(&events);
    let ours = layer.ours();
    let is_ours = |event: &&str| ours.iter().any(|entry| entry.is_written() && entry.event == **event);
    let fix = match events.iter().all(|event| exists(event)) {
        _ if events.iter().all(is_ours) => layer.command(call, "install"),
        true => format!("remove {names} from {path}, or upgrade Claude Code"),
        false => format!("remove {names} from {path}, or correct the spelling"),
    };
    let diagnosis = if version < FIRST_LENIENT {
        bad(format!(
            "Claude Code {version} ignores the whole file {path} because it does not support {names}"
        ))
    } else {
        warn(format!("Claude Code {version} does not support {names} in {path}; those hooks never run"))
    };
    Some(diagnosis.with_fix(fix))
}

/// Checks that Claude Code supports the `args` of teamkeep's hooks.
fn args(layer: &SettingsLayer, version: Version, call: &str) -> Option<Diagnosis> {
    let with_args = layer.ours().iter().filter(|entry| entry.hook().get("args").is_some()).count();
    if with_args == 0 || version >= FIRST_WITH_ARGS {
        return None;
    }
    let (hooks, path) = (count(with_args, "hook"), layer.path.display());
    let what = format!("Claude Code {version} does not support `args`, which {hooks} in {path} use");
    Some(bad(what).with_fix(layer.command(call, "install")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckVerdict;
    use crate::doctor::tests::input;
    use serde_json::json;
    use teamkeep_settings::version::VersionProbe;

    #[test]
    fn version_check_rates_known_unknown_and_missing_clients() {
        let asked = |at: Option<&str>, answer| VersionProbe { at: at.map(Into::into), answer };
        let unknown = || ClientVersion::Unknown("it hangs".to_owned());
        let verdict = |asked| {
            let mut input = input(Version(2, 1, 328), &[]);
            input.probe = asked;
            super::version(&input).verdict
        };
        assert_eq!(
            verdict(asked(Some("claude"), ClientVersion::Known(Version(2, 1, 328)))),
            CheckVerdict::Ok
        );
        assert_eq!(verdict(asked(Some("claude"), unknown())), CheckVerdict::Unknown);
        assert_eq!(verdict(asked(None, unknown())), CheckVerdict::Bad);
    }

    #[test]
    fn the_documented_time_limit_is_the_one_in_use() {
        assert!(crate::doctor::DoctorCheck::Client.about().ends_with(" within ten seconds."));
        assert_eq!(teamkeep_settings::version::TIMEOUT.as_secs(), 10);
    }

    #[test]
    fn file_with_the_highest_precedence_sets_a_variable() {
        let env = |value: Value| json!({"env": {TEAMS: value, TASKS: "1"}});
        let settings = [(SettingsScope::Managed, env(json!("0"))), (SettingsScope::User, env(json!("1")))];
        let finding = teams(&input(Version(2, 1, 328), &settings));
        assert_eq!(finding.verdict, CheckVerdict::Warn);
        assert_eq!(finding.what, format!("agent teams are off: {TEAMS} is \"0\" in /Managed.json"));
        for on in [json!("1"), json!(1), json!(true), json!("true")] {
            let finding = teams(&input(Version(2, 1, 328), &[(SettingsScope::User, env(on))]));
            assert_eq!(finding.verdict, CheckVerdict::Ok);
        }
    }

    #[test]
    fn task_tools_are_off_from_2_1_233_on() {
        let verdict = |version, settings: &[(SettingsScope, Value)]| tasks(&input(version, settings)).verdict;
        let nothing = [(SettingsScope::User, json!({}))];
        assert_eq!(verdict(Version(2, 1, 232), &nothing), CheckVerdict::Ok);
        assert_eq!(verdict(Version(2, 1, 233), &nothing), CheckVerdict::Warn);
        let on = [(SettingsScope::User, json!({"env": {TASKS: "1"}}))];
        assert_eq!(verdict(Version(2, 1, 233), &on), CheckVerdict::Ok);
    }

    #[test]
    fn administrator_can_allow_only_managed_hooks() {
        let ours = json!({"hooks": {"Stop": [{"hooks": [{"command": "/bin/teamkeep hook stop"}]}]}});
        let with = |managed: Value| {
            let input = input(
                Version(2, 1, 328),
                &[(SettingsScope::Managed, managed), (SettingsScope::User, ours.clone())],
            );
            hooks_enabled(&input).remove(0)
        };
        let only = json!({"allowManagedHooksOnly": true});
        let finding = with(only.clone());
        assert_eq!(finding.verdict, CheckVerdict::Bad);
        assert_eq!(
            finding.what,
            "only hooks of managed settings run: `allowManagedHooksOnly` in /Managed.json; teamkeep's are not among them"
        );
        let sudo = if cfg!(windows) { "" } else { "sudo " };
        let fix = format!("ask an administrator to run: {sudo}teamkeep install --scope managed");
        assert_eq!(finding.fix, Some(fix));
        let mut both = ours.clone();
        both["allowManagedHooksOnly"] = json!(true);
        let finding = with(both);
        assert_eq!(finding.verdict, CheckVerdict::Ok);
        assert!(finding.what.ends_with("teamkeep's are among them, those in /User.json do not run"));
        assert_eq!(with(json!({"allowManagedHooksOnly": false})).verdict, CheckVerdict::Ok);
        assert_eq!(with(json!({"disableAllHooks": true})).verdict, CheckVerdict::Bad);
        let mut disabled = ours.clone();
        disabled["disableAllHooks"] = json!(true);
        let by_user = |managed: Value| {
            let layers = [(SettingsScope::Managed, managed), (SettingsScope::User, disabled.clone())];
            hooks_enabled(&input(Version(2, 1, 330), &layers)).remove(0).verdict
        };
        assert_eq!(by_user(ours.clone()), CheckVerdict::Ok, "managed hooks still run");
        assert_eq!(by_user(json!({})), CheckVerdict::Bad);
        let user = input(Version(2, 1, 328), &[(SettingsScope::User, only)]);
        assert_eq!(hooks_enabled(&user)[0].verdict, CheckVerdict::Ok, "only an administrator can say so");
    }

    #[test]
    fn unknown_event_is_an_error_for_an_old_client_and_a_warning_for_a_newer_one() {
        let theirs = json!({"hooks": {"WorktreeCreate": [{"hooks": [{"command": "mine"}]}]}});
        let late =
            json!({"hooks": {"TaskCreated": [{"hooks": [{"command": "teamkeep hook task-created"}]}]}});
        let found =
            |version, kind, value: &Value| events(&input(version, &[(kind, value.clone())])).remove(0);
        assert_eq!(found(Version(2, 1, 49), SettingsScope::User, &theirs).verdict, CheckVerdict::Bad);
        assert_eq!(found(Version(2, 1, 50), SettingsScope::User, &theirs).verdict, CheckVerdict::Ok);
        let ours = found(Version(2, 1, 83), SettingsScope::User, &late);
        assert_eq!((ours.verdict, ours.fix.as_deref()), (CheckVerdict::Bad, Some("teamkeep install")));
        let local = found(Version(2, 1, 83), SettingsScope::Local, &late);
        assert_eq!(local.fix.as_deref(), Some("teamkeep install --scope local"));
        let managed = found(Version(2, 1, 83), SettingsScope::Managed, &late);
        let sudo = if cfg!(windows) { "" } else { "sudo " };
        assert_eq!(managed.fix, Some(format!("{sudo}teamkeep install --scope managed")));
    }

    #[test]
    fn event_that_no_client_has_is_reported_for_any_hook() {
        let with =
            |command: &str| json!({"hooks": {"Bogus": [{"hooks": [{"command": command}]}], "Stop": []}});
        let found =
            |version, command| events(&input(version, &[(SettingsScope::User, with(command))])).remove(0);
        let theirs = found(Version(2, 1, 328), "true");
        assert_eq!(theirs.verdict, CheckVerdict::Warn);
        assert_eq!(
            theirs.what,
            "Claude Code 2.1.328 does not support Bogus in /User.json; those hooks never run"
        );
        assert_eq!(theirs.fix.as_deref(), Some("remove Bogus from /User.json, or correct the spelling"));
        let ours = found(Version(2, 1, 328), "teamkeep hook teammate-idle");
        assert_eq!((ours.verdict, ours.fix.as_deref()), (CheckVerdict::Warn, Some("teamkeep install")));
        assert_eq!(found(Version(2, 1, 47), "true").verdict, CheckVerdict::Bad);
        let newer = found(Version(2, 1, 333), "true");
        assert_eq!((newer.verdict, newer.fix), (CheckVerdict::Unknown, None), "it may have got it");
    }
}
