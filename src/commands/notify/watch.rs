//! `teamkeep notify watch`: looks at a running team every few seconds and sends notifications about its incidents.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::look;
use crate::commands::catalog::{archive, lenient_catalog, redactor};
use crate::notify::{Batch, Destination, Notification, Outbox};
use teamkeep_history::report::Incident;
use teamkeep_history::timeline::{Fingerprint, is_client_gone};
use teamkeep_model::event::SafeName;
use teamkeep_store::archive::RunRecord;
use teamkeep_system::error::Result;
use teamkeep_system::store_lock::StoreLock;
use teamkeep_system::{diagnostics, os, signals};
use teamkeep_terminal::Context;

/// The interval for comparing sizes and times of the run's files.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The interval for checking that Claude Code runs, which no file shows.
const PROCESS_INTERVAL: Duration = Duration::from_secs(10);
/// After a look, the next one waits this many times its duration, so that looks take at most half a percent of a core...
const RESTS: u32 = 200;
/// ...but not longer than this.
const MAX_REST: Duration = Duration::from_secs(300);
/// The interval of looks at an unchanged run, in which a threshold may pass.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);
/// How long after the end of a run the last look is, because transcripts and events of the end may still arrive.
const LINGER_TIME: Duration = Duration::from_secs(3);
/// How long an unchanged run is watched whose end cannot be seen. The next hook call starts another process.
const MAX_SILENCE: Duration = Duration::from_secs(12 * 3_600);
/// How long to wait for the lock. A hook call that asks whether it is held has it for an instant.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's ID
    #[arg(long, value_name = "ID")]
    run: String,
}

/// Watches until the team ends. Problems are in the diagnostics: the process has no terminal.
pub fn run(context: Context, args: &Args) -> Result<ExitCode> {
    os::process::detach();
    os::process::lower_priority();
    signals::defer();
    let (paths, clock) = (context.paths.clone(), context.clock);
    let watched = watch(context, &args.run);
    if signals::termination_requested() {
        return Ok(ExitCode::SUCCESS);
    }
    if let Err(error) = &watched {
        diagnostics::note(&paths.diagnostics(), &clock, &format!("notifications stopped: {error}"));
    }
    Ok(if watched.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn watch(mut context: Context, run: &str) -> Result<()> {
    let archive = archive(&context);
    let Some(name) = SafeName::new(run).filter(|_| archive.run(run).is_some()) else { return Ok(()) };
    let lock = StoreLock::Notifications(&name).take(&context.paths.store, LOCK_TIMEOUT)?;
    let Some(_lock) = lock else { return Ok(()) };
    let mut outbox = Outbox::open(&archive, run)?;
    let catalog = lenient_catalog(&context);
    let mut look: Option<Look> = None;
    let mut end = End::default();
    while !signals::termination_requested() {
        // The configuration may have changed; with an invalid one, nothing is sent until it is valid.
        let valid = Context::new(context.ui).ok();
        let may_send = valid.is_some();
        context = valid.unwrap_or(context);
        let Some(record) = archive.run(run).filter(|_| context.config.notify.is_configured()) else { break };
        end.update(&record, || is_client_gone(&archive, &record));
        let fingerprint = || catalog.fingerprint(&record);
        let due = look.as_ref().is_none_or(|look| look.is_due(&end, fingerprint));
        if may_send && due {
            look = Some(Look::take(record.clone(), fingerprint(), look.take(), &end)?);
        }
        if let Some(look) = &look {
            if may_send {
                send(&context, &mut outbox, look)?;
            }
            let is_silent = look.changed.elapsed() > MAX_SILENCE;
            let is_done = !may_send || (outbox.next_retry().is_none() && (look.is_last || is_silent));
            if is_done && (end.is_final() || is_silent) {
                break;
            }
        }
        let retry = outbox.next_retry().map(|at| at.saturating_duration_since(Instant::now()));
        std::thread::sleep(retry.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL));
    }
    Ok(())
}

fn send(context: &Context, outbox: &mut Outbox, look: &Look) -> Result<()> {
    let notify = &context.config.notify;
    let now = context.clock.now();
    let problems = outbox.deliver(&Batch {
        destinations: &Destination::all(notify, context.env.home.as_deref()),
        incidents: &look.incidents,
        notify,
        now,
        body: &|incident| {
            let redactor = redactor(context, [&look.record])?;
            Notification::of(&look.record, now, incident).body(&redactor)
        },
    })?;
    if !problems.is_empty() {
        diagnostics::note(&context.paths.diagnostics(), &context.clock, &problems.join("; "));
    }
    Ok(())
}

/// The end of the run, as far as it can be seen.
#[derive(Debug, Default)]
struct End {
    since: Option<Instant>,
    /// Whether everything about it is recorded.
    is_finished: bool,
    checked: Option<Instant>,
    is_gone: bool,
}

impl End {
    fn update(&mut self, record: &RunRecord, is_gone: impl FnOnce() -> bool) {
        if self.checked.is_none_or(|at| at.elapsed() >= PROCESS_INTERVAL) {
            self.checked = Some(Instant::now());
            self.is_gone = is_gone();
        }
        let is_over = record.ended_at.is_some() || self.is_gone;
        self.since = is_over.then(|| self.since.unwrap_or_else(Instant::now));
        self.is_finished = record.ended_at.is_some() && record.finished;
    }

    fn is_final(&self) -> bool {
        self.since.is_some_and(|since| self.is_finished || since.elapsed() >= LINGER_TIME)
    }
}

/// A look at the run.
struct Look {
    record: RunRecord,
    incidents: Vec<Incident>,
    fingerprint: Fingerprint,
    taken: Instant,
    /// When the files of the run had changed last.
    changed: Instant,
    cost: Duration,
    /// Whether the run had ended.
    is_last: bool,
}

impl Look {
    /// The fingerprint is from before the look, so that data that arrives meanwhile is a change.
    fn take(record: RunRecord, fingerprint: Fingerprint, before: Option<Look>, end: &End) -> Result<Look> {
        let start = Instant::now();
        let incidents = look::incidents(&record.run)?;
        let unchanged = before.filter(|before| before.fingerprint == fingerprint);
        let changed = unchanged.map_or(start, |before| before.changed);
        let (taken, cost, is_last) = (Instant::now(), start.elapsed(), end.is_final());
        Ok(Look { record, incidents, fingerprint, taken, changed, cost, is_last })
    }

    /// Whether the incidents may be others now.
    fn is_due(&self, end: &End, fingerprint: impl FnOnce() -> Fingerprint) -> bool {
        if end.is_final() {
            return !self.is_last;
        }
        let rested = self.taken.elapsed();
        if rested < (self.cost * RESTS).min(MAX_REST) {
            return false;
        }
        rested >= LOOK_INTERVAL || fingerprint() != self.fingerprint
    }
}
