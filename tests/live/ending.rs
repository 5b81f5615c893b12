//! How the client ends.

use std::time::Duration;

use super::play::Played;
use super::scenarios::Scenario;
use super::terminal::Terminal;
use super::{process, trouble};

/// The argument that makes the client ask for no permission.
pub const SKIP: &str = "--dangerously-skip-permissions";

/// How the client ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The user types `/exit`.
    Exit,
    /// SIGKILL.
    Killed,
    /// The terminal is closed.
    HungUp,
    /// The user types `/exit`, when teamkeep has shown and sent the incidents of [`trouble`].
    ExitAfterTrouble,
}

impl Ending {
    /// The arguments for permissions: only for [`trouble`], the client asks for them.
    pub fn permissions(self) -> &'static str {
        if self == Self::ExitAfterTrouble { "--permission-mode acceptEdits" } else { SKIP }
    }

    /// What the user types, after the steps of the scenario.
    pub fn typed(self) -> Option<&'static str> {
        (self == Self::ExitAfterTrouble).then_some(trouble::LAST)
    }

    /// Ends the client.
    pub fn finish(self, played: &Played, scenario: &Scenario, terminal: &Terminal<'_>) -> Result<(), String> {
        match self {
            Self::Exit => exit(terminal),
            Self::Killed => {
                process::kill(terminal.process()?)?;
                terminal.wait_for_end()
            }
            Self::HungUp => {
                let client = terminal.process()?;
                terminal.close()?;
                process::wait("the client's end", Duration::from_secs(40), || process::is_gone(client))?;
                // Hooks that it did not wait for.
                std::thread::sleep(Duration::from_secs(3));
                Ok(())
            }
            Self::ExitAfterTrouble => {
                trouble::observe(played, scenario, terminal)?;
                exit(terminal)?;
                trouble::wait_for_notifier(played)
            }
        }
    }
}

/// Leaves the client as a user does.
pub fn exit(terminal: &Terminal<'_>) -> Result<(), String> {
    terminal.enter("/exit")?;
    terminal.wait_for_end()
}
