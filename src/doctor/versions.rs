//! Checks that the hooks' program, the one on the search path and this one have the same version.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use super::program;
use crate::process::supervise::{Outcome, Run, Until};
use crate::settings::command::{is_same, on_search_path};

/// Time limit for `--version`.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum output in bytes.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// The version of this program.
const OWN: &str = env!("CARGO_PKG_VERSION");

/// Asks each other program that may be run.
pub fn check(facts: &Facts<'_>) -> Finding {
    let running = std::env::current_exe().unwrap_or_default();
    // By the path that the user knows.
    let running = on_search_path(facts.env).filter(|found| is_same(found, &running)).unwrap_or(running);
    let hooks = program::named(facts).into_iter().filter(|one| one.is_trusted).filter_map(|one| one.path);
    let mut others: Vec<PathBuf> =
        hooks.chain(on_search_path(facts.env)).filter(|path| path.is_file()).collect();
    others.retain(|path| !is_same(path, &running));
    let mut told: Vec<(PathBuf, String)> = Vec::new();
    for path in others {
        if !told.iter().any(|(known, _)| is_same(known, &path)) {
            let version = version_of(facts, &path);
            told.push((path, version));
        }
    }
    weigh(&running, &told, &facts.install())
}

fn weigh(running: &Path, others: &[(PathBuf, String)], install: &str) -> Finding {
    if others.is_empty() {
        return Finding::ok(Code::Versions, format!("teamkeep {OWN} is the only installed version"));
    }
    let all: Vec<String> =
        others.iter().map(|(path, version)| format!("{} is {version}", path.display())).collect();
    let what = format!("{} is {OWN}, {}", running.display(), all.join(", "));
    if others.iter().all(|(_, version)| version == OWN) {
        return Finding::ok(Code::Versions, what);
    }
    let mend = format!("keep only the newest version, then: {install}");
    Finding::warn(Code::Versions, format!("two versions: {what}")).with_fix(mend)
}

fn version_of(facts: &Facts<'_>, path: &Path) -> String {
    let mut command = Command::new(path);
    command.arg("--version").current_dir("/").env_clear();
    command.envs(facts.env.search.as_deref().map(|search| ("PATH", search)));
    let run = Run { until: Until::OutputClosed, ..Run::new(command, TIMEOUT) };
    match run.collect(MAX_OUTPUT_BYTES) {
        Ok((Outcome::Ended(status), out)) if status.success() => {
            let out = String::from_utf8_lossy(&out);
            let version = out.strip_prefix("teamkeep ").and_then(|rest| rest.split_whitespace().next());
            version.unwrap_or("not teamkeep").to_owned()
        }
        Ok((Outcome::TimedOut, _)) => "not responding".to_owned(),
        _ => "failing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn versions_are_told_where_they_differ() {
        let weigh =
            |others: &[(PathBuf, String)]| weigh(Path::new("/a/teamkeep"), others, "teamkeep install");
        let other = |version: &str| [(PathBuf::from("/b/teamkeep"), version.to_owned())];
        assert_eq!(weigh(&[]).verdict, Verdict::Ok);
        assert_eq!(weigh(&other(OWN)).verdict, Verdict::Ok);
        let finding = weigh(&other("0.0.9"));
        assert_eq!(finding.verdict, Verdict::Warn);
        assert_eq!(finding.what, format!("two versions: /a/teamkeep is {OWN}, /b/teamkeep is 0.0.9"));
    }
}
