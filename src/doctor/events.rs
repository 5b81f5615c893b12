//! Checks that Claude Code knows the events in its settings.

use serde_json::Value;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::settings::change::{count, named};
use crate::settings::client_events::{exists, knows};
use crate::settings::layer::SettingsLayer;
use crate::settings::version::{FIRST_LENIENT, FIRST_WITH_ARGS, Version};

/// Checks every event in every file, and the form of teamkeep's hooks.
pub fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(version) = facts.version() else {
        let what = "supported events unknown: Claude Code version not found";
        return vec![Finding::unknown(Code::ClientEvents, what)];
    };
    let found: Vec<Finding> = facts
        .layers
        .iter()
        .flat_map(|layer| [unknown(layer, version, &facts.installer), form(layer, version, &facts.installer)])
        .flatten()
        .collect();
    if !found.is_empty() {
        return found;
    }
    let what = format!("Claude Code {version} supports every event in its settings");
    vec![Finding::ok(Code::ClientEvents, what)]
}

fn unknown(layer: &SettingsLayer, version: Version, call: &str) -> Option<Finding> {
    let hooks = layer.value()?.get("hooks").and_then(Value::as_object)?;
    let of = |known: Option<bool>| -> Vec<&str> {
        hooks.keys().filter(|event| knows(version, event) == known).map(String::as_str).collect()
    };
    let path = layer.path.display();
    let unknown = of(Some(false));
    if unknown.is_empty() {
        let open = of(None);
        let what = format!("Claude Code {version} may not support {} in {path}", named(&open));
        return (!open.is_empty()).then(|| Finding::unknown(Code::ClientEvents, what));
    }
    let names = named(&unknown);
    let ours = layer.ours();
    let is_ours = |event: &str| ours.iter().any(|ours| ours.is_written() && ours.entry.event == event);
    let all_ours = unknown.iter().all(|event| is_ours(event));
    let mend = layer.install(call).filter(|_| all_ours);
    let mend = mend.unwrap_or_else(|| match unknown.iter().all(|event| exists(event)) {
        true => format!("remove {names} from {path}, or upgrade Claude Code"),
        false => format!("remove {names} from {path}, or correct the spelling"),
    });
    Some(if version < FIRST_LENIENT {
        let what =
            format!("Claude Code {version} ignores all of {path}, because it does not support {names}");
        Finding::bad(Code::ClientEvents, what).with_fix(mend)
    } else {
        let what = format!("Claude Code {version} does not support {names} in {path}; those hooks never run");
        Finding::warn(Code::ClientEvents, what).with_fix(mend)
    })
}

fn form(layer: &SettingsLayer, version: Version, call: &str) -> Option<Finding> {
    let ours = layer.ours();
    let with_args = ours.iter().filter(|ours| ours.hook().get("args").is_some()).count();
    (with_args > 0 && version < FIRST_WITH_ARGS).then(|| {
        let hooks = count(with_args, "hook");
        let path = layer.path.display();
        let what = format!("Claude Code {version} does not support `args`, which {hooks} in {path} use");
        let mend = layer.install(call).unwrap_or_else(|| "upgrade Claude Code".to_owned());
        Finding::bad(Code::ClientEvents, what).with_fix(mend)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::Verdict;
    use crate::doctor::facts::tests::facts;
    use crate::settings::layer::Kind;

    #[test]
    fn one_unknown_event_costs_an_old_client_the_file_and_a_newer_one_the_hook() {
        let theirs = json!({"hooks": {"WorktreeCreate": [{"hooks": [{"command": "mine"}]}]}});
        let late =
            json!({"hooks": {"TaskCreated": [{"hooks": [{"command": "teamkeep hook task-created"}]}]}});
        let found = |version, kind, value: &Value| check(&facts(version, &[(kind, value.clone())])).remove(0);
        assert_eq!(found(Version(2, 1, 49), Kind::User, &theirs).verdict, Verdict::Bad);
        assert_eq!(found(Version(2, 1, 50), Kind::User, &theirs).verdict, Verdict::Ok);
        let ours = found(Version(2, 1, 83), Kind::User, &late);
        assert_eq!((ours.verdict, ours.fix.as_deref()), (Verdict::Bad, Some("teamkeep install")));
        let local = found(Version(2, 1, 83), Kind::Local, &late);
        assert_eq!(local.fix.as_deref(), Some("teamkeep install --scope local"));
        let managed = found(Version(2, 1, 83), Kind::Managed, &late);
        assert_eq!(
            managed.fix.as_deref(),
            Some("remove TaskCreated from /Managed.json, or upgrade Claude Code")
        );
    }

    #[test]
    fn an_event_that_no_client_has_is_told_whoever_put_it_there() {
        let with =
            |command: &str| json!({"hooks": {"Bogus": [{"hooks": [{"command": command}]}], "Stop": []}});
        let found = |version, command| check(&facts(version, &[(Kind::User, with(command))])).remove(0);
        let theirs = found(Version(2, 1, 328), "true");
        assert_eq!(theirs.verdict, Verdict::Warn);
        assert_eq!(
            theirs.what,
            "Claude Code 2.1.328 does not support Bogus in /User.json; those hooks never run"
        );
        assert_eq!(theirs.fix.as_deref(), Some("remove Bogus from /User.json, or correct the spelling"));
        let ours = found(Version(2, 1, 328), "teamkeep hook teammate-idle");
        assert_eq!((ours.verdict, ours.fix.as_deref()), (Verdict::Warn, Some("teamkeep install")));
        assert_eq!(found(Version(2, 1, 47), "true").verdict, Verdict::Bad);
        let newer = found(Version(2, 1, 329), "true");
        assert_eq!((newer.verdict, newer.fix), (Verdict::Unknown, None), "it may have got it");
    }
}
