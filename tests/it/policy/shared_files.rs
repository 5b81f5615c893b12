//! The gates that guard the files of a team, at the hook.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::gate_sandbox::{SESSION, busy, pairs, told, verdicts};
use crate::support::sandbox::{CommandResult, Sandbox, feed};

const BLOCK: &str = "[policy.edit-collision]\nmode = \"block\"\n";

/// A git working tree with a file, which is committed.
pub fn tree(sandbox: &Sandbox, name: &str) -> PathBuf {
    let root = sandbox.home().join(name);
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/parser.rs"), "fn parse() {}\n").unwrap();
    for command in [
        &["init", "--quiet"][..],
        &["config", "user.name", "dev"],
        &["config", "user.email", "dev@example.org"],
        &["add", "."],
        &["commit", "--quiet", "-m", "Begin"],
    ] {
        git(&root, command);
    }
    root
}

fn git(root: &Path, arguments: &[&str]) {
    assert!(
        Command::new("git").args(arguments).current_dir(root).status().unwrap().success(),
        "{arguments:?}"
    );
}

/// A tool call of a teammate, or of the lead.
fn calls(sandbox: &Sandbox, event: &str, agent: &str, tool: &str, path: &Path) -> CommandResult {
    let id = format!("toolu_{}", sandbox.millis());
    let mut call = json!({"hook_event_name": event, "tool_name": tool, "tool_use_id": id, "tool_input": {"file_path": path, "content": agent}});
    if agent != "team-lead" {
        (call["agent_id"], call["agent_type"]) = (json!(format!("a{agent}-1")), json!(agent));
    }
    told(sandbox, call)
}

fn reads(sandbox: &Sandbox, agent: &str, path: &Path) {
    calls(sandbox, "PostToolUse", agent, "Read", path);
}

/// The exit code before a Write, which happens if it may.
pub fn writes(sandbox: &Sandbox, agent: &str, path: &Path) -> Option<i32> {
    let code = calls(sandbox, "PreToolUse", agent, "Write", path).code;
    if code == Some(0) {
        fs::write(path, format!("{agent} {}", sandbox.millis())).unwrap();
        calls(sandbox, "PostToolUse", agent, "Write", path);
    }
    code
}

/// What `policy explain` says about a new call with this payload.
fn explains(sandbox: &Sandbox, payload: &Value) -> CommandResult {
    feed(&mut sandbox.command(&["policy", "explain"]), payload.to_string().as_bytes())
}

#[test]
#[cfg_attr(windows, ignore = "wine has no git")]
fn a_collision_is_blocked_until_the_file_is_read_again() {
    let sandbox = busy(BLOCK);
    let file = tree(&sandbox, "parser").join("src/parser.rs");
    reads(&sandbox, "team-lead", &file);
    reads(&sandbox, "bob", &file);
    assert_eq!(writes(&sandbox, "bob", &file), Some(0));
    let blocked = calls(&sandbox, "PreToolUse", "team-lead", "Write", &file);
    assert_eq!(blocked.code, Some(2));
    let reason = format!("Blocked: editing \"{}\", which bob changed at ", file.display());
    assert!(
        blocked.err.starts_with(&reason) && blocked.err.contains("bob is working on task 2 \"Review\""),
        "{}",
        blocked.err
    );
    reads(&sandbox, "team-lead", &file);
    assert_eq!(writes(&sandbox, "team-lead", &file), Some(0));
    assert_eq!(pairs(&verdicts(&sandbox)), [("edit-of-changed-file", "block")]);
}

#[test]
#[cfg_attr(windows, ignore = "wine has no git")]
fn repeated_collisions_are_allowed_after_max_blocks_and_during_a_pause() {
    let sandbox = busy(BLOCK);
    let file = tree(&sandbox, "parser").join("src/parser.rs");
    reads(&sandbox, "team-lead", &file);
    writes(&sandbox, "bob", &file);
    let attempt = |file: &Path| {
        sandbox.set_clock(sandbox.millis() + 2_000);
        calls(&sandbox, "PreToolUse", "team-lead", "Write", file).code
    };
    assert_eq!(sandbox.run(&["pause", "edit-collision", "5m"]).code, Some(0));
    assert_eq!(attempt(&file), Some(0), "paused");
    assert_eq!(sandbox.run(&["resume"]).code, Some(0));
    let attempts = [attempt(&file), attempt(&file), attempt(&file), attempt(&file)];
    assert_eq!(attempts, [Some(2), Some(2), Some(2), Some(0)]);
    let other = file.with_file_name("lexer.rs");
    fs::write(&other, "one\n").unwrap();
    reads(&sandbox, "team-lead", &other);
    writes(&sandbox, "bob", &other);
    assert_eq!(attempt(&other), Some(2), "each file has its own count");
}

#[test]
#[cfg_attr(windows, ignore = "wine has no git")]
fn without_the_gate_nothing_is_kept_about_files() {
    let sandbox = busy("");
    let file = tree(&sandbox, "parser").join("src/parser.rs");
    reads(&sandbox, "team-lead", &file);
    assert_eq!((writes(&sandbox, "bob", &file), writes(&sandbox, "team-lead", &file)), (Some(0), Some(0)));
    let dir = sandbox.run_log().dir().to_owned();
    assert!(!fs::read_to_string(dir.join("gates.json")).unwrap().contains("parser.rs"));
    assert!(!dir.join("files.json").exists());
}

#[test]
fn strange_paths_neither_fail_nor_block() {
    let sandbox = busy(BLOCK);
    let long = format!("/{}", "x/".repeat(4_000));
    for path in [json!(""), json!("\0"), json!(7), json!(long), Value::Null] {
        for agent in ["bob", "alice"] {
            let call = json!({"hook_event_name": "PreToolUse", "tool_name": "Edit", "agent_id": format!("a{agent}-1"), "agent_type": agent, "tool_use_id": "t", "tool_input": {"file_path": path}});
            let result = told(&sandbox, call);
            assert_eq!((result.code, result.out.as_str()), (Some(0), ""), "{path}");
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "wine has no git")]
fn a_backtest_repeats_the_recorded_collision_and_explain_judges_only_a_new_call() {
    let sandbox = busy("[policy.edit-collision]\nmode = \"warn\"\n");
    let file = tree(&sandbox, "parser").join("src/parser.rs");
    reads(&sandbox, "team-lead", &file);
    writes(&sandbox, "bob", &file);
    let warned = calls(&sandbox, "PreToolUse", "team-lead", "Write", &file);
    assert!(warned.code == Some(0) && warned.out.contains("which bob changed at"), "{}", warned.out);
    fs::write(sandbox.home().join("new.toml"), BLOCK).unwrap();
    let new = sandbox.home().join("new.toml");
    let tested = sandbox.printed(&["policy", "test", "latest", "--policy", new.to_str().unwrap()]);
    assert!(tested.contains("4 events: 1 blocked, 0 warned"), "{tested}");
    let edit = sandbox.log().into_iter().rfind(|line| line["event"] == "PreToolUse").unwrap();
    let explained = sandbox.printed(&["policy", "explain", "--event", edit["id"].as_str().unwrap()]);
    assert!(
        explained.contains("edit-collision           not judged: only the hook sees the files"),
        "{explained}"
    );
    assert!(explained.contains("recorded   warn edit-collision: editing"), "{explained}");
    let again = explains(&sandbox, &edit["payload"]);
    assert!(again.out.contains("warn, edit-of-changed-file: "), "{} {}", again.out, again.err);
}

pub const GIT: &str =
    "[policy]\nhistory-rewrite = { mode = \"block\" }\nadd-everything = { mode = \"block\" }\n";

/// A command in Bash that a teammate or the lead runs in a directory, if it may.
fn runs(sandbox: &Sandbox, agent: &str, directory: &Path, command: &str) -> CommandResult {
    let id = format!("toolu_{}", sandbox.millis());
    let mut call = json!({"session_id": SESSION, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": id,
        "tool_input": {"command": command}, "cwd": directory});
    if agent != "team-lead" {
        (call["agent_id"], call["agent_type"]) = (json!(format!("a{agent}-1")), json!(agent));
    }
    let result = sandbox.feed("pre-tool-use", call.to_string().as_bytes(), &[]);
    if result.code == Some(0) && command.len() < 1_000 && !command.contains('\0') {
        let done = Command::new("sh").args(["-c", command]).current_dir(directory).output().unwrap();
        let event = if done.status.success() { "PostToolUse" } else { "PostToolUseFailure" };
        (call["hook_event_name"], call["tool_response"]) =
            (json!(event), json!({"stdout": "", "stderr": ""}));
        sandbox.feed("", call.to_string().as_bytes(), &[]);
    }
    result
}

#[test]
#[cfg_attr(windows, ignore = "wine has no git")]
fn git_commands_that_concern_the_work_of_another_agent_are_blocked() {
    let sandbox = busy(GIT);
    let root = tree(&sandbox, "parser");
    let other = tree(&sandbox, "other");
    writes(&sandbox, "bob", &root.join("src/parser.rs"));
    let all = runs(&sandbox, "alice", &root.join("src"), "cd .. && git add -A && git commit -m 'All of it'");
    assert_eq!(all.code, Some(2));
    let reason = "Blocked: git add --all would add uncommitted changes of bob: \"src/parser.rs\".";
    assert!(all.err.starts_with(reason), "{}", all.err);
    let lost = runs(&sandbox, "alice", &other, "git -C ../parser checkout -- src");
    assert!(
        lost.code == Some(2) && lost.err.contains("would remove uncommitted changes of bob"),
        "{}",
        lost.err
    );
    for command in ["git add -A", "git stash", "git reset --hard"] {
        assert_eq!(runs(&sandbox, "alice", &other, command).code, Some(0), "{command} in another repository");
    }
    assert_eq!(runs(&sandbox, "bob", &root, "git add src/parser.rs && git commit -qm Parse").code, Some(0));
    let amend = runs(&sandbox, "alice", &root, "git commit --amend --no-edit");
    let reason = "Blocked: git commit --amend would replace the last commit, which bob made.";
    assert!(amend.code == Some(2) && amend.err.starts_with(reason), "{}", amend.err);
    let own = "git add -A && git commit -q --allow-empty -m Mine";
    assert_eq!(runs(&sandbox, "alice", &root, own).code, Some(0));
    assert_eq!(runs(&sandbox, "alice", &root, "git commit --amend -q --allow-empty --no-edit").code, Some(0));
    assert_eq!(
        runs(&sandbox, "alice", &sandbox.home(), "git reset --hard").code,
        Some(0),
        "not in a repository"
    );
    let codes = [
        ("add-of-others-changes", "block"),
        ("loss-of-others-changes", "block"),
        ("amend-of-others-commit", "block"),
    ];
    assert_eq!(pairs(&verdicts(&sandbox)), codes);
}

#[test]
#[cfg_attr(windows, ignore = "wine has no git")]
fn a_command_that_is_not_understood_is_allowed_and_explain_says_so() {
    let sandbox = busy(GIT);
    let root = tree(&sandbox, "parser");
    writes(&sandbox, "bob", &root.join("src/parser.rs"));
    let unknown = "cd \"$ROOT\" && git reset --hard";
    for command in [unknown, "git reset --hard '", "\u{0}", "git $X", &"(".repeat(300_000)] {
        let call = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t", "agent_id": "aalice-1", "agent_type": "alice", "tool_input": {"command": command}});
        assert_eq!(told(&sandbox, call).code, Some(0), "{command:.40}");
    }
    let call = sandbox.log().into_iter().find(|line| line["payload"]["tool_name"] == "Bash").unwrap();
    let explained = explains(&sandbox, &call["payload"]).out;
    let result = "history-rewrite          no finding (a part of the command is not judged, and allowed)";
    assert!(explained.contains(result), "{explained}");
}

#[test]
#[cfg_attr(windows, ignore = "wine has no git")]
fn a_damaged_record_harms_no_call() {
    let sandbox = busy(&format!("{BLOCK}[policy.history-rewrite]\nmode = \"block\"\n"));
    let file = tree(&sandbox, "parser").join("src/parser.rs");
    writes(&sandbox, "bob", &file);
    let record = sandbox.run_log().dir().join("files.json");
    for damage in ["{half", "[]", "{\"files\": 7}"] {
        fs::write(&record, damage).unwrap();
        reads(&sandbox, "alice", &file);
        assert_eq!(writes(&sandbox, "alice", &file), Some(0), "{damage}");
        assert_eq!(runs(&sandbox, "alice", &sandbox.home().join("parser"), "git stash list").code, Some(0));
    }
    reads(&sandbox, "alice", &file);
    writes(&sandbox, "bob", &file);
    assert_eq!(writes(&sandbox, "alice", &file), Some(2), "and it starts again");
}
