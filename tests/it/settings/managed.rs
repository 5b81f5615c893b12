//! `install --scope managed` and `uninstall --scope managed`, on a machine of their own.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::machine::{As, Machine};

const INSTALL: &str = "install --scope managed --client-version 2.1.332";
const DROP_IN: &str = "claude-code/managed-settings.d/50-teamkeep.json";
const BASE: &str = "claude-code/managed-settings.json";
/// Managed settings that somebody else has made.
const THEIRS: &str = "{\n    \"env\": {\"A\": \"1\"},\n    \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]}\n}\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

#[test]
fn install_writes_a_drop_in_file_that_every_user_reads() {
    let Some(machine) = Machine::new() else { return };
    let before = machine.everything();
    assert_snapshot!(machine.ok(INSTALL).err, @"
    installed 17 hooks in /etc/claude-code/managed-settings.d/50-teamkeep.json
    each runs /usr/local/bin/teamkeep hook, for Claude Code 2.1.332 and later
    to undo: teamkeep uninstall --scope managed
    ");
    let settings = json(&machine.read(DROP_IN));
    assert_eq!(settings.as_object().unwrap().keys().collect::<Vec<_>>(), ["hooks"]);
    let hook = &settings["hooks"]["SessionEnd"][0]["hooks"][0];
    let wanted = json!({"type": "command", "command": "/usr/local/bin/teamkeep", "args": ["hook", "session-end"], "timeout": 30});
    assert_eq!(*hook, wanted);
    assert_eq!(mode(&machine.etc(DROP_IN)), 0o644);
    for directory in ["claude-code", "claude-code/managed-settings.d"] {
        assert_eq!(mode(&machine.etc(directory)), 0o755, "{directory}");
    }
    assert!(!machine.home(".local").exists(), "a store of the user who calls sudo is not used");
    assert_eq!(mode(&machine.var("teamkeep/installs")), 0o700);
    assert_snapshot!(machine.ok(INSTALL).err, @"nothing to do: /etc/claude-code/managed-settings.d/50-teamkeep.json already has all 17 hooks");
    let removed = machine.ok("uninstall --scope managed").err;
    assert!(removed.starts_with("removed /etc/claude-code/managed-settings.d/50-teamkeep.json with its 17 hooks (install had created the file)\n"), "{removed}");
    assert_eq!(machine.everything(), before);
    assert_snapshot!(machine.ok("uninstall --scope managed").err, @"nothing to do: /etc/claude-code/managed-settings.d/50-teamkeep.json has no teamkeep hooks");
}

#[test]
fn a_private_umask_does_not_hide_the_file() {
    let Some(machine) = Machine::new() else { return };
    let result = machine.run_with(As::Root, INSTALL, &[("BEFORE", "umask 077")]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert_eq!(mode(&machine.etc(DROP_IN)), 0o644);
    assert_eq!(mode(&machine.etc("claude-code")), 0o755);
}

#[test]
fn settings_of_others_are_left_unchanged() {
    let Some(machine) = Machine::new() else { return };
    machine.write(BASE, THEIRS);
    machine.write("claude-code/managed-settings.d/10-theirs.json", "{\"model\": \"opus\"}");
    let before = machine.everything();
    machine.ok(&format!("{INSTALL} --managed-hooks-only"));
    assert_eq!(machine.read(BASE), THEIRS);
    assert_eq!(machine.everything().len(), before.len() + 1);
    machine.ok("uninstall --scope managed");
    assert_eq!(machine.everything(), before);
}

#[test]
fn a_version_without_drop_in_files_gets_the_hooks_in_the_managed_settings_file() {
    let Some(machine) = Machine::new() else { return };
    machine.write(BASE, THEIRS);
    let before = machine.everything();
    let old = "install --scope managed --client-version 2.1.82";
    let printed = machine.ok(old).err;
    assert!(
        printed.starts_with("installed 14 hooks in /etc/claude-code/managed-settings.json\n"),
        "{printed}"
    );
    let settings = json(&machine.read(BASE));
    assert_eq!(
        (&settings["env"]["A"], settings["hooks"]["Stop"].as_array().unwrap().len()),
        (&json!("1"), 2)
    );
    let only = machine.run(As::Root, &format!("{old} --managed-hooks-only"));
    assert_eq!(only.code, Some(1));
    assert!(only.err.starts_with("error: cannot set `allowManagedHooksOnly` in /etc/claude-code/managed-settings.json, which is not teamkeep's file\n"), "{}", only.err);
    // With two copies, each event would be recorded twice.
    assert!(machine.ok(INSTALL).err.contains(" in /etc/claude-code/managed-settings.json"));
    assert!(!machine.etc(DROP_IN).exists());
    machine.ok("uninstall --scope managed");
    assert_eq!(machine.everything(), before);
}

#[test]
fn only_managed_hooks_run_if_that_is_wanted_until_uninstall() {
    let Some(machine) = Machine::new() else { return };
    let only = format!("{INSTALL} --managed-hooks-only");
    let printed = machine.ok(&only).err;
    assert!(printed.ends_with("note: only hooks of managed settings run: `allowManagedHooksOnly` in /etc/claude-code/managed-settings.d/50-teamkeep.json\n"), "{printed}");
    let first = machine.read(DROP_IN);
    assert!(first.starts_with("{\n  \"allowManagedHooksOnly\": true,\n  \"hooks\": {\n"), "{first}");
    for again in [INSTALL, &only] {
        assert!(machine.ok(again).err.starts_with("nothing to do: "), "the switch stays");
        assert_eq!(machine.read(DROP_IN), first);
    }
    machine.ok("uninstall --scope managed");
    assert_eq!(machine.everything(), []);
    machine.ok(INSTALL);
    machine.ok(&only);
    assert_eq!(json(&machine.read(DROP_IN)), json(&first));
    machine.ok("uninstall --scope managed");
    assert_eq!(machine.everything(), []);
}

#[test]
fn uninstall_keeps_what_others_have_added_to_the_file() {
    let Some(machine) = Machine::new() else { return };
    machine.ok(&format!("{INSTALL} --managed-hooks-only"));
    machine.write(DROP_IN, &machine.read(DROP_IN).replacen('{', "{\n  \"model\": \"opus\",", 1));
    machine.ok("uninstall --scope managed");
    assert_eq!(json(&machine.read(DROP_IN)), json!({"model": "opus", "allowManagedHooksOnly": true}));
    machine.ok(&format!("{INSTALL} --managed-hooks-only"));
    machine.ok("uninstall --scope managed");
    assert_eq!(json(&machine.read(DROP_IN)), json!({"model": "opus", "allowManagedHooksOnly": true}));
}

#[test]
fn a_file_that_another_tool_has_put_there_is_removed_with_its_hooks() {
    let Some(machine) = Machine::new() else { return };
    let printed = machine.ok(&format!("{INSTALL} --managed-hooks-only --print")).out;
    assert_eq!(machine.everything(), []);
    assert_eq!(std::fs::read_dir(machine.var("")).unwrap().count(), 0);
    machine.write(DROP_IN, &printed);
    assert!(machine.ok(&format!("{INSTALL} --managed-hooks-only")).err.starts_with("nothing to do: "));
    machine.ok("uninstall --scope managed");
    assert!(!machine.etc(DROP_IN).exists());
}

#[test]
fn the_hooks_cover_the_organization_s_configuration_and_no_user_s() {
    let Some(machine) = Machine::new() else { return };
    let rule = |tool: &str| {
        format!(
            "[[rule]]\nname = \"mine\"\nevents = [\"PreToolUse\"]\ntools = [\"{tool}\"]\naction = \"warn\"\n"
        )
    };
    let matcher = |line: &str| {
        json(&machine.ok(line).out)["hooks"]["PreToolUse"][0]["matcher"].as_str().unwrap().to_owned()
    };
    let print = format!("{INSTALL} --print");
    let plain = matcher(&print);
    std::fs::create_dir_all(machine.home(".config/teamkeep")).unwrap();
    std::fs::write(machine.home(".config/teamkeep/teamkeep.toml"), rule("WebSearch")).unwrap();
    assert_eq!(matcher(&print), plain, "a user's rule does not count");
    machine.write("teamkeep/teamkeep.toml", &rule("WebFetch"));
    assert_eq!(matcher(&print), format!("{plain}|WebFetch"));
    machine.write("new.toml", &rule("NotebookRead"));
    assert_eq!(matcher(&format!("{print} --organization /etc/new.toml")), format!("{plain}|NotebookRead"));
    assert_eq!(matcher(&format!("{print} --all-tools")), "*");
    let missing = machine.run(As::Root, &format!("{print} --organization /etc/gone.toml"));
    assert_eq!((missing.code, missing.out.as_str()), (Some(1), ""));
    machine.write("teamkeep/teamkeep.toml", "[polity]\n");
    let broken = machine.run(As::Root, INSTALL);
    assert_eq!(broken.code, Some(1));
    assert!(broken.err.contains("/etc/teamkeep/teamkeep.toml:1:"), "{}", broken.err);
    assert!(!machine.etc("claude-code").exists());
}

#[test]
fn only_root_can_install_and_uninstall() {
    let Some(machine) = Machine::new() else { return };
    for line in [INSTALL, "uninstall --scope managed"] {
        let result = machine.run(As::User, line);
        assert_eq!(result.code, Some(1), "{line}");
        let start = "error: only root can change managed settings, which apply to every user\nhint: nothing was changed; run the command again with sudo\n";
        assert!(result.err.starts_with(start), "{}", result.err);
    }
    assert_eq!(machine.everything(), []);
    let dry = machine.run(As::User, &format!("{INSTALL} --dry-run"));
    assert!(dry.out.contains("+++ /etc/claude-code/managed-settings.d/50-teamkeep.json\n"), "{}", dry.out);
    assert_eq!(machine.run(As::User, &format!("{INSTALL} --print")).code, Some(0));
    assert_eq!(machine.everything(), []);
}

#[test]
fn a_directory_that_is_read_only_is_an_error() {
    let Some(machine) = Machine::new() else { return };
    let result = machine.run(As::RootOfReadOnly, INSTALL);
    assert_eq!(result.code, Some(1));
    assert!(
        result.err.contains("/etc/claude-code") && result.err.contains("Read-only file system"),
        "{}",
        result.err
    );
    machine.ok(INSTALL);
    let before = machine.everything();
    assert_eq!(machine.run(As::RootOfReadOnly, "uninstall --scope managed").code, Some(1));
    assert_eq!(machine.everything(), before);
    machine.ok("uninstall --scope managed");
    assert_eq!(machine.everything(), []);
}

#[test]
fn a_symlink_in_place_of_the_file_is_not_followed() {
    let Some(machine) = Machine::new() else { return };
    machine.write("elsewhere.json", "{}");
    machine.write("claude-code/managed-settings.d/x", "");
    symlink("/etc/elsewhere.json", machine.etc(DROP_IN)).unwrap();
    for line in [INSTALL, "uninstall --scope managed"] {
        let result = machine.run(As::Root, line);
        assert_eq!(result.code, Some(1));
        assert!(result.err.contains("50-teamkeep.json: it is a symlink"), "{}", result.err);
    }
    assert_eq!(machine.read("elsewhere.json"), "{}");
}

#[test]
fn invalid_json_is_left_unchanged_and_reported() {
    let Some(machine) = Machine::new() else { return };
    for broken in ["{\"a\": 1", "{\n  // mine\n  \"a\": 1\n}\n"] {
        machine.write(DROP_IN, broken);
        let result = machine.run(As::Root, INSTALL);
        assert_eq!(result.code, Some(1), "{broken}");
        assert!(
            result
                .err
                .starts_with("error: cannot edit /etc/claude-code/managed-settings.d/50-teamkeep.json: "),
            "{}",
            result.err
        );
        assert_eq!(machine.read(DROP_IN), broken);
    }
    std::fs::remove_file(machine.etc(DROP_IN)).unwrap();
    machine.write(BASE, "{broken");
    let printed = machine.ok(INSTALL).err;
    assert!(printed.contains("warning: Claude Code cannot read /etc/claude-code/managed-settings.json; newer versions do not start with it\n"), "{printed}");
    assert_eq!(machine.read(BASE), "{broken");
}

#[test]
fn a_program_that_users_can_replace_or_cannot_run_causes_a_warning() {
    let Some(machine) = Machine::new() else { return };
    let program = machine.home("bin/teamkeep");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    let printed = |mode| {
        std::fs::set_permissions(&program, Permissions::from_mode(mode)).unwrap();
        machine.ok(&format!("{INSTALL} --print --command {}", program.display())).err
    };
    assert!(
        printed(0o755).contains("warning: ")
            && printed(0o755).contains("/bin/teamkeep is in a home directory\n")
    );
    assert!(printed(0o700).contains("warning: some users cannot run it: "));
    assert!(printed(0o777).contains("warning: users can replace it: "));
    let gone = machine.ok(&format!("{INSTALL} --print --command /opt/gone/teamkeep")).err;
    assert!(gone.contains("/opt/gone/teamkeep does not exist here"), "{gone}");
    let bare = machine.run(As::Root, &format!("{INSTALL} --command teamkeep"));
    assert_eq!(bare.code, Some(64));
    assert!(bare.err.contains("each user has another PATH"), "{}", bare.err);
}

#[test]
fn the_version_of_claude_code_must_be_known() {
    let Some(machine) = Machine::new().map(Machine::without_client) else { return };
    let result = machine.run(As::Root, "install --scope managed");
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains("--client-version X.Y.Z"), "{}", result.err);
}

#[test]
fn options_for_managed_settings_need_their_scope() {
    let Some(machine) = Machine::new() else { return };
    for option in ["--managed-hooks-only", "--all-tools", "--print", "--organization x"] {
        let result = machine.run(As::Root, &format!("install {option}"));
        assert_eq!(result.code, Some(64), "{option}");
        assert!(result.err.contains(" is an option of --scope managed"), "{}", result.err);
    }
    assert_eq!(machine.run(As::Root, &format!("{INSTALL} --skills")).code, Some(64));
}

#[test]
fn a_user_s_install_does_not_add_hooks_to_those_of_managed_settings() {
    let Some(machine) = Machine::new() else { return };
    machine.ok(INSTALL);
    let printed = machine.ok("install --client-version 2.1.332").err;
    assert!(printed.starts_with("nothing to do: /etc/claude-code/managed-settings.d/50-teamkeep.json has teamkeep's hooks for every user\n"), "{printed}");
    assert!(!machine.home(".claude/settings.json").exists());
}
