//! The user's limits, which end a process unless it asks otherwise.

use std::sync::Arc;

/// Has a write past the user's limit of file sizes (`ulimit -f`) fail as on a full disk: by default the process is
/// killed, and nobody is told why.
pub fn outlive_limits() {
    // The handler does nothing that matters: it is there so that the write returns.
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::default());
}
