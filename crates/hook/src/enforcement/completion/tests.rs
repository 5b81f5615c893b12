//! Checks as a hook call runs them: real commands in real repositories.

#[cfg(unix)]
mod commands;
mod output;
#[cfg(unix)]
mod places;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::{Check, CheckResult, run};

/// A worktree, and outside of it a file that counts runs.
struct Bed(TempDir);

impl Bed {
    fn new() -> Bed {
        let bed = Bed(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(bed.tree().join("sub")).unwrap();
        bed
    }

    fn repository() -> Bed {
        let bed = Bed::new();
        bed.write("tracked", "one");
        bed.write(".gitignore", "ignored\n");
        bed.git(&["init", "-q"]);
        bed.git(&["add", "-A"]);
        bed.git(&["commit", "-qm", "first"]);
        bed
    }

    fn tree(&self) -> PathBuf {
        self.0.path().join("tree")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.tree().join(name), text).unwrap();
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.args(args).current_dir(self.tree()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A command that adds a line to a file outside the worktree at each run.
    fn counted(&self, then: &str) -> Check {
        check(&format!("echo ran >> {}; {then}", self.0.path().join("runs").display()))
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.0.path().join("runs")).unwrap_or_default().lines().count()
    }

    fn run_in(&self, cwd: &Path, checks: &[&Check]) -> Vec<CheckResult> {
        run(checks, cwd, Duration::from_secs(60))
    }

    fn run(&self, check: &Check) -> CheckResult {
        self.run_in(&self.tree(), &[check]).remove(0)
    }
}

fn check(run: &str) -> Check {
    let any = || "*".to_owned();
    let timeout = Duration::from_secs(300);
    Check { run: run.to_owned(), subject: any(), owner: any(), team: any(), timeout }
}
