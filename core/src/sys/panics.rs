//! A panic prints one line and ends the process with a code that blocks no tool call.

use std::io::Write;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::sys::unicode::escape;

/// The exit code of a hook call. Claude Code continues as if there were no hook.
pub const IN_A_HOOK: i32 = 1;
/// The exit code of a command.
pub const IN_A_COMMAND: i32 = 70;

/// The exit code of a panic.
static EXIT_CODE: AtomicI32 = AtomicI32::new(IN_A_COMMAND);

/// Sets the panic hook: call `restore`, print the message on one line and end the process with this code.
#[allow(
    clippy::exit,
    reason = "a panic cannot return, and its own exit codes mean something else to Claude Code"
)]
pub fn end_with(code: i32, restore: fn()) {
    EXIT_CODE.store(code, Ordering::Relaxed);
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        let message = panic.payload();
        let message = message
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| message.downcast_ref::<String>().map(String::as_str));
        restore();
        let message = message.unwrap_or("no message");
        let line = format!("error: bug in teamkeep{place}: {message}");
        let _ = writeln!(std::io::stderr(), "{}", escape(&line));
        std::process::exit(EXIT_CODE.load(Ordering::Relaxed));
    }));
}

/// Runs a function in which a panic ends the process with another code.
pub fn with_code<T>(code: i32, run: impl FnOnce() -> T) -> T {
    let before = EXIT_CODE.swap(code, Ordering::Relaxed);
    let result = run();
    EXIT_CODE.store(before, Ordering::Relaxed);
    result
}
