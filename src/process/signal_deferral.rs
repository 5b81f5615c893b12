//! Keeps a hook call running until its event is recorded, even if Claude Code ends it.
//!
//! When Claude Code exits, it ends the hooks that still run: 2.1.328 sends SIGTERM, and a closed pane also causes
//! SIGHUP. The payload has arrived completely by then, so the call needs only a few more milliseconds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use rustix::process::Signal;

/// Whether one of these signals arrived.
static CAME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether a signal that arrives now ends the process, as by default.
static ENDS: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on, signals that would end the process are only noted.
pub fn defer_signals() {
    for signal in [Signal::HUP, Signal::TERM] {
        // If registration fails, the default behavior remains. Register the note first: the second handler may end the
        // process.
        let _ = signal_hook::flag::register(signal.as_raw(), CAME.clone());
        let _ = signal_hook::flag::register_conditional_default(signal.as_raw(), ENDS.clone());
    }
}

/// Returns whether a signal arrived, so that no response will be read. If so, further signals are still ignored while
/// the process cleans up. If not, the next signal ends the process. Call this when the event is recorded.
pub fn termination_requested() -> bool {
    ENDS.store(true, Ordering::SeqCst);
    let came = CAME.load(Ordering::SeqCst);
    if came {
        ENDS.store(false, Ordering::SeqCst);
    }
    came
}
