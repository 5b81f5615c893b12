//! A network namespace with nothing but a loopback interface in it: nothing of a run reaches a network. And a mount namespace
//! in which `/etc` is a copy and `/var/lib` is empty: managed settings of this machine do not apply to a run, and those of a
//! run do not apply to this machine.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// What must be installed.
const PROGRAMS: [&str; 6] = ["npm", "node", "tmux", "git", "unshare", "ip"];

/// Says what is missing on this machine.
pub fn missing() -> Result<(), String> {
    let runs = |program: &str, arguments: &[&str]| {
        let done = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    };
    let absent = PROGRAMS.iter().filter(|program| !runs("sh", &["-c", &format!("command -v {program}")]));
    let absent: Vec<&str> = absent.copied().collect();
    if !absent.is_empty() {
        return Err(format!("a live run needs {}: not on PATH", absent.join(", ")));
    }
    if !runs("unshare", &[OPTIONS, &["true"]].concat()) {
        return Err(
            "a live run needs a network namespace of its own, and the system refuses one (unshare --net \
                    --map-root-user)\nhint: run it as root, or where users may make namespaces"
                .to_owned(),
        );
    }
    Ok(())
}

const OPTIONS: &[&str] = &["--net", "--mount", "--map-root-user"];

/// Puts the copy and the empty directory in their places. Files that only root can read may be missing in the copy.
const MOUNTS: &str = r#"mkdir -p "$0" && mount -t tmpfs none "$0" && { cp -a /etc/. "$0" 2>/dev/null; true; } &&
rm -rf "$0/claude-code" "$0/teamkeep" && mount --bind "$0" /etc && mount -t tmpfs none /var/lib"#;

/// Runs this program again, in a namespace of its own.
pub fn enter(arguments: &[String]) -> Result<ExitCode, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut command = Command::new("unshare");
    command.args(OPTIONS).arg(program).args(arguments).arg("--inside");
    let status = command.status().map_err(|error| format!("cannot run unshare: {error}"))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Brings the loopback interface up, and makes sure that it is the only one. `copy` is where the copy of `/etc` can be.
pub fn close(copy: &Path) -> Result<(), String> {
    let mounted = Command::new("sh").args(["-c", MOUNTS]).arg(copy).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return Err("cannot replace /etc and /var/lib".to_owned());
    }
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    if !up.is_ok_and(|status| status.success()) {
        return Err("cannot bring the loopback interface up".to_owned());
    }
    let known = std::fs::read_to_string("/proc/self/net/dev")
        .map_err(|error| format!("cannot list interfaces: {error}"))?;
    let names = known.lines().skip(2).filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim());
    let others: Vec<&str> = names.filter(|name| *name != "lo").collect();
    if others.is_empty() { Ok(()) } else { Err(format!("there is a network: {}", others.join(", "))) }
}
