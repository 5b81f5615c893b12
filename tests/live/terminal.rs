//! The client in a terminal of its own: what a user types, and what is to be seen.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::home::Home;
use super::interrupt;

/// A tmux server with the client in its first pane. It ends when this is dropped.
pub struct Terminal<'a> {
    home: &'a Home,
    socket: PathBuf,
}

impl<'a> Terminal<'a> {
    /// Starts a command in a new terminal of so many columns and rows.
    pub fn start(home: &'a Home, command: &str, size: (u16, u16)) -> Result<Self, String> {
        // A socket's path must be short, and that of the run may be long.
        let socket = std::env::temp_dir().join(format!("teamkeep-live-{}.sock", std::process::id()));
        let terminal = Self { home, socket };
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows, command])?;
        terminal.tmux(&["set-option", "-p", "-t", FIRST, "remain-on-exit", "on"])?;
        Ok(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command: Command = self.home.command("tmux");
        let output = command.arg("-S").arg(&self.socket).args(arguments).output();
        let output = output.map_err(|error| format!("cannot run tmux: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(format!("tmux {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)))
    }

    /// What is to be seen in the client's pane.
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", FIRST]).unwrap_or_default()
    }

    /// The same with its colors, as escape sequences.
    pub fn screen_with_colors(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e", "-t", FIRST]).unwrap_or_default()
    }

    /// Waits until the client shows its prompt, and answers the question that older ones ask before.
    pub fn wait_for_prompt(&self) -> Result<(), String> {
        self.wait(Duration::from_secs(60), "the client's prompt", || {
            let screen = self.stable_screen();
            if screen.contains("Yes, I accept") {
                let _ = self.tmux(&["send-keys", "-t", FIRST, "Down"]);
                std::thread::sleep(Duration::from_millis(500));
                let _ = self.tmux(&["send-keys", "-t", FIRST, "Enter"]);
                return false;
            }
            screen.contains("bypass permissions on") || screen.contains("accept edits on")
        })
    }

    /// The screen when it has stood still for a second.
    fn stable_screen(&self) -> String {
        let before = self.screen();
        std::thread::sleep(Duration::from_secs(1));
        let after = self.screen();
        if before == after { after } else { String::new() }
    }

    /// Types a line, sees it stand there, and enters it.
    pub fn enter(&self, line: &str) -> Result<(), String> {
        self.tmux(&["send-keys", "-t", FIRST, "-l", line])?;
        self.wait(Duration::from_secs(20), &format!("{line:?} in the prompt"), || {
            self.screen().contains(line)
        })?;
        // What comes in one piece with its line break counts as pasted, and is not entered.
        std::thread::sleep(Duration::from_millis(700));
        self.tmux(&["send-keys", "-t", FIRST, "Enter"]).map(drop)
    }

    /// Presses a key, as tmux names it.
    pub fn press(&self, key: &str) -> Result<(), String> {
        self.tmux(&["send-keys", "-t", FIRST, key]).map(drop)
    }

    /// The client's process.
    pub fn process(&self) -> Result<u32, String> {
        self.process_of(FIRST)
    }

    /// The process that a pane was started with.
    pub fn process_of(&self, pane: &str) -> Result<u32, String> {
        let pid = self.tmux(&["display-message", "-p", "-t", pane, "#{pane_pid}"])?;
        pid.trim().parse().map_err(|error| format!("pane_pid {pid:?}: {error}"))
    }

    /// Closes the terminal, which hangs up the client.
    pub fn close(&self) -> Result<(), String> {
        self.tmux(&["kill-server"]).map(drop)
    }

    /// Waits until the client has ended by itself.
    pub fn wait_for_end(&self) -> Result<(), String> {
        self.wait(Duration::from_secs(40), "the client's end", || {
            // If teammates are in a turn, the client asks for a confirmation.
            if self.stable_screen().contains("Exit and stop tasks") {
                let _ = self.press("Enter");
            }
            self.tmux(&["display-message", "-p", "-t", FIRST, "#{pane_dead}"])
                .is_ok_and(|told| told.trim() == "1")
        })
    }

    /// Waits for something, and says with the screen what did not come.
    pub fn wait(&self, most: Duration, what: &str, done: impl Fn() -> bool) -> Result<(), String> {
        let began = Instant::now();
        while !done() {
            if interrupt::came() {
                return Err("interrupted".to_owned());
            }
            if began.elapsed() > most {
                return Err(format!(
                    "waited {}s for {what}; the screen:\n{}",
                    most.as_secs(),
                    self.screen().trim_end()
                ));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// The client's pane: the first of its server.
const FIRST: &str = "%0";
