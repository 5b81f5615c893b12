//! Work after the end of a run: copies transcripts into the archive and events into the run. A separate process does it, so
//! that it does not delay SessionEnd, which has 1.5 seconds for all its hooks.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Recorder;
use super::retain::close_events;
use crate::archive::{Archive, EndedBy, RunRecord};
use crate::clock::{self, Time};
use crate::fs;
use crate::process;

/// How long the detached process waits for the client to write its last lines and go.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often the log is pruned, when nothing else calls for the detached process.
const PRUNE_EVERY: Duration = Duration::from_secs(86_400);

/// A temporary file that is older than this belongs to nobody.
const LEFTOVER: Duration = Duration::from_secs(3_600);

/// Who does what can wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// A process of its own, which outlives the client.
    Detached,
    /// The call itself: a demonstration has no time to lose and nobody to hold up.
    Inline,
}

impl Recorder {
    /// Whether something waits to be done: transcripts of an ended run, or a log that nobody pruned for a day.
    pub(super) fn has_left(&self, archive: &Archive) -> bool {
        let pruned = std::fs::metadata(self.pruned()).and_then(|metadata| metadata.modified());
        let due = || pruned.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > PRUNE_EVERY));
        archive.has_unfinished() || archive.has_endings() || !self.pruned().exists() || due()
    }

    /// The file whose time says when the log was last pruned.
    pub(super) fn pruned(&self) -> PathBuf {
        self.paths.log().join(".pruned")
    }

    /// Has done what can wait. `client` is the client's process, when it is about to end; `beside` says that no session
    /// ends at this call, so that one which is just ending elsewhere has a process of its own.
    ///
    /// # Errors
    /// When no process can be started.
    pub(super) fn finish_later(&self, client: Option<u32>, beside: bool) -> io::Result<()> {
        if self.finish == Finish::Inline {
            let notes = [finish(self, None, beside), super::prune(self)].concat();
            return if notes.is_empty() { Ok(()) } else { Err(io::Error::other(notes.join("; "))) };
        }
        let mut command = Command::new(std::env::current_exe()?);
        // No process group: who leads one can begin no session, and that is the first thing it does.
        command.arg("finish").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(pid) = client {
            command.arg("--after").arg(pid.to_string());
        }
        if beside {
            command.arg("--beside");
        }
        command.spawn().map(|_| ())
    }
}

/// Archives the transcripts of runs that have ended, and copies their events into them; returns what went wrong. Runs that
/// another process still waits for are left to it, except when this process ends a session whose client no hook named:
/// that may be the very run.
pub fn finish(recorder: &Recorder, after: Option<u32>, beside: bool) -> Vec<String> {
    if recorder.finish == Finish::Detached {
        // A session of its own: the client's terminal and process group may go at any time.
        let _ = rustix::process::setsid();
    }
    let archive = recorder.archive();
    archive.settle(recorder.config.log.lock_patience);
    let (mut notes, _) = keep(&archive, |_| false);
    for part in recorder.paths.parts() {
        fs::sweep(&part, LEFTOVER);
        fs::sweep_beside(&part, LEFTOVER);
    }
    if let Some(pid) = after {
        let pause = Duration::from_millis(50);
        let mut waited = Duration::ZERO;
        while waited < PATIENCE && !process::is_gone(pid, None, None) {
            std::thread::sleep(pause);
            waited += pause;
        }
    }
    archive.settle(recorder.config.log.lock_patience);
    let now = recorder.clock.now();
    let yields = beside || after.is_some();
    let (more, ended) = keep(&archive, |run| !(yields && is_another_s(run, after, now)));
    for note in more {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes.extend(close_events(recorder, &archive, &ended));
    notes
}

/// Whether the process that this run's SessionEnd started still waits for the client's last lines. The two may meet
/// when one session ends as another begins.
fn is_another_s(run: &RunRecord, after: Option<u32>, now: Time) -> bool {
    let ended = run.ended_at.as_deref().and_then(clock::parse);
    let lately = || ended.is_some_and(|end| (now - end).abs().to_std().is_ok_and(|age| age < PATIENCE));
    run.ended_by == Some(EndedBy::SessionEnd)
        && run.client_pid.is_some_and(|pid| after != Some(pid) && !process::is_gone(pid, None, None))
        && lately()
}

/// Archives what the unfinished runs have by now, for the last time if `last` returns true. Returns what went wrong, and
/// the runs that are finished.
fn keep(archive: &Archive, last: impl Fn(&RunRecord) -> bool) -> (Vec<String>, BTreeSet<String>) {
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
            if let Err(error) = archive.compress(&run) {
                notes.push(format!("cannot compress the contents of run {}: {error}", run.run));
            }
            match archive.mark_finished(&run) {
                Ok(()) => drop(finished.insert(run.run)),
                Err(error) => notes.push(format!("cannot finish run {}: {error}", run.run)),
            }
        }
    }
    (notes, finished)
}
