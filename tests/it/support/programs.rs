//! Programs that a test writes and runs.
//!
//! Linux does not run a file that a process has open for writing (`ETXTBSY`). A child that another test has just forked has
//! all open files of this process, so another process writes the program.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program.
pub fn write_program(path: &Path, content: impl AsRef<[u8]>) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(path);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(content.as_ref()).unwrap();
    assert!(child.wait().unwrap().success(), "{}", path.display());
}

/// Copies the command line.
pub fn copy_teamkeep(to: &Path) {
    let status = Command::new("cp").arg(env!("CARGO_BIN_EXE_teamkeep")).arg(to).status().unwrap();
    assert!(status.success(), "{}", to.display());
}

/// Copies the command line and the hook program.
pub fn copy_programs(to: &Path) {
    let programs = [env!("CARGO_BIN_EXE_teamkeep"), env!("CARGO_BIN_EXE_teamkeep-hook")];
    let status = Command::new("cp").args(programs).arg(to).status().unwrap();
    assert!(status.success(), "{}", to.display());
}
