//! Checks that Claude Code reads its settings files and runs hooks.

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::settings::change::count;
use crate::settings::layer::{Kind, State};

/// Checks that Claude Code can read each settings file.
pub fn settings(facts: &Facts<'_>) -> Vec<Finding> {
    let unread = facts.layers.iter().filter_map(|layer| {
        let path = layer.path.display().to_string();
        match &layer.state {
            State::Unreadable(why) => {
                let what = if why.contains(&path) { why.clone() } else { format!("{path}: {why}") };
                let mend = format!("make {path} a readable file, or remove it");
                Some(Finding::bad(Code::Settings, what).with_fix(mend))
            }
            State::Skipped(flaw) => {
                let what = format!("{path}: {flaw}");
                Some(Finding::bad(Code::Settings, what).with_fix(flaw.edit(&layer.path)))
            }
            State::Missing | State::Read(_) => None,
        }
    });
    let found: Vec<Finding> = unread.collect();
    if !found.is_empty() {
        return found;
    }
    let there = facts.layers.iter().filter(|layer| layer.value().is_some());
    let there: Vec<String> = there.map(|layer| layer.path.display().to_string()).collect();
    vec![match there.as_slice() {
        [] => Finding::ok(Code::Settings, "no settings file yet"),
        there => {
            let files = count(there.len(), "settings file");
            Finding::ok(Code::Settings, format!("Claude Code can read {files}: {}", there.join(", ")))
        }
    }]
}

/// Checks that hooks are not disabled.
pub fn hooks(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for layer in facts.layers.iter().filter(|layer| layer.has("disableAllHooks")) {
        let path = layer.path.display();
        let what = format!("no hook runs: `disableAllHooks` is true in {path}");
        found.push(
            Finding::bad(Code::HooksEnabled, what).with_fix(format!("remove `disableAllHooks` from {path}")),
        );
    }
    let only = facts.layers.iter().filter(|layer| layer.kind == Kind::Managed);
    for layer in only.filter(|layer| layer.has("allowManagedHooksOnly")) {
        let path = layer.path.display();
        if layer.ours().is_empty() {
            let what = format!("only the administrator's hooks run: `allowManagedHooksOnly` in {path}");
            let mend =
                format!("ask the administrator of {path} to add the hooks from hooks/settings.example.json");
            found.push(Finding::bad(Code::HooksEnabled, what).with_fix(mend));
        }
    }
    if found.is_empty() {
        found.push(Finding::ok(Code::HooksEnabled, "no setting disables hooks"));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::doctor::Verdict;
    use crate::doctor::facts::tests::facts;
    use crate::settings::version::Version;

    #[test]
    fn the_administrator_may_let_only_managed_hooks_run() {
        let ours = json!({"hooks": {"Stop": [{"hooks": [{"command": "/bin/teamkeep hook stop"}]}]}});
        let with = |managed: Value| {
            let facts = facts(Version(2, 1, 328), &[(Kind::Managed, managed), (Kind::User, ours.clone())]);
            hooks(&facts).remove(0)
        };
        let only = json!({"allowManagedHooksOnly": true});
        let finding = with(only.clone());
        assert_eq!(finding.verdict, Verdict::Bad);
        assert_eq!(
            finding.what,
            "only the administrator's hooks run: `allowManagedHooksOnly` in /Managed.json"
        );
        let mut both = ours.clone();
        both["allowManagedHooksOnly"] = json!(true);
        assert_eq!(with(both).verdict, Verdict::Ok, "ours are among them");
        assert_eq!(with(json!({"allowManagedHooksOnly": false})).verdict, Verdict::Ok);
        assert_eq!(with(json!({"disableAllHooks": true})).verdict, Verdict::Bad);
        let user = facts(Version(2, 1, 328), &[(Kind::User, only)]);
        assert_eq!(hooks(&user)[0].verdict, Verdict::Ok, "only an administrator can say so");
    }
}
