//! An interrupted run ends what it started: a tmux server outlives the process that it was started by.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static CAME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on a signal is noted, and whatever waits stops waiting.
pub fn watch() -> Result<(), String> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, CAME.clone())
            .map_err(|error| format!("cannot watch signals: {error}"))?;
    }
    Ok(())
}

/// Whether the run was interrupted.
pub fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}
