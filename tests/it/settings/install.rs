//! `teamkeep install`, run as a user runs it, in a home of its own.

use std::path::PathBuf;

use insta::assert_snapshot;
use teamkeep_system::os;

use crate::support::access::assert_mode;
use crate::support::install_home::{Home, MINE, result};
use crate::support::programs::program_name;

#[test]
fn install_reports_its_changes_and_how_to_undo_them() {
    let home = Home::with(MINE);
    let result = home.ok("install --yes");
    assert_eq!(result.out, "");
    assert_snapshot!(result.err, @"
    installed 17 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep-hook, for Claude Code 2.1.332
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: teamkeep uninstall
    ");
    let settings = home.json();
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    let ours = &settings["hooks"]["Stop"][1]["hooks"][0];
    let program = home.hook_command("teamkeep-hook");
    let wanted = serde_json::json!({"type": "command", "command": program, "args": ["stop"], "timeout": 10});
    assert_eq!(*ours, wanted);
    assert_eq!(settings["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"], 30);
    assert_eq!(
        settings["hooks"]["PreToolUse"][0]["matcher"],
        "TeamCreate|TeamDelete|SendMessage|Agent|Task|TaskCreate|TaskUpdate|TaskStop|ExitWorktree"
    );
    assert_eq!(settings["hooks"]["FileChanged"][0].get("matcher"), None);
    let result = home.ok("uninstall");
    assert_snapshot!(result.err, @"
    removed 17 hooks from ~/.claude/settings.json; restored its previous content
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    ");
    assert_eq!(home.read(), MINE);
}

#[test]
fn example_settings_are_what_install_writes() {
    let example = include_str!("../../../hooks/settings.example.json");
    let home = Home::with("{\n  \"env\": {\n    \"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS\": \"1\"\n  }\n}\n");
    home.ok("install --command teamkeep-hook");
    assert_eq!(home.read(), example);
    let home = Home::new();
    home.ok("install --command teamkeep-hook");
    let (_, hooks) = example.split_once("  },\n").unwrap();
    assert_eq!(home.read(), format!("{{\n{hooks}"));
}

#[test]
fn second_install_changes_nothing_and_reports_it() {
    let home = Home::with(MINE);
    home.ok("install");
    let before = home.everything();
    let id = || os::files::id(&home.settings(), &home.settings().metadata().unwrap());
    let file = id();
    assert_snapshot!(home.ok("install").err, @"nothing to do: ~/.claude/settings.json already has all 17 hooks");
    assert_eq!(home.everything(), before);
    assert_eq!(id(), file);
}

#[test]
fn hooks_that_call_the_command_line_are_replaced_and_work_until_then() {
    let home = Home::with(MINE);
    home.ok(&format!("install --command {}", home.program("teamkeep").display()));
    assert!(home.read().contains("\"hook\","), "as before there was a hook program");
    let checks = home.ok("doctor --verbose").out;
    assert!(checks.contains("ok      hook-answer      ~/bin/teamkeep recorded"), "{checks}");
    let printed = home.ok("install").err;
    assert!(
        printed.starts_with("replaced 17 hooks in ~/.claude/settings.json\neach runs ~/bin/teamkeep-hook,"),
        "{printed}"
    );
    assert!(!home.read().contains("\"hook\","), "{}", home.read());
    home.ok("uninstall");
    assert_eq!(home.read(), MINE);
}

#[test]
fn a_dry_run_shows_the_change_and_writes_nothing() {
    let home = Home::with("{\n  \"hooks\": {\"Stop\": []}\n}\n");
    let before = home.everything();
    let result = home.ok("install --dry-run --client-version 2.0.1");
    let shown: Vec<&str> = result.out.lines().take(30).collect();
    assert_snapshot!(shown.join("\n"), @r#"
    --- ~/.claude/settings.json
    +++ ~/.claude/settings.json
    @@ -1,3 +1,101 @@
     {
    -  "hooks": {"Stop": []}
    +  "hooks": {"Stop": [{
    +      "hooks": [
    +        {
    +          "type": "command",
    +          "command": "~/bin/teamkeep-hook stop",
    +          "timeout": 10
    +        }
    +      ]
    +    }],
    +    "SessionStart": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "~/bin/teamkeep-hook session-start",
    +            "timeout": 10
    +          }
    +        ]
    +      }
    +    ],
    +    "SessionEnd": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    "#);
    assert_snapshot!(result.err, @"
    to do it: teamkeep install --client-version 2.0.1
    note: Claude Code 2.0.1 does not support PermissionRequest, PreSkillShellCommand, SubagentStart, TeammateIdle, TaskCreated, TaskCompleted, StopFailure, FileChanged
    hint: run install again after an upgrade of Claude Code
    note: agent teams need Claude Code 2.1.33 or later
    ");
    assert_eq!(home.everything(), before);
    home.ok("install");
    let before = home.everything();
    let result = home.ok("uninstall --dry-run");
    assert!(result.out.contains("\n+  \"hooks\": {\"Stop\": []}\n"), "{}", result.out);
    assert!(result.out.contains("\n-            \"command\": \"~/bin/teamkeep-hook\",\n"), "{}", result.out);
    assert_eq!(home.everything(), before);
}

#[test]
fn saved_files_are_private_to_the_user() {
    let home = Home::with(MINE);
    home.ok("install");
    assert_mode(home.installs(), 0o700);
    let kept = std::fs::read_dir(home.installs()).unwrap().map(|entry| entry.unwrap().path());
    // On Windows there is an empty file beside a lock.
    let kept: Vec<PathBuf> =
        kept.filter(|path| path.extension().is_none_or(|kind| kind != "mutex")).collect();
    assert_eq!(kept.len(), 3, "the lock, the record, the backup: {kept:?}");
    for path in kept {
        assert_mode(path, 0o600);
    }
    let names: Vec<_> =
        std::fs::read_dir(home.at(".claude")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["settings.json"], "nothing of ours stands in the client's directory");
}

#[test]
fn claude_config_dir_selects_the_settings_file() {
    let home = Home::new();
    std::fs::create_dir(home.at("elsewhere")).unwrap();
    let run =
        |line| result(home.dir.path(), home.command(line).env("CLAUDE_CONFIG_DIR", home.at("elsewhere")));
    assert_eq!(run("install").code, Some(0));
    assert!(home.at("elsewhere/settings.json").exists());
    assert!(!home.settings().exists());
}

#[test]
fn install_warns_about_a_machine_specific_path_in_a_shared_file() {
    let home = Home::new();
    assert!(home.ok("install --scope project").err.contains("note: this shared file now contains a path"));
    let result = home.ok("install --scope project --command teamkeep");
    assert!(!result.err.contains("note: "), "{}", result.err);
    assert_eq!(home.json()["hooks"]["Stop"][0]["hooks"][0]["command"], "teamkeep");
}

#[test]
fn concurrent_installs_have_the_effect_of_one() {
    let home = Home::with(MINE);
    let mut all: Vec<_> = (0..8)
        .map(|_| home.command("install").stderr(std::process::Stdio::null()).spawn().unwrap())
        .collect();
    assert!(all.iter_mut().all(|one| one.wait().unwrap().success()));
    let together = home.read();
    home.write(MINE);
    home.ok("install");
    assert_eq!(home.read(), together);
    home.ok("uninstall");
    assert_eq!(home.read(), MINE);
}

#[test]
fn usage_error_exits_with_64() {
    let home = Home::new();
    for line in
        ["install --scope project --settings x.json", "install --client-version new", "install --scope all"]
    {
        assert_eq!(home.run(line).code, Some(64), "{line}");
    }
    let result = home.run("install --command /bin/true");
    assert_eq!(result.code, Some(64));
    assert_snapshot!(result.err, @"
    error: cannot install the command /bin/true: its file name is not teamkeep-hook or teamkeep
    hint: uninstall identifies hooks by that name; rename the binary, or create a link
    ");
    assert!(!home.settings().exists());
}

#[test]
fn install_and_uninstall_work_with_an_invalid_configuration() {
    let home = Home::with(MINE);
    std::fs::write(home.at("broken.toml"), "[log\n").unwrap();
    let run = |line| {
        result(home.dir.path(), home.command(line).env("TEAMKEEP_CONFIG", home.at("broken.toml"))).code
    };
    assert_eq!(run("install"), Some(0));
    assert_eq!(run("uninstall"), Some(0));
    assert_eq!(run("demo"), Some(0));
    assert_eq!(home.read(), MINE);
    assert_eq!(run("teams"), Some(0), "whoever looks at the record gets to it");
    assert_eq!(run("report --redact"), Some(1), "what goes by the configuration says that it cannot");
    assert_eq!(run("prune --keep 1"), Some(1));
}

#[test]
fn install_warns_about_a_program_that_cannot_run() {
    let home = Home::with("{}");
    assert_snapshot!(home.ok("install --command no/such/teamkeep").err, @"
    installed 17 hooks in ~/.claude/settings.json
    each runs ~/no/such/teamkeep hook, for Claude Code 2.1.332
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: teamkeep uninstall
    warning: ~/no/such/teamkeep is not executable; hooks fail until it is
    ");
    std::fs::create_dir(home.at("empty")).unwrap();
    let bare =
        result(home.dir.path(), home.command("install --command teamkeep").env("PATH", home.at("empty"))).err;
    assert!(bare.contains("\nwarning: teamkeep is not in PATH; hooks fail until it is\n"), "{bare}");
    assert!(!home.ok("install --command teamkeep").err.contains("warning"));
}

#[test]
fn install_writes_the_quoted_path_of_a_program_that_is_not_on_path() {
    let home = Home::with("{}");
    std::fs::create_dir(home.at("my tools")).unwrap();
    let program = home.at("my tools").join(program_name("teamkeep"));
    std::fs::rename(home.program("teamkeep"), &program).unwrap();
    let mut command = home.command_of(&program, "install");
    // PowerShell only runs a quoted program after `&`.
    let call = if cfg!(windows) { "& '" } else { "'" };
    let printed =
        result(home.dir.path(), &mut command).err.replace(&format!("hooks: {call}"), "hooks: CALL'");
    assert_snapshot!(printed, @"
    installed 17 hooks in ~/.claude/settings.json
    each runs '~/my tools/teamkeep' hook, for Claude Code 2.1.332
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: CALL'~/my tools/teamkeep' uninstall
    ");
}
