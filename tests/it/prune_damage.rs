//! `teamkeep prune` where the store is damaged: what nobody can read may need anything, and nothing good goes.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::prune::{is_whole, team, teams, three};
use super::stage::{Said, Stage, below};

/// Makes every content so old that nobody may be about to name it.
fn age(stage: &Stage) {
    for path in below(&stage.keep("archive/objects")).iter().filter(|path| path.is_file()) {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
}

/// Three runs that have ended, with contents that are old.
fn old() -> Stage {
    let stage = three();
    age(&stage);
    stage
}

/// The files below a directory of the store.
fn files(stage: &Stage, dir: &str) -> BTreeSet<PathBuf> {
    below(&stage.keep(dir)).into_iter().filter(|path| path.is_file()).collect()
}

/// A file of the newest run.
fn newest(stage: &Stage, name: &str) -> PathBuf {
    let library = stage.library();
    stage.keep(&format!("archive/runs/{}/{name}", library.runs.last().unwrap().run))
}

/// Shows that no content goes, whatever is asked for, and gives what was said by it and by `verify`.
fn no_content_goes(stage: &Stage, args: &[&str]) -> (Said, Said) {
    let before = files(stage, "archive/objects");
    let said = stage.run(&[&["prune", "--yes"], args].concat());
    assert_eq!(files(stage, "archive/objects"), before, "{}{}", said.out, said.err);
    let found = stage.run(&["verify"]);
    assert_eq!(found.code, Some(1), "{}", found.out);
    (said, found)
}

#[test]
fn nothing_goes_while_the_runs_cannot_be_listed() {
    for damage in ["missing", "dangling", "file"] {
        let stage = old();
        let (runs, away) = (stage.keep("archive/runs"), stage.keep("archive/away"));
        std::fs::rename(&runs, &away).unwrap();
        match damage {
            "dangling" => std::os::unix::fs::symlink(stage.keep("nowhere"), &runs).unwrap(),
            "file" => std::fs::write(&runs, "").unwrap(),
            _ => {}
        }
        let log = files(&stage, "log");
        let (said, found) = no_content_goes(&stage, &["--keep", "0"]);
        assert_eq!(files(&stage, "log"), log);
        assert_eq!(said.code, Some(1), "{}", said.out);
        assert!(said.err.starts_with("teamkeep: cannot prune: "), "{}", said.err);
        assert!(said.err.contains("archive/runs"), "{}", said.err);
        assert!(found.out.contains("archive/runs"), "{}", found.out);
        let told = stage.run(&["teams"]);
        assert!(told.err.contains("archive/runs"), "{}", told.err);
        assert!(!told.err.contains("nothing is on record"), "{}", told.err);
        if damage != "missing" {
            std::fs::remove_file(&runs).unwrap();
        }
        std::fs::rename(&away, &runs).unwrap();
        is_whole(&stage);
        assert_eq!(teams(&stage).len(), 3);
    }
}

#[test]
fn transcripts_that_are_empty_or_torn_may_name_any_content() {
    for text in ["", "{", " \n", "[]"] {
        let stage = old();
        let path = newest(&stage, "transcripts.json");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, text).unwrap();
        let (said, found) = no_content_goes(&stage, &["--keep", "1"]);
        assert_eq!(teams(&stage), [team(3)]);
        assert!(said.out.contains("  objects stay: "), "{text:?}: {}", said.out);
        assert!(found.out.contains("transcripts.json"), "{}", found.out);
        std::fs::write(&path, whole).unwrap();
        is_whole(&stage);
    }
}

#[test]
fn transcripts_that_are_missing_of_a_finished_run_may_name_any_content() {
    let stage = old();
    std::fs::remove_file(newest(&stage, "transcripts.json")).unwrap();
    let (_, found) = no_content_goes(&stage, &["--keep", "1"]);
    assert!(found.out.contains("transcripts.json"), "{}", found.out);
}
