//! `teamkeep restore RUN --to`: the files as they were.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::reenact::Trace;
use super::restore::erased;
use super::stage::{Said, Stage, below, feed};

fn to(stage: &Stage, run: &str, dir: &Path, more: &[&str]) -> Said {
    stage.run(&[&["restore", run, "--to", dir.to_str().unwrap()], more].concat())
}

fn out(stage: &Stage) -> PathBuf {
    stage.home().join("out")
}

/// The files below a directory, by their path in it.
fn files(dir: &Path) -> Vec<String> {
    let mut files: Vec<String> = below(dir)
        .into_iter()
        .filter(|path| path.is_file())
        .map(|path| path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    files
}

#[test]
fn every_moment_of_a_recorded_run_is_restored_as_it_was() {
    let stage = Stage::new();
    let trace = Trace::read("v328-inprocess", "2026-02-03T04:05:06.000Z");
    let moments = trace.play(&stage, 1);
    stage.finish();
    let steps = [moments.len() / 4, moments.len() / 2, moments.len() * 3 / 4];
    for (place, moment) in steps.map(|step| &moments[step]).into_iter().enumerate() {
        let dir = stage.home().join(format!("out{place}"));
        let said = to(&stage, "latest", &dir, &["--at", &moment.at]);
        assert_eq!(said.code, Some(0), "{said:?}");
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
    let dir = out(&stage);
    assert_eq!(to(&stage, "latest", &dir, &[]).code, Some(0));
    let files = files(&dir);
    // Mailboxes that were read and members that left are there: it is what `show` tells.
    let read = |path: &str| -> Value {
        let path = files.iter().find(|file| file.ends_with(path)).unwrap();
        serde_json::from_str(&std::fs::read_to_string(dir.join(path)).unwrap()).unwrap()
    };
    let show = stage.show(&["latest"]);
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
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[test]
fn without_a_moment_each_file_is_as_it_last_was() {
    let stage = Stage::new();
    erased(&stage);
    let dir = out(&stage);
    let said = to(&stage, "session-aaaaaaaa", &dir, &["--dry-run"]);
    assert_eq!(
        (said.code, said.err.as_str(), dir.exists()),
        (Some(0), "Dry run: nothing was written.\n", false)
    );
    insta::assert_snapshot!(said.out.replace(stage.home().to_str().unwrap(), "~"), @r#"
    session-aaaaaaaa 78850aef5bad4835
    last recorded state
    5 files in ~/out

    + tasks/session-aaaaaaaa/1.json
    + tasks/session-aaaaaaaa/2.json
    + tasks/session-aaaaaaaa/3.json
    + tasks/session-aaaaaaaa/4.json
    + teams/session-aaaaaaaa/config.json
    "#);
    let said = to(&stage, "session-aaaaaaaa", &dir, &["--json"]);
    let plan: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((&plan["done"], plan["files"].as_array().unwrap().len()), (&json!(true), 5));
    assert_eq!(files(&dir).len(), 5);
}

#[test]
fn nothing_is_written_over_and_a_full_directory_is_refused() {
    let stage = Stage::new();
    erased(&stage);
    let dir = out(&stage);
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("mine"), "").unwrap();
    let said = to(&stage, "session-aaaaaaaa", &dir, &[]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("it is not empty"), "{}", said.err);
    assert_eq!(to(&stage, "session-aaaaaaaa", &dir, &["--force"]).code, Some(0));
    let before = files(&dir);
    std::fs::remove_file(dir.join("tasks/session-aaaaaaaa/1.json")).unwrap();
    let said = to(&stage, "session-aaaaaaaa", &dir, &["--force"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("already exists"), "{}", said.err);
    assert_eq!(files(&dir).len(), before.len() - 1, "nothing was added");
}

#[test]
fn links_and_the_client_s_own_directory_are_refused() {
    let stage = Stage::new();
    erased(&stage);
    let away = stage.home().join("away");
    std::fs::create_dir(&away).unwrap();
    symlink(&away, stage.home().join("linked")).unwrap();
    assert_eq!(to(&stage, "session-aaaaaaaa", &stage.home().join("linked"), &[]).code, Some(1));
    let dir = out(&stage);
    std::fs::create_dir(&dir).unwrap();
    symlink(&away, dir.join("teams")).unwrap();
    assert_eq!(to(&stage, "session-aaaaaaaa", &dir, &["--force"]).code, Some(1));
    for place in [stage.client(""), stage.client("new/out"), stage.keep("out"), away.join("../.claude/x")] {
        let said = to(&stage, "session-aaaaaaaa", &place, &["--force"]);
        assert_eq!(said.code, Some(1), "{}", place.display());
    }
    assert_eq!(std::fs::read_dir(&away).unwrap().count(), 0);
    assert!(!stage.client("new").exists() && !stage.keep("out").exists());
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let stage = Stage::new();
    let lead = erased(&stage);
    stage.set_clock(100_000);
    lead.roster(2_000, &["bob"]);
    stage.write("tasks/session-aaaaaaaa/1.json", json!({"id": "1", "description": "x".repeat(300_000)}));
    lead.start("startup");
    let dir = out(&stage);
    let mut shell = Command::new("bash");
    stage.dress(&mut shell);
    let program = env!("CARGO_BIN_EXE_teamkeep");
    let args = [
        "-c",
        "ulimit -f 100; exec \"$0\" \"$@\"",
        program,
        "restore",
        "latest",
        "--to",
        dir.to_str().unwrap(),
    ];
    let said = feed(shell.args(args), b"");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(!dir.exists());
}

#[test]
fn a_damaged_content_is_told_and_the_rest_is_written() {
    let stage = Stage::new();
    erased(&stage);
    let dry = to(&stage, "session-aaaaaaaa", &out(&stage), &["--dry-run", "--json"]);
    let plan: Value = serde_json::from_str(&dry.out).unwrap();
    let object = plan["files"][0]["object"].as_str().unwrap();
    std::fs::write(stage.keep(&format!("archive/objects/{}/{}", &object[..1], &object[1..])), "other")
        .unwrap();
    let said = to(&stage, "session-aaaaaaaa", &out(&stage), &[]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("is left out: "), "{}", said.err);
    assert_eq!(files(&out(&stage)).len(), 4);
}
