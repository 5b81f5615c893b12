//! The gates that guard the files of a team, at the hook.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::gate_sandbox::{SESSION, TEAM, busy, pairs, told, verdicts};
use crate::support::sandbox::{CommandResult, Sandbox};

const BLOCK: &str = "[policy.edit-collision]\nmode = \"block\"\n";

/// A git working tree with a file.
pub fn tree(sandbox: &Sandbox, name: &str) -> PathBuf {
    let root = sandbox.home().join(name);
    fs::create_dir_all(root.join("src")).unwrap();
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::write(root.join("src/parser.rs"), "fn parse() {}\n").unwrap();
    root
}

/// A tool call of a teammate, or of the lead.
fn calls(sandbox: &Sandbox, event: &str, agent: &str, tool: &str, path: &Path) -> CommandResult {
    let id = format!("toolu_{}", sandbox.millis());
    let mut call = json!({"hook_event_name": event, "tool_name": tool, "tool_use_id": id, "tool_input": {"file_path": path}});
    if agent != "team-lead" {
        (call["agent_id"], call["agent_type"]) = (json!(format!("a{agent}-1")), json!(agent));
    }
    told(sandbox, call)
}

pub fn uses(sandbox: &Sandbox, agent: &str, tool: &str, path: &Path) -> Option<i32> {
    calls(sandbox, "PreToolUse", agent, tool, path).code
}

#[test]
fn a_collision_is_blocked_until_the_file_is_read_again() {
    let sandbox = busy(BLOCK);
    let file = tree(&sandbox, "parser").join("src/parser.rs");
    uses(&sandbox, "team-lead", "Read", &file);
    uses(&sandbox, "bob", "Read", &file);
    assert_eq!(uses(&sandbox, "bob", "Edit", &file), Some(0));
    let blocked = calls(&sandbox, "PreToolUse", "team-lead", "Edit", &file);
    assert_eq!(blocked.code, Some(2));
    let reason = "Blocked: editing \"src/parser.rs\", which bob changed at ";
    assert!(
        blocked.err.starts_with(reason) && blocked.err.contains("bob is working on task 2 \"Review\""),
        "{}",
        blocked.err
    );
    uses(&sandbox, "team-lead", "Read", &file);
    assert_eq!(uses(&sandbox, "team-lead", "Edit", &file), Some(0));
    assert_eq!(pairs(&verdicts(&sandbox)), [("edit-of-changed-file", "block")]);
}

#[test]
fn links_lead_to_one_file_and_worktrees_have_their_own() {
    let sandbox = busy(BLOCK);
    let root = tree(&sandbox, "parser");
    let worktree = tree(&sandbox, "parser-bob");
    fs::remove_dir(worktree.join(".git")).unwrap();
    fs::write(worktree.join(".git"), "gitdir: ../parser/.git/worktrees/parser-bob\n").unwrap();
    std::os::unix::fs::symlink(&root, sandbox.home().join("link")).unwrap();
    let linked = sandbox.home().join("link/src/../src/./parser.rs");
    for agent in ["team-lead", "bob"] {
        uses(&sandbox, agent, "Read", &root.join("src/parser.rs"));
        uses(&sandbox, agent, "Read", &worktree.join("src/parser.rs"));
        uses(&sandbox, agent, "Read", &root.join("src/new.rs"));
    }
    assert_eq!(uses(&sandbox, "bob", "Edit", &linked), Some(0));
    assert_eq!(uses(&sandbox, "team-lead", "Edit", &worktree.join("src/parser.rs")), Some(0));
    assert_eq!(uses(&sandbox, "team-lead", "Write", &root.join("src/parser.rs")), Some(2));
    assert_eq!(
        uses(&sandbox, "bob", "Write", &sandbox.home().join("link/src/new.rs")),
        Some(0),
        "a file that does not exist"
    );
    assert_eq!(uses(&sandbox, "team-lead", "NotebookEdit", &root.join("src/new.rs")), Some(2));
}

#[test]
fn repeated_collisions_are_allowed_after_max_blocks_and_during_a_pause() {
    let sandbox = busy(BLOCK);
    let file = tree(&sandbox, "parser").join("src/parser.rs");
    uses(&sandbox, "team-lead", "Read", &file);
    uses(&sandbox, "bob", "Edit", &file);
    assert_eq!(sandbox.run(&["pause", "edit-collision", "5m"]).code, Some(0));
    let mut failed = json!({"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_use_id": "t", "tool_input": {"file_path": file}});
    assert_eq!(told(&sandbox, failed.clone()).code, Some(0), "paused");
    failed["hook_event_name"] = json!("PostToolUseFailure");
    told(&sandbox, failed);
    assert_eq!(sandbox.run(&["resume"]).code, Some(0));
    let attempt = || {
        sandbox.set_clock(sandbox.millis() + 2_000);
        uses(&sandbox, "team-lead", "Edit", &file)
    };
    assert_eq!([attempt(), attempt(), attempt(), attempt()], [Some(2), Some(2), Some(2), Some(0)]);
    let other = file.with_file_name("lexer.rs");
    uses(&sandbox, "team-lead", "Read", &other);
    uses(&sandbox, "bob", "Edit", &other);
    assert_eq!(uses(&sandbox, "team-lead", "Edit", &other), Some(2), "each file has its own count");
}

#[test]
fn without_the_gate_nothing_is_kept_about_files() {
    let sandbox = busy("");
    let file = tree(&sandbox, "parser").join("src/parser.rs");
    uses(&sandbox, "team-lead", "Read", &file);
    uses(&sandbox, "bob", "Edit", &file);
    assert_eq!(uses(&sandbox, "team-lead", "Edit", &file), Some(0));
    let dir = sandbox.run_log().dir().to_owned();
    assert!(!fs::read_to_string(dir.join("gates.json")).unwrap().contains("parser.rs"));
    assert!(!dir.join("files.jsonl").exists());
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
fn a_backtest_and_explain_find_the_collision() {
    let sandbox = busy("[policy.edit-collision]\nmode = \"warn\"\n");
    let file = tree(&sandbox, "parser").join("src/parser.rs");
    uses(&sandbox, "team-lead", "Read", &file);
    uses(&sandbox, "bob", "Edit", &file);
    let warned = calls(&sandbox, "PreToolUse", "team-lead", "Edit", &file);
    assert!(warned.code == Some(0) && warned.out.contains("which bob changed at"), "{}", warned.out);
    fs::write(sandbox.home().join("new.toml"), BLOCK).unwrap();
    let new = sandbox.home().join("new.toml");
    let tested = sandbox.told(&["policy", "test", "latest", "--policy", new.to_str().unwrap()]);
    assert!(tested.contains("3 events: 1 blocked, 0 warned"), "{tested}");
    let edit = sandbox.log().into_iter().rfind(|line| line["event"] == "PreToolUse").unwrap();
    let explained = sandbox.told(&["policy", "explain", "--event", edit["id"].as_str().unwrap()]);
    assert!(explained.contains("warn, edit-of-changed-file: "), "{explained}");
}

pub const GIT: &str =
    "[policy]\nhistory-rewrite = { mode = \"block\" }\nadd-everything = { mode = \"block\" }\n";

/// A command in Bash that a teammate or the lead is about to run in a directory, and has run if it may.
pub fn runs(sandbox: &Sandbox, agent: &str, directory: &Path, command: &str) -> CommandResult {
    let id = format!("toolu_{}", sandbox.millis());
    let mut call = json!({"session_id": SESSION, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": id,
        "tool_input": {"command": command}, "cwd": directory});
    if agent != "team-lead" {
        (call["agent_id"], call["agent_type"]) = (json!(format!("a{agent}-1")), json!(agent));
    }
    let result = sandbox.feed("pre-tool-use", call.to_string().as_bytes(), &[]);
    if result.code == Some(0) {
        (call["hook_event_name"], call["tool_response"]) =
            (json!("PostToolUse"), json!({"stdout": "", "stderr": ""}));
        sandbox.feed("post-tool-use", call.to_string().as_bytes(), &[]);
    }
    result
}

#[test]
fn git_commands_that_concern_the_work_of_another_agent_are_blocked() {
    let sandbox = busy(GIT);
    let root = tree(&sandbox, "parser");
    let worktree = tree(&sandbox, "parser-alice");
    uses(&sandbox, "bob", "Edit", &root.join("src/parser.rs"));
    let all = runs(&sandbox, "alice", &root.join("src"), "cd .. && git add -A && git commit -m 'All of it'");
    assert_eq!(all.code, Some(2));
    let reason = "Blocked: git add --all would add uncommitted changes of bob: \"src/parser.rs\".";
    assert!(all.err.starts_with(reason), "{}", all.err);
    let lost = runs(&sandbox, "alice", &worktree, "git -C ../parser checkout -- src");
    assert!(
        lost.code == Some(2) && lost.err.contains("would remove uncommitted changes of bob"),
        "{}",
        lost.err
    );
    for command in ["git add -A", "git stash", "git reset --hard"] {
        assert_eq!(
            runs(&sandbox, "alice", &worktree, command).code,
            Some(0),
            "{command} in another worktree"
        );
    }
    assert_eq!(runs(&sandbox, "bob", &root, "git add src/parser.rs && git commit -m Parse").code, Some(0));
    let amend = runs(&sandbox, "alice", &root, "git commit --amend --no-edit");
    let reason = "Blocked: git commit --amend would replace the last commit, which bob made at ";
    assert!(amend.code == Some(2) && amend.err.starts_with(reason), "{}", amend.err);
    assert_eq!(runs(&sandbox, "alice", &root, "git add -A && git commit -m Mine").code, Some(0));
    assert_eq!(runs(&sandbox, "alice", &root, "git commit --amend --no-edit").code, Some(0));
    assert_eq!(
        runs(&sandbox, "alice", &sandbox.home(), "git reset --hard").code,
        Some(0),
        "outside of a working tree"
    );
    let codes = [
        ("add-of-others-changes", "block"),
        ("loss-of-others-changes", "block"),
        ("amend-of-others-commit", "block"),
    ];
    assert_eq!(pairs(&verdicts(&sandbox)), codes);
}

#[test]
fn a_command_that_is_not_understood_is_allowed_and_explain_says_so() {
    let sandbox = busy(GIT);
    let root = tree(&sandbox, "parser");
    uses(&sandbox, "bob", "Edit", &root.join("src/parser.rs"));
    for command in
        ["cd \"$ROOT\" && git reset --hard", "git reset --hard '", "\u{0}", "git $X", &"(".repeat(300_000)]
    {
        assert_eq!(runs(&sandbox, "alice", &root, command).code, Some(0), "{command:.40}");
    }
    let call = sandbox.log().into_iter().find(|line| line["payload"]["tool_name"] == "Bash").unwrap();
    let explained = sandbox.told(&["policy", "explain", "--event", call["id"].as_str().unwrap()]);
    let result = "history-rewrite          no finding (a part of the command is not understood, and allowed)";
    assert!(explained.contains(result), "{explained}");
}

#[test]
fn a_new_working_tree_and_a_commit_of_the_same_line_are_the_agents_own() {
    let sandbox = busy(GIT);
    let root = tree(&sandbox, "parser");
    assert_eq!(runs(&sandbox, "bob", &root, "git commit -m Parse").code, Some(0));
    uses(&sandbox, "bob", "Edit", &root.join("src/parser.rs"));
    for command in [
        "mkdir -p tmp/new && cd tmp/new && git init -q && git add -A && git commit -qm x",
        "cd tmp/new && git add -A",
        "cd src && git init && git add -A",
        "git worktree add tmp/new && git -C tmp/new reset --hard",
        "git commit -m Mine && git commit --amend --no-edit",
    ] {
        assert_eq!(runs(&sandbox, "alice", &root, command).code, Some(0), "{command}");
    }
}

#[test]
fn the_lead_may_add_everything_when_the_owner_of_the_changes_has_no_task_in_progress() {
    let sandbox = busy(GIT);
    let root = tree(&sandbox, "parser");
    uses(&sandbox, "bob", "Edit", &root.join("src/parser.rs"));
    let turn = json!({"hook_event_name": "SubagentStop", "agent_id": "abob-1", "agent_type": "bob"});
    assert_eq!(told(&sandbox, turn).code, Some(0));
    let add = || runs(&sandbox, "team-lead", &root, "git add -A").code;
    assert_eq!(add(), Some(2), "task 2 is bob's and in progress");
    let task = json!({"id": "2", "subject": "Review", "status": "completed", "owner": "bob", "blocks": [], "blockedBy": []});
    sandbox.write(&format!("tasks/{TEAM}/2.json"), task);
    assert_eq!(add(), Some(0));
}
