//! `teamkeep prune`: what may go goes, what may not stays, and nothing of what stays is hurt.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, ContentDamage, Sandbox, below};

pub const DAY: i64 = 86_400_000;

/// Ends a run of this session that begins on a day, with a task of its own and one that all have.
pub fn run(sandbox: &Sandbox, session: u32, day: i64) {
    recorded(sandbox, || record(sandbox, session, day));
}

fn record(sandbox: &Sandbox, session: u32, day: i64) {
    sandbox.set_clock(day * DAY);
    let id = format!("{session:08}-0000-4000-8000-000000000001");
    let lead = Lead::of(sandbox, &id);
    lead.roster(1_770_000_000_000 + i64::from(session), &["alice"]);
    sandbox.write(
        &format!("tasks/{}/1.json", lead.team),
        json!({"id": "1", "subject": "All", "status": "pending"}),
    );
    lead.start("startup");
    lead.says("user", json!(format!("go {session}")));
    lead.task("2", "pending", Some(&format!("a{session}")));
    lead.hook("Stop", json!({}));
    lead.erase();
    sandbox.remove_dir(&format!("tasks/{}", lead.team));
    lead.end("other");
    sandbox.finish();
}

pub fn team(session: u32) -> String {
    format!("session-{session:08}")
}

/// Runs that ended on the days 0, 40 and 80; it is day 100.
pub fn three() -> Sandbox {
    let sandbox = Sandbox::new();
    for (session, day) in [(1, 0), (2, 40), (3, 80)] {
        run(&sandbox, session, day);
    }
    sandbox.set_clock(100 * DAY);
    sandbox
}

/// Records with the usual deadline: on a busy machine, a call with the short one of [`quick`] leaves files for a next
/// call, which may come after they were deleted.
pub fn recorded(sandbox: &Sandbox, record: impl FnOnce()) {
    sandbox.configure("[log]\nkeep = \"1000d\"\n");
    record();
    quick(sandbox);
}

/// No hook call is running: prune does not have to wait for one.
pub fn quick(sandbox: &Sandbox) {
    sandbox.configure("[archive]\nlongest-look = \"10ms\"\n[log]\nkeep = \"1000d\"\n");
}

pub fn teams(sandbox: &Sandbox) -> Vec<String> {
    sandbox.library().runs.iter().filter_map(|run| run.team.clone()).collect()
}

pub fn is_whole(sandbox: &Sandbox) {
    let result = sandbox.run(&["verify"]);
    assert_eq!(result.code, Some(0), "{}", result.out);
}

pub fn prune(sandbox: &Sandbox, args: &[&str]) -> CommandResult {
    let result = sandbox.run(&[&["prune"], args].concat());
    // In a pipe a plan alone is no success.
    let plan = !args.iter().any(|arg| ["--yes", "--dry-run"].contains(arg));
    assert_eq!(result.code, Some(i32::from(plan)), "{}{}", result.out, result.err);
    result
}

#[test]
fn a_plan_changes_nothing_and_prune_does_what_it_lists() {
    let sandbox = three();
    for session in ["one", "two"] {
        Lead::of(&sandbox, session).hook("Stop", json!({}));
    }
    sandbox.age_session_logs(31);
    Lead::of(&sandbox, "two").hook("Stop", json!({}));
    let before = below(&sandbox.keep(""));
    let result = prune(&sandbox, &["--older-than", "30d"]);
    let ids: Vec<String> = sandbox.library().runs.iter().map(|run| run.run.clone()).collect();
    let lines: Vec<&str> = result.out.lines().collect();
    assert_eq!(lines[0], format!("would delete {} {} (ended 100 d ago)", ids[0], team(1)));
    assert_eq!(lines[1], format!("would delete {} {} (ended 60 d ago)", ids[1], team(2)));
    assert!(lines[2].starts_with("would delete 2 runs ("), "{}", result.out);
    assert!(lines[2].contains("), 1 session log ("), "{}", result.out);
    let command = "to do it: ";
    assert!(
        result.err.starts_with(command) && result.err.contains(" --yes\nerror: dry run only"),
        "{result:?}"
    );
    let asked = prune(&sandbox, &["--older-than", "30d", "--dry-run"]);
    assert_eq!((asked.out, asked.err.lines().next()), (result.out.clone(), result.err.lines().next()));
    assert_eq!(below(&sandbox.keep("")), before);
    assert_eq!(sandbox.run(&["prune", "--dry-run", "--yes"]).code, Some(64));

    let kept = sandbox.replay(&team(3));
    let result = prune(&sandbox, &["--older-than", "30d", "--yes"]);
    assert!(result.out.contains("\ndeleted 2 runs, 1 session log ("), "{}", result.out);
    assert_eq!(teams(&sandbox), [team(3)]);
    assert_eq!(sandbox.replay(&team(3)), kept, "and what stays is as it was");
    is_whole(&sandbox);
    assert_eq!(prune(&sandbox, &["--older-than", "30d", "--yes"]).out, "nothing to delete\n");
    assert!(!sandbox.keep("tmp/pruned").exists());
}

#[test]
fn prune_deletes_as_many_bytes_as_planned() {
    let sandbox = three();
    Lead::of(&sandbox, "one").hook("Stop", json!({}));
    sandbox.age_session_logs(31);
    let result: Value =
        serde_json::from_str(&prune(&sandbox, &["--older-than", "30d", "--yes", "--json"]).out).unwrap();
    let number = |value: &Value| value.as_u64().unwrap();
    assert_eq!(
        number(&result["removed"]["bytes"]),
        number(&result["bytes"]) + number(&result["log_bytes"]),
        "{result:#}"
    );
    assert!(number(&result["bytes"]) > 0 && number(&result["log_bytes"]) > 0);
}

#[test]
fn the_newest_runs_stay_with_contents_that_others_have_too() {
    let sandbox = three();
    let shown = sandbox.show(&[&team(3)]);
    let plan = prune(&sandbox, &["--keep", "1", "--dry-run"]).out;
    assert!(plan.lines().next().unwrap().ends_with(&format!("{} (not the newest)", team(1))), "{plan}");
    let plan = prune(&sandbox, &["--keep", "2", "--dry-run"]).out;
    let first = plan.lines().next().unwrap();
    assert!(first.starts_with("would delete ") && first.ends_with("(not among the 2 newest)"), "{plan}");
    prune(&sandbox, &["--keep", "1", "--yes"]);
    assert_eq!(teams(&sandbox), [team(3)]);
    assert_eq!(sandbox.show(&[&team(3)]), shown);
    assert_eq!(shown["tasks"]["1"]["subject"], "All");
    is_whole(&sandbox);
}

#[test]
fn the_size_limit_deletes_the_oldest_runs_until_the_rest_fits() {
    let sandbox = three();
    let plan: Value = serde_json::from_str(&prune(&sandbox, &["--json", "--dry-run"]).out).unwrap();
    let all = plan["left"].as_u64().unwrap();
    let result = prune(&sandbox, &["--max-size", &format!("{} B", all - 1), "--yes", "--json"]);
    let done: Value = serde_json::from_str(&result.out).unwrap();
    assert_eq!(
        (&done["v"], &done["runs"][0]["why"], &done["removed"]["runs"]),
        (&json!(1), &json!("size"), &json!(1))
    );
    assert_eq!(teams(&sandbox), [team(2), team(3)]);
    is_whole(&sandbox);
    assert_eq!(sandbox.run(&["prune", "--max-size", "12"]).code, Some(64));
    for invalid in ["30", "-5d"] {
        let result = sandbox.run(&["prune", "--older-than", invalid]);
        assert_eq!(result.code, Some(64));
        assert!(result.err.contains("invalid duration; expected a value such as"), "{}", result.err);
    }
}

#[test]
fn prune_never_removes_running_teams() {
    let sandbox = three();
    let lead = Lead::of(&sandbox, "99999999-0000-4000-8000-000000000001");
    sandbox.set_clock(-DAY);
    recorded(&sandbox, || {
        lead.roster(1, &["alice"]);
        lead.start("startup");
    });
    sandbox.set_clock(100 * DAY);
    let result = prune(&sandbox, &["--keep", "0", "--yes"]);
    assert!(result.out.contains(" session-99999999 (running)\n"), "{}", result.out);
    assert_eq!(teams(&sandbox), ["session-99999999"]);
    is_whole(&sandbox);
    recorded(&sandbox, || {
        lead.task("5", "pending", None);
        lead.hook("Stop", json!({}));
    });
    assert_eq!(sandbox.show(&["latest"])["tasks"]["5"]["status"], "pending");
    is_whole(&sandbox);
}

#[test]
fn a_run_that_cannot_be_read_completely_stays() {
    let sandbox = three();
    let id = sandbox.library().runs[0].run.clone();
    let hash = sandbox.last_content(&format!("tasks/{}/2.json", team(1)));
    sandbox.damage_content(&hash, ContentDamage::Changed);
    let result = prune(&sandbox, &["--keep", "0", "--yes"]);
    let kept = format!("keep {id} {} (parts of it cannot be read; run: teamkeep verify {id})\n", team(1));
    assert!(result.out.contains(&kept), "{}", result.out);
    assert_eq!(teams(&sandbox), [team(1)]);
    let record = sandbox.keep(&format!("runs/{id}/run.json"));
    std::fs::write(&record, "{").unwrap();
    let result = prune(&sandbox, &["--keep", "0", "--yes"]);
    assert!(result.out.contains(&format!("keep {id} (its data cannot be read; run: teamkeep verify {id})")));
    assert!(record.exists());
}

#[test]
fn an_imported_run_is_pruned_by_its_age_since_the_import() {
    let sandbox = three();
    let path = sandbox.home().join("run.tar.gz");
    assert_eq!(sandbox.run(&["export", &team(1), "-o", path.to_str().unwrap()]).code, Some(0));
    let elsewhere = Sandbox::new();
    quick(&elsewhere);
    elsewhere.set_clock(90 * DAY);
    assert_eq!(elsewhere.run(&["import", path.to_str().unwrap()]).code, Some(0));
    elsewhere.set_clock(100 * DAY);
    prune(&elsewhere, &["--older-than", "30d", "--yes"]);
    assert_eq!(teams(&elsewhere), [team(1)], "it ended long ago, and came ten days ago");
    is_whole(&elsewhere);
    prune(&elsewhere, &["--older-than", "5d", "--yes"]);
    assert!(teams(&elsewhere).is_empty());
    assert_eq!(elsewhere.run(&["import", path.to_str().unwrap()]).code, Some(0), "and can come back");
    is_whole(&elsewhere);
}

#[test]
fn concurrent_prunes_run_one_after_the_other() {
    let sandbox = three();
    let lock = sandbox.keep("locks/changes");
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let _held = teamkeep_system::fs::lock(&lock, Duration::ZERO).unwrap().unwrap();
    sandbox.configure("[log]\nlock-patience = \"20ms\"\n");
    let result = sandbox.run(&["prune", "--keep", "0", "--yes"]);
    assert_eq!(result.code, Some(1));
    assert_eq!(
        result.err,
        "error: cannot change the archive: another import or prune is running\nhint: try again when it has finished\n"
    );
    assert_eq!(sandbox.run(&["prune", "--keep", "0", "--dry-run"]).code, Some(0), "a plan needs no right");
    assert_eq!(teams(&sandbox).len(), 3);
}

#[test]
fn a_killed_prune_leaves_an_intact_store_and_the_next_one_completes_it() {
    let sandbox = three();
    let kept = sandbox.replay(&team(3));
    for delay in 0..12 {
        let mut command = sandbox.command(&["prune", "--keep", "1", "--yes"]);
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay * 4));
        child.kill().unwrap();
        child.wait().unwrap();
        is_whole(&sandbox);
        assert_eq!(sandbox.replay(&team(3)), kept);
    }
    // It was killed when it had moved a run aside.
    let id = sandbox.library().runs.last().unwrap().run.clone();
    let aside = sandbox.keep("tmp/pruned");
    std::fs::create_dir_all(aside.join("0123456789abcdef")).unwrap();
    is_whole(&sandbox);
    prune(&sandbox, &["--keep", "1", "--yes"]);
    assert!(!aside.exists());
    is_whole(&sandbox);
    assert_eq!((teams(&sandbox), sandbox.replay(&team(3))), (vec![team(3)], kept));
    assert_eq!(sandbox.library().runs[0].run, id);
}

#[test]
fn hooks_continue_during_a_prune() {
    let sandbox = three();
    let lead = Lead::of(&sandbox, "99999999-0000-4000-8000-000000000001");
    lead.roster(1, &["alice"]);
    lead.start("startup");
    std::thread::scope(|scope| {
        let pruning = scope.spawn(|| {
            for keep in ["2", "1", "0"] {
                prune(&sandbox, &["--keep", keep, "--yes"]);
            }
        });
        for number in 0..12 {
            // The same state as the runs that go had, which must not go with them.
            let task = json!({"id": "1", "subject": "All", "status": "pending"});
            let other = json!({"id": "1", "subject": "All", "status": format!("{number}")});
            sandbox.write(&format!("tasks/{}/1.json", lead.team), if number % 2 == 0 { task } else { other });
            lead.hook("Stop", json!({}));
        }
        pruning.join().unwrap();
    });
    is_whole(&sandbox);
    assert_eq!(teams(&sandbox), ["session-99999999"]);
}

#[test]
fn a_run_whose_journal_a_late_hook_call_has_changed_is_kept() {
    let sandbox = Sandbox::new();
    run(&sandbox, 1, 0);
    let archive = sandbox.archive();
    let planned = archive.runs().0.remove(0);
    let size = archive.journal_size(&planned.run);
    // A call that did not get the lock.
    let path = archive.run_dir(&planned.run).unwrap().join("snapshots-late.jsonl");
    std::fs::write(&path, "[2,\"\",\"x\"]\n").unwrap();
    let right = archive.maintain(Duration::ZERO).unwrap();
    assert!(!right.remove_run(&planned, size).unwrap() && path.exists());
    assert!(right.remove_run(&planned, archive.journal_size(&planned.run)).unwrap() && !path.exists());
}
