//! What a restore of tasks refuses, waits for and takes back: held lists, links, hostile names, full disks, locks.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use super::play::Lead;
use super::restore::{ONE, TWO, erased, names, read, restore, restored, write_task};
use super::runs_stage::ended_process;
use super::stage::{Said, Stage, feed};

#[test]
fn a_list_that_a_client_holds_is_left_alone_unless_forced() {
    let stage = Stage::new();
    erased(&stage);
    let own = std::process::id();
    let live = |pid: u32| {
        stage.write("sessions/1.json", json!({"pid": pid, "sessionId": TWO, "kind": "interactive"}))
    };
    live(own);
    let said = restore(&stage, &[TWO, "--yes"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains(&format!("session {TWO} is running (process {own})")), "{}", said.err);
    assert!(!stage.client("tasks").join("session-bbbbbbbb").exists());
    // After /clear the session goes on with the list of the one before.
    stage.write("tasks/session-bbbbbbbb/.session-list", "other-list");
    assert_eq!(restore(&stage, &["other-list", "--yes"]).code, Some(1));
    live(ended_process());
    assert_eq!(restored(&stage, &[TWO])["done"], true);
    let lead = Lead::of(&stage, TWO);
    lead.config(1, &[], json!({"leadProcess": {"pid": own}}));
    assert_eq!(restore(&stage, &[TWO, "--all", "--yes"]).code, Some(1));
    let forced = restored(&stage, &[TWO, "--all", "--force"]);
    assert_eq!((&forced["done"], forced["held_by"].is_string()), (&json!(true), true));
    lead.config(1, &[], json!({"leadProcess": {"pid": ended_process()}}));
    assert_eq!(restored(&stage, &[TWO, "--all"])["held_by"], json!(null));
}

#[test]
fn names_that_lead_elsewhere_and_links_are_refused() {
    let stage = Stage::new();
    erased(&stage);
    for name in ["../x", "..", "a/b", "", ".lock", "a\nb"] {
        let said = restore(&stage, &[name, "--yes"]);
        assert_eq!((said.code, said.out.as_str()), (Some(64), ""), "{name:?}");
    }
    let away = stage.home().join("away");
    std::fs::create_dir(&away).unwrap();
    std::fs::create_dir_all(stage.client("tasks")).unwrap();
    symlink(&away, stage.client("tasks/linked")).unwrap();
    stage.write("tasks/file", "");
    for name in ["linked", "file"] {
        for more in [&["--yes"][..], &["--dry-run"]] {
            let said = restore(&stage, &[&[name], more].concat());
            assert_eq!(said.code, Some(1), "{said:?}");
            assert!(said.err.contains(if name == "linked" {
                "it is a symlink"
            } else {
                "it is not a directory"
            }));
        }
    }
    symlink(stage.home().join("precious"), stage.client("tasks/file2")).unwrap();
    std::fs::create_dir(stage.client("tasks/marked")).unwrap();
    symlink(away.join("mark"), stage.client("tasks/marked/.highwatermark")).unwrap();
    assert_eq!(restore(&stage, &["marked", "--yes"]).code, Some(1));
    symlink(away.join("lock"), stage.client("tasks/marked/.lock")).unwrap();
    assert_eq!(restore(&stage, &["marked", "--yes"]).code, Some(1));
    assert_eq!(std::fs::read_dir(&away).unwrap().count(), 0);
}

#[test]
fn a_full_disk_leaves_the_list_as_it_was() {
    let stage = Stage::new();
    let lead = Lead::of(&stage, ONE);
    lead.roster(1_000, &["bob"]);
    lead.start("startup");
    write_task(&stage, &lead.team, "1", json!({}));
    write_task(&stage, &lead.team, "2", json!({"description": "x".repeat(300_000)}));
    lead.hook("Stop", json!({}));
    let full = |list: &str| -> Said {
        let mut shell = Command::new("bash");
        stage.dress(&mut shell);
        let program = env!("CARGO_BIN_EXE_teamkeep");
        shell.args([
            "-c",
            "ulimit -f 100; exec \"$0\" \"$@\"",
            program,
            "restore",
            &lead.team,
            "--tasks",
            list,
            "--yes",
        ]);
        feed(&mut shell, b"")
    };
    let said = full("fresh");
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:?}");
    assert!(
        said.err.contains("cannot restore task 2") && said.err.contains("nothing was restored"),
        "{}",
        said.err
    );
    assert_eq!(names(&stage, "tasks"), ["session-aaaaaaaa"]);
    write_task(&stage, "known", "1", json!({}));
    assert_eq!(full("known").code, Some(1));
    assert_eq!(names(&stage, "tasks/known"), [".lock", "1.json"]);
    assert_eq!(std::fs::read_dir(stage.keep("restores")).unwrap().count(), 1, "the lock alone");
}

#[test]
fn restores_at_once_put_each_task_there_once() {
    let stage = Stage::new();
    erased(&stage);
    let said: Vec<Said> = std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..4).map(|_| scope.spawn(|| restore(&stage, &["named", "--yes"]))).collect();
        jobs.into_iter().map(|job| job.join().unwrap()).collect()
    });
    assert!(said.iter().all(|said| said.code == Some(0)), "{said:?}");
    assert_eq!(said.iter().filter(|said| said.err.starts_with("restored 2 tasks")).count(), 1);
    assert_eq!(names(&stage, "tasks/named"), [".highwatermark", ".lock", "2.json", "3.json"]);
}

#[test]
fn the_client_s_own_lock_is_waited_for_and_one_that_was_left_is_taken_over() {
    let stage = Stage::new();
    erased(&stage);
    let lock: PathBuf = stage.client("tasks/named/.lock.lock");
    std::fs::create_dir_all(&lock).unwrap();
    let mut child = stage
        .command(&["restore", "session-aaaaaaaa", "--tasks", "named", "--yes"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // While the client has the lock it makes a task, and the restore must see it.
    while !stage.keep("restores/.lock").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    write_task(&stage, "named", "2", json!({"subject": "The client's"}));
    std::fs::remove_dir(&lock).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(read(&stage, "tasks/named/2.json").contains("The client's"));
    assert!(read(&stage, "tasks/named/4.json").contains("Task 2"));
    std::fs::create_dir_all(stage.client("tasks/left/.lock.lock")).unwrap();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
    std::fs::File::open(stage.client("tasks/left/.lock.lock")).unwrap().set_modified(old).unwrap();
    assert_eq!(restored(&stage, &["left"])["done"], true);
    assert!(!stage.client("tasks/left/.lock.lock").exists());
}
