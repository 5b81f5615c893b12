//! A hook call outlasts its client until its event is on record.
//!
//! A client that leaves ends the hooks that still run: 2.1.328 with SIGTERM, and with the pane that its terminal closes
//! comes SIGHUP. The payload was sent, and the call has what it needs: it takes the milliseconds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use rustix::process::Signal;

/// Whether one of these signals came.
static CAME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether one that comes now ends the process, as it would by default.
static ENDS: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on what would end the process is noted.
pub fn begin() {
    for signal in [Signal::HUP, Signal::TERM] {
        // Without it all is as it was. The note comes first: what ends the process ends it at once.
        let _ = signal_hook::flag::register(signal.as_raw(), CAME.clone());
        let _ = signal_hook::flag::register_conditional_default(signal.as_raw(), ENDS.clone());
    }
}

/// What had to be kept is kept: whether the client has told the process to end meanwhile, and hears no answer. If so it
/// is still outlasted, for what is left to be put in order; if not, a signal ends the process again.
pub fn was_told_to_end() -> bool {
    ENDS.store(true, Ordering::SeqCst);
    let came = CAME.load(Ordering::SeqCst);
    if came {
        ENDS.store(false, Ordering::SeqCst);
    }
    came
}
