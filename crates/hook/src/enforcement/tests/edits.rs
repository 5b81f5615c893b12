//! Several agents, the user and commands edit one file.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::scene::{Scene, after, before, idle, lead, mate};
use teamkeep_config::Mode;
use teamkeep_model::event::{Actor, ActorKind, MAX_ENTRIES};
use teamkeep_policy::Decision;

/// A directory with a file of four lines. alice has a task in progress.
struct Desk {
    scene: Scene,
    dir: tempfile::TempDir,
}

const TEXT: &str = "one\ntwo\nthree\nfour\n";

fn desk() -> Desk {
    let mut scene = Scene::with(&[("1", "in_progress", "alice", &[])]);
    scene.policy.edit_collision.mode = Mode::Block;
    let dir = tempfile::tempdir().unwrap();
    scene.directory = Some(dir.path().to_owned());
    scene.facts = Some(super::facts);
    let desk = Desk { scene, dir };
    fs::write(desk.file(), TEXT).unwrap();
    desk
}

fn old_and_new(old: &str, new: &str) -> Value {
    json!({"old_string": old, "new_string": new})
}

impl Desk {
    fn file(&self) -> PathBuf {
        self.dir.path().join("parser.rs")
    }

    fn input(path: &Path, mut more: Value) -> Value {
        more["file_path"] = json!(path);
        more
    }

    fn reads(&mut self, actor: &Actor) {
        let file = self.file();
        self.scene.happens(actor, &after("Read", json!({"file_path": file})));
    }

    fn writes(&mut self, actor: &Actor, path: &Path, content: &str) {
        fs::write(path, content).unwrap();
        self.scene.happens(actor, &after("Write", Desk::input(path, json!({"content": content}))));
    }

    fn judges(&mut self, actor: &Actor, tool: &str, input: Value) -> Vec<(&'static str, Decision)> {
        let input = Desk::input(&self.file(), input);
        self.scene.codes(actor, &before(tool, input))
    }

    fn reason(&mut self, actor: &Actor, tool: &str, input: Value) -> String {
        let input = Desk::input(&self.file(), input);
        let reason = self.scene.judge(actor, &before(tool, input)).swap_remove(0).text();
        reason.replace(&*self.dir.path().canonicalize().unwrap().to_string_lossy(), "DIR")
    }
}

fn content(text: &str) -> Value {
    json!({"content": text})
}

/// The end of a turn.
fn ends(scene: &mut Scene, name: &str) {
    scene.happens(&mate(name), &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&mate(name), &idle(name));
}

const CHANGED: [(&str, Decision); 1] = [("edit-of-changed-file", Decision::Block)];

#[test]
#[cfg_attr(windows, ignore = "its paths are those of Unix")]
fn a_write_over_a_change_of_another_agent_collides_until_the_file_is_read_again() {
    let mut desk = desk();
    let file = desk.file();
    desk.reads(&mate("bob"));
    desk.reads(&mate("alice"));
    desk.writes(&mate("alice"), &file, "one\nTWO by alice\nthree\nfour\n");
    assert!(desk.judges(&mate("alice"), "Write", content("x")).is_empty(), "one's own change is known");
    let reason = desk.reason(&mate("bob"), "Write", content("one\ntwo\nthree\nFOUR\n"));
    insta::assert_snapshot!(reason, @r#"Blocked: editing "DIR/parser.rs", which alice changed at 1970-01-01 00:00:03 UTC, after this agent last read it. alice is working on task 1 "Task 1" (in_progress, owner alice). Your content does not have: "TWO by alice", "four" Read the file again before you edit it, and keep the changes of others."#);
    assert_eq!(desk.judges(&mate("bob"), "Write", content("x")), CHANGED);
    assert_eq!(desk.judges(&mate("bob"), "NotebookEdit", json!({"cell_id": "1"})), CHANGED);
    desk.reads(&mate("bob"));
    assert!(
        desk.judges(&mate("bob"), "Write", content("x")).is_empty(),
        "an agent that read it again may go on"
    );
    desk.writes(&mate("bob"), &file, "by bob\n");
    assert_eq!(
        desk.judges(&mate("alice"), "Write", content("x")),
        CHANGED,
        "now alice has not seen bob's change"
    );
}

#[test]
#[cfg_attr(windows, ignore = "its paths are those of Unix")]
fn an_edit_of_a_text_is_only_noted_because_claude_code_reports_a_text_that_is_gone() {
    let mut desk = desk();
    let file = desk.file();
    desk.reads(&mate("bob"));
    desk.writes(&mate("alice"), &file, "one\nTWO by alice\nthree\nfour\n");
    let noted = [("edit-beside-changes", Decision::Warn)];
    assert_eq!(desk.judges(&mate("bob"), "Edit", old_and_new("four", "4")), noted);
    let edits = json!({"edits": [old_and_new("one", "1"), old_and_new("four", "4")]});
    assert_eq!(desk.judges(&mate("bob"), "MultiEdit", edits), noted);
    insta::assert_snapshot!(desk.reason(&mate("bob"), "Edit", old_and_new("four", "4")), @r#"Warning: editing "DIR/parser.rs", which alice changed at 1970-01-01 00:00:02 UTC, after this agent last read it. alice is working on task 1 "Task 1" (in_progress, owner alice). Your edit is in another place. Read the file again before you rely on the rest of it."#);
}

#[test]
fn of_two_agents_that_create_a_file_the_second_collides_while_the_first_works() {
    let mut desk = desk();
    fs::remove_file(desk.file()).unwrap();
    let file = desk.file();
    assert!(desk.judges(&mate("bob"), "Write", content("x")).is_empty());
    desk.writes(&mate("alice"), &file, "alice\n");
    assert_eq!(desk.judges(&mate("bob"), "Write", content("x")), [("edit-of-file-in-use", Decision::Block)]);
    desk.scene.task(json!({"id": "1", "status": "completed", "owner": "alice", "subject": "x"}));
    ends(&mut desk.scene, "alice");
    assert!(desk.judges(&mate("bob"), "Write", content("x")).is_empty(), "alice is idle");
}

#[test]
fn the_change_of_an_agent_that_is_gone_still_counts() {
    let mut desk = desk();
    let file = desk.file();
    desk.reads(&mate("bob"));
    desk.writes(&mate("carol"), &file, "carol\n");
    desk.scene.happens(&mate("carol"), &json!({"hook_event_name": "SessionEnd"}));
    let reason = desk.reason(&mate("bob"), "Write", content("x"));
    assert!(reason.contains("which carol changed at") && !reason.contains("working"), "{reason}");
}

#[test]
#[cfg_attr(windows, ignore = "it runs sed")]
fn a_change_by_a_command_a_formatter_or_the_user_counts_for_a_write() {
    let mut desk = desk();
    let file = desk.file();
    desk.reads(&mate("bob"));
    let sed = std::process::Command::new("sed").args(["-i", "s/two/2/"]).arg(&file).status().unwrap();
    assert!(sed.success());
    insta::assert_snapshot!(desk.reason(&mate("bob"), "Write", content("one\n2\nthree\n")), @r#"Blocked: editing "DIR/parser.rs", which a command, a formatter or the user changed, after this agent last read it. Your content does not have: "four" Read the file again before you edit it, and keep the changes of others."#);
    assert!(desk.judges(&mate("bob"), "Edit", old_and_new("four", "4")).is_empty());
    fs::write(&file, TEXT).unwrap();
    assert!(desk.judges(&mate("bob"), "Write", content("x")).is_empty(), "the content is the same again");
}

#[cfg(unix)]
#[test]
fn only_the_same_file_of_another_known_agent_collides() {
    let mut desk = desk();
    let worktree = desk.dir.path().join("worktree");
    fs::create_dir(&worktree).unwrap();
    desk.reads(&mate("bob"));
    desk.writes(&mate("alice"), &worktree.join("parser.rs"), "alice\n");
    assert!(desk.judges(&mate("bob"), "Write", content("x")).is_empty(), "another worktree");
    let file = desk.file();
    desk.writes(&mate("alice"), &file, "alice\n");
    assert!(desk.judges(&Actor::unknown(), "Write", content("x")).is_empty());
    let input = Desk::input(&file, content("x"));
    assert!(desk.scene.codes(&mate("bob"), &before("Read", input.clone())).is_empty());
    assert!(desk.scene.codes(&mate("bob"), &after("Write", input)).is_empty());
    let linked = desk.dir.path().join("link");
    std::os::unix::fs::symlink(desk.dir.path(), &linked).unwrap();
    let linked = before("Write", Desk::input(&linked.join("worktree/../parser.rs"), content("x")));
    assert_eq!(desk.scene.codes(&mate("bob"), &linked), CHANGED, "a link to it");
}

#[test]
fn the_work_of_a_subagent_is_that_of_the_agent_that_started_it() {
    let explorer = |id: &str| Actor {
        name: Some("Explore".to_owned()),
        id: Some(id.to_owned()),
        kind: ActorKind::Subagent,
    };
    let mut desk = desk();
    let file = desk.file();
    let call = |id: &str| json!({"hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_use_id": id, "tool_input": {"subagent_type": "Explore"}});
    desk.scene.happens(&mate("bob"), &call("t1"));
    desk.scene.happens(&explorer("a1"), &json!({"hook_event_name": "SubagentStart", "agent_id": "a1"}));
    desk.reads(&mate("alice"));
    desk.reads(&mate("bob"));
    desk.writes(&explorer("a1"), &file, "bob\n");
    assert!(desk.judges(&mate("bob"), "Write", content("x")).is_empty(), "it is bob's own work");
    assert!(desk.reason(&mate("alice"), "Write", content("x")).contains("which bob changed at"));
    let mut launched = call("t2");
    launched["hook_event_name"] = json!("PostToolUse");
    launched["tool_response"] = json!({"status": "async_launched", "agentId": "a2"});
    desk.scene.happens(&lead(), &launched);
    desk.writes(&explorer("a2"), &file, "lead\n");
    assert!(desk.reason(&mate("alice"), "Write", content("x")).contains("which team-lead changed at"));
    desk.writes(&explorer("a3"), &file, "who\n");
    assert!(desk.reason(&mate("alice"), "Write", content("x")).contains("\"Explore (a3)\""), "unknown");
}

#[test]
#[cfg_attr(windows, ignore = "its paths are those of Unix")]
fn the_history_is_bounded_and_keeps_uncommitted_changes_longest() {
    let mut desk = desk();
    let file = desk.file();
    desk.writes(&mate("alice"), &file, "alice\n");
    for number in 0..MAX_ENTRIES + 50 {
        let path = desk.dir.path().join(format!("{number}.rs"));
        desk.scene.happens(&mate("bob"), &after("Read", json!({"file_path": path})));
    }
    for number in 0..MAX_ENTRIES + 50 {
        desk.reads(&mate(&format!("agent-{number}")));
    }
    let text = serde_json::to_string(&desk.scene.team.ledger.files).unwrap();
    assert_eq!(text.matches("\"seen\"").count(), 2 * MAX_ENTRIES - 1, "{text:.400}");
    let root = desk.dir.path().canonicalize().unwrap();
    assert_eq!(desk.scene.team.ledger.files.open_files(&root.to_string_lossy(), "bob").len(), 1);
}

#[test]
fn a_path_is_recorded_with_slashes_on_every_system() {
    let mut desk = desk();
    desk.reads(&mate("alice"));
    let root = desk.dir.path().canonicalize().unwrap().to_str().unwrap().replace('\\', "/");
    // Windows' own spelling of a real path begins with `\\?\`.
    let root = root.trim_start_matches("//?/");
    let files = desk.scene.team.ledger.files.used_files(root, "bob");
    assert_eq!(files.into_iter().collect::<Vec<_>>(), [format!("{root}/parser.rs")]);
}

#[test]
fn the_blocks_of_an_agent_are_counted_for_each_file() {
    let mut desk = desk();
    let files = [desk.file(), desk.dir.path().join("lexer.rs")];
    let counted = files.each_ref().map(|file| {
        fs::write(file, TEXT).unwrap();
        desk.scene.happens(&mate("bob"), &after("Read", json!({"file_path": file})));
        desk.writes(&mate("alice"), file, "by alice\n");
        let edit = before("Write", Desk::input(file, content("x")));
        desk.scene.judge(&mate("bob"), &edit).swap_remove(0).counted.unwrap()
    });
    assert!(counted[0] != counted[1] && counted.iter().all(|name| name.starts_with("bob ")), "{counted:?}");
}
