//! The work after a call, in processes of its own, so that it delays no hook (SessionEnd has 1.5 seconds for all its hooks): copying
//! transcripts into the archive and compressing the files of a run that has ended, pruning, notifications, and shipping. A hook call
//! itself never sends anything.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use super::call::Call;
use super::{CalledBy, FINISH, Recorder};
use teamkeep_config::{Config, Files};
use teamkeep_model::event::SafeName;
use teamkeep_model::payload::EventKind;
use teamkeep_model::time::{DAY, HOUR, Timestamp};
use teamkeep_model::{Note, Severity, Tool};
use teamkeep_store::archive::{Archive, CaptureScope, EndedBy, RunRecord};
use teamkeep_store::log::Logs;
use teamkeep_store::retention;
use teamkeep_store::shipping::{PROGRAM, Shipping, UnshippedSegments};
use teamkeep_system::clock::Clock;
use teamkeep_system::command::{beside, command_line, find, is_executable};
use teamkeep_system::env::Env;
use teamkeep_system::error::Result;
use teamkeep_system::os;
use teamkeep_system::paths::{PARTS, Paths};
use teamkeep_system::store_lock::StoreLock;
use teamkeep_system::{diagnostics, fs, process};

/// How long the detached process waits for Claude Code to write its last lines and exit.
const CLIENT_EXIT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundMode {
    /// A detached process, which outlives Claude Code.
    Detached,
    /// The call itself, for the demo.
    Inline,
}

/// What starts the work after a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FinishStart {
    /// Claude Code's process, if it is about to exit.
    pub client: Option<u32>,
    /// The session that ends at this call, if one does. Runs of other sessions are left to the processes that their ends start.
    pub ended_session: Option<String>,
}

impl Recorder {
    /// Whether there is work: transcripts of an ended run, or a log that was not pruned for a day.
    pub(super) fn has_left(&self, archive: &Archive) -> bool {
        let pruned = std::fs::metadata(self.pruned()).and_then(|metadata| metadata.modified());
        let is_due = pruned.map_or(true, |time| time.elapsed().is_ok_and(|age| age > DAY));
        archive.has_unfinished() || archive.has_endings() || is_due
    }

    /// The file whose modification time is the time of the last prune.
    pub(super) fn pruned(&self) -> PathBuf {
        self.paths.marks().join("pruned")
    }

    pub(super) fn finish_later(&self, started: FinishStart) -> io::Result<()> {
        if self.finish == BackgroundMode::Inline {
            let notes = [finish(self, &FinishStart { client: None, ..started }), prune(self)].concat();
            return if notes.is_empty() { Ok(()) } else { Err(io::Error::other(notes.join("; "))) };
        }
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(FINISH);
        if let Some(pid) = started.client {
            command.arg("--after").arg(pid.to_string());
        }
        if let Some(session) = &started.ended_session {
            command.arg("--ended").arg(session);
        }
        process::start_background(&mut command)
    }

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
        process::start_background(&mut command)
    }
}

/// The work of a background process: [`finish`], then pruning and shipping. With an invalid configuration it does not prune:
/// the limits may not be the user's.
pub fn finish_in_background(started: FinishStart) -> ExitCode {
    // The session comes first.
    os::process::lower_priority();
    let env = Env::read();
    let paths = Paths::find(&env);
    if paths.check().is_err() {
        return ExitCode::FAILURE;
    }
    let clock = Clock::new(env.now.as_deref());
    let (config, problem) = Config::load(&Files::find(&paths, None));
    let recorder = Recorder {
        env,
        paths,
        config,
        problems: Vec::new(),
        has_organization: false,
        clock,
        by: CalledBy::Settings,
        finish: BackgroundMode::Detached,
    };
    let mut notes = finish(&recorder, &started);
    match problem {
        Some(problem) => notes.push(format!("nothing was pruned: {problem}")),
        None => {
            notes.extend(prune(&recorder));
            notes.extend(recorder.ship());
        }
    }
    if notes.is_empty() {
        return ExitCode::SUCCESS;
    }
    diagnostics::note(&recorder.paths.diagnostics(), &recorder.clock, &notes.join("; "));
    ExitCode::FAILURE
}

/// Archives the transcripts of ended runs and compresses their files. Returns the problems. Leaves runs to another process
/// that completes them later.
pub fn finish(recorder: &Recorder, started: &FinishStart) -> Vec<String> {
    if recorder.finish == BackgroundMode::Detached {
        os::process::detach();
    }
    let archive = recorder.archive();
    archive.close_pending_runs(recorder.config.log.lock_patience);
    let (mut notes, _) = archive_transcripts(recorder, &archive, |_| false);
    for part in PARTS.iter().map(|part| recorder.paths.store.join(part)) {
        fs::remove_old_drafts(&part, HOUR);
        fs::remove_old_drafts_of(&part, HOUR);
    }
    if let Some(pid) = started.client {
        let start = Instant::now();
        while start.elapsed() < CLIENT_EXIT_TIMEOUT && !process::is_gone(pid, None, None) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    archive.close_pending_runs(recorder.config.log.lock_patience);
    let now = recorder.clock.now();
    let closed = archive.close_runs_without_index(|run| is_over_without_index(recorder, &archive, run));
    notes.extend(closed.err().map(|error| format!("cannot close a run without an index: {error}")));
    let (mut more, ended) =
        archive_transcripts(recorder, &archive, |run| !belongs_to_other(run, started, now));
    more.retain(|note| !notes.contains(note));
    notes.append(&mut more);
    if !ended.is_empty() && recorder.config.ship.is_configured() {
        // A shipper that began meanwhile may not have seen these runs.
        let requested = Shipping::of(&recorder.paths).request();
        notes.extend(requested.err().map(|error| format!("cannot request shipping: {error}")));
    }
    notes
}

/// Whether a run that no index names has ended. If not, its next hook call opens it again.
fn is_over_without_index(recorder: &Recorder, archive: &Archive, run: &RunRecord) -> bool {
    let Some(subject) = run.subject() else { return false };
    if !run.client_pid.is_none_or(|pid| process::is_gone(pid, None, None)) {
        return false;
    }
    let Some(team) = subject.team() else {
        // Nothing else shows the end of a session without a team.
        return (recorder.clock.now() - run.started_at).to_std().is_ok_and(|age| age > DAY);
    };
    let client = run.client_dir(recorder.paths.client_for(None).as_deref());
    // A configuration directory that does not exist here shows nothing.
    let is_gone = |client: PathBuf| {
        let dir = client.join("teams").join(team).symlink_metadata();
        dir.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) && client.exists()
    };
    let last = archive.index(&subject).and_then(|index| archive.run(&index.run));
    client.is_some_and(is_gone) || last.is_some_and(|last| last.started_at > run.started_at)
}

/// Whether this run is left to another process, which completes it later. Only for a while: that process may have been killed, and
/// Claude Code's number may belong to another program by now.
fn belongs_to_other(run: &RunRecord, started: &FinishStart, now: Timestamp) -> bool {
    let may_run = |pid| started.client != Some(pid) && !process::is_gone(pid, None, None);
    let (is_left, timeout) = match run.ended_by {
        // The process that its SessionEnd started may still wait: two run when one session ends as another begins. This process
        // may be that one if a session has ended and Claude Code's process is unknown.
        Some(EndedBy::SessionEnd) => {
            let is_own = started.ended_session.is_some() && started.client.is_none();
            (!is_own && run.client_pid.is_some_and(may_run), CLIENT_EXIT_TIMEOUT)
        }
        // Until its session ends, the lead may write about the team.
        Some(EndedBy::TeamDelete) => {
            let is_own = started.ended_session.as_deref().is_some_and(|session| run.is_led_by(session));
            (!is_own && run.client_pid.is_none_or(may_run), DAY)
        }
        _ => return false,
    };
    is_left && run.ended_at.is_some_and(|end| (now - end).abs().to_std().is_ok_and(|age| age < timeout))
}

/// Archives the transcripts of unfinished runs; finally, and compresses their files, if `last` is true. Returns the problems
/// and the finished runs.
fn archive_transcripts(
    recorder: &Recorder,
    archive: &Archive,
    last: impl Fn(&RunRecord) -> bool,
) -> (Vec<String>, BTreeSet<String>) {
    let (mut notes, mut finished) = (Vec::new(), BTreeSet::new());
    for run in archive.unfinished() {
        match archive.keep_transcripts(&run) {
            Ok((_, problems)) => notes.extend(problems),
            Err(error) => {
                notes.push(format!("cannot keep the transcripts of run {}: {error}", run.run));
                continue;
            }
        }
        if last(&run) {
            let log = Logs::of(&recorder.paths).run(&run.run);
            let closed = log.map_or(Ok(true), |log| log.finish(recorder.config.log.lock_patience));
            let compressed = closed.and_then(|closed| archive.compress(&run).map(|()| closed));
            match compressed {
                Ok(true) => {}
                // The next process finishes it.
                Ok(false) => continue,
                Err(error) => notes.push(format!("cannot compress the files of run {}: {error}", run.run)),
            }
            match archive.mark_finished(&run) {
                Ok(()) => drop(finished.insert(run.run)),
                Err(error) => notes.push(format!("cannot finish run {}: {error}", run.run)),
            }
        }
    }
    (notes, finished)
}

/// Removes the lines of sessions without a run by age and size; returns what went wrong.
pub fn prune(recorder: &Recorder) -> Vec<String> {
    try_prune(recorder).unwrap_or_else(|error| vec![error.to_string()])
}

fn try_prune(recorder: &Recorder) -> Result<Vec<String>> {
    fs::write_atomic(&recorder.pruned(), b"")?;
    let (limits, archive) = (&recorder.config.log, recorder.archive());
    if let Some(why) = archive.why_unlisted() {
        return Ok(vec![format!("nothing was pruned: {why}")]);
    }
    // The rest of a prune that was killed. Another one may be running.
    if let Ok(right) = archive.maintain(Duration::ZERO) {
        right.purge()?;
    }
    let logs = Logs::of(&recorder.paths);
    let unneeded = retention::unneeded(&logs, &archive, &BTreeSet::new())?;
    let shipping = Shipping::of(&recorder.paths);
    let unshipped = UnshippedSegments::find(&shipping, &recorder.config.ship)?;
    let plan = retention::plan(&unneeded, limits, |segment| unshipped.keeps(segment))?;
    let pruned = retention::apply(&plan, &unneeded, limits.lock_patience);
    let mut notes: Vec<String> = pruned.failures.iter().map(ToString::to_string).collect();
    if let Some(removed) = unshipped.note_removed(&shipping, &pruned.segments, recorder.clock.now())? {
        notes.push(format!(
            "{} MiB of the logs were removed before they were shipped: ship.keep-unshipped has no room for them",
            removed.bytes.div_ceil(1 << 20)
        ));
    }
    Ok(notes)
}

/// The program that ships: beside this one, else in an absolute directory of the search path.
pub fn find_shipper(env: &Env) -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let found = own.map(|own| beside(&own, PROGRAM));
    found.filter(|program| is_executable(program)).or_else(|| find(PROGRAM, env))
}

impl Call<'_> {
    /// Starts the work that continues in processes of its own: archiving transcripts, if a run `has_ended` or is
    /// complete now, notifying and shipping.
    pub(crate) fn start_background(&mut self, has_ended: bool) {
        let (received, recorder) = (&self.received, self.received.recorder);
        let mut is_finishing = false;
        let has_left = match received.kind {
            EventKind::SessionStart => recorder.has_left(&received.archive),
            // A team was deleted in the session.
            EventKind::SessionEnd => {
                let session = received.payload.session().unwrap_or_default();
                received.archive.unfinished().iter().any(|run| run.is_led_by(session))
            }
            _ => false,
        };
        if has_ended || has_left {
            let ends = received.kind == EventKind::SessionEnd;
            let client = recorder.env.client_pid.filter(|_| ends);
            let ended_session = received.session.as_ref().filter(|_| ends).map(ToString::to_string);
            let later = recorder.finish_later(FinishStart { client, ended_session });
            is_finishing = self.outcome.note("archive the transcripts", later).is_some();
        }
        let notifier = self.start_notifier();
        self.outcome.note("start the notifier", notifier);
        if let Err(error) = self.start_shipper(is_finishing) {
            // For the diagnostics only: the next start makes up for it.
            let text = format!("cannot start the shipper: {error}");
            self.outcome.notes.push(Note::new(Severity::Contention, text));
        }
    }

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
        process::start_background(command.args(["notify", "watch", "--run", run]).current_dir("/"))
    }

    /// Whether agents start, end a turn or wait at this event: often enough to replace a notifier that was killed.
    fn may_start_notifier(&self) -> bool {
        let received = &self.received;
        match received.kind {
            EventKind::SessionStart
            | EventKind::SubagentStart
            | EventKind::SubagentStop
            | EventKind::StopFailure
            | EventKind::TeammateIdle => true,
            EventKind::PostToolUse => matches!(received.payload.tool(), Some(Tool::Agent | Tool::TeamCreate)),
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
        let starts = if self.received.kind == EventKind::SessionEnd && self.is_lead() {
            shipping.request()?;
            !is_finishing
        } else {
            shipping.is_due(recorder.config.ship.interval)
        };
        if starts { recorder.start_shipper(&shipping) } else { Ok(()) }
    }
}
