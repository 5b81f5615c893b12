//! What a restore of tasks refuses, waits for and takes back: held lists, links, hostile names, full disks, locks.

#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use super::tasks::{ONE, TWO, erased, names, read, restore, restored, write_task};
use crate::store::run_sandbox::ended_process;
use crate::support::access::set_time;
use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, Sandbox, feed};

#[test]
fn list_in_use_is_changed_only_with_force() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let own = std::process::id();
    let live = |pid: u32| {
        sandbox.write("sessions/1.json", json!({"pid": pid, "sessionId": TWO, "kind": "interactive"}))
    };
    live(own);
    let result = restore(&sandbox, &[TWO, "--yes"]);
    assert_eq!(result.code, Some(1));
    assert!(result.err.contains(&format!("session {TWO} is running (process {own})")), "{}", result.err);
    assert!(!sandbox.client("tasks").join("session-bbbbbbbb").exists());
    // After /clear the session goes on with the list of the one before.
    sandbox.write("tasks/session-bbbbbbbb/.session-list", "other-list");
    assert_eq!(restore(&sandbox, &["other-list", "--yes"]).code, Some(1));
    live(ended_process());
    assert_eq!(restored(&sandbox, &[TWO])["done"], true);
    let lead = Lead::of(&sandbox, TWO);
    lead.config(1, &[], json!({"leadProcess": {"pid": own}}));
    assert_eq!(restore(&sandbox, &[TWO, "--all", "--yes"]).code, Some(1));
    let forced = restored(&sandbox, &[TWO, "--all", "--force"]);
    assert_eq!((&forced["done"], forced["held_by"].is_string()), (&json!(true), true));
    lead.config(1, &[], json!({"leadProcess": {"pid": ended_process()}}));
    assert_eq!(restored(&sandbox, &[TWO, "--all"])["held_by"], json!(null));
}

#[test]
fn numbers_of_tasks_are_not_a_list() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    for numbers in ["2", "2,3", "2, 3"] {
        let result = restore(&sandbox, &[numbers, "--yes"]);
        assert_eq!(result.code, Some(64), "{result:?}");
        assert!(result.err.starts_with("error: --tasks names a task list, not tasks\n"), "{}", result.err);
    }
}

#[cfg(unix)]
#[test]
fn unsafe_list_names_and_symlinks_are_rejected() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    for name in ["../x", "..", "a/b", "", ".lock", "a\nb"] {
        let result = restore(&sandbox, &[name, "--yes"]);
        assert_eq!((result.code, result.out.as_str()), (Some(64), ""), "{name:?}");
    }
    let away = sandbox.home().join("away");
    std::fs::create_dir(&away).unwrap();
    std::fs::create_dir_all(sandbox.client("tasks")).unwrap();
    symlink(&away, sandbox.client("tasks/linked")).unwrap();
    sandbox.write("tasks/file", "");
    for name in ["linked", "file"] {
        for more in [&["--yes"][..], &["--dry-run"]] {
            let result = restore(&sandbox, &[&[name], more].concat());
            assert_eq!(result.code, Some(1), "{result:?}");
            assert!(result.err.contains(if name == "linked" {
                "it is a symlink"
            } else {
                "it is not a directory"
            }));
        }
    }
    symlink(sandbox.home().join("precious"), sandbox.client("tasks/file2")).unwrap();
    std::fs::create_dir(sandbox.client("tasks/marked")).unwrap();
    symlink(away.join("mark"), sandbox.client("tasks/marked/.highwatermark")).unwrap();
    assert_eq!(restore(&sandbox, &["marked", "--yes"]).code, Some(1));
    symlink(away.join("lock"), sandbox.client("tasks/marked/.lock")).unwrap();
    assert_eq!(restore(&sandbox, &["marked", "--yes"]).code, Some(1));
    assert_eq!(std::fs::read_dir(&away).unwrap().count(), 0);
}

#[test]
#[cfg_attr(windows, ignore = "fills the disk with the limits of a shell")]
fn full_disk_leaves_the_tasks_of_a_list_unchanged() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, ONE);
    lead.roster(1_000, &["bob"]);
    lead.start("startup");
    write_task(&sandbox, &lead.team, "1", json!({}));
    write_task(&sandbox, &lead.team, "2", json!({"description": "x".repeat(300_000)}));
    lead.hook("Stop", json!({}));
    let full = |list: &str| -> CommandResult {
        let mut shell = Command::new("bash");
        sandbox.dress(&mut shell);
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
    let result = full("fresh");
    assert_eq!((result.code, result.out.as_str()), (Some(1), ""), "{result:?}");
    assert!(
        result.err.contains("cannot restore task 2") && result.err.contains("nothing was restored"),
        "{}",
        result.err
    );
    assert_eq!(names(&sandbox, "tasks"), ["session-aaaaaaaa"]);
    write_task(&sandbox, "known", "1", json!({}));
    assert_eq!(full("known").code, Some(1));
    assert_eq!(names(&sandbox, "tasks/known"), [".highwatermark", ".lock", "1.json"]);
    assert!(std::fs::read_dir(sandbox.keep("restores")).is_ok_and(|mut left| left.next().is_none()));
}

#[test]
fn concurrent_restores_write_each_task_once() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let result: Vec<CommandResult> = std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..4).map(|_| scope.spawn(|| restore(&sandbox, &["named", "--yes"]))).collect();
        jobs.into_iter().map(|job| job.join().unwrap()).collect()
    });
    assert!(result.iter().all(|result| result.code == Some(0)), "{result:?}");
    assert_eq!(result.iter().filter(|result| result.out.contains("restored 2 tasks")).count(), 1);
    assert_eq!(names(&sandbox, "tasks/named"), [".highwatermark", ".lock", "2.json", "3.json"]);
}

#[test]
fn restore_waits_for_the_client_lock_and_takes_over_a_stale_one() {
    let sandbox = Sandbox::new();
    erased(&sandbox);
    let lock: PathBuf = sandbox.client("tasks/named/.lock.lock");
    std::fs::create_dir_all(&lock).unwrap();
    let mut child = sandbox
        .command(&["restore", "session-aaaaaaaa", "--tasks", "named", "--yes"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // While the client has the lock it makes a task, and the restore must see it.
    while !sandbox.keep("locks/restores").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    write_task(&sandbox, "named", "2", json!({"subject": "The client's"}));
    std::fs::remove_dir(&lock).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(read(&sandbox, "tasks/named/2.json").contains("The client's"));
    assert!(read(&sandbox, "tasks/named/4.json").contains("Task 2"));
    std::fs::create_dir_all(sandbox.client("tasks/left/.lock.lock")).unwrap();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
    set_time(&sandbox.client("tasks/left/.lock.lock"), old);
    assert_eq!(restored(&sandbox, &["left"])["done"], true);
    assert!(!sandbox.client("tasks/left/.lock.lock").exists());
}
