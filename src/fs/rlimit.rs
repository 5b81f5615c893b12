//! Resource limits that end a process by default.

use std::sync::Arc;

/// Makes a write beyond the file size limit (`ulimit -f`) fail like a write to a full disk. By default the signal kills
/// the process without a message.
pub fn ignore_sigxfsz() {
    // The flag is never read: with a handler installed, the write returns an error.
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::default());
}
