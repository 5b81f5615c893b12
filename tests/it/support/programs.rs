//! Programs that a test writes, copies and runs.
//!
//! Linux does not run a file that a process has open for writing (`ETXTBSY`). A child that another test has just forked has
//! all open files of this process, so another process writes the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use teamkeep_system::os;

const TEAMKEEP: &str = env!("CARGO_BIN_EXE_teamkeep");
const HOOK: &str = env!("CARGO_BIN_EXE_teamkeep-hook");

/// The file name of a program on this system.
pub fn program_name(name: &str) -> String {
    format!("{name}{}", os::PROGRAM_SUFFIX)
}

/// The beginning of the command that opens a file in an editor. On Windows, it has no line.
pub fn editor(line: Option<usize>) -> String {
    let line = line.map(|line| format!(" +{line}")).unwrap_or_default();
    if cfg!(windows) { "notepad".to_owned() } else { format!("${{EDITOR:-vi}}{line}") }
}

/// Names the program `teamkeep` in commands that call it by its path.
pub fn without_program_path(text: &str) -> String {
    // In wine, the path that Cargo knows is not that of Windows.
    let this = std::env::current_exe().unwrap();
    let program = this.parent().and_then(Path::parent).unwrap().join(program_name("teamkeep"));
    text.replace(program.to_str().unwrap(), "teamkeep")
}

/// Writes a shell script.
#[cfg(unix)]
pub fn write_program(path: &Path, content: impl AsRef<[u8]>) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(path);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), content.as_ref()).unwrap();
    assert!(child.wait().unwrap().success(), "{}", path.display());
}

fn copy(program: &str, to: &Path) {
    #[cfg(unix)]
    assert!(Command::new("cp").args([program.as_ref(), to]).status().unwrap().success(), "{}", to.display());
    #[cfg(windows)]
    assert!(std::fs::copy(program, to).is_ok(), "{}", to.display());
}

/// Copies the command line.
pub fn copy_teamkeep(to: &Path) {
    copy(TEAMKEEP, to);
}

/// Copies the command line and the hook program into a directory.
pub fn copy_programs(dir: &Path) {
    for (program, name) in [(TEAMKEEP, "teamkeep"), (HOOK, "teamkeep-hook")] {
        copy(program, &dir.join(program_name(name)));
    }
}

/// Puts the command line and the hook program into a directory: as links, or as copies, because Windows lets not every user
/// create links.
pub fn link_programs(dir: &Path) {
    #[cfg(unix)]
    for (program, name) in [(TEAMKEEP, "teamkeep"), (HOOK, "teamkeep-hook")] {
        std::os::unix::fs::symlink(program, dir.join(name)).unwrap();
    }
    #[cfg(windows)]
    copy_programs(dir);
}

/// Puts a Claude Code into a directory that prints the file `claude.says` beside it.
pub fn put_client(dir: &Path) -> PathBuf {
    #[cfg(unix)]
    {
        // A link: a script written here would be busy while another test's child still has it open.
        let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/claude");
        let _ = std::os::unix::fs::symlink(client, dir.join("claude"));
        dir.join("claude")
    }
    #[cfg(windows)]
    {
        std::fs::write(dir.join("claude.cmd"), "@type \"%~dp0claude.says\"\r\n").unwrap();
        dir.join("claude.cmd")
    }
}

/// A process that does nothing until it is killed.
pub fn waiting_process() -> Command {
    let (program, args): (_, &[_]) =
        if cfg!(windows) { ("cmd", &["/d", "/c", "pause"]) } else { ("sleep", &["600"]) };
    let mut command = Command::new(program);
    // A process that waits for input.
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null());
    command
}

/// Passes the variables on that every program needs: Windows finds its libraries for the network with one.
pub fn pass_system_variables(command: &mut Command) {
    command.envs(std::env::vars_os().filter(|(name, _)| cfg!(windows) && name == "SystemRoot"));
}
