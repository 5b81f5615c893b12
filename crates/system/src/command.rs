//! The paths of teamkeep's programs and of others, and their spelling for a shell.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::env::{Env, absolute_dirs};
use crate::os;

/// The file name of the command line. Its subcommand `hook` is what hooks ran before they had a program of their own.
pub const NAME: &str = "teamkeep";
/// The file name of the program that hooks run.
pub const HOOK_NAME: &str = "teamkeep-hook";

/// The path of the command line: of the running program, or of the one beside the hook program that runs.
///
/// # Errors
/// The system does not report the path of the running program.
pub fn command_line() -> io::Result<PathBuf> {
    let running = std::env::current_exe()?;
    let is_hook = running.to_str().is_some_and(is_hook_program);
    Ok(if is_hook { beside(&running, NAME) } else { running })
}

/// A program in one of the [`absolute_dirs`] of the search path.
pub fn find(name: &str, env: &Env) -> Option<PathBuf> {
    candidates(name, env.search.as_deref()?).find(|path| is_executable(path))
}

/// The files that a program with this name can be, in each of the [`absolute_dirs`] of a search path. On Windows it can also be a
/// script, as npm installs one.
pub fn candidates(name: &str, search: &OsStr) -> impl Iterator<Item = PathBuf> {
    absolute_dirs(search).flat_map(move |dir| {
        os::PROGRAM_SUFFIXES.iter().map(move |suffix| dir.join(format!("{name}{suffix}")))
    })
}

/// The program with this name in the directory of another one.
pub fn beside(program: &Path, name: &str) -> PathBuf {
    program.with_file_name(file_of(name))
}

/// The name of the file of a program.
pub fn file_of(name: &str) -> String {
    format!("{name}{}", os::PROGRAM_SUFFIX)
}

/// Whether it is a file that this user can execute.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && os::access::can_execute(path)
}

/// Whether this is a path of the hook program, or its bare name. Its first argument is the event.
pub fn is_hook_program(command: &str) -> bool {
    file_name(command) == HOOK_NAME
}

/// The name of the program at a path, which is of this system or of another one.
pub fn file_name(command: &str) -> &str {
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name)
}

/// A word quoted for the user's shell, only if needed.
pub fn quoted(word: &str) -> String {
    with_quotes(word, os::shell::PLAIN, os::shell::QUOTE)
}

/// A program for the user's shell to run.
pub fn called(program: &Path) -> String {
    let word = quoted(&program.to_string_lossy());
    if word.starts_with('\'') { format!("{}{word}", os::shell::CALL) } else { word }
}

/// A word quoted, only if needed, for the shell in which Claude Code runs commands: on Windows too, if it has Git Bash.
pub fn posix_quoted(word: &str) -> String {
    with_quotes(word, "/_-.+,:@%=", "'\\''")
}

fn with_quotes(word: &str, plain: &str, quote: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || plain.contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', quote))
}
