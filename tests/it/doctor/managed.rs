//! `doctor` on a machine with managed settings and an organization's configuration.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::machine::{As, Machine};

const INSTALL: &str = "install --scope managed --client-version 2.1.332";
const DROP_IN: &str = "claude-code/managed-settings.d/50-teamkeep.json";

/// The results of a check: `verdict: text => fix`.
fn check(machine: &Machine, code: &str) -> Vec<String> {
    let result = machine.run(As::Root, "doctor --json");
    let printed: Value = serde_json::from_str(&result.out).unwrap_or_else(|_| panic!("{}", result.err));
    let checks = printed["checks"].as_array().unwrap().iter().filter(|check| check["code"] == code);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    checks
        .map(|check| {
            let fix = check["fix"].as_str().map(|fix| format!(" => {fix}")).unwrap_or_default();
            format!("{}: {}{fix}", text(&check["verdict"]), text(&check["what"]))
        })
        .collect()
}

fn one(machine: &Machine, code: &str) -> String {
    let mut all = check(machine, code);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// Hooks in the user's settings that run this program.
fn user_hooks(machine: &Machine) {
    let result = machine.run(As::Root, "install --client-version 2.1.332");
    assert_eq!(result.code, Some(0), "{}", result.err);
}

#[test]
fn hooks_in_managed_settings_are_found_and_checked() {
    let Some(machine) = Machine::new() else { return };
    assert_eq!(one(&machine, "managed-settings"), "ok: Claude Code has no managed settings on this machine");
    machine.ok(&format!("{INSTALL} --managed-hooks-only"));
    let file = "/etc/claude-code/managed-settings.d/50-teamkeep.json";
    assert_eq!(one(&machine, "hooks-installed"), format!("ok: 17 hooks in {file}"));
    assert_eq!(
        one(&machine, "hooks-enabled"),
        format!(
            "ok: only hooks of managed settings run: `allowManagedHooksOnly` in {file}; teamkeep's are among them"
        )
    );
    assert_eq!(one(&machine, "hook-command"), "ok: the hooks run /usr/local/bin/teamkeep");
    assert!(one(&machine, "hook-answer").starts_with("ok: "));
}

#[test]
fn own_hooks_do_not_run_if_only_managed_ones_are_allowed() {
    let Some(machine) = Machine::new() else { return };
    user_hooks(&machine);
    machine.write("claude-code/managed-settings.d/10-theirs.json", "{\"allowManagedHooksOnly\": true}");
    assert_eq!(
        one(&machine, "hooks-enabled"),
        "bad: only hooks of managed settings run: `allowManagedHooksOnly` in /etc/claude-code/managed-settings.d/10-theirs.json; \
         teamkeep's are not among them => ask an administrator to run: sudo teamkeep install --scope managed"
    );
    machine.write("claude-code/managed-settings.d/20-theirs.json", "{\"allowManagedHooksOnly\": false}");
    assert_eq!(one(&machine, "hooks-enabled"), "ok: no setting disables hooks");
    machine.write("claude-code/managed-settings.d/20-theirs.json", "{\"disableAllHooks\": true}");
    assert!(
        one(&machine, "hooks-enabled")
            .starts_with("bad: no hook runs: `disableAllHooks` is true in the managed settings /etc/")
    );
}

#[test]
fn hooks_in_managed_and_user_settings_are_found_twice_only_if_both_run() {
    let Some(machine) = Machine::new() else { return };
    user_hooks(&machine);
    machine.ok(INSTALL);
    assert_eq!(one(&machine, "hooks-twice"), "ok: no event calls teamkeep twice", "they are the same");
    let managed = machine.read(DROP_IN);
    machine.write(DROP_IN, &managed.replacen("\"TeamCreate|", "\"Bash|TeamCreate|", 1));
    let twice = one(&machine, "hooks-twice");
    assert!(
        twice.starts_with("bad: teamkeep is called twice at PreToolUse: the hooks in /etc/claude-code/"),
        "{twice}"
    );
    assert!(twice.ends_with(" differ in matcher or timeout => teamkeep uninstall"), "{twice}");
    machine.write(DROP_IN, &managed.replace("/usr/local/bin/teamkeep", "/opt/teamkeep"));
    let twice = one(&machine, "hooks-twice");
    assert!(
        twice.starts_with("bad: teamkeep is called twice at ") && twice.contains("/opt/teamkeep"),
        "{twice}"
    );
    machine.ok("uninstall --scope managed");
    machine.ok(&format!("{INSTALL} --managed-hooks-only --all-tools"));
    assert_eq!(one(&machine, "hooks-twice"), "ok: no event calls teamkeep twice", "the user's do not run");
    assert!(one(&machine, "hooks-enabled").contains("those in "));
}

#[test]
fn a_managed_program_that_is_missing_is_found() {
    let Some(machine) = Machine::new() else { return };
    machine.ok(&format!("{INSTALL} --command /opt/gone/teamkeep"));
    assert_eq!(
        one(&machine, "hook-command"),
        "bad: hooks fail: /opt/gone/teamkeep does not exist => sudo teamkeep install --scope managed"
    );
}

#[test]
fn managed_settings_that_users_can_change_or_cannot_read_are_found() {
    let Some(machine) = Machine::new() else { return };
    machine.ok(INSTALL);
    let mode = |mode| std::fs::set_permissions(machine.etc(DROP_IN), Permissions::from_mode(mode)).unwrap();
    mode(0o666);
    let found = check(&machine, "managed-settings").join("\n");
    assert!(found.contains("bad: users can change the managed settings /etc/claude-code/managed-settings.d/50-teamkeep.json: "), "{found}");
    mode(0o600);
    let found = check(&machine, "managed-settings").join("\n");
    assert!(found.contains("bad: some users cannot use the managed settings "), "{found}");
    mode(0o644);
    machine.write(DROP_IN, "{broken");
    let found = check(&machine, "settings").join("\n");
    assert!(found.contains("newer versions do not start, for any user"), "{found}");
}

#[test]
fn the_organization_s_configuration_is_checked() {
    let Some(machine) = Machine::new() else { return };
    assert_eq!(one(&machine, "organization"), "ok: no organization's configuration");
    machine
        .write("teamkeep/teamkeep.toml", "[organization]\nfixed = [\"privacy\", \"policy.protect-lead\"]\n");
    let found = check(&machine, "organization").join("\n");
    assert!(!found.contains("users can change") || found.contains("belongs to user"), "{found}");
    let in_force = "ok: /etc/teamkeep/teamkeep.toml is in force, with 2 fixed keys and tables";
    assert!(found == in_force || found.contains("belongs to user"), "{found}");
    let path = machine.etc("teamkeep/teamkeep.toml");
    std::fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let found = check(&machine, "organization").join("\n");
    assert!(
        found
            .contains("bad: users can change the organization's configuration /etc/teamkeep/teamkeep.toml: "),
        "{found}"
    );
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    machine.write("teamkeep/teamkeep.toml", "[polity]\n");
    let found = check(&machine, "organization").join("\n");
    assert!(found.contains("bad: /etc/teamkeep/teamkeep.toml"), "{found}");
    assert!(found.contains(" => teamkeep config check /etc/teamkeep/teamkeep.toml"), "{found}");
}

#[test]
fn rules_that_managed_hooks_do_not_cover_are_fixed_by_an_administrator() {
    let Some(machine) = Machine::new() else { return };
    machine.ok(&format!("{INSTALL} --managed-hooks-only"));
    let rule =
        "[[rule]]\nname = \"mine\"\nevents = [\"PreToolUse\"]\ntools = [\"WebFetch\"]\naction = \"warn\"\n";
    std::fs::create_dir_all(machine.home(".config/teamkeep")).unwrap();
    std::fs::write(machine.home(".config/teamkeep/teamkeep.toml"), rule).unwrap();
    assert_eq!(
        one(&machine, "hooks-complete"),
        "warn: the hooks in /etc/claude-code/managed-settings.d/50-teamkeep.json are not those that `install` writes \
         (different: PreToolUse) => sudo teamkeep install --scope managed  # with --all-tools for users' rules"
    );
    machine.ok(&format!("{INSTALL} --managed-hooks-only --all-tools"));
    assert!(one(&machine, "hooks-complete").starts_with("ok: "));
}
