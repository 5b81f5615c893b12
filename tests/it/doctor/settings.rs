//! `teamkeep doctor` on settings files that the client cannot read, or that one would not expect.

#[cfg(unix)]
use std::os::unix::fs::symlink;

use insta::assert_snapshot;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::doctor::checks::{TEAMS, one, well};
use crate::settings::text_properties;
use crate::support::install_home::Home;
use crate::support::programs::editor;

/// What is said of a settings file with this content; nothing of it may be lost by `--fix`.
fn settings(content: &[u8]) -> String {
    let home = Home::new();
    std::fs::write(home.settings(), content).unwrap();
    let told = one(&home, "settings");
    home.run("doctor --fix");
    if told.starts_with("bad: ") {
        assert_eq!(std::fs::read(home.settings()).unwrap(), content, "{told}");
    } else {
        home.ok("uninstall");
        assert_eq!(std::fs::read(home.settings()).unwrap(), content, "{told}");
    }
    told
}

#[test]
fn doctor_reports_an_unreadable_settings_file_and_leaves_it_unchanged() {
    for (content, why, line) in [
        (
            &b"{\n  // mine\n  \"a\": 1\n}\n"[..],
            "line 2: a comment is not valid JSON; Claude Code ignores the whole file",
            Some(2),
        ),
        (
            b"{\n  \"a\": 1,\n}\n",
            "line 2: a trailing comma is not valid JSON; Claude Code ignores the whole file",
            Some(2),
        ),
        (b"{\"a\": 1", "line 1: unterminated object; Claude Code ignores the whole file", Some(1)),
        (b"[]", "it is not a JSON object; Claude Code ignores the whole file", None),
        (b"{\"hooks\": []}", "its `hooks` is not an object; Claude Code ignores the whole file", None),
        (
            b"\n{\"a\": \"\xff\"}",
            "line 2: it is not UTF-8 (invalid utf-8 sequence of 1 bytes from index 8); Claude Code ignores the whole file",
            Some(2),
        ),
    ] {
        let file = "~/.claude/settings.json";
        assert_eq!(settings(content), format!("bad: {file}: {why} => {} {file}", editor(line)));
    }
}

#[test]
fn doctor_accepts_an_unusual_but_valid_settings_file() {
    let crlf = TEAMS.replace('\n', "\r\n");
    for content in [TEAMS, &crlf, &format!("\u{feff}{TEAMS}"), &format!("\u{feff}{crlf}"), "", "\n", "{}"] {
        assert_eq!(
            settings(content.as_bytes()),
            "ok: Claude Code can read 1 settings file: ~/.claude/settings.json"
        );
    }
}

#[test]
fn doctor_ignores_hooks_in_a_file_that_claude_code_skips() {
    let home = well();
    home.write(&home.read().replacen('{', "{ // mine", 1));
    let before = home.read();
    assert!(one(&home, "settings").starts_with("bad: "));
    assert_snapshot!(one(&home, "hooks-installed"), @"unknown: hooks in ~/.claude/settings.json do not count: Claude Code cannot read the file");
    home.run("doctor --fix");
    assert_eq!(home.read(), before);
}

#[cfg(unix)]
#[test]
fn doctor_reports_links_and_settings_paths_that_are_not_files() {
    let home = Home::new();
    symlink("nowhere.json", home.settings()).unwrap();
    assert!(one(&home, "settings").starts_with("bad: cannot follow the link ~/.claude/settings.json: "));
    std::fs::remove_file(home.settings()).unwrap();
    std::fs::create_dir(home.settings()).unwrap();
    assert_eq!(
        one(&home, "settings"),
        "bad: ~/.claude/settings.json is not a regular file => make ~/.claude/settings.json a readable file, or remove it"
    );
    assert_eq!(home.run("doctor --fix").code, Some(1));
    std::fs::remove_dir(home.settings()).unwrap();
    std::fs::write(home.at("dotfiles.json"), TEAMS).unwrap();
    symlink("../dotfiles.json", home.settings()).unwrap();
    home.ok("doctor --fix");
    assert!(home.settings().symlink_metadata().unwrap().is_symlink());
}

#[test]
fn doctor_fix_ignores_fifty_custom_hooks() {
    let home = well();
    let other = "{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]},".repeat(50);
    home.write(&home.read().replacen("\"Stop\": [", &format!("\"Stop\": [{other}"), 1));
    let before = home.read();
    assert_eq!(home.ok("doctor --fix").err, "nothing to fix\n");
    assert_eq!(home.read(), before);
    assert_eq!(one(&home, "hooks-installed"), "ok: 17 hooks in ~/.claude/settings.json");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn doctor_fix_preserves_all_other_settings(choices in vec(any::<u8>(), 0..300), comments: bool) {
        let before = text_properties::settings(choices, comments);
        let told = settings(before.as_bytes());
        prop_assert!(comments || told.starts_with("ok: "), "{told}: {before}");
    }
}
