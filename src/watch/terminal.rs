//! The whole terminal as a screen of lines. Only lines that changed are written.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, PipeReader, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::key_reader::{Key, KeyParser};

/// The terminal before the screen was opened, so that a panic can restore it.
static BEFORE: Mutex<Option<Option<Termios>>> = Mutex::new(None);

/// Switches to the alternate screen without a cursor, and back.
const OPEN: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const CLOSE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";
/// Output between these is shown at once (synchronized output), if the terminal supports it.
const TOGETHER: (&str, &str) = ("\x1b[?2026h", "\x1b[?2026l");

/// A signal that arrives just before a wait is noticed after this time.
const MAX_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputEvent {
    Nothing,
    Keys(Vec<Key>),
    /// The terminal was resized or resumed.
    Change,
    /// A signal that ends the process.
    End(i32),
}

/// The terminal while it shows a screen. Dropping it restores the terminal.
#[derive(Debug)]
pub struct Screen {
    shown: Vec<String>,
    styled: bool,
    keys: KeyParser,
    ends: Arc<AtomicUsize>,
    resized: Arc<AtomicBool>,
    stopped: Arc<AtomicBool>,
}

impl Screen {
    pub fn open() -> io::Result<Screen> {
        let mut screen = Screen {
            shown: Vec::new(),
            styled: anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
            keys: KeyParser::default(),
            ends: Arc::default(),
            resized: Arc::default(),
            stopped: Arc::default(),
        };
        for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
            let number = signal.as_raw();
            signal_hook::flag::register_usize(number, screen.ends.clone(), number.unsigned_abs() as usize)?;
        }
        signal_hook::flag::register(Signal::WINCH.as_raw(), screen.resized.clone())?;
        signal_hook::flag::register(Signal::TSTP.as_raw(), screen.stopped.clone())?;
        screen.enter()?;
        Ok(screen)
    }

    fn enter(&mut self) -> io::Result<()> {
        let stdin = io::stdin();
        let modes = stdin.is_terminal().then(|| tcgetattr(&stdin).ok()).flatten();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(modes.clone());
        if let Some(mut modes) = modes {
            // Keys are read one by one without an echo; Ctrl-C and Ctrl-Z still send signals.
            modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            tcsetattr(&stdin, OptionalActions::Now, &modes)?;
        }
        self.shown.clear();
        put(OPEN)
    }

    pub fn size(&self) -> (usize, usize) {
        size().unwrap_or((80, 24))
    }

    /// Shows these lines from the top and clears the rest. A line must be narrower than the terminal: terminals disagree
    /// about where the cursor is after the last column.
    pub fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        let mut text = String::new();
        for place in 0..lines.len().max(self.shown.len()) {
            let line = lines.get(place).map_or("", String::as_str);
            if self.shown.get(place).map(String::as_str) != Some(line) {
                let plain = || anstream::adapter::strip_str(line).to_string();
                let line = if self.styled { line.to_owned() } else { plain() };
                let _ = write!(text, "\x1b[{};1H{line}\x1b[0m\x1b[K", place + 1);
            }
        }
        self.shown = lines.to_vec();
        if text.is_empty() { Ok(()) } else { put(&format!("{}{text}{}", TOGETHER.0, TOGETHER.1)) }
    }

    /// Waits for a key, a signal, or a byte in `wake`, at most so long.
    pub fn wait(&mut self, time: Duration, wake: &mut PipeReader) -> io::Result<InputEvent> {
        let stdin = io::stdin();
        let time = Timespec::try_from(time.min(MAX_WAIT)).ok();
        let (polled, ready) = {
            let mut ends = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&*wake, PollFlags::IN)];
            let polled = poll(&mut ends, time.as_ref());
            (polled, ends.map(|end| !end.revents().is_empty()))
        };
        let signal = self.ends.load(Ordering::Relaxed);
        if signal != 0 {
            return Ok(InputEvent::End(i32::try_from(signal).unwrap_or_default()));
        }
        if self.stopped.swap(false, Ordering::Relaxed) {
            close();
            signal_hook::low_level::emulate_default_handler(Signal::TSTP.as_raw())?;
            self.enter()?;
            return Ok(InputEvent::Change);
        }
        if self.resized.swap(false, Ordering::Relaxed) {
            self.shown.clear();
            put("\x1b[2J")?;
            return Ok(InputEvent::Change);
        }
        if !matches!(polled, Ok(1..)) {
            return Ok(InputEvent::Nothing);
        }
        let mut input = [0; 256];
        if ready[1] {
            // The other end stays open as long as the screen, so this read does not block and does not fail.
            let _ = wake.read(&mut input)?;
        }
        if ready[0] {
            return match rustix::io::read(&stdin, &mut input) {
                Ok(count @ 1..) => Ok(InputEvent::Keys(self.keys.parse(&input[..count]))),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(InputEvent::Nothing),
                // The terminal is gone.
                _ => Ok(InputEvent::End(Signal::HUP.as_raw())),
            };
        }
        Ok(InputEvent::Change)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        close();
    }
}

/// The columns and rows of the terminal at stdout.
pub fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0)?;
    Some((size.ws_col.into(), size.ws_row.into()))
}

/// Restores the terminal if it shows a screen.
pub fn close() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(modes) = before {
        if let Some(modes) = modes {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
        }
        let _ = put(CLOSE);
    }
}

fn put(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}
