//! `teamkeep prune`: what may go goes, what may not stays, and nothing of what stays is hurt.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::play::Lead;
use super::stage::{Said, Stage, below};

pub const DAY: i64 = 86_400_000;

/// Ends a run of this session that begins on a day, with a task of its own and one that all have.
pub fn run(stage: &Stage, session: u32, day: i64) {
    stage.set_clock(day * DAY);
    let id = format!("{session:08}-0000-4000-8000-000000000001");
    let lead = Lead::of(stage, &id);
    lead.roster(1_770_000_000_000 + i64::from(session), &["alice"]);
    stage.write(
        &format!("tasks/{}/1.json", lead.team),
        json!({"id": "1", "subject": "All", "status": "pending"}),
    );
    lead.start("startup");
    lead.says("user", json!(format!("go {session}")));
    lead.task("2", "pending", Some(&format!("a{session}")));
    lead.hook("Stop", json!({}));
    lead.erase();
    stage.remove_dir(&format!("tasks/{}", lead.team));
    lead.end("other");
    stage.finish();
}

pub fn team(session: u32) -> String {
    format!("session-{session:08}")
}

/// Runs that ended on the days 0, 40 and 80; it is day 100.
pub fn three() -> Stage {
    let stage = Stage::new();
    quick(&stage);
    for (session, day) in [(1, 0), (2, 40), (3, 80)] {
        run(&stage, session, day);
    }
    stage.set_clock(100 * DAY);
    stage
}

/// No hook is at work: nothing need be waited for.
pub fn quick(stage: &Stage) {
    stage.configure("[archive]\nlongest-look = \"10ms\"\n[log]\nkeep = \"1000d\"\n");
}

pub fn teams(stage: &Stage) -> Vec<String> {
    stage.library().runs.iter().filter_map(|run| run.team.clone()).collect()
}

pub fn is_whole(stage: &Stage) {
    let said = stage.run(&["verify"]);
    assert_eq!(said.code, Some(0), "{}", said.out);
}

pub fn prune(stage: &Stage, args: &[&str]) -> Said {
    let said = stage.run(&[&["prune"], args].concat());
    // In a pipe a plan alone is no success.
    let plan = !args.iter().any(|arg| ["--yes", "--dry-run"].contains(arg));
    assert_eq!(said.code, Some(i32::from(plan)), "{}{}", said.out, said.err);
    said
}

pub fn objects(stage: &Stage) -> usize {
    below(&stage.keep("archive/objects")).iter().filter(|path| path.is_file()).count()
}

#[test]
fn a_plan_changes_nothing_and_what_it_says_happens() {
    let stage = three();
    let before = below(&stage.keep(""));
    let said = prune(&stage, &["--older-than", "30d"]);
    let ids: Vec<String> = stage.library().runs.iter().map(|run| run.run.clone()).collect();
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines[0], format!("delete {} {} (ended 99 days ago)", ids[0], team(1)));
    assert_eq!(lines[1], format!("delete {} {} (ended 59 days ago)", ids[1], team(2)));
    assert!(lines[2].starts_with("would delete 2 runs, 6 objects ("), "{}", said.out);
    assert!(lines[2].contains("), 2 log segments ("), "{}", said.out);
    assert_eq!(said.err, "Dry run. Re-run with --yes to delete.\n");
    let asked = prune(&stage, &["--older-than", "30d", "--dry-run"]);
    assert_eq!((asked.out, asked.err), (said.out.clone(), said.err));
    assert_eq!(below(&stage.keep("")), before);
    assert_eq!(stage.run(&["prune", "--dry-run", "--yes"]).code, Some(64));

    let kept = stage.replay(&team(3));
    let said = prune(&stage, &["--older-than", "30d", "--yes"]);
    assert!(said.out.contains("\nremoved 2 runs, 6 objects, 2 log segments ("), "{}", said.out);
    assert_eq!(teams(&stage), [team(3)]);
    assert_eq!(stage.replay(&team(3)), kept, "and what stays is as it was");
    is_whole(&stage);
    assert_eq!(
        prune(&stage, &["--older-than", "30d", "--yes"]).out,
        "nothing to delete\nremoved 0 runs, 0 objects, 0 log segments (0 B)\n"
    );
    assert!(!stage.keep("archive/pruned").exists());
}

#[test]
fn as_many_bytes_go_as_the_plan_says() {
    let stage = three();
    let said: Value =
        serde_json::from_str(&prune(&stage, &["--older-than", "30d", "--yes", "--json"]).out).unwrap();
    let number = |value: &Value| value.as_u64().unwrap();
    assert_eq!(
        number(&said["removed"]["bytes"]),
        number(&said["bytes"]) + number(&said["log_bytes"]),
        "{said:#}"
    );
    assert!(number(&said["bytes"]) > 0 && number(&said["log_bytes"]) > 0);
}

#[test]
fn what_the_gates_remember_of_a_run_goes_with_it() {
    let stage = three();
    let notebook = |place: usize| stage.keep(&format!("policy/{}.json", stage.library().runs[place].run));
    let books = [notebook(0), notebook(2)];
    std::fs::create_dir_all(stage.keep("policy")).unwrap();
    books.iter().for_each(|book| std::fs::write(book, "{\"v\":1}").unwrap());
    prune(&stage, &["--keep", "1", "--yes"]);
    assert_eq!(books.map(|book| book.exists()), [false, true]);
}

#[test]
fn the_newest_stay_and_what_they_share_with_those_that_go() {
    let stage = three();
    let all = objects(&stage);
    let shown = stage.show(&[&team(3)]);
    let plan = prune(&stage, &["--keep", "1", "--dry-run"]).out;
    assert!(plan.lines().next().unwrap().ends_with(&format!("{} (not the newest)", team(1))), "{plan}");
    let plan = prune(&stage, &["--keep", "2", "--dry-run"]).out;
    let first = plan.lines().next().unwrap();
    assert!(first.starts_with("delete ") && first.ends_with("(not among the 2 newest)"), "{plan}");
    prune(&stage, &["--keep", "1", "--yes"]);
    assert_eq!(teams(&stage), [team(3)]);
    assert_eq!(stage.show(&[&team(3)]), shown);
    assert_eq!(shown["tasks"]["1"]["subject"], "All");
    assert_eq!(objects(&stage), all - 6, "three of each run are its own, and one is everybody's");
    is_whole(&stage);
}

#[test]
fn size_has_the_oldest_go_until_it_fits() {
    let stage = three();
    let plan: Value = serde_json::from_str(&prune(&stage, &["--json", "--dry-run"]).out).unwrap();
    let all = plan["left"].as_u64().unwrap();
    let said = prune(&stage, &["--max-size", &format!("{} B", all - 1), "--yes", "--json"]);
    let done: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        (&done["v"], &done["runs"][0]["why"], &done["removed"]["runs"]),
        (&json!(1), &json!("size"), &json!(1))
    );
    assert_eq!(teams(&stage), [team(2), team(3)]);
    is_whole(&stage);
    assert_eq!(stage.run(&["prune", "--max-size", "12"]).code, Some(64));
    assert_eq!(stage.run(&["prune", "--older-than", "30"]).code, Some(64));
}

#[test]
fn what_is_alive_is_never_removed() {
    let stage = three();
    let lead = Lead::of(&stage, "99999999-0000-4000-8000-000000000001");
    stage.set_clock(-DAY);
    lead.roster(1, &["alice"]);
    lead.start("startup");
    stage.set_clock(100 * DAY);
    let said = prune(&stage, &["--keep", "0", "--yes"]);
    assert!(said.out.contains(" session-99999999 (running)\n"), "{}", said.out);
    assert_eq!(teams(&stage), ["session-99999999"]);
    is_whole(&stage);
    lead.task("5", "pending", None);
    lead.hook("Stop", json!({}));
    assert_eq!(stage.show(&["latest"])["tasks"]["5"]["status"], "pending");
    is_whole(&stage);
}

#[test]
fn a_run_that_cannot_be_read_whole_stays_with_all_that_it_may_need() {
    let stage = three();
    let id = stage.library().runs[0].run.clone();
    let held = stage.archive().journal(&id).last();
    let hash = held[&format!("tasks/{}/2.json", team(1))].object.clone().unwrap();
    let path = stage.keep(&format!("archive/objects/{}/{}", &hash[..1], &hash[1..]));
    std::fs::write(&path, "{}").unwrap();
    let said = prune(&stage, &["--keep", "0", "--yes"]);
    assert!(
        said.out.contains(&format!(
            "keep {id} {} (parts of it cannot be read; run: teamkeep verify {id})\n",
            team(1)
        )),
        "{}",
        said.out
    );
    assert_eq!(teams(&stage), [team(1)]);
    assert!(path.exists());

    // A journal of which a line is lost may have named anything.
    let journal = stage.keep(&format!("archive/runs/{id}/snapshots.jsonl"));
    std::fs::write(&path, "mended").unwrap();
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, text.replacen("[2", "[v", 1)).unwrap();
    run(&stage, 4, 101);
    stage.set_clock(200 * DAY);
    let all = objects(&stage);
    let said = prune(&stage, &["--keep", "0", "--yes"]);
    assert!(said.out.contains("keep all objects (the journal of run "), "{}", said.out);
    assert_eq!((teams(&stage), objects(&stage)), (vec![team(1)], all));

    let record = stage.keep(&format!("archive/runs/{id}/run.json"));
    std::fs::write(record, "{").unwrap();
    let said = prune(&stage, &["--keep", "0", "--yes"]);
    assert!(said.out.contains(&format!("keep {id} (its data cannot be read; run: teamkeep verify {id})")));
    assert_eq!(objects(&stage), all);
}

#[test]
fn what_nothing_names_goes_when_it_is_old_and_what_it_is_called() {
    let stage = three();
    let objects = stage.archive().objects;
    let path = |hash: &str| objects.stored(hash)[0].path.clone();
    let age = |path: &PathBuf| {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    };
    let put = |text: &str| {
        let dir = stage.keep("archive/objects");
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        std::fs::create_dir_all(dir.join(&hash[..1])).unwrap();
        std::fs::write(dir.join(&hash[..1]).join(&hash[1..]), text).unwrap();
        path(&hash)
    };
    let (young, old, damaged) = (put("young"), put("old"), put("damaged"));
    std::fs::write(&damaged, "the only copy of something").unwrap();
    age(&old);
    age(&damaged);
    let said = stage.run(&["prune", "--yes"]);
    assert_eq!((young.exists(), old.exists(), damaged.exists()), (true, false, true));
    let told =
        format!("warning: {} is damaged: its content has another hash; it was kept\n", damaged.display());
    assert_eq!((said.code, said.err), (Some(1), told));
    assert_eq!(teams(&stage).len(), 3);
}

#[test]
fn what_was_imported_goes_as_all_else_by_the_time_since_it_came() {
    let stage = three();
    let path = stage.home().join("run.tar.gz");
    assert_eq!(stage.run(&["export", &team(1), "-o", path.to_str().unwrap()]).code, Some(0));
    let elsewhere = Stage::new();
    quick(&elsewhere);
    elsewhere.set_clock(90 * DAY);
    assert_eq!(elsewhere.run(&["import", path.to_str().unwrap()]).code, Some(0));
    elsewhere.set_clock(100 * DAY);
    prune(&elsewhere, &["--older-than", "30d", "--yes"]);
    assert_eq!(teams(&elsewhere), [team(1)], "it ended long ago, and came ten days ago");
    is_whole(&elsewhere);
    prune(&elsewhere, &["--older-than", "5d", "--yes"]);
    assert_eq!((teams(&elsewhere), objects(&elsewhere)), (vec![], 0));
    assert_eq!(elsewhere.run(&["import", path.to_str().unwrap()]).code, Some(0), "and can come back");
    is_whole(&elsewhere);
}

#[test]
fn two_at_once_are_one_after_the_other() {
    let stage = three();
    let lock = stage.keep("archive/locks/.maintenance");
    std::fs::write(&lock, "").unwrap();
    let file = std::fs::File::open(&lock).unwrap();
    file.lock().unwrap();
    stage.configure("[log]\nlock-patience = \"20ms\"\n");
    let said = stage.run(&["prune", "--keep", "0", "--yes"]);
    assert_eq!(said.code, Some(1));
    assert_eq!(
        said.err,
        "error: cannot change the archive: another import or prune is running\nhint: try again when it has finished\n"
    );
    assert_eq!(stage.run(&["prune", "--keep", "0", "--dry-run"]).code, Some(0), "a plan needs no right");
    assert_eq!(teams(&stage).len(), 3);
}

/// Where something is set aside.
fn aside(stage: &Stage) -> PathBuf {
    stage.keep("archive/pruned")
}

#[test]
fn a_prune_that_is_killed_halfway_leaves_a_whole_record_and_the_next_ends_it() {
    let stage = three();
    // It waits so long before the last step.
    stage.configure("[archive]\nlongest-look = \"60s\"\n[log]\nkeep = \"1000d\"\n");
    let kept = stage.replay(&team(3));
    let mut child = stage
        .command(&["prune", "--keep", "1", "--yes"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !aside(&stage).join("objects").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(aside(&stage).exists());
    is_whole(&stage);
    assert_eq!((teams(&stage), stage.replay(&team(3))), (vec![team(3)], kept.clone()));
    quick(&stage);
    prune(&stage, &["--yes"]);
    assert!(!aside(&stage).exists());
    is_whole(&stage);
    assert_eq!(stage.replay(&team(3)), kept);
}

#[test]
fn what_was_set_aside_and_is_named_after_all_comes_back() {
    let stage = three();
    let id = stage.library().runs[2].run.clone();
    let held = stage.archive().journal(&id).last();
    let hash = held[&format!("tasks/{}/2.json", team(3))].object.clone().unwrap();
    let path = stage.keep(&format!("archive/objects/{}/{}", &hash[..1], &hash[1..]));
    std::fs::create_dir_all(aside(&stage).join("objects")).unwrap();
    std::fs::rename(&path, aside(&stage).join("objects").join(&hash)).unwrap();
    assert_eq!(stage.run(&["verify"]).code, Some(1));
    prune(&stage, &["--yes"]);
    is_whole(&stage);
}

#[test]
fn hooks_go_on_while_it_prunes() {
    let stage = three();
    let lead = Lead::of(&stage, "99999999-0000-4000-8000-000000000001");
    lead.roster(1, &["alice"]);
    lead.start("startup");
    std::thread::scope(|scope| {
        let pruning = scope.spawn(|| {
            for keep in ["2", "1", "0"] {
                prune(&stage, &["--keep", keep, "--yes"]);
            }
        });
        for number in 0..12 {
            // The same state as the runs that go had, which must not go with them.
            let task = json!({"id": "1", "subject": "All", "status": "pending"});
            let other = json!({"id": "1", "subject": "All", "status": format!("{number}")});
            stage.write(&format!("tasks/{}/1.json", lead.team), if number % 2 == 0 { task } else { other });
            lead.hook("Stop", json!({}));
        }
        pruning.join().unwrap();
    });
    is_whole(&stage);
    assert_eq!(teams(&stage), ["session-99999999"]);
}
