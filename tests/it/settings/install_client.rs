//! `teamkeep install` for clients of every age, and for one that does not answer.

use insta::assert_snapshot;

use crate::support::install_home::{Home, MINE, result};

#[test]
fn install_writes_for_an_old_client_only_what_it_supports() {
    let home = Home::with("{}");
    home.client("2.1.47 (Claude Code)");
    assert_snapshot!(home.ok("install").err, @"
    installed 13 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep-hook, for Claude Code 2.1.47
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: teamkeep uninstall
    note: Claude Code 2.1.47 does not support PreSkillShellCommand, TaskCreated, StopFailure, FileChanged
    hint: run install again after an upgrade of Claude Code
    ");
    let settings = home.json();
    for late in ["TaskCreated", "StopFailure", "FileChanged"] {
        assert_eq!(settings["hooks"].get(late), None);
    }
    let hook = &settings["hooks"]["TeammateIdle"][0]["hooks"][0];
    assert_eq!(hook["command"], format!("{} teammate-idle", home.hook_command("teamkeep-hook")));
    assert_eq!(hook.get("args"), None);
    home.client("2.1.332 (Claude Code)");
    home.ok("install");
    assert_eq!(home.json()["hooks"].as_object().unwrap().len(), 17);
    assert_eq!(home.read().matches("teammate-idle").count(), 1, "replaced, not doubled");
    home.ok("uninstall");
    assert_eq!(home.read(), "{}", "what was there before the first of the two");
}

#[test]
fn install_reports_a_client_without_team_support() {
    let home = Home::with("{}");
    home.client("2.0.42 (Claude Code)");
    assert_snapshot!(home.ok("install").err, @"
    installed 9 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep-hook, for Claude Code 2.0.42
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: teamkeep uninstall
    note: Claude Code 2.0.42 does not support PermissionRequest, PreSkillShellCommand, SubagentStart, TeammateIdle, TaskCreated, TaskCompleted, StopFailure, FileChanged
    hint: run install again after an upgrade of Claude Code
    note: agent teams need Claude Code 2.1.33 or later
    ");
    assert_eq!(home.json()["hooks"].as_object().unwrap().len(), 9);
}

#[test]
fn install_without_a_client_writes_hooks_that_every_client_supports() {
    let home = Home::with("{}");
    home.remove_client();
    assert_snapshot!(home.ok("install").err, @"
    installed 13 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep-hook
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: teamkeep uninstall
    note: `claude` not found in PATH; the 13 hooks are those that every version with agent teams supports
    hint: run again when `claude --version` works: teamkeep install; or pass --client-version X.Y.Z
    ");
    assert_eq!(home.json()["hooks"].as_object().unwrap().len(), 13);
    home.client("I am not well");
    assert_snapshot!(home.ok("install").err, @"
    nothing to do: ~/.claude/settings.json already has all 13 hooks
    note: `claude --version` printed no version; the 13 hooks are those that every version with agent teams supports
    hint: run again when `claude --version` works: teamkeep install; or pass --client-version X.Y.Z
    ");
    home.ok("install --client-version 2.1.200");
    assert_eq!(home.json()["hooks"].as_object().unwrap().len(), 16);
}

#[test]
#[cfg_attr(windows, ignore = "uses a path of Unix")]
fn install_with_an_unknown_client_keeps_existing_hooks() {
    let home = Home::with(MINE);
    home.ok("install");
    let installed = home.read();
    let record = || std::fs::read_to_string(home.record()).unwrap();
    home.remove_client();
    assert_snapshot!(home.ok("install").err, @"
    nothing to do: ~/.claude/settings.json already has all 17 hooks
    note: `claude` not found in PATH; the installed hooks are unchanged
    hint: run again when `claude --version` works: teamkeep install; or pass --client-version X.Y.Z
    ");
    assert_eq!(home.read(), installed);
    home.client("I am not well");
    let moved = "install --command /moved/teamkeep-hook";
    assert_snapshot!(home.ok(moved).err, @"
    replaced 17 hooks in ~/.claude/settings.json
    each runs /moved/teamkeep-hook
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: teamkeep uninstall
    warning: /moved/teamkeep-hook is not executable; hooks fail until it is
    note: `claude --version` printed no version; the installed hooks are unchanged
    hint: run again when `claude --version` works: teamkeep install; or pass --client-version X.Y.Z
    ");
    assert_eq!(
        home.read(),
        installed.replace(home.at("bin").to_str().unwrap(), "/moved"),
        "16, in exec form"
    );
    assert!(record().contains("\"client\":\"2.1.332\""), "{}", record());
    home.ok("uninstall");
    assert_eq!(home.read(), MINE);
}

#[test]
fn install_counts_replaced_and_removed_hooks() {
    let home = Home::with("{}");
    home.ok("install --client-version 2.1.47");
    let first = |line: &str| home.ok(line).err.lines().next().unwrap().to_owned();
    assert_snapshot!(first("install"), @"replaced 13 hooks in ~/.claude/settings.json, added 4: PreSkillShellCommand, TaskCreated, StopFailure, FileChanged");
    assert_snapshot!(first("install --client-version 2.1.77"), @"replaced 13 hooks in ~/.claude/settings.json, removed 4: PreSkillShellCommand, TaskCreated, StopFailure, FileChanged");
    assert_snapshot!(first("install --client-version 2.0.42"), @"removed 4 hooks from ~/.claude/settings.json: PermissionRequest, SubagentStart, TeammateIdle, TaskCompleted");
    assert_snapshot!(first("install --client-version 2.0.42 --command teamkeep"), @"replaced 9 hooks in ~/.claude/settings.json");
}

#[test]
#[cfg_attr(windows, ignore = "needs a pipe with a name")]
fn install_reports_the_wait_for_a_hanging_client_and_ends_it() {
    let home = Home::with("{}");
    std::fs::remove_file(home.at("bin/claude.says")).unwrap();
    // A pipe that nobody writes to: the client waits for its own words.
    assert!(std::process::Command::new("mkfifo").arg(home.at("bin/claude.says")).status().unwrap().success());
    let result = home.ok("install");
    assert_snapshot!(result.err, @"
    waiting for `claude --version`, 10 seconds at most
    installed 13 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep-hook
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: teamkeep uninstall
    note: `claude --version` did not respond; the 13 hooks are those that every version with agent teams supports
    hint: run again when `claude --version` works: teamkeep install; or pass --client-version X.Y.Z
    ");
}

#[test]
#[cfg_attr(windows, ignore = "puts a shell script into the current directory")]
fn install_does_not_run_a_client_from_the_current_directory() {
    let home = Home::new();
    std::fs::rename(home.at("bin/claude"), home.at("claude")).unwrap();
    std::fs::rename(home.at("bin/claude.says"), home.at("claude.says")).unwrap();
    let bin = home.at("bin");
    for search in ["", ":BIN", ".:BIN", "BIN:", "BIN:."] {
        for line in ["install --dry-run", "doctor"] {
            let mut command = home.command(line);
            command.env("PATH", search.replace("BIN", bin.to_str().unwrap()));
            let result = result(home.dir.path(), &mut command);
            let told = format!("{}{}", result.out, result.err);
            assert!(told.contains("`claude` not found in PATH"), "{search:?}: {told}");
        }
    }
}

#[cfg(unix)]
#[test]
fn hooks_do_not_run_a_program_of_the_current_directory() {
    let home = Home::new();
    std::os::unix::fs::symlink("/bin/false", home.at("teamkeep")).unwrap();
    let mut command = home.command("doctor -v");
    let result = result(home.dir.path(), command.env("PATH", format!(".:{}", home.at("bin").display())));
    let line = result.out.lines().find(|line| line.contains(" search-path ")).unwrap();
    assert_eq!(line, "ok      search-path      `teamkeep` is ~/bin/teamkeep");
}
