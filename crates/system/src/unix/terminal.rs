//! The terminal of this process.

use std::io::{self, Stdin};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::tcgetwinsize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

use crate::process::TerminalSignal;

/// The columns and rows of the terminal at stdout.
pub fn size() -> Option<(usize, usize)> {
    size_of(io::stdout())
}

/// The columns and rows of the terminal at stderr.
pub fn stderr_size() -> Option<(usize, usize)> {
    size_of(io::stderr())
}

fn size_of(stream: impl AsFd) -> Option<(usize, usize)> {
    let size = tcgetwinsize(stream).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0)?;
    Some((size.ws_col.into(), size.ws_row.into()))
}

/// From now on, signals are passed to `send` by a thread that ends with the process.
pub fn send_signals(send: impl Fn(TerminalSignal) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH])?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            send(match signal {
                SIGINT => TerminalSignal::Interrupt,
                SIGTSTP => TerminalSignal::Stop,
                SIGWINCH => TerminalSignal::Resized,
                other => TerminalSignal::End(other),
            });
        }
    });
    Ok(())
}

/// Waits for input of the terminal. Returns whether there is some, or the terminal is gone.
pub fn wait_for_input(stdin: &Stdin) -> io::Result<bool> {
    let mut input = [PollFd::new(stdin, PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut input, None))?;
    Ok(input[0].revents() == PollFlags::IN)
}

/// Stops this process until it is continued.
pub fn stop() -> io::Result<()> {
    signal_hook::low_level::emulate_default_handler(SIGTSTP)
}

/// Sends this process group the signal that Ctrl-Z causes.
pub fn stop_group() {
    let _ = kill_current_process_group(Signal::TSTP);
}
