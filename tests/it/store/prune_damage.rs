//! `teamkeep prune` where the store is damaged: a run that cannot be read completely stays.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::json;

use super::prune::{DAY, is_whole, prune, run, team, teams, three};
use crate::support::client_files::Lead;
use crate::support::sandbox::{Sandbox, below};

/// The files below a directory of the store.
fn files(sandbox: &Sandbox, dir: &str) -> BTreeSet<PathBuf> {
    below(&sandbox.keep(dir)).into_iter().filter(|path| path.is_file()).collect()
}

/// A file of the newest run.
fn newest(sandbox: &Sandbox, name: &str) -> PathBuf {
    let library = sandbox.library();
    sandbox.keep(&format!("runs/{}/{name}", library.runs.last().unwrap().run))
}

#[test]
fn prune_deletes_nothing_while_the_runs_cannot_be_listed() {
    for damage in ["missing", "file"].into_iter().chain(cfg!(unix).then_some("dangling")) {
        let sandbox = three();
        let (runs, away) = (sandbox.keep("runs"), sandbox.keep("away"));
        std::fs::rename(&runs, &away).unwrap();
        match damage {
            #[cfg(unix)]
            "dangling" => std::os::unix::fs::symlink(sandbox.keep("nowhere"), &runs).unwrap(),
            "file" => std::fs::write(&runs, "").unwrap(),
            _ => {}
        }
        let log = files(&sandbox, "sessions");
        let result = sandbox.run(&["prune", "--yes", "--keep", "0"]);
        let found = sandbox.run(&["verify"]);
        assert_eq!(files(&sandbox, "sessions"), log);
        assert_eq!(result.code, Some(1), "{}", result.out);
        assert!(result.err.starts_with("error: cannot prune: "), "{}", result.err);
        let path = runs.display().to_string();
        let told = sandbox.run(&["teams"]);
        for text in [&result.err, &found.out, &told.err] {
            assert!(text.contains(&path), "{text}");
        }
        assert!(!told.err.contains("no runs recorded yet"), "{}", told.err);
        if damage != "missing" {
            std::fs::remove_file(&runs).unwrap();
        }
        std::fs::rename(&away, &runs).unwrap();
        is_whole(&sandbox);
        assert_eq!(teams(&sandbox).len(), 3);
    }
}

#[test]
fn a_run_with_a_damaged_file_is_found_and_stays_with_everything() {
    type Damage = fn(&PathBuf);
    let damages: [(&str, Damage); 5] = [
        ("transcripts.json", |path| std::fs::write(path, "{").unwrap()),
        ("transcripts.json", |path| std::fs::remove_file(path).unwrap()),
        ("snapshots.jsonl", |path| std::fs::remove_file(path).unwrap()),
        ("snapshots.jsonl", |path| std::fs::write(path, "").unwrap()),
        ("snapshots.jsonl", |path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }),
    ];
    for (number, (name, damage)) in damages.into_iter().enumerate() {
        let sandbox = three();
        let path = newest(&sandbox, name);
        damage(&path);
        let before = files(&sandbox, "runs");
        prune(&sandbox, &["--keep", "0", "--yes"]);
        assert_eq!(teams(&sandbox), [team(3)], "{number}");
        let dir = path.parent().unwrap();
        let own = |files: BTreeSet<PathBuf>| files.into_iter().filter(|file| file.starts_with(dir)).count();
        assert_eq!(own(files(&sandbox, "runs")), own(before), "{number}");
        let found = sandbox.run(&["verify"]);
        assert!(found.code == Some(1) && found.out.contains(name), "{number}: {}", found.out);
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
    for part in ["runs", "teams"] {
        std::fs::remove_dir_all(sandbox.keep(part)).unwrap();
    }
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

#[cfg(unix)]
#[test]
fn nothing_is_deleted_behind_a_link_in_place_of_the_temporary_directories() {
    let sandbox = three();
    let elsewhere = sandbox.home().join("elsewhere");
    for part in ["pruned", "import"] {
        std::fs::create_dir_all(elsewhere.join(part)).unwrap();
        std::fs::write(elsewhere.join(part).join("mine"), "").unwrap();
    }
    let export = sandbox.home().join("run.tar.gz");
    assert_eq!(sandbox.run(&["export", &team(1), "-o", export.to_str().unwrap()]).code, Some(0));
    let _ = std::fs::remove_dir_all(sandbox.keep("tmp"));
    std::os::unix::fs::symlink(&elsewhere, sandbox.keep("tmp")).unwrap();
    for command in [["prune", "--yes", "--keep=0"], ["import", export.to_str().unwrap(), "--quiet"]] {
        let result = sandbox.run(&command);
        assert!(result.code == Some(1) && result.err.contains("tmp is a link"), "{result:?}");
    }
    assert_eq!(teams(&sandbox).len(), 3);
    assert!(["pruned", "import"].iter().all(|part| elsewhere.join(part).join("mine").exists()));
}
