//! Our hooks: where they are, whether all are there, how long the last one may take.

use serde_json::Value;

use super::code::Code;
use super::facts::{Facts, count};
use super::finding::Finding;
use crate::error::Result;
use crate::settings::client::Client;
use crate::settings::command::Program;
use crate::settings::entries::{Entry, wanted};
use crate::settings::layer::Kind;
use crate::settings::needs::Needs;
use crate::settings::version::Version;

/// Looks where they are.
pub fn installed(facts: &Facts<'_>) -> Finding {
    let in_files = facts.layers.iter().map(|layer| (layer.ours().len(), layer.path.display()));
    let mut places: Vec<String> = in_files
        .filter(|(hooks, _)| *hooks > 0)
        .map(|(hooks, path)| format!("{} in {path}", count(hooks, "hook")))
        .collect();
    places.extend(facts.plugins.iter().map(|plugin| format!("the plugin {plugin}")));
    if places.is_empty() {
        // What may stand in it helps nobody until it is mended, and what is put into it neither.
        if let Some(lost) = facts.layer(Kind::User).filter(|user| user.is_lost()) {
            let path = lost.path.display();
            let what = format!("no hooks of ours: what is in {path} counts when the client can read it");
            return Finding::unknown(Code::HooksInstalled, what);
        }
        let what = "there are no hooks of ours in any settings file that the client reads";
        return Finding::bad(Code::HooksInstalled, what).mend(facts.install());
    }
    Finding::ok(Code::HooksInstalled, places.join("; "))
}

/// Looks whether one for every event that the client knows is there.
///
/// # Errors
/// As the embedded table of hooks fails, which a test rules out.
pub fn complete(facts: &Facts<'_>) -> Result<Finding> {
    let ours = facts.ours();
    if ours.is_empty() {
        return Ok(match facts.plugins.is_empty() {
            true => Finding::unknown(Code::HooksComplete, "there are no hooks to look at"),
            false => Finding::ok(Code::HooksComplete, "the plugin brings its own hooks"),
        });
    }
    let all = wanted(&facts.asked.answer, &Program::named("teamkeep")?, &[], &Needs::builtin()?)?;
    let missing: Vec<String> = all
        .iter()
        .filter(|entry| !ours.iter().any(|ours| ours.entry.event == entry.event))
        .map(|entry| entry.event.clone())
        .collect();
    if missing.is_empty() || !facts.plugins.is_empty() {
        let whom = match facts.version() {
            Some(version) => format!("client {version} has"),
            None => "any client with agent teams has".to_owned(),
        };
        let what = format!("all {} that {whom} are recorded", count(all.len(), "event"));
        return Ok(Finding::ok(Code::HooksComplete, what));
    }
    let what = format!("there is no hook for {}", missing.join(", "));
    Ok(Finding::warn(Code::HooksComplete, what).mend(facts.install()))
}

/// Looks how long the SessionEnd hook may take.
pub fn budget(facts: &Facts<'_>) -> Finding {
    let ours = facts.ours();
    let ends = ours.iter().filter(|ours| ours.entry.event == "SessionEnd");
    let budgets: Vec<Option<f64>> =
        ends.map(|ours| ours.hook().get("timeout").and_then(Value::as_f64)).collect();
    let code = Code::SessionEndBudget;
    if budgets.is_empty() {
        return match facts.plugins.is_empty() {
            true => Finding::unknown(code, "there is no SessionEnd hook to look at"),
            false => {
                let what = "the plugin's SessionEnd hook has 1.5 seconds; what takes longer a process of its own does";
                Finding::ok(code, what)
            }
        };
    }
    match budgets.into_iter().flatten().reduce(f64::max) {
        None => {
            let what = "the SessionEnd hook has no `timeout`: all of them share 1.5 seconds";
            Finding::warn(code, what).mend(facts.install())
        }
        Some(seconds) if seconds < 2.0 => {
            let what = format!("the SessionEnd hook has a `timeout` of {seconds} s, which may be too short");
            Finding::warn(code, what).mend(facts.install())
        }
        Some(seconds) => Finding::ok(code, format!("the SessionEnd hook has a `timeout` of {seconds} s")),
    }
}

/// The matcher that a hook of an event is to have, if any.
pub fn matcher_of(event: &str) -> Option<String> {
    // The newest client has them all.
    let client = Client::Known(Version(u32::MAX, 0, 0));
    let all: Vec<Entry> =
        wanted(&client, &Program::named("teamkeep").ok()?, &[], &Needs::builtin().ok()?).ok()?;
    let entry = all.into_iter().find(|entry| entry.event == event)?;
    entry.group.get("matcher").and_then(Value::as_str).map(str::to_owned)
}
