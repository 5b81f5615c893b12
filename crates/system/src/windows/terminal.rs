//! The terminal of this process.

use std::io::{self, Stdin};
use std::thread;
use std::time::Duration;

use terminal_size::{Height, Width, terminal_size_of};

use crate::process::TerminalSignal;

/// The interval for checking the size of the terminal: no signal reports a change.
const SIZE_INTERVAL: Duration = Duration::from_millis(250);

/// The columns and rows of the terminal at stdout.
pub fn size() -> Option<(usize, usize)> {
    terminal_size_of(io::stdout()).map(|(Width(columns), Height(rows))| (columns.into(), rows.into()))
}

/// The columns and rows of the terminal at stderr.
pub fn stderr_size() -> Option<(usize, usize)> {
    terminal_size_of(io::stderr()).map(|(Width(columns), Height(rows))| (columns.into(), rows.into()))
}

/// From now on, changes of the size are passed to `send` by a thread that ends with the process.
pub fn send_signals(send: impl Fn(TerminalSignal) + Send + 'static) -> io::Result<()> {
    let mut last = size();
    thread::spawn(move || {
        loop {
            thread::sleep(SIZE_INTERVAL);
            let now = size();
            if now != last {
                send(TerminalSignal::Resized);
            }
            last = now;
        }
    });
    Ok(())
}

/// Reading the terminal waits for its input itself.
pub fn wait_for_input(_: &Stdin) -> io::Result<bool> {
    Ok(true)
}

/// A process cannot be stopped.
pub fn stop() -> io::Result<()> {
    Ok(())
}

pub fn stop_group() {}
