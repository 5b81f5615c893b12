//! What the tests of `policy test` and `policy explain` share.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::stage::{Said, Stage, below, feed};

pub const BEGAN: &str = "2026-11-20T04:40:41.059Z";
/// The lead asks bob to stop, who has not finished.
pub const ASKED: usize = 81;

pub fn trace(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/traces/{name}.jsonl"));
    path.to_str().unwrap().to_owned()
}

pub fn file(stage: &Stage, name: &str, text: &str) -> String {
    let path = stage.home().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

pub fn test(stage: &Stage, args: &[&str]) -> Said {
    stage.run(&[&["policy", "test"], args].concat())
}

pub fn explain(stage: &Stage, payload: &str, args: &[&str]) -> Said {
    feed(&mut stage.command(&[&["policy", "explain"], args].concat()), payload.as_bytes())
}

/// Every file of the store.
pub fn everything(stage: &Stage) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = below(&stage.keep("")).into_iter().filter(|path| path.is_file());
    files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}
