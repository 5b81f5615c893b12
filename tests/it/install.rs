//! `teamkeep install`, run as a user runs it, in a home of its own.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::home::{Home, MINE, said};

#[test]
fn an_install_says_what_it_did_and_how_to_undo_it() {
    let home = Home::with(MINE);
    let said = home.ok("install --yes");
    assert_eq!(said.out, "");
    assert_snapshot!(said.err, @"
    installed 15 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep hook, for client 2.1.328
    the file as it was: ~/.local/share/teamkeep/installs/#-#.bak
    to undo: teamkeep uninstall
    ");
    let settings = home.json();
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    let ours = &settings["hooks"]["Stop"][1]["hooks"][0];
    let program = home.at("bin/teamkeep");
    let wanted =
        serde_json::json!({"type": "command", "command": program, "args": ["hook", "stop"], "timeout": 10});
    assert_eq!(*ours, wanted);
    assert_eq!(settings["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"], 30);
    assert_eq!(
        settings["hooks"]["PreToolUse"][0]["matcher"],
        "TeamCreate|TeamDelete|SendMessage|Agent|Task|TaskCreate|TaskUpdate|TaskStop"
    );
    assert_eq!(settings["hooks"]["FileChanged"][0].get("matcher"), None);
    let said = home.ok("uninstall");
    assert_snapshot!(said.err, @"
    removed 15 hooks from ~/.claude/settings.json; the file is as it was before
    the file with the hooks: ~/.local/share/teamkeep/installs/#-#.bak
    ");
    assert_eq!(home.read(), MINE);
}

#[test]
fn the_example_is_what_an_install_writes() {
    let example = include_str!("../../hooks/settings.example.json");
    let home = Home::with("{\n  \"env\": {\n    \"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS\": \"1\"\n  }\n}\n");
    home.ok("install --command teamkeep");
    assert_eq!(home.read(), example);
    let home = Home::new();
    home.ok("install --command teamkeep");
    assert_eq!(home.read(), include_str!("../../hooks/hooks.json"));
}

#[test]
fn a_second_install_changes_nothing_and_says_so() {
    let home = Home::with(MINE);
    home.ok("install");
    let before = home.everything();
    let inode = home.settings().metadata().unwrap().ino();
    assert_snapshot!(home.ok("install").err, @"nothing to do: ~/.claude/settings.json has all 15 hooks");
    assert_eq!(home.everything(), before);
    assert_eq!(home.settings().metadata().unwrap().ino(), inode);
}

#[test]
fn a_dry_run_shows_the_change_and_writes_nothing() {
    let home = Home::with("{\n  \"hooks\": {\"Stop\": []}\n}\n");
    let before = home.everything();
    let said = home.ok("install --dry-run --client-version 2.0.1");
    let shown: Vec<&str> = said.out.lines().take(30).collect();
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
    +          "command": "~/bin/teamkeep hook stop",
    +          "timeout": 10
    +        }
    +      ]
    +    }],
    +    "SessionStart": [
    +      {
    +        "hooks": [
    +          {
    +            "type": "command",
    +            "command": "~/bin/teamkeep hook session-start",
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
    assert_snapshot!(said.err, @"
    note: client 2.0.1 does not know SubagentStart, TeammateIdle, TaskCreated, TaskCompleted, StopFailure, FileChanged
    hint: after an upgrade of the client, install again
    note: agent teams need client 2.1.33 or later
    ");
    assert_eq!(home.everything(), before);
    home.ok("install");
    let before = home.everything();
    let said = home.ok("uninstall --dry-run");
    assert!(said.out.contains("\n+  \"hooks\": {\"Stop\": []}\n"), "{}", said.out);
    assert!(said.out.contains("\n-            \"command\": \"~/bin/teamkeep\",\n"), "{}", said.out);
    assert_eq!(home.everything(), before);
}

#[test]
fn a_broken_file_is_refused_and_left_alone() {
    for (broken, why) in [
        ("{\"a\": 1", "Unterminated object on line 1 column 1"),
        ("[]", "it holds no JSON object"),
        ("{\"hooks\": 1}", "its `hooks` is not an object"),
        ("{\"hooks\": {\"Stop\": {}}}", "its `hooks.Stop` is not an array"),
        ("{\"hooks\": {}, \"hooks\": {}}", "it has the key `hooks` twice"),
    ] {
        let home = Home::with(broken);
        for command in ["install", "uninstall", "install --dry-run"] {
            let said = home.run(command);
            assert_eq!(said.code, Some(1));
            let message = format!(
                "teamkeep: cannot edit ~/.claude/settings.json: {why}\nhint: nothing was changed; mend the file, or name another one: --settings PATH\n"
            );
            assert_eq!(said.err, message);
            assert_eq!(home.read(), broken);
        }
    }
    let home = Home::new();
    std::fs::write(home.settings(), b"{\"a\": \"\xff\"}").unwrap();
    let said = home.run("install");
    assert!(
        said.err.starts_with("teamkeep: cannot edit ~/.claude/settings.json: it is not UTF-8"),
        "{}",
        said.err
    );
}

#[test]
fn a_file_that_the_client_will_skip_is_named() {
    let home = Home::with("{\n  // mine\n  \"disableAllHooks\": true\n}\n");
    let said = home.ok("install");
    let warnings: Vec<&str> = said.err.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_snapshot!(warnings.join("\n"), @"
    warning: the client reads strict JSON, without comments and trailing commas, and skips this whole file for its line 2: ~/.claude/settings.json
    warning: no hook runs while `disableAllHooks` is true in this file: ~/.claude/settings.json
    ");
}

#[test]
fn an_old_client_gets_the_old_form_and_only_what_it_knows() {
    let home = Home::with("{}");
    home.client("2.1.47 (Claude Code)");
    assert_snapshot!(home.ok("install").err, @"
    installed 12 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep hook, for client 2.1.47
    the file as it was: ~/.local/share/teamkeep/installs/#-#.bak
    to undo: teamkeep uninstall
    note: client 2.1.47 does not know TaskCreated, StopFailure, FileChanged
    hint: after an upgrade of the client, install again
    ");
    let settings = home.json();
    for late in ["TaskCreated", "StopFailure", "FileChanged"] {
        assert_eq!(settings["hooks"].get(late), None);
    }
    let hook = &settings["hooks"]["TeammateIdle"][0]["hooks"][0];
    assert_eq!(hook["command"], format!("{} hook teammate-idle", home.at("bin/teamkeep").display()));
    assert_eq!(hook.get("args"), None);
    home.client("2.1.328 (Claude Code)");
    home.ok("install");
    assert_eq!(home.json()["hooks"].as_object().unwrap().len(), 15);
    assert_eq!(home.read().matches("teammate-idle").count(), 1, "replaced, not doubled");
    home.ok("uninstall");
    assert_eq!(home.read(), "{}", "what was there before the first of the two");
}

#[test]
fn a_client_before_teams_is_told_so() {
    let home = Home::with("{}");
    home.client("2.0.42 (Claude Code)");
    assert_snapshot!(home.ok("install").err, @"
    installed 9 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep hook, for client 2.0.42
    the file as it was: ~/.local/share/teamkeep/installs/#-#.bak
    to undo: teamkeep uninstall
    note: client 2.0.42 does not know SubagentStart, TeammateIdle, TaskCreated, TaskCompleted, StopFailure, FileChanged
    hint: after an upgrade of the client, install again
    note: agent teams need client 2.1.33 or later
    ");
    assert_eq!(home.json()["hooks"].as_object().unwrap().len(), 9);
}

#[test]
fn without_a_client_the_hooks_are_those_that_every_client_knows() {
    let home = Home::with("{}");
    std::fs::remove_file(home.at("bin/claude")).unwrap();
    assert_snapshot!(home.ok("install").err, @"
    installed 12 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep hook, for any client since 2.1.33
    the file as it was: ~/.local/share/teamkeep/installs/#-#.bak
    to undo: teamkeep uninstall
    note: no `claude` was found on the search path; only the 12 hooks that every client with agent teams knows
    hint: once `claude` answers: teamkeep install; or now, with its version: --client-version X.Y.Z
    ");
    assert_eq!(home.json()["hooks"].as_object().unwrap().len(), 12);
    home.client("I am not well");
    assert_snapshot!(home.ok("install").err, @"
    nothing to do: ~/.claude/settings.json has all 12 hooks
    note: `claude --version` named no version; only the 12 hooks that every client with agent teams knows
    hint: once `claude` answers: teamkeep install; or now, with its version: --client-version X.Y.Z
    ");
    home.ok("install --client-version 2.1.200");
    assert_eq!(home.json()["hooks"].as_object().unwrap().len(), 15);
}

#[test]
fn a_link_stays_a_link() {
    let home = Home::new();
    std::fs::create_dir(home.at("dotfiles")).unwrap();
    std::fs::write(home.at("dotfiles/claude.json"), MINE).unwrap();
    std::fs::set_permissions(home.at("dotfiles/claude.json"), std::fs::Permissions::from_mode(0o604))
        .unwrap();
    symlink("../dotfiles/claude.json", home.settings()).unwrap();
    home.ok("install");
    assert_eq!(std::fs::read_link(home.settings()).unwrap(), Path::new("../dotfiles/claude.json"));
    assert_eq!(home.at("dotfiles/claude.json").metadata().unwrap().mode() & 0o7777, 0o604);
    assert!(home.read().contains("session-start"));
    assert_eq!(std::fs::read_dir(home.at("dotfiles")).unwrap().count(), 1);
    home.ok("uninstall");
    assert_eq!(std::fs::read_to_string(home.at("dotfiles/claude.json")).unwrap(), MINE);
    std::fs::remove_file(home.at("dotfiles/claude.json")).unwrap();
    assert_snapshot!(home.run("install").err, @"
    teamkeep: cannot follow the link ~/.claude/settings.json: No such file or directory (os error 2)
    hint: nothing was changed; mend the link or remove it
    ");
    assert_eq!(std::fs::read_dir(home.at("dotfiles")).unwrap().count(), 0);
}

#[test]
fn what_is_no_file_or_in_no_directory_is_refused() {
    let home = Home::new();
    assert_snapshot!(home.run("install --settings .claude").err, @"
    teamkeep: ~/.claude is no regular file
    hint: nothing was changed; name another file: --settings PATH
    ");
    assert_snapshot!(home.run("install --settings no/where/settings.json").err, @"
    teamkeep: cannot make the directory ~/no/where: No such file or directory (os error 2)
    hint: make it first: mkdir -p ~/no/where
    ");
    assert_snapshot!(home.run("install --settings bin/claude.says/settings.json").err, @"
    teamkeep: cannot open ~/bin/claude.says/settings.json: Not a directory (os error 20)
    hint: nothing was changed; name another file: --settings PATH
    ");
}

#[test]
fn a_directory_that_is_not_ours_to_write_is_left_alone() {
    let home = Home::with(MINE);
    let nobody = 65_534;
    let root = home.settings().metadata().unwrap().uid() == 0;
    if root {
        // Permissions do not hold root back: the command runs as nobody, in a home that is nobody's.
        std::os::unix::fs::chown(home.dir.path(), Some(nobody), Some(nobody)).unwrap();
        for path in ["bin", ".claude", ".claude/settings.json"] {
            std::os::unix::fs::chown(home.at(path), Some(nobody), Some(nobody)).unwrap();
        }
    }
    let run = || {
        let mut command = home.command("install");
        if root {
            std::os::unix::process::CommandExt::uid(&mut command, nobody);
            std::os::unix::process::CommandExt::gid(&mut command, nobody);
        }
        said(home.dir.path(), &mut command)
    };
    let mode = |path: &str, mode| {
        std::fs::set_permissions(home.at(path), std::fs::Permissions::from_mode(mode)).unwrap()
    };
    mode(".claude", 0o500);
    assert_snapshot!(run().err, @"
    teamkeep: cannot write beside ~/.claude/settings.json: Permission denied (os error 13)
    hint: nothing was changed
    ");
    mode(".claude", 0o700);
    mode(".claude/settings.json", 0o400);
    assert_snapshot!(run().err, @"
    teamkeep: cannot write ~/.claude/settings.json: Permission denied (os error 13)
    hint: nothing was changed
    ");
    mode(".claude/settings.json", 0o000);
    assert_snapshot!(run().err, @"
    teamkeep: cannot open ~/.claude/settings.json: Permission denied (os error 13)
    hint: nothing was changed; name another file: --settings PATH
    ");
    mode(".claude/settings.json", 0o600);
    assert_eq!(home.read(), MINE);
    assert_eq!(std::fs::read_dir(home.at(".claude")).unwrap().count(), 1, "no temporary file stays");
    mode(".local/share/teamkeep/installs", 0o500);
    let said = run();
    assert_eq!(said.code, Some(1), "without a place for the backup nothing is changed: {}", said.err);
    mode(".local/share/teamkeep/installs", 0o700);
    assert_eq!(home.read(), MINE);
}

#[test]
fn what_is_kept_is_the_users_alone() {
    let home = Home::with(MINE);
    home.ok("install");
    assert_eq!(home.installs().metadata().unwrap().mode() & 0o777, 0o700);
    let kept: Vec<PathBuf> =
        std::fs::read_dir(home.installs()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 3, "the lock, the record, the backup: {kept:?}");
    for path in kept {
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
    }
    let names: Vec<_> =
        std::fs::read_dir(home.at(".claude")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["settings.json"], "nothing of ours stands in the client's directory");
}

#[test]
fn the_clients_own_directory_is_where_it_says() {
    let home = Home::new();
    std::fs::create_dir(home.at("elsewhere")).unwrap();
    let run = |line| said(home.dir.path(), home.command(line).env("CLAUDE_CONFIG_DIR", home.at("elsewhere")));
    assert_eq!(run("install").code, Some(0));
    assert!(home.at("elsewhere/settings.json").exists());
    assert!(!home.settings().exists());
}

#[test]
fn a_shared_file_gets_a_path_of_this_machine_only_with_a_word_of_warning() {
    let home = Home::new();
    assert!(home.ok("install --scope project").err.contains("note: the file is shared"));
    let said = home.ok("install --scope project --command teamkeep");
    assert!(!said.err.contains("note: "), "{}", said.err);
    assert_eq!(home.json()["hooks"]["Stop"][0]["hooks"][0]["command"], "teamkeep");
}

#[test]
fn installs_at_the_same_time_are_one_install() {
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
fn a_command_line_that_makes_no_sense_is_64() {
    let home = Home::new();
    for line in
        ["install --scope project --settings x.json", "install --client-version new", "install --scope all"]
    {
        assert_eq!(home.run(line).code, Some(64), "{line}");
    }
    let said = home.run("install --command /bin/true");
    assert_eq!(said.code, Some(64));
    assert_snapshot!(said.err, @"
    teamkeep: cannot install the command /bin/true: its file name is not teamkeep
    hint: uninstall knows the hooks again by that name; give the binary that name, or make a link
    ");
    assert!(!home.settings().exists());
}

#[test]
fn a_configuration_that_makes_no_sense_keeps_nobody_from_installing_or_leaving() {
    let home = Home::with(MINE);
    std::fs::write(home.at("broken.toml"), "[log\n").unwrap();
    let run =
        |line| said(home.dir.path(), home.command(line).env("TEAMKEEP_CONFIG", home.at("broken.toml"))).code;
    assert_eq!(run("install"), Some(0));
    assert_eq!(run("uninstall"), Some(0));
    assert_eq!(run("demo"), Some(0));
    assert_eq!(home.read(), MINE);
    assert_eq!(run("teams"), Some(0), "whoever looks at the record gets to it");
    assert_eq!(run("report --redact"), Some(1), "what goes by the configuration says that it cannot");
    assert_eq!(run("prune --keep 1"), Some(1));
}

#[test]
fn not_knowing_the_client_takes_nothing_away_from_an_install() {
    let home = Home::with(MINE);
    home.ok("install");
    let installed = home.read();
    let record = || std::fs::read_to_string(home.record()).unwrap();
    std::fs::remove_file(home.at("bin/claude")).unwrap();
    assert_snapshot!(home.ok("install").err, @"
    nothing to do: ~/.claude/settings.json has all 15 hooks
    note: no `claude` was found on the search path; the hooks keep the set and the form that they had
    hint: once `claude` answers: teamkeep install; or now, with its version: --client-version X.Y.Z
    ");
    assert_eq!(home.read(), installed);
    home.client("I am not well");
    let moved = "install --command /moved/teamkeep";
    assert_snapshot!(home.ok(moved).err, @"
    replaced 15 hooks in ~/.claude/settings.json
    each runs /moved/teamkeep hook
    the file as it was: ~/.local/share/teamkeep/installs/#-#.bak
    to undo: teamkeep uninstall
    warning: /moved/teamkeep cannot be run; the hooks fail until it can
    note: `claude --version` named no version; the hooks keep the set and the form that they had
    hint: once `claude` answers: teamkeep install; or now, with its version: --client-version X.Y.Z
    ");
    assert_eq!(
        home.read(),
        installed.replace(home.at("bin").to_str().unwrap(), "/moved"),
        "15, in exec form"
    );
    assert!(record().contains("\"client\":\"2.1.328\""), "{}", record());
    home.ok("uninstall");
    assert_eq!(home.read(), MINE);
}

#[test]
fn hooks_that_are_replaced_or_removed_are_counted() {
    let home = Home::with("{}");
    home.ok("install --client-version 2.1.47");
    let first = |line: &str| home.ok(line).err.lines().next().unwrap().to_owned();
    assert_snapshot!(first("install"), @"replaced 12 hooks in ~/.claude/settings.json, added 3: TaskCreated, StopFailure, FileChanged");
    assert_snapshot!(first("install --client-version 2.1.77"), @"replaced 12 hooks in ~/.claude/settings.json, removed 3: TaskCreated, StopFailure, FileChanged");
    assert_snapshot!(first("install --client-version 2.0.42"), @"removed 3 hooks from ~/.claude/settings.json: SubagentStart, TeammateIdle, TaskCompleted");
    assert_snapshot!(first("install --client-version 2.0.42 --command teamkeep"), @"replaced 9 hooks in ~/.claude/settings.json");
}

#[test]
fn a_client_that_hangs_is_not_waited_for_long_nor_in_silence() {
    let home = Home::with("{}");
    std::fs::remove_file(home.at("bin/claude.says")).unwrap();
    // A pipe that nobody writes to: the client waits for its own words.
    assert!(std::process::Command::new("mkfifo").arg(home.at("bin/claude.says")).status().unwrap().success());
    let start = std::time::Instant::now();
    let said = home.ok("install");
    assert!(start.elapsed() < std::time::Duration::from_secs(8), "{:?}", start.elapsed());
    assert_snapshot!(said.err, @"
    waiting for `claude --version`, 5 seconds at most
    installed 12 hooks in ~/.claude/settings.json
    each runs ~/bin/teamkeep hook, for any client since 2.1.33
    the file as it was: ~/.local/share/teamkeep/installs/#-#.bak
    to undo: teamkeep uninstall
    note: `claude --version` gave no answer; only the 12 hooks that every client with agent teams knows
    hint: once `claude` answers: teamkeep install; or now, with its version: --client-version X.Y.Z
    ");
}

#[test]
fn what_cannot_be_run_is_installed_with_a_warning() {
    let home = Home::with("{}");
    assert_snapshot!(home.ok("install --command no/such/teamkeep").err, @"
    installed 15 hooks in ~/.claude/settings.json
    each runs ~/no/such/teamkeep hook, for client 2.1.328
    the file as it was: ~/.local/share/teamkeep/installs/#-#.bak
    to undo: teamkeep uninstall
    warning: ~/no/such/teamkeep cannot be run; the hooks fail until it can
    ");
    std::fs::create_dir(home.at("empty")).unwrap();
    let bare =
        said(home.dir.path(), home.command("install --command teamkeep").env("PATH", home.at("empty"))).err;
    assert!(
        bare.contains("\nwarning: there is no teamkeep on the search path; the hooks fail until there is\n"),
        "{bare}"
    );
    assert!(!home.ok("install --command teamkeep").err.contains("warning"));
}

#[test]
fn off_the_search_path_the_program_is_named_by_its_path_quoted() {
    let home = Home::with("{}");
    std::fs::create_dir(home.at("my tools")).unwrap();
    std::fs::rename(home.at("bin/teamkeep"), home.at("my tools/teamkeep")).unwrap();
    let mut command = std::process::Command::new(home.at("my tools/teamkeep"));
    command.arg("install").env_clear().env("HOME", home.dir.path()).env("PATH", home.at("bin"));
    assert_snapshot!(said(home.dir.path(), &mut command).err, @"
    installed 15 hooks in ~/.claude/settings.json
    each runs '~/my tools/teamkeep' hook, for client 2.1.328
    the file as it was: ~/.local/share/teamkeep/installs/#-#.bak
    to undo: '~/my tools/teamkeep' uninstall
    ");
}
