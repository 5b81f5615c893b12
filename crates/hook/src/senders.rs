//! Starts the background processes that send notifications about a running team, and recorded data. A hook call itself never
//! sends anything.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::call::Call;
use super::{BackgroundMode, Recorder};
use teamkeep_model::Tool;
use teamkeep_model::event::SafeName;
use teamkeep_model::payload::Kind;
use teamkeep_store::archive::CaptureScope;
use teamkeep_store::shipping::{PROGRAM, Shipping};
use teamkeep_system::command::{command_line, find, is_executable};
use teamkeep_system::diagnostics;
use teamkeep_system::env::Env;
use teamkeep_system::process;
use teamkeep_system::store_lock::StoreLock;

/// The program that ships: beside this one, else in an absolute directory of the search path.
pub fn find_shipper(env: &Env) -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|dir| dir.join(PROGRAM));
    beside.filter(|program| is_executable(program)).or_else(|| find(PROGRAM, env))
}

impl Call<'_> {
    /// Starts the notifier of the session's run, unless one runs. Without `[notify]` in the configuration this makes no
    /// system call; with it, it asks for the notifier's lock at the calls of [`Call::may_start_notifier`].
    pub(super) fn start_notifier(&self) -> io::Result<()> {
        let recorder = self.received.recorder;
        if !recorder.config.notify.is_configured() || recorder.finish != BackgroundMode::Detached {
            return Ok(());
        }
        let in_team = self.by.own.as_ref().and_then(CaptureScope::team).is_some();
        let Some(run) = self.by.run.as_deref().filter(|_| in_team && self.may_start_notifier()) else {
            return Ok(());
        };
        let Some(lock) = SafeName::new(run) else { return Ok(()) };
        if StoreLock::Notifications(&lock).is_held(&recorder.paths.store)? {
            return Ok(());
        }
        // It may run for hours, so it must not keep the project's directory in use.
        let mut command = Command::new(command_line()?);
        process::start(command.args(["notify", "watch", "--run", run]).current_dir("/"))
    }

    /// Whether agents start, end a turn or wait at this event: often enough to replace a notifier that was killed.
    fn may_start_notifier(&self) -> bool {
        let received = &self.received;
        match received.kind {
            Kind::SessionStart
            | Kind::SubagentStart
            | Kind::SubagentStop
            | Kind::StopFailure
            | Kind::TeammateIdle => true,
            Kind::PostToolUse => matches!(received.payload.tool(), Some(Tool::Agent | Tool::TeamCreate)),
            _ => false,
        }
    }

    /// Starts the shipper when a session ends, and when the last start was longer ago than `ship.interval`. Without `[ship]` in
    /// the configuration this makes no system call; with it, one at most events. At the end of a session, the process that
    /// archives the transcripts starts it, if `is_finishing`.
    pub(super) fn start_shipper(&self, is_finishing: bool) -> io::Result<()> {
        let recorder = self.received.recorder;
        if !recorder.config.ship.is_configured() || recorder.finish != BackgroundMode::Detached {
            return Ok(());
        }
        let shipping = Shipping::of(&recorder.paths);
        let starts = if self.received.kind == Kind::SessionEnd && self.is_lead() {
            shipping.request()?;
            !is_finishing
        } else {
            shipping.is_due(recorder.config.ship.interval)
        };
        if starts { recorder.start_shipper(&shipping) } else { Ok(()) }
    }
}

impl Recorder {
    /// Starts the shipper after transcripts were archived, if a session has ended or if it is due. Returns what went wrong.
    pub fn ship(&self) -> Vec<String> {
        let (shipping, ship) = (Shipping::of(&self.paths), &self.config.ship);
        if !ship.is_configured() || !(shipping.is_requested() || shipping.is_due(ship.interval)) {
            return Vec::new();
        }
        let started = self.start_shipper(&shipping);
        started.err().map(|error| format!("cannot start {PROGRAM}: {error}")).into_iter().collect()
    }

    /// Starts the shipper, unless one runs: that one notices a request. A missing program is noted once a day.
    fn start_shipper(&self, shipping: &Shipping) -> io::Result<()> {
        // Also if it cannot be started: the next attempt is an interval later.
        shipping.note_start()?;
        if shipping.is_running()? {
            return Ok(());
        }
        let Some(program) = find_shipper(&self.env) else {
            if shipping.should_report_missing() {
                let text = format!("[ship] is configured, but {PROGRAM} is not installed: nothing is sent");
                diagnostics::note(&self.paths.diagnostics(), &self.clock, &text);
            }
            return Ok(());
        };
        // It must not keep the project's directory in use.
        let mut command = Command::new(program);
        command.args(["run", "--after-hook"]).current_dir("/").env_remove("CLAUDE_CODE_MESSAGING_TOKEN");
        process::start(&mut command)
    }
}
