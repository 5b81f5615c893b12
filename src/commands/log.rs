//! `teamkeep log`: the recorded events.

mod printer;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use super::read_context;
use super::suggest::{ArgumentInfo, plain};
use super::time_arg::{parse_time, time};
use crate::archive::RunRecord;
use crate::clock::Time;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::log::{self, Follower, Line, Range, ReadErrors, Reader};
use crate::payload::Kind;
use crate::retention;
use crate::team;
use crate::timeline::RunCatalog;
use crate::ui::{self, Ui};
use printer::Printer;

/// How often a follower looks for new lines.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Lines that a follower begins with.
const BEFORE: usize = 10;

/// Arguments of `teamkeep log`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only events of this run: team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Only events of this team
    #[arg(long)]
    team: Option<String>,
    /// Only events of sessions whose ID starts with PREFIX
    #[arg(long, value_name = "PREFIX")]
    session: Option<String>,
    /// Only this event (`SubagentStop` or `subagent-stop`); can be repeated
    #[arg(long, value_name = "EVENT")]
    event: Vec<String>,
    /// Only events of this actor: a name, an agent ID, or a kind (lead, teammate, subagent, helper, unknown)
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only events since this time: `2026-02-03 04:05` (local), RFC 3339, `2026-02-03`, `today`, an age (`10m`, `2h`), or
    /// with RUN the time since its start (`+1m30s`)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// Only events until this time (same formats as --since)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
    /// Only the last COUNT events
    #[arg(short = 'n', long = "lines", value_name = "COUNT")]
    count: Option<usize>,
    /// Print the last 10 events (or -n, or --since), then wait for new ones
    #[arg(short, long)]
    follow: bool,
    /// Print the recorded lines: one JSON object per line
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep log latest --event pre-tool-use
  teamkeep log --since 2h --actor teammate
  teamkeep log --team parser-team --event teammate-idle --follow";

/// Runs it.
///
/// # Errors
/// When the log's directory cannot be listed, or stdout cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let library = args.run.as_ref().map(|_| read_context::library(context)).transpose()?;
    let run = match (&library, &args.run) {
        (Some(library), Some(name)) => Some((library, library.find(name)?)),
        _ => None,
    };
    let now = context.clock.now();
    let read = |text: &Option<String>| -> Result<Option<Time>> {
        let read = |text: &String| run.map_or_else(|| time(text, now), |(_, run)| parse_time(text, run, now));
        text.as_ref().map(read).transpose()
    };
    let range = Range { since: read(&args.since)?, until: read(&args.until)? };
    match show(context, args, run, range) {
        Ok(None) => Ok(ExitCode::SUCCESS),
        Ok(Some(error)) => Err(error),
        Err(error) => ui::quiet(Err(error)).map(|()| ExitCode::SUCCESS).map_err(Error::from),
    }
}

/// Prints the events. The error names a filter value that nothing recorded has.
fn show(
    context: &Context,
    args: &Args,
    run: Option<(&RunCatalog, &RunRecord)>,
    range: Range,
) -> io::Result<Option<Error>> {
    let dir = context.paths.log();
    let parts = retention::parts(&read_context::archive(context));
    let asked =
        ArgumentInfo { team: args.team.as_deref(), events: &args.event, actor: args.actor.as_deref() };
    if let Some(error) = asked.unknown_event(&dir, &parts)? {
        return Ok(Some(error));
    }
    let id = run.map(|(_, run)| run.run.clone());
    let wanted = |line: &Line| args.want(line, id.as_deref());
    let mut printer = Printer::new(context, args);
    let library =
        if printer.is_for_people() && !args.follow { read_context::library(context).ok() } else { None };
    let count = args.count.or((args.follow && args.since.is_none()).then_some(BEFORE));

    let (problems, follower) = match count {
        _ if run.is_some() && !args.follow => {
            let lines = of_run(run, |line| range.holds(&line.recorded.at) && args.want(line, None))?;
            printer.mark(run.map(|(library, _)| library), lines.0.iter())?;
            let skipped = lines.0.len().saturating_sub(count.unwrap_or(usize::MAX));
            lines.0.iter().skip(skipped).try_for_each(|line| printer.print(line))?;
            (lines.1, Follower::new(&dir, range))
        }
        Some(count) => {
            let last = log::last(&dir, &parts, range, count, wanted)?;
            printer.mark(library.as_ref(), last.lines.iter())?;
            last.lines.iter().try_for_each(|line| printer.print(line))?;
            (last.problems, last.follower)
        }
        None if args.follow => (ReadErrors::default(), Follower::new(&dir, range)),
        None => {
            if library.is_some() {
                let reports =
                    |line: &Line| Kind::named(&line.recorded.event) == Kind::TaskCompleted && wanted(line);
                let lines: Vec<Line> = Reader::with(&dir, &parts, range)?.filter(reports).collect();
                printer.mark(library.as_ref(), lines.iter())?;
            }
            let mut reader = Reader::with(&dir, &parts, range)?;
            reader.by_ref().filter(wanted).try_for_each(|line| printer.print(&line))?;
            (reader.into_problems(), Follower::new(&dir, range))
        }
    };
    // Waits for the pager.
    printer.out.flush()?;
    warn(&context.ui, &problems);
    if args.follow {
        if printer.printed == 0 && context.ui.is_terminal() {
            context.ui.eprint_line("nothing to show yet; waiting for events (Ctrl-C ends this)");
        }
        return follow(context, args, id.as_deref(), follower, printer).map(|()| None);
    }
    if printer.printed == 0 {
        match asked.explain(&dir, &parts)? {
            Ok(note) => context.ui.eprint_line(&note),
            Err(error) => return Ok(Some(error)),
        }
    }
    Ok(None)
}

/// The wanted lines of a run, by time.
fn of_run(
    run: Option<(&RunCatalog, &RunRecord)>,
    wanted: impl Fn(&Line) -> bool,
) -> io::Result<(Vec<Line>, ReadErrors)> {
    let (mut lines, mut problems) = (Vec::new(), ReadErrors::default());
    if let Some((library, run)) = run {
        let each = |line: &Line| {
            if wanted(line) {
                lines.push(line.clone());
            }
            Ok(())
        };
        problems = library.lines_of(run, each).map_err(io::Error::other)?;
    }
    Ok((lines, problems))
}

fn follow(
    context: &Context,
    args: &Args,
    run: Option<&str>,
    mut follower: Follower,
    mut printer: Printer,
) -> io::Result<()> {
    loop {
        printer.measure(&context.ui);
        follower.poll(|line| if args.want(&line, run) { printer.print(&line) } else { Ok(()) })?;
        printer.out.flush()?;
        warn(&context.ui, &follower.take_problems());
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn warn(ui: &Ui, problems: &ReadErrors) {
    if problems.is_empty() {
        return;
    }
    ui.warn(format!("{} log lines cannot be read:", problems.count));
    problems.first.iter().for_each(|problem| ui.eprint_line(&format!("  {problem}")));
}

impl Args {
    /// Whether a line matches the filters; with `run`, whether its hook call belongs to that run.
    fn want(&self, line: &Line, run: Option<&str>) -> bool {
        let recorded = &line.recorded;
        if run.is_some() && recorded.run.as_deref() != run {
            return false;
        }
        let is = |wanted: &Option<String>, value: &Option<String>| wanted.is_none() || wanted == value;
        let actor = || {
            let kind = || self.actor.as_deref() == Some(recorded.actor.kind.word());
            is(&self.actor, &recorded.actor.name) || is(&self.actor, &recorded.actor.id) || kind()
        };
        let session = |prefix: &String| {
            recorded.session.as_ref().is_some_and(|session| session.starts_with(prefix.as_str()))
        };
        let event = || self.event.iter().any(|event| plain(event) == plain(&recorded.event));
        // A team's directory is not always called as the team was.
        let called = || self.team.as_deref().map(team::directory);
        (is(&self.team, &recorded.team) || is(&called(), &recorded.team))
            && actor()
            && self.session.as_ref().is_none_or(session)
            && (self.event.is_empty() || event())
    }
}
