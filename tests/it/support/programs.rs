//! Programs that a test writes and runs.
//!
//! Linux does not run a file that a process has open for writing (`ETXTBSY`). A child that another test has just forked has
//! all open files of this process, so another process writes the program.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program.
pub fn write_program(path: &Path, content: impl AsRef<[u8]>) {
    let mut command = Command::new("install");
    let mut child =
        command.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(content.as_ref()).unwrap();
    assert!(child.wait().unwrap().success(), "{}", path.display());
}

/// Copies a program.
pub fn copy_program(from: &Path, to: &Path) {
    let status = Command::new("install").args(["-m", "755"]).arg(from).arg(to).status().unwrap();
    assert!(status.success(), "{}", to.display());
}

/// Copies the program under test.
pub fn copy_teamkeep(to: &Path) {
    copy_program(Path::new(env!("CARGO_BIN_EXE_teamkeep")), to);
}
