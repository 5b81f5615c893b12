//! Runs that are exported and imported, and what is in a bundle.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::client_files::Lead;
use crate::support::sandbox::{CommandResult, Sandbox};

pub const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub const TEAM: &str = "session-aaaaaaaa";

/// A run that has ended, with a transcript.
pub fn ended(prompt: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let lead = Lead::of(&sandbox, SESSION);
    lead.roster(1_000, &["alice"]);
    lead.task("1", "pending", None);
    lead.start("startup");
    lead.hook("UserPromptSubmit", json!({"prompt": prompt}));
    lead.says("user", json!(prompt));
    lead.tool("u1", "SendMessage", &json!({"to": "alice", "message": prompt}), json!({"success": true}));
    lead.task("1", "completed", Some("alice"));
    lead.hook("Stop", json!({}));
    lead.erase();
    lead.end("other");
    sandbox.finish();
    sandbox
}

pub fn file(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.home().join(name)
}

pub fn export(sandbox: &Sandbox, run: &str, name: &str, more: &[&str]) -> PathBuf {
    let path = file(sandbox, name);
    let result = sandbox.run(&[&["export", run, "-o", path.to_str().unwrap()], more].concat());
    assert_eq!((result.code, result.out.as_str()), (Some(0), ""), "{}", result.err);
    path
}

pub fn import(sandbox: &Sandbox, path: &Path) -> CommandResult {
    sandbox.run(&["import", path.to_str().unwrap()])
}

/// Everything that can be asked about the last run.
pub fn outputs(sandbox: &Sandbox) -> Vec<String> {
    let asked: [&[&str]; 5] = [
        &["log", "latest", "--json"],
        &["log", "latest", "--all", "--full"],
        &["teams", "--all", "--json"],
        &["show", "latest"],
        &["show", "latest", "--json"],
    ];
    asked.map(|args| sandbox.printed(args)).into()
}

/// The entries of a bundle by name, the manifest included.
pub fn unpacked(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()));
    let entries = tar.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().to_str().unwrap().to_owned(), bytes)
    });
    entries.collect()
}
