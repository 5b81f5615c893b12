//! Checks that teamkeep's hooks are installed and complete, and their timeout at SessionEnd.

use serde_json::Value;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::error::Result;
use crate::settings::change::count;
use crate::settings::client::ClientVersion;
use crate::settings::command::HookProgram;
use crate::settings::entries::{Entry, wanted};
use crate::settings::layer::{InstalledHook, Kind, SettingsLayer};
use crate::settings::needs::Needs;
use crate::settings::version::Version;

/// Checks where they are installed.
pub fn installed(facts: &Facts<'_>) -> Finding {
    let in_file = |layer: &SettingsLayer| {
        let (written, own): (Vec<_>, Vec<_>) = layer.ours().into_iter().partition(InstalledHook::is_written);
        // A command of the user's that calls teamkeep is not a hook that `install` counts.
        let counts = [(written.len(), "hook"), (own.len(), "custom hook")];
        let counts = counts.into_iter().filter(|(number, _)| *number > 0);
        let counts: Vec<String> = counts.map(|(number, thing)| count(number, thing)).collect();
        (!counts.is_empty()).then(|| format!("{} in {}", counts.join(" and "), layer.path.display()))
    };
    let mut places: Vec<String> = facts.layers.iter().filter_map(in_file).collect();
    places.extend(facts.plugins.iter().map(|plugin| format!("the plugin {plugin}")));
    if places.is_empty() {
        // Hooks in a file that Claude Code cannot read do not run.
        if let Some(lost) = facts.layer(Kind::User).filter(|user| user.is_lost()) {
            let path = lost.path.display();
            let what = format!("hooks in {path} do not count: Claude Code cannot read the file");
            return Finding::unknown(Code::HooksInstalled, what);
        }
        let what = "teamkeep's hooks are not installed";
        return Finding::bad(Code::HooksInstalled, what).with_fix(facts.install());
    }
    Finding::ok(Code::HooksInstalled, places.join("; "))
}

/// Checks that there is a hook for every event that Claude Code has.
pub fn complete(facts: &Facts<'_>) -> Finding {
    missing(facts).unwrap_or_else(|error| Finding::unknown(Code::HooksComplete, error.to_string()))
}

fn missing(facts: &Facts<'_>) -> Result<Finding> {
    let ours = facts.ours();
    if ours.is_empty() {
        return Ok(match facts.plugins.is_empty() {
            true => Finding::unknown(Code::HooksComplete, "no hooks to check"),
            false => Finding::ok(Code::HooksComplete, "the plugin has its own hooks"),
        });
    }
    let all = wanted(&facts.asked.answer, &HookProgram::named("teamkeep")?, &[], &Needs::builtin()?)?;
    let missing: Vec<String> = all
        .iter()
        .filter(|entry| !ours.iter().any(|ours| ours.entry.event == entry.event))
        .map(|entry| entry.event.clone())
        .collect();
    if missing.is_empty() || !facts.plugins.is_empty() {
        let whom = match facts.version() {
            Some(version) => format!("of Claude Code {version}"),
            None => "that every version with agent teams has".to_owned(),
        };
        let what = format!("all {} {whom} are recorded", count(all.len(), "event"));
        return Ok(Finding::ok(Code::HooksComplete, what));
    }
    let what = format!("no hook for {}", missing.join(", "));
    Ok(Finding::warn(Code::HooksComplete, what).with_fix(facts.install()))
}

/// Checks the timeout of the SessionEnd hook.
pub fn budget(facts: &Facts<'_>) -> Finding {
    let ours = facts.ours();
    let ends = ours.iter().filter(|ours| ours.entry.event == "SessionEnd");
    let budgets: Vec<Option<f64>> =
        ends.map(|ours| ours.hook().get("timeout").and_then(Value::as_f64)).collect();
    let code = Code::SessionEndBudget;
    if budgets.is_empty() {
        return match facts.plugins.is_empty() {
            true => Finding::unknown(code, "no SessionEnd hook to check"),
            false => {
                let what = "the plugin's SessionEnd hook has 1.5 seconds and leaves longer work to a background process";
                Finding::ok(code, what)
            }
        };
    }
    match budgets.into_iter().flatten().reduce(f64::max) {
        None => {
            let what = "the SessionEnd hook has no `timeout`; all SessionEnd hooks share 1.5 seconds";
            Finding::warn(code, what).with_fix(facts.install())
        }
        Some(seconds) if seconds < 2.0 => {
            let what = format!("the SessionEnd hook has a `timeout` of {seconds} s, which may be too short");
            Finding::warn(code, what).with_fix(facts.install())
        }
        Some(seconds) => Finding::ok(code, format!("the SessionEnd hook has a `timeout` of {seconds} s")),
    }
}

/// The matcher that the hook of an event needs, if any.
pub fn matcher_of(event: &str) -> Option<String> {
    // The newest version has all events.
    let client = ClientVersion::Known(Version(u32::MAX, 0, 0));
    let all: Vec<Entry> =
        wanted(&client, &HookProgram::named("teamkeep").ok()?, &[], &Needs::builtin().ok()?).ok()?;
    let entry = all.into_iter().find(|entry| entry.event == event)?;
    entry.group.get("matcher").and_then(Value::as_str).map(str::to_owned)
}
