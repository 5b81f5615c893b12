//! `teamkeep install` and `uninstall` on settings files that are not as one would like them: nothing of theirs is lost.

#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use insta::assert_snapshot;
use teamkeep_settings::document::lenient_data;
use teamkeep_settings::hook_command::ours;

use crate::support::install_home::{Home, MINE, result};
use crate::support::programs::editor;

#[test]
fn install_rejects_a_broken_file_and_leaves_it_unchanged() {
    for (broken, why, line) in [
        ("{\n \"a\": 1", "line 1: unterminated object", Some(1)),
        ("{\n \"a\": 1\n \"b\": 1}", "line 2: expected comma", Some(2)),
        ("[]", "it is not a JSON object", None),
        ("{\"hooks\": 1}", "its `hooks` is not an object", None),
        ("{\"hooks\": {\"Stop\": {}}}", "its `hooks.Stop` is not an array", None),
        ("{\"hooks\": {}, \"hooks\": {}}", "it has the key `hooks` twice", None),
    ] {
        let home = Home::with(broken);
        for command in ["install", "uninstall", "install --dry-run"] {
            let result = home.run(command);
            assert_eq!(result.code, Some(1));
            let message = format!(
                "error: cannot edit ~/.claude/settings.json: {why}\nhint: nothing was changed; fix the file, or choose \
                 another one: --settings PATH\nhint: {} ~/.claude/settings.json\n",
                editor(line)
            );
            assert_eq!(result.err, message);
            assert_eq!(home.read(), broken);
        }
    }
    let home = Home::new();
    std::fs::write(home.settings(), b"{\"a\": \"\xff\"}").unwrap();
    let result = home.run("install");
    assert!(
        result.err.starts_with("error: cannot edit ~/.claude/settings.json: it is not UTF-8"),
        "{}",
        result.err
    );
}

#[test]
fn install_rejects_invalid_json_and_uninstall_leaves_it_unchanged() {
    for broken in ["{ // one\n \"a\": \"\u{1}\"}", "{\n\u{a0}\"a\": 1}"] {
        let home = Home::with(broken);
        for command in ["install", "install --dry-run"] {
            let result = home.run(command);
            assert_eq!(result.code, Some(1));
            assert!(
                result.err.starts_with("error: cannot edit ~/.claude/settings.json: line 2: "),
                "{}",
                result.err
            );
            assert_eq!(home.read(), broken);
        }
        // Who wants to leave is not kept by it.
        let home = Home::with("{\n  \"a\": 1\n}\n");
        home.ok("install");
        let broken = home.read().replace("\"a\": 1", "\"a\": \"\t\"");
        home.write(&broken);
        home.ok("uninstall");
        assert_eq!(home.read(), "{\n  \"a\": \"\t\"\n}\n");
    }
}

#[test]
fn install_warns_about_a_file_that_claude_code_will_skip() {
    let mine = "{\n  // mine\n  \"disableAllHooks\": true // for now\n}\n";
    let home = Home::with(mine);
    assert!(
        home.ok("install --dry-run")
            .err
            .contains("\nwarning: the hooks in ~/.claude/settings.json do not run: ")
    );
    let result = home.ok("install");
    let last: Vec<&str> = result.err.lines().skip_while(|line| !line.starts_with("warning: ")).collect();
    assert_snapshot!(last.join("\n").replace(&editor(Some(2)), "EDIT"), @"
    warning: no hook runs while `disableAllHooks` is true in ~/.claude/settings.json
    warning: the hooks in ~/.claude/settings.json do not run: line 2: a comment is not valid JSON; Claude Code ignores the whole file
    hint: EDIT ~/.claude/settings.json
    ");
    assert!(
        home.read().starts_with("{\n  // mine\n  \"disableAllHooks\": true, // for now\n"),
        "{}",
        home.read()
    );
    assert_snapshot!(home.ok("install").err.replace(&editor(Some(2)), "EDIT"), @"
    warning: no hook runs while `disableAllHooks` is true in ~/.claude/settings.json
    warning: the hooks in ~/.claude/settings.json do not run: line 2: a comment is not valid JSON; Claude Code ignores the whole file
    hint: EDIT ~/.claude/settings.json
    ");
    home.ok("uninstall");
    assert_eq!(home.read(), mine);
    home.ok("install");
    let strict = home.read().replace("  // mine\n", "").replace(" // for now", "");
    home.write(&strict);
    assert!(home.ok("install").err.starts_with("nothing to do: "));
}

#[cfg(unix)]
#[test]
fn install_preserves_a_symlink() {
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
    error: cannot follow the link ~/.claude/settings.json: No such file or directory (os error 2)
    hint: nothing was changed; fix or remove the link
    ");
    assert_eq!(std::fs::read_dir(home.at("dotfiles")).unwrap().count(), 0);
}

#[test]
#[cfg_attr(windows, ignore = "the error is that of Unix")]
fn install_rejects_a_path_that_is_not_a_file_or_has_no_directory() {
    let home = Home::new();
    assert_snapshot!(home.run("install --settings .claude").err, @"
    error: ~/.claude is not a regular file
    hint: nothing was changed; choose another file: --settings PATH
    ");
    assert_snapshot!(home.run("install --settings no/where/settings.json").err, @"
    error: cannot create the directory ~/no/where: No such file or directory (os error 2)
    hint: create it first: mkdir -p ~/no/where
    ");
    assert_snapshot!(home.run("install --settings bin/claude.says/settings.json").err, @"
    error: failed to open file `~/bin/claude.says/settings.json`: Not a directory (os error 20)
    hint: nothing was changed; choose another file: --settings PATH
    ");
}

#[cfg(unix)]
#[test]
fn install_leaves_an_unwritable_directory_unchanged() {
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
        result(home.dir.path(), &mut command)
    };
    let mode = |path: &str, mode| {
        std::fs::set_permissions(home.at(path), std::fs::Permissions::from_mode(mode)).unwrap()
    };
    mode(".claude", 0o500);
    assert_snapshot!(run().err, @"
    error: cannot write beside ~/.claude/settings.json: Permission denied (os error 13)
    hint: nothing was changed
    ");
    mode(".claude", 0o700);
    mode(".claude/settings.json", 0o400);
    assert_snapshot!(run().err, @"
    error: cannot write ~/.claude/settings.json: Permission denied (os error 13)
    hint: nothing was changed
    ");
    mode(".claude/settings.json", 0o000);
    assert_snapshot!(run().err, @"
    error: failed to open file `~/.claude/settings.json`: Permission denied (os error 13)
    hint: nothing was changed; choose another file: --settings PATH
    ");
    mode(".claude/settings.json", 0o600);
    assert_eq!(home.read(), MINE);
    assert_eq!(std::fs::read_dir(home.at(".claude")).unwrap().count(), 1, "no temporary file stays");
    mode(".local/share/teamkeep/installs", 0o500);
    let result = run();
    assert_eq!(result.code, Some(1), "without a place for the backup nothing is changed: {}", result.err);
    mode(".local/share/teamkeep/installs", 0o700);
    assert_eq!(home.read(), MINE);
}

/// A file that somebody has: what is special about it, and its content.
fn odd_files() -> Vec<(&'static str, String)> {
    let mut fifty = String::from("{\n  \"hooks\": {\n    \"Stop\": [\n");
    for number in 0..50 {
        let comma = if number < 49 { "," } else { "" };
        let hook = format!("{{\"type\": \"command\", \"command\": \"say {number}\"}}");
        fifty.push_str(&format!("      {{ \"hooks\": [{hook}] }}{comma}\n"));
    }
    fifty.push_str("    ],\n    \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": []}]\n  },\n  \"model\": \"opus\"\n}\n");
    vec![
        ("comments", MINE.replacen('{', "// mine\n{ /* all of it */", 1)),
        ("trailing commas", MINE.replace("\"1\"}", "\"1\",},")),
        ("fifty hooks of others", fifty),
        ("CRLF", MINE.replace('\n', "\r\n")),
        ("a BOM", format!("\u{feff}{MINE}")),
        ("a BOM and CRLF", format!("\u{feff}{}", MINE.replace('\n', "\r\n"))),
        ("no line break at its end", MINE.trim_end().to_owned()),
        ("tabs", MINE.replace("    ", "\t")),
        (
            "one line",
            "{\"model\":\"opus\",\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"x\"}]}]}}".to_owned(),
        ),
        ("numbers that no float holds", "{\n  \"n\": 12345678901234567890123, \"e\": 1e400\n}\n".to_owned()),
    ]
}

#[test]
fn uninstall_restores_unusual_files_byte_for_byte() {
    for (what, before) in odd_files() {
        let home = Home::with(&before);
        home.install();
        let after = home.read();
        let mut rest = after.bytes();
        assert!(before.bytes().all(|byte| rest.any(|other| byte == other)), "{what}: {after}");
        assert_eq!(after.starts_with('\u{feff}'), before.starts_with('\u{feff}'), "{what}");
        let has_bare = |text: &str| text.replace("\r\n", "").contains('\n');
        assert_eq!(has_bare(&after), has_bare(&before) || !before.contains("\r\n"), "{what}");
        assert_eq!(after.matches("\"say ").count(), before.matches("\"say ").count(), "{what}");
        assert_eq!(ours(&lenient_data(after.as_bytes())).len(), 17, "{what}");
        home.ok("uninstall");
        assert_eq!(home.read(), before, "{what}");
    }
}

#[cfg(unix)]
#[test]
fn install_preserves_the_owner_of_a_file() {
    let home = Home::with(MINE);
    if home.settings().metadata().unwrap().uid() != 0 {
        return assert_install_fails_on_a_read_only_file(&home);
    }
    // Root may write it, and the file goes on to be its owner's.
    let nobody = 65_534;
    std::os::unix::fs::chown(home.settings(), Some(nobody), Some(nobody)).unwrap();
    home.ok("install");
    let metadata = home.settings().metadata().unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o777), (nobody, nobody, 0o644));
    home.ok("uninstall");
    assert_eq!((home.read().as_str(), home.settings().metadata().unwrap().uid()), (MINE, nobody));
    // Somebody who owns the directory could replace the file, and must not: it is root's.
    std::os::unix::fs::chown(home.settings(), Some(0), Some(0)).unwrap();
    for path in ["", "bin", ".claude"] {
        std::os::unix::fs::chown(home.at(path), Some(nobody), Some(nobody)).unwrap();
    }
    std::fs::remove_dir_all(home.at(".local")).unwrap();
    for line in ["install", "doctor --fix"] {
        let mut command = home.command(line);
        std::os::unix::process::CommandExt::uid(&mut command, nobody);
        std::os::unix::process::CommandExt::gid(&mut command, nobody);
        let result = result(home.dir.path(), &mut command);
        assert_eq!(result.code, Some(1), "{line}: {}", result.err);
        let refused = "error: cannot write ~/.claude/settings.json: Permission denied (os error 13)\nhint: nothing was changed\n";
        assert!(result.err.contains(refused), "{line}: {}", result.err);
        assert_eq!((home.read().as_str(), home.settings().metadata().unwrap().uid()), (MINE, 0), "{line}");
    }
}

/// Without root there is no file of somebody else's but one that cannot be written.
#[cfg(unix)]
fn assert_install_fails_on_a_read_only_file(home: &Home) {
    std::fs::set_permissions(home.settings(), std::fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(home.run("install").code, Some(1));
    assert_eq!(home.read(), MINE);
}

#[cfg(unix)]
#[test]
fn uninstall_does_not_write_a_read_only_file() {
    let home = Home::with(MINE);
    home.ok("install");
    let installed = home.read();
    let nobody = 65_534;
    let root = home.settings().metadata().unwrap().uid() == 0;
    if root {
        for path in [".claude", ".claude/settings.json"] {
            std::os::unix::fs::chown(home.at(path), Some(nobody), Some(nobody)).unwrap();
        }
        for path in crate::support::sandbox::below(&home.at(".local")) {
            std::os::unix::fs::chown(path, Some(nobody), Some(nobody)).unwrap();
        }
        std::os::unix::fs::chown(home.dir.path(), Some(nobody), Some(nobody)).unwrap();
    }
    std::fs::set_permissions(home.settings(), std::fs::Permissions::from_mode(0o400)).unwrap();
    let mut command = home.command("uninstall");
    if root {
        std::os::unix::process::CommandExt::uid(&mut command, nobody);
        std::os::unix::process::CommandExt::gid(&mut command, nobody);
    }
    let result = result(home.dir.path(), &mut command);
    assert_eq!(result.code, Some(1), "{}", result.err);
    assert_eq!(home.read(), installed);
    std::fs::set_permissions(home.settings(), std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(home.run("uninstall").code, Some(0));
    assert_eq!(home.read(), MINE);
}

#[cfg(unix)]
#[test]
fn install_leaves_a_broken_link_unchanged() {
    let home = Home::new();
    symlink("dotfiles/claude.json", home.settings()).unwrap();
    for line in ["install", "uninstall", "install --dry-run", "doctor --fix"] {
        let result = home.run(line);
        assert_eq!(result.code, Some(1), "{line}");
        assert!(
            result.err.contains("link ~/.claude/settings.json")
                || result.out.contains("link ~/.claude/settings.json"),
            "{line}"
        );
        assert_eq!(std::fs::read_link(home.settings()).unwrap(), Path::new("dotfiles/claude.json"));
        assert!(!home.at(".claude/dotfiles").exists());
    }
}

#[test]
fn install_removes_leftovers_of_a_killed_install() {
    let home = Home::with(MINE);
    let [left, young, mine] = [
        ".settings.json.0123456789abcdef.tmp",
        ".settings.json.fedcba9876543210.tmp",
        ".settings.json.mine.tmp",
    ]
    .map(|name| home.at(".claude").join(name));
    for path in [&left, &young, &mine] {
        std::fs::write(path, MINE).unwrap();
    }
    for path in [&left, &mine] {
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    home.ok("install --dry-run");
    assert!(left.exists());
    home.ok("install");
    assert!(!left.exists() && young.exists() && mine.exists());
}

#[test]
fn install_and_uninstall_preserve_hard_links() {
    let home = Home::with(MINE);
    let other = home.at("dotfiles.json");
    std::fs::hard_link(home.settings(), &other).unwrap();
    home.ok("install");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), home.read());
    assert!(home.read().contains("teamkeep"));
    home.ok("uninstall");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), MINE);
}

#[test]
fn install_and_uninstall_handle_a_file_with_many_keys_or_events() {
    let keys: Vec<String> = (0..10_000).map(|key| format!("\"k{key}\": {key}")).collect();
    let events: Vec<String> = (0..6_000).map(|event| format!("\"e{event}\": []")).collect();
    for before in [format!("{{{}}}", keys.join(", ")), format!("{{\"hooks\": {{{}}}}}", events.join(", "))] {
        let home = Home::with(&before);
        home.ok("install");
        home.ok("uninstall");
        assert_eq!(home.read(), before);
    }
}
