//! The gates for shared files ask git whether a change is still there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::gate_sandbox::busy;
use super::shared_files::{GIT, runs, tree, uses};
use crate::support::sandbox::Sandbox;

/// A repository with a commit, in which bob edits files.
fn repository(sandbox: &Sandbox, edited: &[&str]) -> PathBuf {
    let root = tree(sandbox, "parser");
    fs::write(root.join(".gitignore"), "*.log\n").unwrap();
    for command in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["-c", "user.name=dev", "-c", "user.email=dev@example.org", "commit", "--quiet", "-m", "Begin"],
    ] {
        assert!(Command::new("git").args(command).current_dir(&root).status().unwrap().success());
    }
    for path in edited {
        uses(sandbox, "bob", "Write", &root.join(path));
    }
    root
}

fn alice(sandbox: &Sandbox, root: &Path, command: &str) -> Option<i32> {
    sandbox.set_clock(sandbox.millis() + 10_000);
    runs(sandbox, "alice", root, command).code
}

#[test]
fn a_change_that_git_does_not_show_does_not_count() {
    let sandbox = busy(GIT);
    let root = repository(&sandbox, &["src/parser.rs", "debug.log", "gone.rs"]);
    fs::write(root.join("debug.log"), "ignored\n").unwrap();
    for command in ["git add -A", "git stash -u", "git reset --hard"] {
        // The command is not run, but counts as run: what it would settle is looked up again.
        assert_eq!(alice(&sandbox, &root, command), Some(0), "{command}");
        uses(&sandbox, "bob", "Write", &root.join("src/parser.rs"));
    }
    fs::write(root.join("src/parser.rs"), "fn changed() {}\n").unwrap();
    for command in ["git add -A", "git stash", "git reset --hard"] {
        assert_eq!(alice(&sandbox, &root, command), Some(2), "{command}");
    }
    assert_eq!(alice(&sandbox, &root.join("src"), "git -C .. add .gitignore && git add ."), Some(2));
}

#[test]
fn a_change_that_may_not_be_written_yet_counts() {
    let sandbox = busy(GIT);
    let root = repository(&sandbox, &["src/parser.rs"]);
    assert_eq!(runs(&sandbox, "alice", &root, "git add -A").code, Some(2));
    assert_eq!(alice(&sandbox, &root, "git add -A"), Some(0));
}

#[test]
fn ignored_files_count_for_clean() {
    let sandbox = busy(GIT);
    let root = repository(&sandbox, &["debug.log"]);
    fs::write(root.join("debug.log"), "ignored\n").unwrap();
    assert_eq!(alice(&sandbox, &root, "git clean -fdx"), Some(2));
    assert_eq!(alice(&sandbox, &root, "git add -A"), Some(0));
}

#[test]
fn a_damaged_number_of_a_call_harms_no_later_call() {
    let sandbox = busy("[policy]\non-error = \"block\"\nedit-collision = { mode = \"block\" }\n");
    let root = repository(&sandbox, &["src/parser.rs"]);
    let log = sandbox.run_log().dir().join("files.jsonl");
    let most = u64::MAX;
    let damaged = format!("{{\"n\":{most},\"by\":\"bob\",\"did\":{{\"read\":{most}}},\"path\":\"/x\"}}\n");
    fs::write(&log, fs::read_to_string(&log).unwrap() + &damaged).unwrap();
    for tool in ["Read", "Edit"] {
        assert_eq!(uses(&sandbox, "alice", tool, &root.join("src/parser.rs")), Some(0), "{tool}");
    }
}
