//! Diagnostics files: teamkeep's own errors, because a hook's stderr is rarely seen.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use tracing_appender::rolling::{RollingFileAppender, Rotation};

use crate::clock::Clock;
use crate::{fs, os};
use teamkeep_model::unicode::{self, escape};

/// How a message begins that only notes a slow hook call. Notes of errors come first.
pub const SLOW_CALL: &str = "slow hook call: ";

const PREFIX: &str = "teamkeep";
const SUFFIX: &str = "log";
const MAX_KEPT: usize = 7;
const MAX_CHARS: usize = 2_000;

/// Appends a line `<time> [<pid>] <message>` to the day's file. Ignores errors, as they cannot be reported anywhere.
pub fn note(dir: &Path, clock: &Clock, message: &str) {
    let _ = write(dir, clock, message);
}

fn write(dir: &Path, clock: &Clock, message: &str) -> Option<()> {
    fs::private_dir(dir).ok()?;
    // The appender names the file by the system clock, not by `TEAMKEEP_NOW`.
    let path = dir.join(format!("{PREFIX}.{}.{SUFFIX}", Clock::default().now().date()));
    // The appender would wait for a FIFO and follow links.
    if !dir.symlink_metadata().ok()?.is_dir() {
        return None;
    }
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return None,
        Err(_) => remove_old(dir),
    }
    let builder = RollingFileAppender::builder().rotation(Rotation::DAILY);
    let mut file = builder.filename_prefix(PREFIX).filename_suffix(SUFFIX).build(dir).ok()?;
    let short: String = message.chars().take(MAX_CHARS).collect();
    let cut = if short.len() < message.len() { "…" } else { "" };
    let safe: String = unicode::escape(&short).chars().take(MAX_CHARS).collect();
    let line = format!("{} [{}] {safe}{cut}\n", clock.now(), std::process::id());
    file.write_all(line.as_bytes()).ok()?;
    // The appender does not set modes; the directory is already private.
    os::access::make_private(&path).ok()
}

/// Makes room for a new file. The appender would print errors to stderr, which belongs to the hook's response.
fn remove_old(dir: &Path) {
    let names = fs::entries(dir).map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_ours = |name: &String| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    let mut names: Vec<String> = names.filter(is_ours).collect();
    names.sort();
    names.truncate(names.len().saturating_sub(MAX_KEPT - 1));
    names.iter().for_each(|name| drop(std::fs::remove_file(dir.join(name))));
}

/// The exit code of a hook call. Claude Code continues as if there were no hook.
pub const HOOK_PANIC_EXIT_CODE: i32 = 1;
pub const COMMAND_PANIC_EXIT_CODE: i32 = 70;

static EXIT_CODE: AtomicI32 = AtomicI32::new(COMMAND_PANIC_EXIT_CODE);

/// Sets the panic hook: call `restore`, print the message on one line and end the process with this code.
#[allow(
    clippy::exit,
    reason = "a panic cannot return, and its own exit codes mean something else to Claude Code"
)]
pub fn exit_on_panic(code: i32, restore: fn()) {
    EXIT_CODE.store(code, Ordering::Relaxed);
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        restore();
        let message = panic.payload_as_str().unwrap_or("no message");
        let line = format!("error: bug in teamkeep{place}: {message}");
        let _ = writeln!(std::io::stderr(), "{}", escape(&line));
        std::process::exit(EXIT_CODE.load(Ordering::Relaxed));
    }));
}

/// Runs a function in which a panic ends the process with another code.
pub fn with_panic_exit_code<T>(code: i32, run: impl FnOnce() -> T) -> T {
    let before = EXIT_CODE.swap(code, Ordering::Relaxed);
    let result = run();
    EXIT_CODE.store(before, Ordering::Relaxed);
    result
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn files(dir: &Path) -> Vec<std::path::PathBuf> {
        let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    #[cfg(unix)]
    #[test]
    fn a_message_is_one_bounded_line_in_a_private_file() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("store/diagnostics");
        let clock = Clock::new(Some("2026-02-03T04:05:06.789Z"));
        note(&dir, &clock, "a\nb\u{1b}[31m");
        note(&dir, &clock, &"ü".repeat(5_000));
        let files = files(&dir);
        let text = std::fs::read_to_string(&files[0]).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let pid = std::process::id();
        assert_eq!(lines[0], format!("2026-02-03T04:05:06.789Z [{pid}] a\\nb\\u{{1b}}[31m"));
        assert!(lines[1].ends_with("üü…") && lines[1].chars().count() < 2_100);
        assert_eq!((lines.len(), files.len()), (2, 1));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&files[0]), mode(&dir)), (0o600, 0o700));
    }

    #[test]
    fn seven_days_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        for day in 10..20 {
            std::fs::write(dir.path().join(format!("teamkeep.2020-01-{day}.log")), "").unwrap();
        }
        std::fs::write(dir.path().join("mine.txt"), "").unwrap();
        for _ in 0..3 {
            note(dir.path(), &Clock::default(), "again");
            assert_eq!(files(dir.path()).len(), MAX_KEPT + 1, "and what is not ours");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_a_regular_file_in_a_directory_is_written() {
        let root = tempfile::tempdir().unwrap();
        let (dir, elsewhere) = (root.path().join("diagnostics"), root.path().join("elsewhere"));
        note(&dir, &Clock::default(), "first");
        let [file] = &files(&dir)[..] else { panic!() };
        std::fs::remove_file(file).unwrap();
        std::os::unix::fs::symlink(&elsewhere, file).unwrap();
        note(&dir, &Clock::default(), "a link");
        std::fs::remove_file(file).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, file, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        note(&dir, &Clock::default(), "a FIFO, which has no reader");
        std::fs::remove_dir_all(&dir).unwrap();
        std::fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &dir).unwrap();
        note(&dir, &Clock::default(), "a linked directory");
        assert_eq!(files(&elsewhere), Vec::<std::path::PathBuf>::new());
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_no_failure() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        note(&dir.path().join("file/diagnostics"), &Clock::default(), "lost");
    }
}
