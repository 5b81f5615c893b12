//! What the tests of `policy test` and `policy explain` share.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::support::sandbox::{CommandResult, Sandbox, below, feed};

pub const BEGAN: &str = "2026-11-20T04:40:41.059Z";
/// The lead asks bob to stop, who has not finished.
pub const ASKED: usize = 81;

pub fn trace(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/traces/{name}.jsonl"));
    path.to_str().unwrap().to_owned()
}

pub fn file(sandbox: &Sandbox, name: &str, text: &str) -> String {
    let path = sandbox.home().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

pub fn test(sandbox: &Sandbox, args: &[&str]) -> CommandResult {
    sandbox.run(&[&["policy", "test"], args].concat())
}

pub fn explain(sandbox: &Sandbox, payload: &str, args: &[&str]) -> CommandResult {
    feed(&mut sandbox.command(&[&["policy", "explain"], args].concat()), payload.as_bytes())
}

/// Every file of the store.
pub fn everything(sandbox: &Sandbox) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = below(&sandbox.keep("")).into_iter().filter(|path| path.is_file());
    files.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}
