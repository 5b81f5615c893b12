//! The work in a removed worktree is a branch again.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::programs::write_program;
use crate::support::sandbox::{CommandResult, Sandbox};

const SESSION: &str = "1353b3db-15db-4165-b1fb-ed39ac7e091c";
pub const NAME: &str = "agent-a4ae446dca1c54854";

/// A team whose member bob works in a worktree of a repository.
pub struct Scene {
    pub sandbox: Sandbox,
    pub repository: PathBuf,
    pub worktree: PathBuf,
}

pub fn run(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

impl Scene {
    pub fn new() -> Scene {
        let sandbox = Sandbox::new();
        let repository = sandbox.home().join("project");
        let worktree = repository.join(".claude/worktrees").join(NAME);
        std::fs::create_dir_all(repository.join("src")).unwrap();
        run(&repository, &["init", "--quiet", "--initial-branch", "main"]);
        for (key, value) in [("user.name", "dev"), ("user.email", "dev@example.org"), ("gc.auto", "0")] {
            run(&repository, &["config", key, value]);
        }
        std::fs::write(repository.join("notes.txt"), "one\n").unwrap();
        std::fs::write(repository.join("src/old.rs"), "fn old() {}\n").unwrap();
        std::fs::write(repository.join(".gitignore"), "*.log\n").unwrap();
        run(&repository, &["add", "."]);
        run(&repository, &["commit", "--quiet", "-m", "Begin"]);
        let branch = format!("worktree-{NAME}");
        run(&repository, &["worktree", "add", "--quiet", "-b", &branch, worktree.to_str().unwrap()]);
        Lead::of(&sandbox, SESSION).roster(1_795_149_641_059, &["bob"]);
        let scene = Scene { sandbox, repository, worktree };
        scene.hook("SessionStart", json!({"source": "startup"}));
        scene
    }

    /// A change of every kind, in the directory and in a commit.
    pub fn work(&self) {
        let at = |path: &str| self.worktree.join(path);
        std::fs::write(at("committed.txt"), "committed\n").unwrap();
        run(&self.worktree, &["add", "committed.txt"]);
        run(&self.worktree, &["commit", "--quiet", "-m", "Commit a part"]);
        std::fs::write(at("notes.txt"), "one\ntwo\n").unwrap();
        std::fs::write(at("staged.txt"), "staged\n").unwrap();
        run(&self.worktree, &["add", "staged.txt"]);
        std::fs::remove_file(at("src/old.rs")).unwrap();
        std::fs::write(at("src/new file é.bin"), [0, 159, 146, 150, 10]).unwrap();
        std::fs::write(at("run.sh"), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(at("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink("notes.txt", at("link")).unwrap();
        std::fs::write(at("debug.log"), "ignored\n").unwrap();
        run(&self.worktree, &["config", "core.splitIndex", "true"]);
        run(&self.worktree, &["update-index", "--split-index"]);
    }

    fn hook(&self, event: &str, fields: Value) {
        self.hook_with_notes(event, fields);
        assert_eq!(self.sandbox.diagnostics(), "");
    }

    fn hook_with_notes(&self, event: &str, mut fields: Value) {
        if fields.get("cwd").is_none() {
            fields["cwd"] = json!(self.worktree);
        }
        Lead::of(&self.sandbox, SESSION).hook(event, fields);
    }

    pub fn stops(&self) {
        self.stops_with_notes();
        assert_eq!(self.sandbox.diagnostics(), "");
    }

    /// The notes are in the diagnostics.
    pub fn stops_with_notes(&self) {
        let agent = json!({"agent_id": "abob-b3f0bb31e647a261", "agent_type": "bob"});
        self.hook_with_notes("SubagentStop", agent);
    }

    /// What the branch with the restored work changes, as `git diff --name-status` lists it.
    pub fn changed(&self) -> String {
        let plan = self.restored();
        let branch = plan["branches"][0]["branch"].as_str().unwrap();
        run(&self.repository, &["diff", "--name-status", "--no-renames", "main", branch])
    }

    /// Removes the worktree as Claude Code does, with its branch.
    pub fn remove(&self) {
        run(&self.repository, &["worktree", "remove", "--force", self.worktree.to_str().unwrap()]);
        run(&self.repository, &["branch", "--quiet", "-D", &format!("worktree-{NAME}")]);
    }

    pub fn restore(&self, dir: &Path, more: &[&str]) -> CommandResult {
        let mut command = self.sandbox.command(&[&["restore", "latest"], more].concat());
        let output = command.current_dir(dir).output().unwrap();
        CommandResult {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn restored(&self) -> Value {
        let result = self.restore(&self.repository, &["--worktrees", "--json"]);
        assert_eq!(result.code, Some(0), "{}", result.err);
        serde_json::from_str(&result.out).unwrap()
    }

    /// How often the work was stored.
    pub fn stored(&self) -> usize {
        let run = self.sandbox.teams()[0]["run"].as_str().unwrap().to_owned();
        let journal = self.sandbox.keep("runs").join(run).join("snapshots.jsonl");
        std::fs::read_to_string(journal).unwrap().matches("/work.bundle").count()
    }
}

/// Every file below a directory.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    all
}

#[test]
fn a_removed_worktree_is_a_branch_again() {
    let scene = Scene::new();
    scene.work();
    let before = contents(&scene.repository.join(".git"));
    scene.stops();
    assert_eq!(contents(&scene.repository.join(".git")), before, "the repository is only read");
    scene.remove();

    let plan = scene.restored();
    let branch = plan["branches"][0]["branch"].as_str().unwrap();
    assert!(branch.starts_with(&format!("teamkeep/{NAME}-")), "{branch}");
    let changed = run(&scene.repository, &["diff", "--name-status", "--no-renames", "-z", "main", branch]);
    let expected = "A\0committed.txt\0A\0link\0M\0notes.txt\0A\0run.sh\0A\0src/new file é.bin\0D\0src/old.rs\0A\0staged.txt\0";
    assert_eq!(changed, expected, "without the ignored file");
    let show = |path: &str| run(&scene.repository, &["show", &format!("{branch}:{path}")]);
    assert_eq!((show("notes.txt").as_str(), show("link").as_str()), ("one\ntwo\n", "notes.txt"));
    assert!(run(&scene.repository, &["ls-tree", branch, "run.sh"]).starts_with("100755 "));
    let log = run(&scene.repository, &["log", "--format=%an: %s", &format!("main..{branch}")]);
    assert_eq!(log, format!("bob: Uncommitted work of worktree {NAME}\ndev: Commit a part\n"));

    let id = plan["run"].as_str().unwrap();
    for command in [&["report", "latest"][..], &["brief", "latest", "--prompt"]] {
        let text = scene.sandbox.printed(command);
        assert!(text.contains(&format!("teamkeep restore {id} --worktree")), "{text}");
    }
    assert!(scene.sandbox.printed(&["show", "latest"]).contains(&format!("Worktrees (1)\n  {NAME} ")));

    assert_eq!(scene.restored()["branches"], plan["branches"], "a second time changes nothing");
    let again = scene.restore(&scene.repository, &["--worktrees"]).out;
    assert!(again.contains(&format!("= {branch}")) && again.contains("(the branch exists)"), "{again}");
    let elsewhere = scene.restore(&scene.sandbox.home(), &["--worktrees"]).err;
    assert!(elsewhere.contains("in which the team worked: /"), "{elsewhere}");
    assert_eq!(scene.sandbox.run(&["verify"]).code, Some(0));
    let result = scene.restore(&scene.repository, &["--files", "files"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    let bundle = scene.repository.join("files/worktrees").join(NAME).join("work.bundle");
    let heads = run(&scene.repository, &["bundle", "list-heads", bundle.to_str().unwrap()]);
    assert!(heads.ends_with(" refs/heads/worktree\n"), "git reads the file: {heads}");
}

#[test]
fn work_is_stored_once_and_only_if_there_is_some() {
    let scene = Scene::new();
    scene.stops();
    std::fs::write(scene.worktree.join("debug.log"), "ignored\n").unwrap();
    scene.hook("Stop", json!({}));
    scene.hook("Stop", json!({"cwd": scene.repository}));
    assert_eq!(scene.stored(), 0, "nothing that is not in another branch");
    std::fs::write(scene.worktree.join("notes.txt"), "changed\n").unwrap();
    scene.hook(
        "PreToolUse",
        json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"}),
    );
    assert_eq!(scene.stored(), 0, "the worktree stays");
    let call = json!({"tool_name": "ExitWorktree", "tool_use_id": "t2",
        "tool_input": {"action": "remove", "discard_changes": true}});
    scene.hook("PreToolUse", call);
    assert_eq!(scene.stored(), 1);
    let inside = scene.worktree.join("src");
    scene.hook("Stop", json!({"cwd": inside}));
    assert_eq!(scene.stored(), 1, "unchanged");
    std::fs::write(scene.worktree.join("notes.txt"), "changed again\n").unwrap();
    scene.hook("SessionEnd", json!({"reason": "prompt_input_exit"}));
    assert_eq!(scene.stored(), 2);
    assert_eq!(std::fs::read_dir(scene.sandbox.keep("tmp")).unwrap().count(), 0);
}

/// Adds an invalid signature to the last commit.
fn sign_head(worktree: &Path) {
    let commit = run(worktree, &["cat-file", "commit", "HEAD"]);
    let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n";
    let file = worktree.with_extension("commit");
    std::fs::write(&file, commit.replacen("\n\n", &format!("\n{signature}"), 1)).unwrap();
    let signed = run(worktree, &["hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
    run(worktree, &["update-ref", "HEAD", signed.trim()]);
}

/// A program that creates the file `trap`.
fn trap_program(trap: &Path) -> PathBuf {
    let program = trap.with_extension("sh");
    write_program(&program, format!("#!/bin/sh\ntouch '{}'\n", trap.display()));
    program
}

#[test]
fn no_program_of_the_repository_is_run_and_a_broken_worktree_harms_nothing() {
    let scene = Scene::new();
    scene.work();
    let trap = scene.sandbox.home().join("trap");
    let command = format!("touch '{}'; cat", trap.display());
    std::fs::write(scene.worktree.join(".gitattributes"), "*.txt filter=trap diff=trap\n").unwrap();
    for key in [
        "filter.trap.clean",
        "filter.trap.smudge",
        "filter.trap.process",
        "core.fsmonitor",
        "diff.trap.textconv",
    ] {
        run(&scene.repository, &["config", key, &command]);
    }
    run(&scene.repository, &["config", "filter.trap.required", "true"]);
    sign_head(&scene.worktree);
    for (key, value) in
        [("log.showSignature", "true"), ("gpg.program", trap_program(&trap).to_str().unwrap())]
    {
        run(&scene.repository, &["config", key, value]);
    }
    let hook = scene.repository.join(".git/hooks/post-index-change");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    write_program(&hook, format!("#!/bin/sh\n{command}\n"));
    scene.stops();
    assert_eq!((scene.stored(), trap.exists()), (1, false));

    // Git would find the repository around it.
    std::fs::remove_file(scene.worktree.join(".git")).unwrap();
    scene.stops();
    let elsewhere = scene.repository.join(".claude/worktrees/missing");
    scene.hook("Stop", json!({"cwd": elsewhere}));
    assert_eq!(scene.stored(), 1);
}

#[test]
fn a_restore_names_what_is_missing() {
    let scene = Scene::new();
    let nothing = scene.restore(&scene.repository, &["--worktrees"]);
    assert_eq!(nothing.code, Some(0));
    assert!(
        nothing.err.contains("nothing to restore: no work of a worktree was recorded"),
        "{}",
        nothing.err
    );
    scene.work();
    scene.stops();
    scene.remove();

    let other = scene.sandbox.home().join("other");
    std::fs::create_dir(&other).unwrap();
    let refused = |more: &[&str], why: &str| {
        let result = scene.restore(&other, more);
        assert_eq!(result.code, Some(1), "{more:?}");
        assert!(result.err.contains(why), "{}", result.err);
    };
    refused(&["--worktrees"], "the current directory is not in a git repository");
    run(&other, &["init", "--quiet"]);
    refused(&["--worktrees"], "which is not in this repository");
    refused(&["--worktrees=mine"], "no work of a worktree mine was recorded");
    let named = scene.restore(&other, &[&format!("--worktrees={NAME}"), "--dry-run"]);
    assert_eq!((named.code, named.out.contains(NAME)), (Some(0), true), "{}", named.err);
    assert_eq!(run(&scene.repository, &["branch", "--list", "teamkeep/*"]), "");
}

#[test]
fn a_redacted_export_has_no_work_of_worktrees() {
    let scene = Scene::new();
    scene.work();
    scene.stops();
    scene.hook("SessionEnd", json!({"reason": "other"}));
    scene.sandbox.run(&["finish"]);
    for (arguments, branches) in [(&["--redact"][..], 0), (&[], 1)] {
        let file = scene.sandbox.home().join(format!("{branches}.tkeep"));
        let file = file.to_str().unwrap();
        let result = scene.sandbox.run(&[&["export", "latest", "--output", file], arguments].concat());
        assert_eq!(result.code, Some(0), "{}", result.err);
        let importer = Sandbox::new();
        assert_eq!(importer.run(&["import", file]).code, Some(0));
        let mut command = importer.command(&["restore", "latest", "--worktrees", "--dry-run", "--json"]);
        let output = command.current_dir(&scene.repository).output().unwrap();
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(plan["branches"].as_array().unwrap().len(), branches, "{arguments:?}");
    }
}
