//! Signals that end a process.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::Signal;

/// Notes each signal in `received`, and lets it end the process only while `ends_process` is set.
pub fn note(received: &Arc<AtomicBool>, ends_process: &Arc<AtomicBool>) {
    for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
        // If registration fails, the default behavior remains. Register the note first: the second handler may end the
        // process.
        let _ = signal_hook::flag::register(signal.as_raw(), received.clone());
        let _ = signal_hook::flag::register_conditional_default(signal.as_raw(), ends_process.clone());
    }
}

/// From now on, Ctrl-C is only for the child processes.
pub fn ignore_interrupt() {
    let _ = signal_hook::flag::register(Signal::INT.as_raw(), Arc::default());
}
