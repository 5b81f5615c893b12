//! A terminal for commands that draw on one.

use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::sandbox::{CommandResult, Sandbox};

/// The width of a terminal.
const COLUMNS: u16 = 80;
/// Longer than any machine needs.
const LONG: Duration = Duration::from_secs(60);

/// Runs a command on a terminal of this width and of 500 rows, and returns all that it prints there.
pub fn output(command: &mut Command, columns: u16) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    fcntl_setfd(&master, FdFlags::CLOEXEC).unwrap();
    tcsetwinsize(&master, Winsize { ws_row: 500, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap();
    let open = || File::options().read(true).write(true).open(path.to_str().unwrap()).unwrap();
    let mut child = command.stdin(open()).stdout(open()).stderr(open()).spawn().unwrap();
    // They have the terminal open, too.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (mut master, mut bytes) = (File::from(master), Vec::new());
    // Reading from a terminal that no process has open is an error.
    let _ = master.read_to_end(&mut bytes);
    child.wait().unwrap();
    String::from_utf8(bytes).unwrap().replace('\r', "")
}

/// The other screen, the mouse (its buttons, their motion, any motion, two formats of places), no cursor.
pub const OPEN: &str =
    "\u{1b}[?1049h\u{1b}[?1000h\u{1b}[?1002h\u{1b}[?1003h\u{1b}[?1015h\u{1b}[?1006h\u{1b}[?25l";
pub const CLOSE: &str =
    "\u{1b}[?1006l\u{1b}[?1015l\u{1b}[?1003l\u{1b}[?1002l\u{1b}[?1000l\u{1b}[?25h\u{1b}[?1049l";

/// A terminal, and what runs in it.
pub struct Terminal {
    pub master: File,
    pub child: Child,
    pub told: String,
    /// What it shows. A command that draws a screen writes only what changes.
    shown: vt100::Parser,
}

impl Terminal {
    pub fn run(sandbox: &Sandbox, args: &[&str], env: &[(&str, &str)]) -> Terminal {
        let mut command = sandbox.command(args);
        command.env("TERM", "xterm").envs(env.iter().copied());
        Terminal::of(command)
    }

    /// Starts a command in a terminal. Its errors go to a pipe.
    pub fn of(mut command: Command) -> Terminal {
        let (master, open) = open_terminal(COLUMNS);
        let child = command.stdin(open()).stdout(open()).stderr(Stdio::piped()).spawn().unwrap();
        Terminal { master, child, told: String::new(), shown: vt100::Parser::new(24, COLUMNS, 0) }
    }

    /// Starts a command in a terminal of this width that shows its errors, too.
    pub fn with_errors(mut command: Command, columns: u16) -> Terminal {
        let (master, open) = open_terminal(columns);
        command.env("TERM", "xterm");
        let child = command.stdin(open()).stdout(open()).stderr(open()).spawn().unwrap();
        Terminal { master, child, told: String::new(), shown: vt100::Parser::new(24, columns, 0) }
    }

    /// Reads until this was written.
    pub fn until(&mut self, part: &str) {
        self.until_after(0, part);
    }

    /// Reads until this is on the screen.
    pub fn until_shown(&mut self, part: &str) {
        self.read_until(part, |terminal| terminal.screen().contains(part));
    }

    pub fn screen(&self) -> String {
        self.shown.screen().contents()
    }

    /// Reads until this was written after so many bytes.
    pub fn until_after(&mut self, place: usize, part: &str) {
        self.read_until(part, |terminal| terminal.told[place..].contains(part));
    }

    fn read_until(&mut self, part: &str, is_there: impl Fn(&Terminal) -> bool) {
        let (start, mut bytes) = (Instant::now(), [0; 4096]);
        while !is_there(self) {
            let rest = LONG.checked_sub(start.elapsed()).unwrap_or_default();
            let mut output = [PollFd::new(&self.master, PollFlags::IN)];
            let polled = poll(&mut output, Timespec::try_from(rest).ok().as_ref()).unwrap();
            assert!(polled > 0, "no {part:?} in {:?}\n{}", self.told, self.screen());
            // A terminal that nobody has open any more gives an error.
            let count = self.master.read(&mut bytes).unwrap_or(0);
            self.shown.process(&bytes[..count]);
            self.told.push_str(&String::from_utf8_lossy(&bytes[..count]));
            assert!(count > 0 || is_there(self), "no {part:?} in {:?}", self.told);
        }
    }

    /// Reads until the command has closed the terminal.
    pub fn read_all(&mut self) {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = self.master.read(&mut bytes) {
            self.told.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }

    /// Reads until the command ends.
    pub fn until_end(&mut self) {
        self.read_all();
        assert!(self.child.wait().unwrap().success(), "{}", self.told);
    }

    /// Whether a key comes at once and unseen.
    pub fn takes_keys(&self) -> bool {
        !tcgetattr(&self.master).unwrap().local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    pub fn end(self) -> CommandResult {
        self.child.wait_with_output().unwrap().into()
    }
}

/// A terminal of this width, and how to open its other end.
fn open_terminal(columns: u16) -> (File, impl Fn() -> File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    // A child that had the master open would never see the terminal close.
    fcntl_setfd(&master, FdFlags::CLOEXEC).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let open = move || File::options().read(true).write(true).open(&path).unwrap();
    (File::from(master), open)
}
