//! `teamkeep restore RUN --to`: the files as they were.

#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::tasks::erased;
use crate::support::access::assert_mode;
use crate::support::reenact::Trace;
use crate::support::sandbox::{CommandResult, ContentDamage, Sandbox, below, feed, unix_paths};

fn to(sandbox: &Sandbox, run: &str, dir: &Path, more: &[&str]) -> CommandResult {
    sandbox.run(&[&["restore", run, "--files", dir.to_str().unwrap()], more].concat())
}

fn out(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join("out")
}

/// The files below a directory, by their path in it.
fn files(dir: &Path) -> Vec<String> {
    let mut files: Vec<String> = below(dir)
        .into_iter()
        .filter(|path| path.is_file())
        .map(|path| path.strip_prefix(dir).unwrap().to_str().unwrap().replace(MAIN_SEPARATOR, "/"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_moment_of_a_recorded_run_is_restored_exactly() {
    let sandbox = Sandbox::new();
    let trace = Trace::read("v328-inprocess", "2026-02-03T04:05:06.000Z");
    let moments = trace.play(&sandbox, 1);
    sandbox.finish();
    let steps = [moments.len() / 4, moments.len() / 2, moments.len() * 3 / 4];
    for (place, moment) in steps.map(|step| &moments[step]).into_iter().enumerate() {
        let dir = sandbox.home().join(format!("out{place}"));
        let result = to(&sandbox, "latest", &dir, &["--at", &moment.at]);
        assert_eq!(result.code, Some(0), "{result:?}");
        let mut compared = 0;
        for (path, text) in &moment.files {
            let is_kept = (path.starts_with("teams/") || path.starts_with("tasks/"))
                && (path.ends_with(".json") || path.ends_with(".highwatermark"));
            if is_kept {
                assert_eq!(&std::fs::read_to_string(dir.join(path)).unwrap(), text, "{path}");
                compared += 1;
            }
        }
        assert!(compared > 2, "{compared}");
    }
    let dir = out(&sandbox);
    assert_eq!(to(&sandbox, "latest", &dir, &[]).code, Some(0));
    let files = files(&dir);
    // Mailboxes that were read and members that left are there: it is what `show` tells.
    let read = |path: &str| -> Value {
        let path = files.iter().find(|file| file.ends_with(path)).unwrap();
        serde_json::from_str(&std::fs::read_to_string(dir.join(path)).unwrap()).unwrap()
    };
    let show = sandbox.show(&["latest"]);
    for name in ["team-lead", "alice", "bob", "carol"] {
        assert_eq!(read(&format!("inboxes/{name}.json")), show["inboxes"][name]);
    }
    assert!(show["inboxes"]["team-lead"].as_array().unwrap().len() > 5);
    let members = read("config.json");
    let names: Vec<&str> =
        members["members"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["team-lead", "alice", "bob", "carol"]);
    assert!(
        files.iter().any(|path| path.starts_with("projects/") && path.contains("/subagents/")),
        "{files:?}"
    );
    for path in below(&dir) {
        assert_mode(&path, if path.is_dir() { 0o700 } else { 0o600 });
    }
}

#[test]
fn without_a_moment_the_last_state_of_each_file_is_restored() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let dir = out(&sandbox);
    let result = to(&sandbox, "session-aaaaaaaa", &dir, &["--dry-run"]);
    assert_eq!((result.code, dir.exists()), (Some(0), false));
    assert!(result.err.starts_with("to do it: ") && !result.err.contains("--dry-run"), "{}", result.err);
    insta::assert_snapshot!(unix_paths(&result.out, &sandbox.home(), "~"), @r#"
    session-aaaaaaaa 78850aef5bad4835
    last recorded state
    would restore 5 files in ~/out

    + tasks/session-aaaaaaaa/1.json
    + tasks/session-aaaaaaaa/2.json
    + tasks/session-aaaaaaaa/3.json
    + tasks/session-aaaaaaaa/4.json
    + teams/session-aaaaaaaa/config.json
    "#);
    let result = to(&sandbox, "session-aaaaaaaa", &dir, &["--json"]);
    let plan: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!((&plan["done"], plan["files"].as_array().unwrap().len()), (&json!(true), 5));
    assert_eq!(files(&dir).len(), 5);
}

#[test]
fn restore_overwrites_nothing_and_rejects_a_directory_with_files() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let dir = out(&sandbox);
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("mine"), "").unwrap();
    let result = to(&sandbox, "session-aaaaaaaa", &dir, &[]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains("it is not empty"), "{}", result.err);
    assert_eq!(to(&sandbox, "session-aaaaaaaa", &dir, &["--force"]).code, Some(0));
    let before = files(&dir);
    std::fs::remove_file(dir.join("tasks/session-aaaaaaaa/1.json")).unwrap();
    let result = to(&sandbox, "session-aaaaaaaa", &dir, &["--force"]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains("already exists"), "{}", result.err);
    assert_eq!(files(&dir).len(), before.len() - 1, "nothing was added");
}

#[cfg(unix)]
#[test]
fn restore_rejects_symlinks_and_the_client_directory() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let away = sandbox.home().join("away");
    std::fs::create_dir(&away).unwrap();
    symlink(&away, sandbox.home().join("linked")).unwrap();
    assert_eq!(to(&sandbox, "session-aaaaaaaa", &sandbox.home().join("linked"), &[]).code, Some(1));
    let dir = out(&sandbox);
    std::fs::create_dir(&dir).unwrap();
    symlink(&away, dir.join("teams")).unwrap();
    assert_eq!(to(&sandbox, "session-aaaaaaaa", &dir, &["--force"]).code, Some(1));
    for place in
        [sandbox.client(""), sandbox.client("new/out"), sandbox.keep("out"), away.join("../.claude/x")]
    {
        let result = to(&sandbox, "session-aaaaaaaa", &place, &["--force"]);
        assert_eq!(result.code, Some(1), "{}", place.display());
    }
    assert_eq!(std::fs::read_dir(&away).unwrap().count(), 0);
    assert!(!sandbox.client("new").exists() && !sandbox.keep("out").exists());
}

#[test]
#[cfg_attr(windows, ignore = "fills the disk with the limits of a shell")]
fn full_disk_leaves_no_partial_restore() {
    let sandbox = Sandbox::new();
    let lead = erased(&sandbox);
    sandbox.set_clock(100_000);
    lead.roster(2_000, &["bob"]);
    sandbox.write("tasks/session-aaaaaaaa/1.json", json!({"id": "1", "description": "x".repeat(300_000)}));
    lead.start("startup");
    let dir = out(&sandbox);
    let mut shell = Command::new("bash");
    sandbox.dress(&mut shell);
    let program = env!("CARGO_BIN_EXE_teamkeep");
    let args = [
        "-c",
        "ulimit -f 100; exec \"$0\" \"$@\"",
        program,
        "restore",
        "latest",
        "--files",
        dir.to_str().unwrap(),
    ];
    let result = feed(shell.args(args), b"");
    assert_eq!(result.code, Some(1), "{result:?}");
    assert!(!dir.exists());
}

#[test]
fn restore_reports_damaged_content_and_writes_the_rest() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let dry = to(&sandbox, "session-aaaaaaaa", &out(&sandbox), &["--dry-run", "--json"]);
    let plan: Value = serde_json::from_str(&dry.out).unwrap();
    let object = plan["files"][0]["object"].as_str().unwrap();
    sandbox.damage_content(object, ContentDamage::Changed);
    let result = to(&sandbox, "session-aaaaaaaa", &out(&sandbox), &[]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains("is left out: "), "{}", result.err);
    assert_eq!(files(&out(&sandbox)).len(), 4);
}
