//! Worktrees and repositories that git can handle only in part, and those that would run a program.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use super::worktrees::{NAME, Scene, run};

fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// Adds text to the configuration of a repository.
fn configure(repository: &Path, text: &[u8]) {
    let mut file = std::fs::File::options().append(true).open(repository.join(".git/config")).unwrap();
    file.write_all(text).unwrap();
}

/// A program that leaves a file where it was run.
fn trap(scene: &Scene) -> (PathBuf, PathBuf) {
    let (trap, script) = (scene.sandbox.home().join("trap"), scene.sandbox.home().join("script"));
    write(&script, format!("#!/bin/sh\ntouch '{}'\ncat\n", trap.display()));
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    (trap, script)
}

fn git_dir(scene: &Scene) -> PathBuf {
    scene.repository.join(".git/worktrees").join(NAME)
}

#[test]
fn a_filter_with_an_odd_name_is_not_run() {
    for name in [b"a=b".as_slice(), b"\xff.clean", b"A.b"] {
        let scene = Scene::new();
        let (trap, script) = trap(&scene);
        write(&scene.worktree.join(".gitattributes"), [b"*.txt filter=", name, b"\n"].concat());
        let script = script.to_str().unwrap();
        let filter = format!("\"]\n clean = {script}\n process = {script}\n required = true\n");
        configure(&scene.repository, &[b"[filter \"", name, filter.as_bytes()].concat());
        write(&scene.worktree.join("notes.txt"), "changed\n");
        scene.stops();
        assert_eq!((scene.stored(), trap.exists()), (1, false), "{:?}", OsStr::from_bytes(name));
    }
}

#[test]
fn a_program_for_signatures_is_not_run() {
    let scene = Scene::new();
    let (trap, script) = trap(&scene);
    let commit = run(&scene.worktree, &["cat-file", "commit", "HEAD"]);
    let signature = "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n";
    let mut hash = Command::new("git");
    hash.args(["hash-object", "-t", "commit", "-w", "--stdin"]).current_dir(&scene.worktree);
    let mut hash = hash.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let signed = commit.replacen("\n\n", signature, 1);
    hash.stdin.take().unwrap().write_all(signed.as_bytes()).unwrap();
    let output = hash.wait_with_output().unwrap().stdout;
    let signed = std::str::from_utf8(&output).unwrap().trim();
    run(&scene.worktree, &["reset", "--quiet", "--hard", signed]);
    let text = format!("[gpg]\n program = {}\n[log]\n showSignature = true\n", script.display());
    configure(&scene.repository, text.as_bytes());
    scene.stops();
    assert_eq!((scene.stored(), trap.exists()), (1, false));
}

#[test]
fn a_filter_of_a_submodule_is_not_run() {
    let scene = Scene::new();
    let (trap, script) = trap(&scene);
    let module = scene.worktree.join("module");
    write(&module.join(".gitattributes"), "*.txt filter=trap\n");
    write(&module.join("part.txt"), "part\n");
    run(&module, &["init", "--quiet"]);
    run(&module, &["add", "."]);
    let identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"];
    run(&module, &[&identity[..], &["commit", "--quiet", "-m", "Begin"]].concat());
    run(&scene.worktree, &["-c", "advice.addEmbeddedRepo=false", "add", "module"]);
    run(&scene.worktree, &["commit", "--quiet", "-m", "Add a module"]);
    configure(&module, format!("[filter \"trap\"]\n clean = {}\n", script.display()).as_bytes());
    // Git compares the content, because the time of the file is not that of the index.
    std::fs::File::options()
        .append(true)
        .open(module.join("part.txt"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    scene.stops();
    assert_eq!((scene.stored(), trap.exists()), (1, false));
}

#[test]
fn the_index_can_be_missing_or_something_else() {
    type Replace = fn(&Path);
    let pipe: Replace = |index| assert!(Command::new("mkfifo").arg(index).status().unwrap().success());
    let device: Replace = |index| symlink("/dev/zero", index).unwrap();
    let garbage: Replace = |index| std::fs::write(index, [7; 5_000]).unwrap();
    for replace in [pipe, device, garbage, |_| ()] {
        let scene = Scene::new();
        scene.work();
        let index = git_dir(&scene).join("index");
        std::fs::remove_file(&index).unwrap();
        replace(&index);
        scene.stops();
        let changed = "A\tcommitted.txt\nA\tlink\nM\tnotes.txt\nA\trun.sh\nA\t\"src/new file \\303\\251.bin\"\nD\tsrc/old.rs\nA\tstaged.txt\n";
        assert_eq!(scene.changed(), changed);
    }
}

#[test]
fn the_rest_is_stored_without_files_that_git_cannot_store() {
    let scene = Scene::new();
    run(&scene.worktree, &["init", "--quiet", "fixture"]);
    std::fs::File::create(scene.worktree.join("a\u{1b}b.bin")).unwrap().set_len(20 << 30).unwrap();
    write(&scene.worktree.join("notes.txt"), "changed\n");
    scene.stops_with_notes();
    let left_out = "Left out: fixture/ (another repository), a\\u{1b}b.bin (too large)";
    let notes = scene.sandbox.diagnostics();
    assert!(notes.contains(&format!("is not stored completely. {left_out}")), "{notes}");
    scene.stops_with_notes();
    assert_eq!(scene.sandbox.diagnostics(), notes, "noted once");
    assert_eq!((scene.stored(), scene.changed().as_str()), (1, "M\tnotes.txt\n"));
    let log = run(&scene.repository, &["log", "-1", "--format=%b", "--branches=teamkeep/*"]);
    assert_eq!(log.trim(), left_out);
}

#[test]
fn files_can_become_directories_and_directories_links() {
    let scene = Scene::new();
    let at = |path: &str| scene.worktree.join(path);
    std::fs::remove_dir_all(at("src")).unwrap();
    symlink("/etc", at("src")).unwrap();
    std::fs::remove_file(at("notes.txt")).unwrap();
    write(&at("notes.txt/inner"), "in a directory\n");
    scene.stops();
    assert_eq!(scene.changed(), "D\tnotes.txt\nA\tnotes.txt/inner\nA\tsrc\nD\tsrc/old.rs\n");
}

#[test]
fn odd_settings_dates_and_branches_do_not_prevent_storing() {
    let scene = Scene::new();
    let mut amend = Command::new("git");
    amend.args(["commit", "--quiet", "--amend", "--no-edit", "--date=@0 +0000"]).current_dir(&scene.worktree);
    assert!(amend.env("GIT_COMMITTER_DATE", "@0 +0000").status().unwrap().success());
    run(&scene.worktree, &["sparse-checkout", "set", "src"]);
    configure(&scene.repository, b"[core]\n autocrlf = true\n safecrlf = true\n");
    write(&scene.worktree.join("mixed.txt"), "one\r\ntwo\n");
    write(&scene.worktree.join("other/new.txt"), "outside of the sparse checkout\n");
    write(&scene.repository.join(".git/refs/heads/broken"), "1234567890123456789012345678901234567890\n");
    scene.stops();
    std::fs::remove_file(scene.repository.join(".git/refs/heads/broken")).unwrap();
    assert_eq!(scene.changed(), "A\tmixed.txt\nA\tother/new.txt\n");
}

#[test]
fn a_change_of_the_same_size_in_the_moment_of_the_checkout_is_stored() {
    let scene = Scene::new();
    configure(&scene.repository, b"[core]\n trustctime = false\n");
    let (notes, index) = (scene.worktree.join("notes.txt"), git_dir(&scene).join("index"));
    let checkout = SystemTime::now() - Duration::from_secs(3_600);
    let date = |path: &Path| {
        std::fs::File::options().append(true).open(path).unwrap().set_modified(checkout).unwrap();
    };
    date(&notes);
    run(&scene.worktree, &["update-index", "--refresh"]);
    write(&notes, "two\n");
    date(&notes);
    date(&index);
    scene.stops();
    assert_eq!(scene.changed(), "M\tnotes.txt\n");
}

#[test]
fn every_worktree_has_a_branch_that_git_accepts() {
    let mut scene = Scene::new();
    let long = "n".repeat(200);
    for name in ["a..b", "a.lock", "@{x y~^:?*[", "-", &long] {
        scene.worktree = scene.repository.join(".claude/worktrees").join(name);
        run(&scene.repository, &["worktree", "add", "--quiet", "--detach", scene.worktree.to_str().unwrap()]);
        write(&scene.worktree.join("notes.txt"), name);
        scene.stops();
    }
    let plan = scene.restored();
    let listed = run(&scene.repository, &["branch", "--format=%(refname:short)", "--list", "teamkeep/*"]);
    let mut branches: Vec<&str> =
        plan["branches"].as_array().unwrap().iter().map(|one| one["branch"].as_str().unwrap()).collect();
    branches.sort_unstable();
    assert_eq!((branches.len(), listed.lines().collect::<Vec<_>>()), (5, branches));
}

#[test]
fn a_branch_with_other_work_is_reported() {
    let scene = Scene::new();
    scene.work();
    scene.stops();
    let plan = scene.restored();
    let branch = plan["branches"][0]["branch"].as_str().unwrap();
    let refused = |taken: &str| {
        let result = scene.restore(&scene.repository, &["--worktrees"]);
        let why = format!("cannot create branch {branch}: branch {taken} exists and does not have the work");
        assert!(result.code == Some(1) && result.err.contains(&why), "{}", result.err);
    };
    run(&scene.repository, &["branch", "--force", branch, "main"]);
    refused(branch);
    run(&scene.repository, &["branch", "--quiet", "-D", branch]);
    run(&scene.repository, &["branch", "teamkeep"]);
    refused("teamkeep");
}
