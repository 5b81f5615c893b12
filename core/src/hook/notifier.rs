//! Starts the process that sends notifications about a running team. A hook call itself never sends anything.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::BackgroundMode;
use super::attribute::Attributed;
use crate::client::payload::Kind;
use crate::model::Tool;
use crate::store::archive::{Archive, CaptureScope};
use crate::sys::fs;

/// The lock that a run's notifier holds as long as it runs; `None` if the ID of the run is not valid.
pub fn notifier_lock(archive: &Archive, run: &str) -> Option<PathBuf> {
    archive.run_dir(run).map(|dir| dir.join("notifications.lock"))
}

impl Attributed<'_> {
    /// Starts the notifier of the session's run, unless one runs. Without `[notify]` in the configuration this makes no
    /// system call; with it, it asks for the notifier's lock at the calls of [`Attributed::may_start_notifier`].
    pub(super) fn start_notifier(&self) -> io::Result<()> {
        let recorder = self.call.recorder;
        if !recorder.config.notify.is_configured() || recorder.finish != BackgroundMode::Detached {
            return Ok(());
        }
        let in_team = self.by.own.as_ref().and_then(CaptureScope::team).is_some();
        let Some(run) = self.by.run.as_deref().filter(|_| in_team && self.may_start_notifier()) else {
            return Ok(());
        };
        let Some(lock) = notifier_lock(&self.call.archive, run) else { return Ok(()) };
        if fs::is_locked(&lock)? {
            return Ok(());
        }
        // It may run for hours, so it must not keep the project's directory in use. It calls `setsid` itself.
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["notify", "watch", "--run", run]).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(drop)
    }

    /// Whether agents start, end a turn or wait at this event: often enough to replace a notifier that was killed.
    fn may_start_notifier(&self) -> bool {
        let call = &self.call;
        match call.kind {
            Kind::SessionStart | Kind::SubagentStart | Kind::SubagentStop | Kind::TeammateIdle => true,
            Kind::PostToolUse => matches!(call.payload.tool(), Some(Tool::Agent | Tool::TeamCreate)),
            _ => false,
        }
    }
}
