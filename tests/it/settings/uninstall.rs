//! `teamkeep uninstall`, run as a user runs it: the file is what it was.

use insta::assert_snapshot;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::settings::text_properties;
use crate::support::install_home::{Home, MINE, result};

#[test]
fn uninstall_reports_that_nothing_is_installed() {
    let home = Home::with(MINE);
    assert_snapshot!(home.ok("uninstall").err, @"nothing to do: ~/.claude/settings.json has no teamkeep hooks");
    assert_eq!(home.read(), MINE);
    assert_snapshot!(home.ok("uninstall --scope local").err, @"nothing to do: ~/.claude/settings.local.json has no teamkeep hooks");
}

#[test]
fn uninstall_removes_a_created_file_and_its_directory() {
    let home = Home::new();
    home.ok("install --scope project");
    assert!(home.at(".claude/settings.json").exists());
    home.ok("uninstall --scope project");
    assert!(!home.at(".claude/settings.json").exists());
    assert!(home.at(".claude").exists(), "the directory was there before");
    std::fs::create_dir(home.at("project")).unwrap();
    let local =
        |line| result(home.dir.path(), home.command(line).env("CLAUDE_PROJECT_DIR", home.at("project")));
    assert_snapshot!(local("install --scope local").err, @"
    installed 17 hooks in ~/project/.claude/settings.local.json
    each runs ~/bin/teamkeep-hook, for Claude Code 2.1.332
    to remove the hooks: teamkeep uninstall --scope local
    ");
    assert!(home.at("project/.claude/settings.local.json").exists());
    assert_snapshot!(local("uninstall --scope local").err, @"
    removed ~/project/.claude/settings.local.json with its 17 hooks (install had created the file)
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    ");
    assert!(!home.at("project/.claude").exists());
}

#[test]
fn last_uninstall_removes_a_shared_directory() {
    for order in [["local", "project"], ["project", "local"]] {
        let home = Home::new();
        std::fs::create_dir(home.at("project")).unwrap();
        let run = |verb: &str, scope: &str| {
            let mut command = home.command(&format!("{verb} --scope {scope}"));
            let result = result(home.dir.path(), command.env("CLAUDE_PROJECT_DIR", home.at("project")));
            assert_eq!(result.code, Some(0), "{}", result.err);
        };
        run("install", "local");
        run("install", "project");
        run("uninstall", order[0]);
        assert!(home.at("project/.claude").exists());
        run("uninstall", order[1]);
        assert!(!home.at("project/.claude").exists(), "{order:?}");
        std::fs::create_dir(home.at("project/.claude")).unwrap();
        run("install", "local");
        run("install", "project");
        run("uninstall", order[0]);
        run("uninstall", order[1]);
        assert!(home.at("project/.claude").exists(), "it was there before: {order:?}");
    }
}

#[test]
fn uninstall_preserves_a_created_file_with_later_changes() {
    let home = Home::new();
    home.ok("install");
    home.write(&home.read().replacen('{', "{\n  \"model\": \"opus\",", 1));
    home.ok("uninstall");
    assert_eq!(home.read(), "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn uninstall_restores_an_empty_file() {
    for empty in ["", "\n", "\u{feff}"] {
        let home = Home::with(empty);
        home.ok("install");
        assert_eq!(home.json()["hooks"].as_object().unwrap().len(), 17);
        home.ok("uninstall");
        assert_eq!(home.read(), empty);
    }
}

#[test]
fn uninstall_preserves_later_user_changes() {
    let home = Home::with(MINE);
    home.ok("install");
    home.write(&home.read().replace("\"opus\"", "\"sonnet\""));
    assert_snapshot!(home.ok("uninstall").err, @"
    removed 17 hooks from ~/.claude/settings.json
    backup: ~/.local/share/teamkeep/installs/#-#.bak
    ");
    assert_eq!(home.read(), MINE.replace("\"opus\"", "\"sonnet\""));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn uninstall_restores_any_file_exactly_with_and_without_the_store(choices in vec(any::<u8>(), 0..300), comments: bool) {
        let before = text_properties::settings(choices, comments);
        let home = Home::with(&before);
        home.install();
        let installed = home.read();
        prop_assert_ne!(&installed, &before);
        home.install();
        prop_assert_eq!(home.read(), installed.clone());
        home.ok("uninstall");
        prop_assert_eq!(home.read(), before.clone());
        home.install();
        prop_assert_eq!(home.read(), installed);
        std::fs::remove_file(home.record()).unwrap();
        home.ok("uninstall");
        prop_assert_eq!(home.read(), before);
    }
}

#[test]
#[cfg_attr(windows, ignore = "the error is that of Unix")]
fn uninstall_works_with_an_unwritable_store() {
    let installs = ".local/share/teamkeep/installs";
    let leave = |spoil: &dyn Fn(&Home)| {
        let home = Home::with(MINE);
        home.ok("install");
        spoil(&home);
        let result = home.ok("uninstall");
        assert_eq!(home.read(), MINE);
        result.err
    };
    let result = leave(&|home| {
        std::fs::remove_file(home.at(installs).join("lock")).unwrap();
        std::fs::create_dir(home.at(installs).join("lock")).unwrap();
    });
    assert_snapshot!(result.lines().take(2).collect::<Vec<_>>().join("\n"), @r#"
    note: cannot write the install records: failed to open file `~/.local/share/teamkeep/installs/lock`: Is a directory (os error 21)
    removed 17 hooks from ~/.claude/settings.json; restored its previous content
    "#);
    let result = leave(&|home| {
        std::fs::remove_dir_all(home.at(".local/share/teamkeep")).unwrap();
        std::fs::write(home.at(".local/share/teamkeep"), "").unwrap();
    });
    assert_snapshot!(result, @r#"
    note: cannot write the install records: failed to open file `~/.local/share/teamkeep/installs/lock`: Not a directory (os error 20)
    removed 17 hooks from ~/.claude/settings.json
    note: no backup was kept: failed to open file `~/.local/share/teamkeep/installs/.#-#.bak.#.tmp`: Not a directory (os error 20)
    "#);
    let home = Home::with(MINE);
    std::fs::create_dir_all(home.at(installs).join("lock")).unwrap();
    let result = home.run("install");
    assert_eq!(result.code, Some(1));
    assert_snapshot!(result.err, @r#"
    error: failed to open file `~/.local/share/teamkeep/installs/lock`: Is a directory (os error 21)
    hint: nothing was changed; free space there, make it writable, or set TEAMKEEP_HOME
    "#);
    assert_eq!(home.read(), MINE);
}
