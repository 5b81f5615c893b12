//! Signals that end a process.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;

/// Windows ends a process without a signal. Ctrl-C ends it as by default.
pub fn note(_: &Arc<AtomicBool>, _: &Arc<AtomicBool>) {}

/// From now on, Ctrl-C is only for the child processes.
pub fn ignore_interrupt() {
    let _ = signal_hook::flag::register(SIGINT, Arc::default());
}
