//! Git commands in a working tree that several agents share.

use serde_json::{Value, json};

use super::scene::{Scene, after, before, idle, lead, mate};
use crate::config::Mode;
use crate::enforcement::decide;
use crate::policy::{Counting, Decision, Guard};

/// alice has a task in progress.
fn scene() -> Scene {
    let mut scene = Scene::with(&[("1", "in_progress", "alice", &[])]);
    scene.policy.history_rewrite.mode = Mode::Block;
    scene.policy.add_everything.mode = Mode::Warn;
    scene
}

fn edit(path: &str) -> Value {
    before("Edit", json!({"file_path": path}))
}

fn line(command: &str) -> Value {
    json!({"command": command})
}

/// A command that has run.
fn ran(scene: &mut Scene, name: &str, command: &str) {
    scene.happens(&mate(name), &before("Bash", line(command)));
    scene.happens(&mate(name), &after("Bash", line(command)));
}

fn codes(scene: &mut Scene, name: &str, command: &str) -> Vec<&'static str> {
    scene.codes(&mate(name), &before("Bash", line(command))).iter().map(|(code, _)| *code).collect()
}

fn reason(scene: &mut Scene, name: &str, command: &str) -> String {
    scene.judge(&mate(name), &before("Bash", line(command))).swap_remove(0).reason
}

#[test]
fn a_commit_of_another_agent_is_not_replaced() {
    let mut scene = scene();
    ran(&mut scene, "bob", "git commit -m one");
    for command in ["git commit --amend", "git rebase main", "git push --force", "git reset --hard HEAD~1"] {
        assert!(codes(&mut scene, "bob", command).is_empty(), "{command}: one's own");
    }
    insta::assert_snapshot!(reason(&mut scene, "alice", "git add src/a.rs && git commit --amend"), @"Blocked: git commit --amend would replace the last commit, which bob made at 1970-01-01 00:00:02 UTC. Make a new commit instead.");
    insta::assert_snapshot!(reason(&mut scene, "alice", "git push -f"), @"Blocked: git push --force can replace or remove commits of bob, the last one made at 1970-01-01 00:00:02 UTC. Leave the commits as they are and add your own. If they must be replaced, agree with their authors with SendMessage first.");
    for command in ["git rebase main", "git reset HEAD~1"] {
        assert_eq!(codes(&mut scene, "alice", command), ["rewrite-of-others-commits"], "{command}");
    }
    for command in ["git commit --amend", "git push --force"] {
        assert!(codes(&mut scene, "alice", &format!("cd /other && {command}")).is_empty(), "another tree");
    }
    ran(&mut scene, "alice", "git commit -m two");
    assert!(codes(&mut scene, "alice", "git commit --amend").is_empty(), "the last commit is alice's");
    assert_eq!(codes(&mut scene, "alice", "git rebase -i HEAD~2"), ["rewrite-of-others-commits"]);
    assert_eq!(codes(&mut scene, "bob", "git commit --amend"), ["amend-of-others-commit"]);
}

#[test]
fn changes_of_another_agent_are_not_lost() {
    let mut scene = scene();
    scene.happens(&mate("bob"), &edit("/repo/src/a.rs"));
    scene.happens(&mate("bob"), &before("Write", json!({"file_path": "/repo/docs/new.rs"})));
    insta::assert_snapshot!(reason(&mut scene, "alice", "git reset --hard"), @r#"Blocked: git reset --hard would remove uncommitted changes of bob: "src/a.rs". Name only your own files, or ask the others with SendMessage to commit first."#);
    for command in [
        "git checkout -- .",
        "git checkout src/a.rs",
        "git restore src",
        "git stash",
        "git clean -fd",
        "git stash -u -- docs",
    ] {
        assert_eq!(codes(&mut scene, "alice", command), ["loss-of-others-changes"], "{command}");
        assert!(codes(&mut scene, "bob", command).is_empty(), "{command}: one's own");
    }
    for command in [
        "git checkout -- docs",
        "git restore src/b.rs",
        "git clean -f src",
        "git stash -- docs",
        "cd docs && git clean -fn",
    ] {
        assert!(codes(&mut scene, "alice", command).is_empty(), "{command}");
    }
    ran(&mut scene, "bob", "git add docs");
    assert!(
        reason(&mut scene, "alice", "git reset --hard").contains("\"docs/new.rs\", \"src/a.rs\""),
        "git knows it"
    );
    assert!(codes(&mut scene, "alice", "git clean -f docs").is_empty());
    ran(&mut scene, "bob", "git add src docs && git commit -m x");
    assert!(codes(&mut scene, "alice", "git reset --hard").is_empty(), "all is committed");
    scene.happens(&mate("bob"), &edit("/repo/docs/new.rs"));
    assert_eq!(
        codes(&mut scene, "alice", "git checkout -- ."),
        ["loss-of-others-changes"],
        "git knows the file now"
    );
    ran(&mut scene, "bob", "git stash");
    assert!(codes(&mut scene, "alice", "git reset --hard").is_empty(), "bob lost them");
}

#[test]
fn the_loop_guard_counts_each_kind_of_loss_on_its_own() {
    let mut scene = scene();
    ran(&mut scene, "bob", "git commit -m one");
    scene.happens(&mate("bob"), &edit("/repo/src/a.rs"));
    scene.happens(&mate("bob"), &before("Write", json!({"file_path": "/repo/docs/new.rs"})));
    let mut guard = Guard::default();
    let mut decides = |command: &str| {
        let found = scene.judge(&mate("alice"), &before("Bash", line(command)));
        let counting = Counting { state: "", max_blocks: 3, at: 0, ends_turn: true };
        let verdicts = decide(&found, &mut guard, &counting, |_| false).verdicts;
        (verdicts[0].decision, verdicts[0].reason.clone())
    };
    for command in ["git checkout .", "git reset --hard", "git stash"] {
        assert_eq!(decides(command).0, Decision::Block, "{command}");
    }
    assert_eq!(decides("git restore .").0, Decision::Allow, "the same kind of loss");
    assert_eq!(decides("git clean -fd").0, Decision::Block, "new files");
    let both = decides("git reset --hard HEAD~1");
    assert_eq!(both.0, Decision::Block);
    assert!(both.1.contains("can replace or remove commits of bob"), "{}", both.1);
    assert_eq!(decides("git commit --amend").0, Decision::Block);
}

#[test]
fn changes_of_another_agent_are_not_added_with_everything() {
    let mut scene = scene();
    scene.happens(&mate("bob"), &edit("/repo/src/a.rs"));
    insta::assert_snapshot!(reason(&mut scene, "alice", "git add -A && git commit -m x"), @r#"Warning: git add --all would add uncommitted changes of bob: "src/a.rs". Add your own files by name instead."#);
    for command in [
        "git add .",
        "git add src",
        "git add --all src",
        "git add '*.rs'",
        "git commit -am x",
        "git commit -m x src",
    ] {
        assert_eq!(codes(&mut scene, "alice", command), ["add-of-others-changes"], "{command}");
        assert!(codes(&mut scene, "bob", command).is_empty(), "{command}: one's own");
    }
    for command in [
        "git add docs",
        "git add src/a.rs",
        "git commit -m x",
        "git commit -m x src/a.rs",
        "git add '*.md'",
        "cd /other && git add .",
    ] {
        assert!(codes(&mut scene, "alice", command).is_empty(), "{command}");
    }
    ran(&mut scene, "alice", "git add src/a.rs");
    assert_eq!(codes(&mut scene, "alice", "git add -A").len(), 1, "staged is not committed");
    ran(&mut scene, "alice", "git commit -m x");
    assert!(codes(&mut scene, "alice", "git add -A").is_empty(), "the index is common to all");
    scene.happens(&mate("bob"), &edit("/repo/src/a.rs"));
    assert_eq!(codes(&mut scene, "alice", "git add -A").len(), 1);
    let mut failed = edit("/repo/src/a.rs");
    failed["hook_event_name"] = json!("PostToolUseFailure");
    scene.happens(&mate("bob"), &failed);
    assert!(
        codes(&mut scene, "alice", "git add -A").is_empty(),
        "the change before the failed one is committed"
    );
}

#[test]
fn a_new_file_of_another_agent_is_added_only_by_a_command_that_adds_untracked_files() {
    let mut scene = scene();
    scene.happens(&mate("bob"), &before("Write", json!({"file_path": "/repo/src/new.rs"})));
    let of_tracked_files = ["git add -u", "git add -u src", "git commit -am x", "git commit -m x src"];
    for command in of_tracked_files {
        assert!(codes(&mut scene, "alice", command).is_empty(), "{command}");
        ran(&mut scene, "alice", command);
    }
    for command in ["git add -A", "git add .", "git add src"] {
        assert_eq!(codes(&mut scene, "alice", command), ["add-of-others-changes"], "{command}");
    }
    ran(&mut scene, "bob", "git add src/new.rs");
    insta::assert_snapshot!(reason(&mut scene, "alice", "git add -u"), @r#"Warning: git add --update would add uncommitted changes of bob: "src/new.rs". Add your own files by name instead."#);
    for command in of_tracked_files {
        assert_eq!(codes(&mut scene, "alice", command), ["add-of-others-changes"], "{command}");
    }
}

#[test]
fn a_path_with_the_characters_of_a_glob_is_also_that_path() {
    let mut scene = scene();
    scene.happens(&mate("bob"), &edit("/repo/app/[id]/page.tsx"));
    for (command, code) in [
        ("git checkout -- app/[id]/page.tsx", "loss-of-others-changes"),
        ("git restore 'app/[id]'", "loss-of-others-changes"),
        ("cd 'app/[id]' && git add .", "add-of-others-changes"),
    ] {
        assert_eq!(codes(&mut scene, "alice", command), [code], "{command}");
    }
    assert!(codes(&mut scene, "alice", "git restore app/[i]").is_empty());
}

#[test]
fn the_lead_may_commit_the_work_of_teammates_that_have_finished() {
    let mut scene = scene();
    scene.happens(&mate("bob"), &edit("/repo/src/a.rs"));
    let all = before("Bash", line("git add -A"));
    assert_eq!(scene.codes(&lead(), &all), [("add-of-others-changes", Decision::Warn)]);
    scene.happens(&mate("bob"), &json!({"hook_event_name": "SubagentStop"}));
    scene.happens(&mate("bob"), &idle("bob"));
    assert!(scene.codes(&lead(), &all).is_empty());
    assert_eq!(codes(&mut scene, "alice", "git add -A").len(), 1, "a teammate may not");
}

#[test]
fn only_the_commands_before_a_call_are_judged() {
    let mut scene = scene();
    scene.happens(&mate("bob"), &edit("/repo/src/a.rs"));
    let call = after("Bash", line("git reset --hard"));
    assert!(scene.codes(&mate("alice"), &call).is_empty());
    scene.happens(&mate("alice"), &before("Bash", line("git commit -am x")));
    assert!(
        codes(&mut scene, "bob", "git commit --amend").is_empty(),
        "a commit counts when it has returned"
    );
}

#[test]
fn the_number_of_working_trees_is_limited() {
    let mut scene = scene();
    for number in 0..100 {
        ran(&mut scene, "bob", &format!("cd /tree-{number} && git commit -m x"));
    }
    assert_eq!(scene.team.ledger.files.records().len(), 32);
    assert_eq!(codes(&mut scene, "alice", "git -C /tree-99 commit --amend"), ["amend-of-others-commit"]);
    assert!(codes(&mut scene, "alice", "git -C /tree-0 commit --amend").is_empty());
}
