//! `install.sh`, run as a user runs it: in a clone, with a cargo that hands out this program.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Command;

use insta::assert_snapshot;

use crate::support::install_home::{MINE, result};
use crate::support::programs::write_program;
use crate::support::terminal::Terminal;

use super::install_sh_sandbox::Clone;

#[test]
fn install_sh_and_uninstall_leave_only_recorded_data() {
    let clone = Clone::new();
    assert_snapshot!(clone.ok(&[]), @"
    building (a few minutes the first time)
    installed teamkeep 0.1.0 as ~/.local/bin/teamkeep
    installed 17 hooks in ~/.claude/settings.json
    each runs ~/.local/bin/teamkeep-hook, for Claude Code 2.1.332
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: teamkeep uninstall
    agent teams are off; to turn them on: ~/.local/bin/teamkeep install --enable-teams
    next:
      restart sessions that run now: they keep the hooks that they started with
      check the setup: teamkeep doctor
    to undo all of this: ~/clone/install.sh --uninstall
    ");
    assert_snapshot!(clone.ok(&["--uninstall"]), @"
    removed 17 hooks from ~/.claude/settings.json; restored its previous content
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    removed ~/.local/bin/teamkeep-hook
    removed ~/.local/bin/teamkeep
    backups of your settings are kept in ~/.local/share/teamkeep
    to delete them: rm -r ~/.local/share/teamkeep
    ");
    assert_eq!(clone.home.read(), MINE);
    assert!(!clone.at(".local/bin").exists(), "it was made, and is empty again");
    std::fs::create_dir_all(clone.at(".local/share/teamkeep/runs")).unwrap();
    std::fs::create_dir_all(clone.at(".config/teamkeep")).unwrap();
    std::fs::write(clone.at(".config/teamkeep/teamkeep.toml"), "").unwrap();
    assert_snapshot!(clone.ok(&["--uninstall"]), @"
    ~/.claude/settings.json has no teamkeep hooks
    ~/.local/bin/teamkeep does not exist
    recorded data and backups of your settings are kept in ~/.local/share/teamkeep
    to delete all of it: rm -r ~/.local/share/teamkeep
    your configuration is kept: ~/.config/teamkeep/teamkeep.toml
    ");
}

#[test]
fn install_sh_ends_with_a_check_of_the_installed_programs() {
    let clone = Clone::new();
    let run = |args: &[&str]| result(&clone.dir, &mut clone.checking("clone/install.sh", args));
    let checked = run(&["--no-hooks"]);
    let (check, _) = checked.err.split_once("next:\n").unwrap();
    let (_, check) = check.split_once("teamkeep install\n").unwrap();
    assert_eq!((checked.code, check.lines().count()), (Some(0), 3), "{}", checked.err);
    assert!(check.starts_with("check with a bundled run: recorded 166 events, "), "{check}");
    assert!(run(&["--no-hooks", "--no-check"]).err.contains("teamkeep install\nnext:\n"));
    std::fs::remove_file(clone.at("bin/teamkeep-hook.built")).unwrap();
    write_program(&clone.at("bin/teamkeep-hook.built"), "#!/bin/sh\nexit 1\n");
    let failed = run(&["--no-hooks"]);
    let (_, check) = failed.err.split_once("teamkeep install\n").unwrap();
    assert_eq!(failed.code, Some(0), "the programs stay installed");
    assert_snapshot!(check.split_once("next:\n").unwrap().0, @r#"
    error: ~/.local/bin/teamkeep-hook failed at hook call 1 of 166 (SessionStart): it ended with exit status: 1: ""
    hint: reinstall teamkeep, then: teamkeep doctor
    warning: the installed programs failed their check
    hint: to repeat it: ~/.local/bin/teamkeep demo --check
    "#);
}

#[test]
fn install_sh_enables_agent_teams_only_if_confirmed() {
    let clone = Clone::new();
    clone.ok(&["--enable-teams"]);
    assert_eq!(clone.home.json()["env"]["CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS"], "1");
    clone.ok(&["--uninstall"]);
    assert_eq!(clone.home.read(), MINE);
    clone.ok(&[]);
    assert!(!clone.home.read().contains("AGENT_TEAMS"), "no terminal, no question");
    assert_eq!(clone.run(&["--enable-teams", "--no-hooks"]).code, Some(64));
    for (answer, is_enabled) in [("y\n", true), ("\n", false)] {
        let clone = Clone::new();
        let mut command = Command::new("/bin/sh");
        let model = clone.command("clone/install.sh", &[]);
        command.arg(clone.at("clone/install.sh")).arg("--no-check").env_clear();
        command.envs(model.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut terminal = Terminal::of(command);
        terminal.until("enable agent teams in ");
        terminal.until("? [y/N] ");
        terminal.master.write_all(answer.as_bytes()).unwrap();
        terminal.until_end();
        assert_eq!(clone.home.read().contains("AGENT_TEAMS"), is_enabled, "{}", terminal.told);
    }
}

#[test]
fn uninstall_preserves_an_existing_directory() {
    let clone = Clone::new();
    std::fs::create_dir_all(clone.at("tools/bin")).unwrap();
    clone.ok(&["--prefix", "tools"]);
    clone.ok(&["--uninstall", "--prefix", "tools"]);
    assert!(clone.at("tools/bin").exists());
    clone.ok(&["--prefix", "new/tools"]);
    std::fs::write(clone.at("new/mine"), "").unwrap();
    clone.ok(&["--uninstall", "--prefix", "new/tools"]);
    assert!(!clone.at("new/tools").exists());
    assert!(clone.at("new/mine").exists());
}

#[test]
fn paths_with_spaces_are_quoted_in_printed_commands() {
    let clone = Clone::new();
    assert_snapshot!(clone.ok(&["--prefix", "my tools"]), @"
    building (a few minutes the first time)
    installed teamkeep 0.1.0 as ~/my tools/bin/teamkeep
    installed 17 hooks in ~/.claude/settings.json
    each runs '~/my tools/bin/teamkeep-hook', for Claude Code 2.1.332
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    to remove the hooks: '~/my tools/bin/teamkeep' uninstall
    agent teams are off; to turn them on: '~/my tools/bin/teamkeep' install --enable-teams
    next:
      add the programs to PATH, here and in your shell's profile: export PATH='~/my tools/bin':$PATH
      restart sessions that run now: they keep the hooks that they started with
      check the setup: teamkeep doctor
    to undo all of this: ~/clone/install.sh --uninstall --prefix '~/my tools'
    ");
    assert_snapshot!(clone.ok(&["--uninstall", "--prefix", "my tools"]), @"
    removed 17 hooks from ~/.claude/settings.json; restored its previous content
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    removed ~/my tools/bin/teamkeep-hook
    removed ~/my tools/bin/teamkeep
    backups of your settings are kept in ~/.local/share/teamkeep
    to delete them: rm -r ~/.local/share/teamkeep
    ");
    assert!(!clone.at("my tools").exists());
}

#[test]
fn hooks_that_call_a_binary_elsewhere_are_removed_with_it() {
    for prefix in ["opt", "it's my tools"] {
        for version in ["2.1.332", "2.1.47"] {
            let clone = Clone::new();
            clone.home.client(version);
            clone.ok(&["--prefix", prefix]);
            let result = clone.ok(&["--uninstall"]);
            if prefix == "opt" && version == "2.1.332" {
                assert_snapshot!(result, @"
                the hooks in ~/.claude/settings.json call ~/opt/bin/teamkeep-hook
                removed 17 hooks from ~/.claude/settings.json; restored its previous content
                backup: ~/.local/share/teamkeep/installs/#-#.bak
                ~/.local/bin/teamkeep does not exist
                kept ~/opt/bin/teamkeep; to remove it: ~/clone/install.sh --uninstall --prefix ~/opt
                backups of your settings are kept in ~/.local/share/teamkeep
                to delete them: rm -r ~/.local/share/teamkeep
                ");
            }
            assert_eq!(clone.home.read(), MINE, "{result}");
            assert!(clone.at(prefix).join("bin/teamkeep").exists());
        }
    }
}

#[test]
fn uninstall_reports_hooks_that_call_a_missing_binary() {
    let clone = Clone::new();
    clone.ok(&[]);
    let installed = clone.home.read();
    std::fs::remove_file(clone.at(".local/bin/teamkeep")).unwrap();
    assert_snapshot!(clone.fails(&["--uninstall"]), @"
    error: the hooks in ~/.claude/settings.json call ~/.local/bin/teamkeep-hook, which does not exist
    hint: to remove them: ~/clone/install.sh --no-hooks && ~/clone/install.sh --uninstall
    ");
    assert_eq!(clone.home.read(), installed);
    clone.ok(&["--no-hooks"]);
    clone.ok(&["--uninstall"]);
    assert_eq!(clone.home.read(), MINE, "what was said to do does it");
}

#[test]
fn uninstall_warns_if_hooks_call_the_removed_binary() {
    let clone = Clone::new();
    clone.ok(&[]);
    assert_snapshot!(clone.fails(&["--uninstall", "--no-hooks"]), @"
    removed ~/.local/bin/teamkeep-hook
    removed ~/.local/bin/teamkeep
    backups of your settings are kept in ~/.local/share/teamkeep
    to delete them: rm -r ~/.local/share/teamkeep
    error: the hooks in ~/.claude/settings.json call ~/.local/bin/teamkeep-hook, which does not exist
    hint: to remove them: ~/clone/install.sh --no-hooks && ~/clone/install.sh --uninstall
    ");
    assert!(!clone.at(".local/bin/teamkeep").exists());
    let clone = Clone::new();
    clone.ok(&["--no-hooks"]);
    clone.ok(&["--uninstall", "--no-hooks"]);
}

#[test]
fn binary_stays_while_other_settings_call_it() {
    let clone = Clone::new();
    clone.ok(&[]);
    let binary = clone.at(".local/bin/teamkeep");
    let other = |verb: &str| {
        let mut command = Command::new(&binary);
        command
            .args([verb, "--settings", "my.json"])
            .env_clear()
            .env("HOME", &clone.dir)
            .current_dir(&clone.dir);
        assert_eq!(result(&clone.dir, &mut command).code, Some(0));
    };
    other("install");
    let result = clone.fails(&["--uninstall"]);
    let end: Vec<&str> = result.lines().skip_while(|line| !line.starts_with("error: ")).collect();
    assert_snapshot!(end.join("\n"), @"
    error: the hooks in ~/my.json call ~/.local/bin/teamkeep-hook; ~/.local/bin/teamkeep is kept until they are removed
    hint: to remove them: ~/.local/bin/teamkeep uninstall --settings ~/my.json
    hint: to remove only the binary: ~/clone/install.sh --uninstall --no-hooks
    ");
    assert!(binary.exists());
    other("uninstall");
    clone.ok(&["--uninstall"]);
    assert!(!binary.exists());
}

#[test]
fn uneditable_settings_without_hooks_do_not_prevent_an_uninstall() {
    for settings in ["{\"hooks\": []}", "{\"hooks\": [], \"model\": \"teamkeep\"}"] {
        let clone = Clone::new();
        clone.ok(&["--no-hooks"]);
        clone.home.write(settings);
        let result = clone.ok(&["--uninstall"]);
        assert!(!result.contains("hooks in"), "{result}");
        assert!(!clone.at(".local/bin/teamkeep").exists());
        assert_eq!(clone.home.read(), settings);
    }
}

#[test]
fn handwritten_hooks_are_found_for_any_spelling_of_the_program() {
    let clone = Clone::new();
    let write = |command: &str| {
        let hook = format!("{{\"hooks\":[{{\"command\":\"{command}\"}}]}}");
        clone.home.write(&format!("{{\"hooks\":{{\"Stop\":[{hook}]}}}}"));
    };
    for (command, called) in [
        ("/no/such/teamkeep hook stop", "/no/such/teamkeep"),
        ("'/no such/teamkeep' hook", "/no such/teamkeep"),
        ("\\\"/no such/teamkeep\\\" hook stop", "/no such/teamkeep"),
        ("$HOME/gone/teamkeep hook stop", "~/gone/teamkeep"),
        ("~/gone/teamkeep hook stop", "~/gone/teamkeep"),
        ("teamkeep hook stop", "teamkeep"),
    ] {
        write(command);
        let result = clone.fails(&["--uninstall"]);
        let line =
            format!("error: the hooks in ~/.claude/settings.json call {called}, which does not exist\n");
        assert!(result.starts_with(&line), "{result}");
    }
    for other in ["/bin/teamkeeper hook", "echo teamkeep hook", "/bin/teamkeep report", "notify teamkeep"] {
        write(other);
        let result = clone.ok(&["--uninstall"]);
        assert!(result.starts_with("~/.claude/settings.json has no teamkeep hooks\n"), "{other}: {result}");
    }
}

#[test]
fn install_sh_resolves_its_directory_through_symlinks() {
    let clone = Clone::new();
    symlink("clone/install.sh", clone.at("relative.sh")).unwrap();
    std::fs::create_dir(clone.at("far")).unwrap();
    symlink("../relative.sh", clone.at("far/setup")).unwrap();
    let result = result(&clone.dir, &mut clone.command("far/setup", &["--no-hooks"]));
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(result.err.ends_with("to undo all of this: ~/clone/install.sh --uninstall\n"), "{}", result.err);
}

#[test]
fn install_sh_rejects_an_invalid_prefix() {
    let clone = Clone::new();
    for args in
        [&["--prefix", "--no-hooks"][..], &["--prefix"], &["--prefix="], &["--prefix=-x"], &["--prefix", ""]]
    {
        let result = clone.run(args);
        assert_eq!(result.code, Some(64), "{args:?}");
        assert!(result.err.starts_with("error: --prefix needs a directory\n"), "{}", result.err);
    }
    assert_eq!(clone.home.read(), MINE);
}

#[test]
fn install_sh_leaves_a_directory_at_the_binary_path_unchanged() {
    let clone = Clone::new();
    std::fs::create_dir_all(clone.at(".local/bin/teamkeep")).unwrap();
    assert_snapshot!(clone.fails(&["--uninstall"]), @"error: cannot remove ~/.local/bin/teamkeep: it is a directory");
    assert!(clone.at(".local/bin/teamkeep").exists());
}

#[test]
fn teamkeep_ship_is_installed_if_asked_for_and_removed_with_the_rest() {
    let clone = Clone::new();
    clone.ok(&["--no-hooks"]);
    assert!(!clone.at(".local/bin/teamkeep-ship").exists());
    assert_snapshot!(clone.ok(&["--with-ship", "--no-hooks"]), @"
    building (a few minutes the first time)
    building teamkeep-ship (some minutes the first time)
    installed teamkeep 0.1.0 as ~/.local/bin/teamkeep
    installed ~/.local/bin/teamkeep-ship
    settings unchanged; to add the hooks: ~/.local/bin/teamkeep install
    next:
      check the setup: teamkeep doctor
    to undo all of this: ~/clone/install.sh --uninstall
    ");
    let installed = clone.at(".local/bin/teamkeep-ship");
    assert!(result(&clone.dir, &mut Command::new(&installed)).out.starts_with("ship"));
    let again = clone.ok(&["--no-hooks"]);
    assert!(
        again.contains("teamkeep-ship is not updated; to update it: ~/clone/install.sh --with-ship\n"),
        "{again}"
    );
    assert_snapshot!(clone.ok(&["--uninstall"]), @"
    ~/.claude/settings.json has no teamkeep hooks
    removed ~/.local/bin/teamkeep-ship
    removed ~/.local/bin/teamkeep-hook
    removed ~/.local/bin/teamkeep
    ");
    assert!(!installed.exists() && !clone.at(".local/bin").exists());
}
