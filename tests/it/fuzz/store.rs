//! A damaged file of a store: everything that reads a run reads on.

use std::path::PathBuf;
use std::sync::LazyLock;

use super::runs::{Store, bundle, now};
use teamkeep::verify::{Scope, Verifier};
use teamkeep_history::report::Report;
use teamkeep_history::timeline::{RunCatalog, merge};

/// A small run, as a text.
const RUN: &[u8] = include_bytes!("../../../fuzz/run.txt");

/// The files of its directory with their contents.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let store = Store::default();
    let imported = store.import(bundle(RUN).as_slice()).unwrap();
    let dir = store.archive().run_dir(&imported.run.run).unwrap();
    let paths = std::fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<(PathBuf, Vec<u8>)> = paths
        .filter(|path| path.is_file())
        .map(|path| (path.strip_prefix(store.dir.path()).unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
});

pub fn run(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let store = Store::default();
    for (path, content) in &*FILES {
        let path = store.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let (path, whole) = &FILES[usize::from(*first) % FILES.len()];
    // Either the file, or bytes in its middle.
    let damaged = match rest.split_first() {
        Some((place, rest)) if *first >= 128 => {
            let at = whole.len() * usize::from(*place) / 256;
            let end = (at + rest.len()).min(whole.len());
            [&whole[..at], rest, &whole[end..]].concat()
        }
        _ => rest.to_vec(),
    };
    std::fs::write(store.dir.path().join(path), damaged).unwrap();
    let (archive, logs) = (store.archive(), store.logs());
    let catalog = RunCatalog::open(archive.clone(), logs.clone());
    let runs: Vec<_> = catalog.runs.iter().collect();
    if let Ok(opened) = catalog.open_runs(&runs) {
        for data in &opened.runs {
            let timeline = merge(data);
            let report = Report::of(data, &timeline, &store.config, now());
            assert!(serde_json::to_string(&report).is_ok());
        }
    }
    let verifier = Verifier { archive: &archive, logs: &logs, paths: None, scope: Scope::All, against: &[] };
    let _ = verifier.run(&mut |_| ());
}
