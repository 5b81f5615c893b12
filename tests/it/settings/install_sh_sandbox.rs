//! A clone for `install.sh`, with a cargo that hands out this program.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::install_home::{CommandResult, Home, MINE, result};

pub const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A home with a clone in it. This program is on the search path only where install.sh puts it.
pub struct Clone {
    pub home: Home,
    pub dir: PathBuf,
}

impl Clone {
    pub fn new() -> Clone {
        let home = Home::with(MINE);
        let dir = home.dir.path().canonicalize().unwrap();
        for path in ["clone/.cargo", "clone/scripts"] {
            std::fs::create_dir_all(dir.join(path)).unwrap();
        }
        for path in ["install.sh", ".cargo/static.toml", "scripts/static.sh", "scripts/rustc_for_hook.sh"] {
            std::fs::copy(Path::new(ROOT).join(path), dir.join("clone").join(path)).unwrap();
        }
        for tool in ["cargo", "rustc"] {
            symlink(Path::new(ROOT).join("tests/fixtures").join(tool), dir.join("bin").join(tool)).unwrap();
        }
        for program in ["teamkeep", "teamkeep-hook"] {
            let built = dir.join("bin").join(format!("{program}.built"));
            std::fs::rename(dir.join("bin").join(program), built).unwrap();
        }
        Clone { home, dir }
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.dir.join(path)
    }

    pub fn command(&self, script: &str, args: &[&str]) -> Command {
        self.checking(script, &[&["--no-check"], args].concat())
    }

    /// The script, which checks at the end what it has installed.
    pub fn checking(&self, script: &str, args: &[&str]) -> Command {
        let mut command = Command::new("/bin/sh");
        // Both streams as one: the script speaks on stdout, the program on stderr.
        command
            .args(["-c", "exec \"${INSTALL_SH:-/bin/sh}\" \"$0\" \"$@\" >&2"])
            .arg(self.at(script))
            .args(args);
        command.env_clear().current_dir(&self.dir);
        command.env("HOME", &self.dir).env("TEAMKEEP_NOW", "2026-02-03T04:05:06.789Z");
        let search =
            format!("{}:{}:/usr/bin:/bin", self.at("bin").display(), self.at(".local/bin").display());
        command.env("PATH", search);
        command
    }

    pub fn run(&self, args: &[&str]) -> CommandResult {
        result(&self.dir, &mut self.command("clone/install.sh", args))
    }

    /// Runs it and expects success.
    pub fn ok(&self, args: &[&str]) -> String {
        let result = self.run(args);
        assert_eq!(result.code, Some(0), "{args:?}: {}", result.err);
        result.err
    }

    /// Runs it and expects that something is left to do.
    pub fn fails(&self, args: &[&str]) -> String {
        let result = self.run(args);
        assert_eq!(result.code, Some(1), "{args:?}: {}", result.err);
        result.err
    }
}
