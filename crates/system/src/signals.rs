//! Signals during a hook call: they do not end it before the event is recorded, nor while a child process runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use crate::os;

/// A signal to a program on the whole terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalSignal {
    /// Ctrl-C.
    Interrupt,
    /// Stop until the shell continues the process.
    Stop,
    /// The terminal has another size.
    Resized,
    /// End, by the signal with this number.
    End(i32),
}

impl TerminalSignal {
    /// The terminal is gone.
    pub const HANGUP: TerminalSignal = TerminalSignal::End(1);
}

/// Whether a signal arrived.
static RECEIVED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether a signal that arrives now ends the process, as by default.
static ENDS_PROCESS: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on, signals that would end the process are only noted. When Claude Code exits, it ends the hooks that still run:
/// 2.1.328 sends SIGTERM, and a closed pane also causes SIGHUP. The payload has arrived by then, and the call needs only a few
/// more milliseconds.
pub fn defer() {
    os::process::note_signals(&RECEIVED, &ENDS_PROCESS);
}

/// Whether a signal arrived, so that no response will be read: then further signals are ignored while the process cleans up.
/// Otherwise, the next signal ends the process. Call this when the event is recorded.
pub fn termination_requested() -> bool {
    ENDS_PROCESS.store(true, Ordering::SeqCst);
    let received = was_signalled();
    if received {
        ENDS_PROCESS.store(false, Ordering::SeqCst);
    }
    received
}

pub(super) fn was_signalled() -> bool {
    RECEIVED.load(Ordering::SeqCst)
}

/// Until it is dropped, signals are only noted: a child runs that must not outlive this process.
pub(super) struct HeldSignals {
    /// The former value of [`ENDS_PROCESS`].
    ends_process: bool,
}

impl HeldSignals {
    pub(crate) fn hold() -> HeldSignals {
        HeldSignals { ends_process: ENDS_PROCESS.swap(false, Ordering::SeqCst) }
    }
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        if self.ends_process {
            termination_requested();
        }
    }
}
