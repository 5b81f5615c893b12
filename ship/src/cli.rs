//! The command line of `teamkeep-ship`, which `teamkeep ship` runs: sending, and what each destination has.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;
use teamkeep_model::words::count;

use clap::{Parser, Subcommand};
use serde::Serialize;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_store::shipping::{Destination, Last, RemovedUnshipped, Shipping};
use teamkeep_system::error::{Error, Result, USAGE};
use teamkeep_system::{diagnostics, os};
use teamkeep_terminal::ship_options::{EXAMPLES, SendArgs, ShipCommand};
use teamkeep_terminal::{Context, Ui};

use crate::part::RoundOutcome;
use crate::requests::random;
use crate::rounds;
use crate::selection::unsent_runs;
use crate::setup::Setup;

/// The longest delay of a background round whose last one failed.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Send recorded data to an object store, a file or an OpenTelemetry receiver
#[derive(Debug, Parser)]
#[command(name = "teamkeep ship", version, max_term_width = 100)]
#[command(after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    send: SendArgs,
    #[command(subcommand)]
    command: Option<Command>,
    /// Use colors: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true
    )]
    color: clap::ColorChoice,
    /// Suppress notes, hints and warnings on stderr
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Show times in UTC, and read times without a zone as UTC
    #[arg(long, global = true)]
    utc: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Documented(ShipCommand),
    /// Send all new data without output; problems go to the diagnostics. Hooks run this
    #[command(hide = true)]
    Run {
        #[arg(long, required = true)]
        after_hook: bool,
    },
}

pub fn main(args: Vec<OsString>) -> ExitCode {
    os::files::report_size_limit();
    os::files::set_private_umask();
    diagnostics::exit_on_panic(diagnostics::COMMAND_PANIC_EXIT_CODE, || {});
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    match cli.color {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    if !cli.utc {
        time::use_local();
    }
    let ui = Ui { quiet: cli.quiet, unpaged: true };
    // These use no network, where a connection can break.
    let prints = cli.send.dry_run || matches!(cli.command, Some(Command::Documented(_)));
    match run(cli, ui) {
        Ok(code) => code,
        // The reader has stopped reading.
        Err(error) if prints && is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            ui.report(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn is_closed_pipe(error: &Error) -> bool {
    let sources = std::iter::successors(std::error::Error::source(error), |error| error.source());
    let mut io = sources.filter_map(|error| error.downcast_ref::<io::Error>());
    io.any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn run(cli: Cli, ui: Ui) -> Result<ExitCode> {
    match cli.command {
        Some(Command::Documented(ShipCommand::Status { json })) => print_status(Context::new(ui)?, json)?,
        Some(Command::Run { .. }) => after_hook()?,
        None => return send(&cli.send, ui),
    }
    Ok(ExitCode::SUCCESS)
}

fn send(args: &SendArgs, ui: Ui) -> Result<ExitCode> {
    let setup = Setup::new(Context::new(ui)?)?;
    let now = setup.context.clock.now();
    let since =
        args.since.as_deref().map(|since| teamkeep_terminal::parse_time(since, None, now)).transpose()?;
    if args.dry_run {
        rounds::preview(&setup, since, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        match send_round(&setup, since, ui) {
            Ok(is_complete) if args.once => {
                return Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE });
            }
            Err(error) if args.once => return Err(error),
            Ok(_) => {}
            Err(error) => ui.report(&error),
        }
        std::thread::sleep(setup.context.config.ship.interval);
    }
}

/// Sends all new data. Claude Code, whose hook has started this process, may be gone.
fn after_hook() -> Result<()> {
    os::process::detach();
    let (context, problem) = Context::lenient(Ui { quiet: true, unpaged: true })?;
    let (dir, clock) = (context.paths.diagnostics(), context.clock);
    let note = |text: &str| diagnostics::note(&dir, &clock, text);
    if let Some(problem) = problem {
        note(&format!("cannot ship: {problem}"));
        return Ok(());
    }
    // After an outage, not all machines come back in the same second.
    let (state, _) = Shipping::of(&context.paths).read()?;
    if state.last.is_some_and(|last| last.error.is_some()) {
        std::thread::sleep(random(MAX_DELAY));
    }
    match Setup::new(context).and_then(|setup| rounds::ship(&setup, None)) {
        Ok(round) => {
            let round = round.unwrap_or_default();
            round.notes.iter().for_each(|problem| note(problem));
            round.errors.iter().for_each(|error| note(&format!("cannot ship: {error}")));
        }
        Err(error) => note(&format!("cannot ship: {error}")),
    }
    Ok(())
}

/// Sends all new data and reports it. Returns whether everything was sent.
fn send_round(setup: &Setup, since: Option<Timestamp>, ui: Ui) -> Result<bool> {
    let Some(round) = rounds::ship(setup, since)? else {
        if since.is_some() {
            let error = Error::new("cannot store the time of --since: another process is sending");
            return Err(error.hint("run the command again when the other one has ended"));
        }
        ui.eprint_line("another process is sending; nothing to do");
        return Ok(true);
    };
    report(&round, ui);
    Ok(round.errors.is_empty())
}

fn report(round: &RoundOutcome, ui: Ui) {
    let sent = round.sent;
    ui.eprint_line(&format!(
        "sent {} and {} ({}, {} KiB)",
        count(sent.events, "event"),
        count(sent.runs, "run"),
        count(sent.rows, "row"),
        sent.bytes.div_ceil(1 << 10)
    ));
    if sent.damaged > 0 {
        ui.warn(format!(
            "{} of the log cannot be read and were not sent: teamkeep verify",
            count(sent.damaged, "line")
        ));
    }
    round.notes.iter().for_each(|note| ui.warn(note));
    round.errors.iter().for_each(|error| ui.report(error));
}

/// The state of each destination: the format of `status --json`.
#[derive(Debug, Serialize)]
struct Status {
    v: u32,
    destinations: Vec<DestinationStatus>,
    /// The runs whose description cannot be read. They are not sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable_runs: Vec<String>,
    last: Option<Last>,
    /// The segments that retention removed from the log before they were sent.
    removed: Option<RemovedUnshipped>,
}

#[derive(Debug, Serialize)]
struct DestinationStatus {
    kind: &'static str,
    address: String,
    /// Data that began before this time is not sent.
    since: Option<Timestamp>,
    runs: usize,
    unsent_runs: usize,
    unsent_segments: usize,
    unsent_bytes: u64,
}

fn print_status(context: Context, json: bool) -> Result<()> {
    let ui = context.ui;
    let setup = Setup::new(context)?;
    let status = Status::of(&setup)?;
    if json {
        let mut out = ui.json();
        serde_json::to_writer_pretty(&mut out, &status).map_err(Error::from_json)?;
        return Ok(writeln!(out).and_then(|()| out.flush())?);
    }
    let mut out = ui.out();
    write!(out, "{}", status.text())?;
    Ok(out.flush()?)
}

impl Status {
    fn of(setup: &Setup) -> Result<Status> {
        let shipping = Shipping::of(&setup.context.paths);
        let (state, damage) = shipping.read()?;
        if let Some(damage) = damage {
            setup.context.ui.warn(format!(
                "the state of shipping is damaged, and everything will be sent again: {damage}"
            ));
        }
        let catalog = setup.catalog();
        let of_destination = |destination: Destination| {
            let mut segments = shipping.closed_segments()?;
            segments.retain(|segment| state.lacks_segment(&destination, segment));
            let shipped = state.destinations.get(&destination.id);
            Ok(DestinationStatus {
                kind: destination.kind.name(),
                since: state.since(&destination),
                runs: shipped.map_or(0, |shipped| shipped.runs.len()),
                unsent_runs: unsent_runs(&catalog, &state, &destination).len(),
                unsent_segments: segments.len(),
                unsent_bytes: segments.iter().map(|segment| segment.size).sum(),
                address: destination.address,
            })
        };
        let destinations = state.configured(&setup.context.config.ship).into_iter().map(of_destination);
        Ok(Status {
            v: 1,
            destinations: destinations.collect::<Result<Vec<_>>>()?,
            unreadable_runs: catalog.damaged,
            last: state.last,
            removed: shipping.removed(),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for one in &self.destinations {
            text.push_str(&format!("{} {}\n", one.kind, one.address));
            if let Some(since) = one.since {
                text.push_str(&format!("  only data from {} on\n", time::moment(since)));
            }
            text.push_str(&format!("  sent: {}\n", count(one.runs, "run")));
            let unsent = match (one.unsent_runs, one.unsent_segments) {
                (0, 0) => "nothing".to_owned(),
                (runs, 0) => count(runs, "run"),
                (runs, _) => {
                    format!("{}, {} KiB of the log", count(runs, "run"), one.unsent_bytes.div_ceil(1 << 10))
                }
            };
            text.push_str(&format!("  not sent: {unsent}\n"));
        }
        if let Some(first) = self.unreadable_runs.first() {
            let runs = count(self.unreadable_runs.len(), "run");
            text.push_str(&format!("unreadable: {runs}; to see why: teamkeep verify {first}\n"));
        }
        match &self.last {
            None => text.push_str("nothing has been sent yet\n"),
            Some(Last { at, error: None, .. }) => {
                text.push_str(&format!("last sent: {}\n", time::moment(*at)))
            }
            Some(Last { at, error: Some(error), .. }) => {
                text.push_str(&format!("last tried: {}\n  error: {error}\n", time::moment(*at)));
            }
        }
        if let Some(removed) = &self.removed {
            text.push_str(&format!(
                "lost: {} KiB of the log were removed before they were sent; raise ship.keep-unshipped\n",
                removed.bytes.div_ceil(1 << 10)
            ));
        }
        text
    }
}
