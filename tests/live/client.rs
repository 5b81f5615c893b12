//! The real client, from the npm registry that npm is configured for; kept below the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::version::Version;

const PACKAGE: &str = "@anthropic-ai/claude-code";

/// Downloads a version unless it is there already, and finds the command that starts it.
///
/// npm holds what it downloads against the registry's own checksums. No script of the package is run.
pub fn fetch(version: Version, cache: &Path) -> Result<Vec<String>, String> {
    let root = cache.join(version.to_string());
    if let Some(command) = command_in(&root) {
        return Ok(command);
    }
    println!("downloading client {version}");
    std::fs::create_dir_all(&root).map_err(|error| format!("cannot make {}: {error}", root.display()))?;
    let done = Command::new("npm")
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix"])
        .arg(&root)
        .arg(format!("{PACKAGE}@{version}"))
        .status()
        .map_err(|error| format!("cannot run npm: {error}"))?;
    match command_in(&root) {
        Some(command) if done.success() => Ok(command),
        _ => Err(format!("cannot download {PACKAGE}@{version}: npm ended with {done}")),
    }
}

/// The program: one for this machine where the version has such, else the script for node.
fn command_in(root: &Path) -> Option<Vec<String>> {
    let modules = root.join("node_modules/@anthropic-ai");
    // npm writes this note last; without it a download was cut short.
    let whole = root.join("node_modules/.package-lock.json").exists();
    let spelled = |path: PathBuf| path.to_str().map(str::to_owned);
    let mut programs: Vec<PathBuf> = std::fs::read_dir(&modules)
        .ok()?
        .flatten()
        .map(|entry| entry.path().join("claude"))
        .filter(|path| path.is_file())
        .collect();
    programs.sort();
    let script = modules.join("claude-code/cli.js");
    match programs.into_iter().next() {
        Some(program) if whole => Some(vec![spelled(program)?]),
        None if whole && script.exists() => Some(vec!["node".to_owned(), spelled(script)?]),
        _ => None,
    }
}
