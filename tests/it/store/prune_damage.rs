//! `teamkeep prune` where the store is damaged: what nobody can read may need anything, and nothing good goes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::json;
use teamkeep_core::store::archive::Snapshot;

use super::prune::{DAY, is_whole, objects, prune, recorded, run, team, teams, three};
use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, Sandbox, below};

/// Makes every content so old that nobody may be about to name it.
fn age(sandbox: &Sandbox) {
    for path in below(&sandbox.keep("archive/objects")).iter().filter(|path| path.is_file()) {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
}

/// Three runs that have ended, with contents that are old.
fn old() -> Sandbox {
    let sandbox = three();
    age(&sandbox);
    sandbox
}

/// The files below a directory of the store.
fn files(sandbox: &Sandbox, dir: &str) -> BTreeSet<PathBuf> {
    below(&sandbox.keep(dir)).into_iter().filter(|path| path.is_file()).collect()
}

/// A file of the newest run.
fn newest(sandbox: &Sandbox, name: &str) -> PathBuf {
    let library = sandbox.library();
    sandbox.keep(&format!("archive/runs/{}/{name}", library.runs.last().unwrap().run))
}

/// Shows that no content goes, whatever is asked for, and gives what was said by it and by `verify`.
fn no_content_goes(sandbox: &Sandbox, args: &[&str]) -> (CommandResult, CommandResult) {
    let before = files(sandbox, "archive/objects");
    let result = sandbox.run(&[&["prune", "--yes"], args].concat());
    assert_eq!(files(sandbox, "archive/objects"), before, "{}{}", result.out, result.err);
    let found = sandbox.run(&["verify"]);
    assert_eq!(found.code, Some(1), "{}", found.out);
    (result, found)
}

#[test]
fn prune_deletes_nothing_while_the_runs_cannot_be_listed() {
    for damage in ["missing", "dangling", "file"] {
        let sandbox = old();
        let (runs, away) = (sandbox.keep("archive/runs"), sandbox.keep("archive/away"));
        std::fs::rename(&runs, &away).unwrap();
        match damage {
            "dangling" => std::os::unix::fs::symlink(sandbox.keep("nowhere"), &runs).unwrap(),
            "file" => std::fs::write(&runs, "").unwrap(),
            _ => {}
        }
        let log = files(&sandbox, "log");
        let (result, found) = no_content_goes(&sandbox, &["--keep", "0"]);
        assert_eq!(files(&sandbox, "log"), log);
        assert_eq!(result.code, Some(1), "{}", result.out);
        assert!(result.err.starts_with("error: cannot prune: "), "{}", result.err);
        assert!(result.err.contains("archive/runs"), "{}", result.err);
        assert!(found.out.contains("archive/runs"), "{}", found.out);
        let told = sandbox.run(&["teams"]);
        assert!(told.err.contains("archive/runs"), "{}", told.err);
        assert!(!told.err.contains("nothing is on record"), "{}", told.err);
        if damage != "missing" {
            std::fs::remove_file(&runs).unwrap();
        }
        std::fs::rename(&away, &runs).unwrap();
        is_whole(&sandbox);
        assert_eq!(teams(&sandbox).len(), 3);
    }
}

#[test]
fn a_damaged_list_of_transcripts_may_name_any_content() {
    for text in ["", "{", " \n", "[]"] {
        let sandbox = old();
        let path = newest(&sandbox, "transcripts.json");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, text).unwrap();
        let (result, found) = no_content_goes(&sandbox, &["--keep", "1"]);
        assert_eq!(teams(&sandbox), [team(3)]);
        assert!(result.out.contains("keep all objects ("), "{text:?}: {}", result.out);
        assert!(found.out.contains("transcripts.json"), "{}", found.out);
        std::fs::write(&path, whole).unwrap();
        is_whole(&sandbox);
    }
}

#[test]
fn a_missing_list_of_transcripts_of_a_finished_run_may_name_any_content() {
    let sandbox = old();
    std::fs::remove_file(newest(&sandbox, "transcripts.json")).unwrap();
    let (_, found) = no_content_goes(&sandbox, &["--keep", "1"]);
    assert!(found.out.contains("transcripts.json"), "{}", found.out);
}

/// A run whose files are there still when its session has ended.
fn standing(sandbox: &Sandbox) {
    let lead = Lead::of(sandbox, "00000004-0000-4000-8000-000000000001");
    sandbox.set_clock(90 * DAY);
    recorded(sandbox, || {
        lead.roster(1_770_000_000_004, &["alice"]);
        lead.start("startup");
        lead.says("user", json!("go"));
        lead.task("2", "pending", Some("four"));
        lead.hook("Stop", json!({}));
        lead.end("other");
        sandbox.finish();
    });
    sandbox.set_clock(100 * DAY);
}

#[test]
fn objects_of_the_index_stay_if_the_journal_was_cut() {
    for keep in [0, 1] {
        let sandbox = three();
        standing(&sandbox);
        age(&sandbox);
        let journal = newest(&sandbox, "snapshots.jsonl");
        let text = std::fs::read_to_string(&journal).unwrap();
        let cut: String = text.split_inclusive('\n').take(keep).collect();
        assert_ne!(cut, text);
        std::fs::write(&journal, cut).unwrap();
        let all = objects(&sandbox);
        let result = sandbox.run(&["prune", "--yes"]);
        assert_eq!(objects(&sandbox), all, "{keep}: {}{}", result.out, result.err);
        std::fs::write(&journal, text).unwrap();
        is_whole(&sandbox);
    }
}

#[test]
fn a_team_s_run_without_a_journal_is_found_and_may_name_any_content() {
    for damage in ["missing", "empty", "fifo", "directory"] {
        let sandbox = old();
        let journal = newest(&sandbox, "snapshots.jsonl");
        std::fs::remove_file(&journal).unwrap();
        match damage {
            "empty" => std::fs::write(&journal, "").unwrap(),
            "fifo" => {
                assert!(std::process::Command::new("mkfifo").arg(&journal).status().unwrap().success());
            }
            "directory" => std::fs::create_dir(&journal).unwrap(),
            _ => {}
        }
        let (result, found) = no_content_goes(&sandbox, &["--keep", "1"]);
        assert!(result.out.contains("keep all objects ("), "{damage}: {}", result.out);
        assert!(found.out.contains("snapshots.jsonl"), "{damage}: {}", found.out);
    }
}

#[test]
fn an_orphan_stays_while_a_run_names_an_invalid_or_missing_object() {
    for digit in ["z", "flipped"] {
        let sandbox = old();
        let journal = newest(&sandbox, "snapshots.jsonl");
        let text = std::fs::read_to_string(&journal).unwrap();
        let held = sandbox.archive().journal(&sandbox.library().runs[2].run).last();
        let hash = held[&format!("tasks/{}/2.json", team(3))].object.clone().unwrap();
        let other = match digit {
            "z" => format!("z{}", &hash[1..]),
            _ if hash.starts_with('a') => format!("b{}", &hash[1..]),
            _ => format!("a{}", &hash[1..]),
        };
        let lines = text.lines().map(|line| Snapshot::parse(line.as_bytes()).unwrap());
        let lines: String = lines.map(|line| serde_json::to_string(&line).unwrap() + "\n").collect();
        std::fs::write(&journal, lines.replace(&hash, &other)).unwrap();
        no_content_goes(&sandbox, &[]);
        // What a run that goes has named goes with it where the names can all be read.
        let all = objects(&sandbox);
        prune(&sandbox, &["--keep", "2", "--yes"]);
        assert_eq!(teams(&sandbox).len(), 2);
        assert_eq!(all - objects(&sandbox), if digit == "z" { 0 } else { 3 });
        std::fs::write(&journal, text).unwrap();
        is_whole(&sandbox);
    }
}

#[test]
fn an_imported_run_that_continues_here_stays() {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, "00000009-0000-4000-8000-000000000001");
    lead.roster(1_770_000_000_009, &["alice"]);
    lead.start("startup");
    lead.hook("Stop", json!({}));
    let path = sandbox.home().join("run.tar.gz");
    assert_eq!(sandbox.run(&["export", &team(9), "-o", path.to_str().unwrap()]).code, Some(0));
    std::fs::remove_dir_all(sandbox.keep("archive")).unwrap();
    assert_eq!(sandbox.run(&["import", path.to_str().unwrap()]).code, Some(0));
    lead.task("5", "pending", None);
    lead.hook("Stop", json!({}));
    run(&sandbox, 1, 1);
    sandbox.set_clock(100 * DAY);
    let result = prune(&sandbox, &["--keep", "0", "--yes"]);
    assert!(result.out.contains(" session-00000009 (running)\n"), "{}", result.out);
    assert_eq!(teams(&sandbox), [team(9)]);
    is_whole(&sandbox);
}
