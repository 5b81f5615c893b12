//! The whole terminal as a screen: opened, drawn, read and restored.

use std::io::{self, Stdout, Write};
use std::mem::ManuallyDrop;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::terminal::{Frame, Terminal, TerminalOptions, Viewport};
use ratatui_crossterm::CrosstermBackend;
use ratatui_crossterm::crossterm::cursor::{Hide, Show};
use ratatui_crossterm::crossterm::event::{
    self, DisableMouseCapture, EnableMouseCapture, Event, KeyEvent, MouseEvent, MouseEventKind,
};
use ratatui_crossterm::crossterm::style::force_color_output;
use ratatui_crossterm::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    is_raw_mode_enabled,
};
use ratatui_crossterm::crossterm::{SynchronizedUpdate, execute};
use teamkeep_model::unicode::escape;
use teamkeep_system::os::terminal::{self, size};
use teamkeep_system::process::TerminalSignal;

/// The wait for further keys that arrived with one.
const MORE_KEYS: Duration = Duration::from_millis(1);
/// Maximum columns and rows that are drawn.
const MAX_SIZE: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Key(KeyEvent),
    Mouse(MouseEvent),
    /// A terminal that is gone counts as a hangup.
    Signal(TerminalSignal),
}

/// The terminal while it shows a screen. Dropping it restores the terminal.
#[derive(Debug)]
pub struct Screen {
    /// Never dropped: it would print an error if the terminal is gone, and panic if stderr was it.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
    styled: bool,
}

impl Screen {
    /// Opens the screen. Threads that end with the process pass keys and signals to `send`.
    pub fn open(send: impl Fn(Input) + Clone + Send + 'static) -> io::Result<Screen> {
        let sender = send.clone();
        terminal::send_signals(move |signal| sender(Input::Signal(signal)))?;
        let options = TerminalOptions { viewport: Viewport::Fixed(Rect::ZERO) };
        let styled = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
        // Crossterm would obey NO_COLOR also with `--color always`.
        force_color_output(styled);
        let backend = Terminal::with_options(CrosstermBackend::new(io::stdout()), options)?;
        let mut screen = Screen { terminal: ManuallyDrop::new(backend), styled };
        screen.enter()?;
        std::thread::spawn(move || {
            let _ = read_keys(&send);
            send(Input::Signal(TerminalSignal::HANGUP));
        });
        Ok(screen)
    }

    fn enter(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, Hide)?;
        self.resize()
    }

    /// Adopts the size of the terminal. The next drawing writes everything.
    pub fn resize(&mut self) -> io::Result<()> {
        execute!(io::stdout(), Clear(ClearType::All))?;
        let (columns, rows) = size().unwrap_or((80, 24));
        let limit = |size: usize| u16::try_from(size.min(MAX_SIZE)).unwrap_or(u16::MAX);
        self.terminal.resize(Rect::new(0, 0, limit(columns), limit(rows)))
    }

    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let styled = self.styled;
        let draw = |frame: &mut Frame<'_>| {
            draw(frame);
            if !styled {
                let area = frame.area();
                frame.buffer_mut().set_style(area, Style::reset());
            }
        };
        io::stdout().sync_update(|_| self.terminal.draw(draw).map(drop))?
    }

    /// Passes a text to the clipboard of the terminal, which may ignore it (OSC 52).
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        write!(out, "\u{1b}]52;c;{}\u{7}", STANDARD.encode(&*escape(text)))?;
        out.flush()
    }

    /// Restores the terminal, stops the process, and opens the screen again when the process continues.
    pub fn stop(&mut self) -> io::Result<()> {
        close();
        terminal::stop()?;
        self.enter()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        close();
    }
}

/// Passes keys on until the terminal is gone. Crossterm 0.29 would read from a closed terminal in an endless loop, so it only
/// reads when there is input.
fn read_keys(send: &impl Fn(Input)) -> io::Result<()> {
    let stdin = io::stdin();
    loop {
        if !terminal::wait_for_input(&stdin)? {
            return Ok(());
        }
        loop {
            match event::read()? {
                Event::Key(key) => send(Input::Key(key)),
                Event::Mouse(event) if event.kind != MouseEventKind::Moved => send(Input::Mouse(event)),
                _ => {}
            }
            // A wait of zero would miss keys that were read together.
            if !event::poll(MORE_KEYS)? {
                break;
            }
        }
    }
}

/// Restores the terminal if it shows a screen.
pub fn close() {
    if is_raw_mode_enabled().unwrap_or(false) {
        let _ = disable_raw_mode();
        let _ = execute!(io::stdout(), DisableMouseCapture, Show, LeaveAlternateScreen);
    }
}
