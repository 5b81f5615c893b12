//! `teamkeep notify watch`: the notifier, which a hook call starts, and which sends notifications about a running team. The
//! incidents of the run come from a process of its own, `teamkeep notify look`. `teamkeep config test-notify` sends a test
//! notification.

use std::process::{self, ExitCode};
use std::time::{Duration, Instant};

use crate::commands::catalog::{archive, catalog, lenient_catalog, redactor};
use crate::commands::output;
use crate::notify::{Batch, Destination, Notification, Outbox};
use teamkeep_config::{Notify, check_url};
use teamkeep_history::report::{Incident, Report};
use teamkeep_history::timeline::{Fingerprint, is_client_gone, merge};
use teamkeep_model::event::SafeName;
use teamkeep_store::archive::RunRecord;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::process::{Outcome, Run, defer_signals, shell_code, termination_requested};
use teamkeep_system::store_lock::StoreLock;
use teamkeep_system::{diagnostics, os};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Send notifications about a run until its team ends
    Watch(RunArgs),
    /// Print the incidents of a run as JSON
    Look(RunArgs),
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// The run's ID
    #[arg(long, value_name = "ID")]
    run: String,
}

pub fn run(context: Context, args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Watch(args) => watch(context, &args.run),
        Command::Look(args) => look(&context, &args.run),
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Send it to the destinations in the configuration
  teamkeep config test-notify

  # Try a destination before you configure it
  teamkeep config test-notify --url http://localhost:8080/teamkeep
  teamkeep config test-notify --command 'cat > notification.json'")]
pub struct TestArgs {
    /// Address to post to, instead of the configured destinations
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Command to run, instead of the configured destinations
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
}

/// `config test-notify`: sends one notification to the destinations and prints the responses.
pub fn test(context: &Context, args: &TestArgs) -> Result<ExitCode> {
    let destinations = destinations(context, args)?;
    let (now, redactor) = (context.clock.now(), redactor(context, [])?);
    let body = Notification::example(now).body(&redactor)?;
    let mut is_sent = true;
    for destination in &destinations {
        match destination.send(&body, now) {
            Ok(response) => {
                output::print(context, &format!("sent to {}: {response}\n", destination.name()))?;
            }
            Err(error) => {
                is_sent = false;
                context.ui.report(&error.within(format!("cannot send to {}", destination.name())));
            }
        }
    }
    Ok(if is_sent { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn destinations(context: &Context, args: &TestArgs) -> Result<Vec<Destination>> {
    let configured = &context.config.notify;
    let home = context.env.home.as_deref();
    let notify = match (&args.url, &args.command) {
        (None, None) => configured.clone(),
        (url, command) => Notify {
            url: url.clone().unwrap_or_default(),
            command: command.clone().unwrap_or_default(),
            ..configured.clone()
        },
    };
    check_url(&notify.url).map_err(|why| Error::usage(format!("invalid --url: {why}")))?;
    if !notify.is_configured() {
        return Err(Error::new("no destination is configured")
            .hint("set `command` or `url` under [notify] in the configuration file; to show its path: teamkeep config path")
            .hint("to try an address first: teamkeep config test-notify --url URL"));
    }
    Ok(Destination::all(&notify, home))
}

// The notifier.

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

/// `notify watch`: looks at a running team every few seconds and sends notifications about its incidents, until it ends.
/// Problems are in the diagnostics: the process has no terminal.
fn watch(context: Context, run: &str) -> Result<ExitCode> {
    os::process::detach();
    os::process::lower_priority();
    defer_signals();
    let (paths, clock) = (context.paths.clone(), context.clock);
    let watched = watch_run(context, run);
    if termination_requested() {
        return Ok(ExitCode::SUCCESS);
    }
    if let Err(error) = &watched {
        diagnostics::note(&paths.diagnostics(), &clock, &format!("notifications stopped: {error}"));
    }
    Ok(if watched.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn watch_run(mut context: Context, run: &str) -> Result<()> {
    let archive = archive(&context);
    let Some(name) = SafeName::new(run).filter(|_| archive.run(run).is_some()) else { return Ok(()) };
    let lock = StoreLock::Notifications(&name).take(&context.paths.store, LOCK_TIMEOUT)?;
    let Some(_lock) = lock else { return Ok(()) };
    let mut outbox = Outbox::open(&archive, run)?;
    let catalog = lenient_catalog(&context);
    let mut look: Option<Look> = None;
    let mut end = End::default();
    while !termination_requested() {
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
        let incidents = incidents(&record.run)?;
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

// A look, in a process of its own, because a look at a large run needs memory that a notifier must not keep for hours.

/// Time limit of a look.
const LOOK_TIMEOUT: Duration = Duration::from_secs(600);
/// Maximum size of the incidents in bytes.
const MAX_INCIDENTS_BYTES: usize = 64 << 20;

/// `notify look`: prints the incidents of a run for the notifier.
fn look(context: &Context, run: &str) -> Result<ExitCode> {
    let catalog = catalog(context)?;
    let opened = catalog.open_runs(&[catalog.find(run)?])?;
    let of = |data| Report::of(data, &merge(data), &context.config, context.clock.now()).incidents;
    let incidents = opened.runs.first().map(of).unwrap_or_default();
    context.ui.raw(&serde_json::to_vec(&incidents).map_err(Error::from_json)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The incidents of a run, from a process of its own.
fn incidents(run: &str) -> Result<Vec<Incident>> {
    let cannot = |why: String| Error::new(format!("cannot look at run {run}: {why}"));
    let mut command = process::Command::new(std::env::current_exe()?);
    command.args(["notify", "look", "--run", run]);
    let (outcome, output) = Run::new(command, LOOK_TIMEOUT).collect(MAX_INCIDENTS_BYTES)?;
    match outcome {
        Outcome::Ended(status) if status.success() => {
            serde_json::from_slice(&output).map_err(|error| cannot(error.to_string()))
        }
        Outcome::Ended(status) => {
            Err(cannot(format!("exit code {}", shell_code(status))).hint(format!("teamkeep report {run}")))
        }
        Outcome::TimedOut => Err(cannot("it took too long".to_owned())),
        Outcome::Stopped => Err(cannot("interrupted, or its incidents are too large".to_owned())),
    }
}
