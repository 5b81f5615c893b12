//! `teamkeep log`: what was recorded, for people or for programs.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use super::reading;
use super::unmatched::{Asked, plain};
use crate::clock::When;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::log::{self, Follower, Line, Problems, Range, Reader};
use crate::render::LogView;
use crate::retention;
use crate::team;
use crate::ui::{self, Ui};

/// How often a follower looks for new lines.
const PAUSE: Duration = Duration::from_millis(200);
/// Lines that a follower begins with.
const BEFORE: usize = 10;

/// Arguments of `teamkeep log`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only events of this team
    #[arg(long)]
    team: Option<String>,
    /// Only events of the session whose id begins so
    #[arg(long, value_name = "PREFIX")]
    session: Option<String>,
    /// Only this event (`SubagentStop` or `subagent-stop`); may be repeated
    #[arg(long, value_name = "EVENT")]
    event: Vec<String>,
    /// Only what this actor did: a name, an agent id, or a kind (lead, teammate, subagent, helper, unknown)
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// Only events since this time: RFC 3339, `2026-02-03 04:05:06` (UTC), or an age: `10m`, `2h`, `1d` ago
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    since: Option<When>,
    /// Only events until this time, given in the same ways
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    until: Option<When>,
    /// Only the last COUNT events
    #[arg(short = 'n', long = "lines", value_name = "COUNT")]
    count: Option<usize>,
    /// Wait for new events, after the last 10 (or -n, or --since)
    #[arg(short, long)]
    follow: bool,
    /// Print the lines as they were recorded: JSON, one a line
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  teamkeep log --since 2h --actor teammate
  teamkeep log --team parser-team --event teammate-idle --follow";

/// Runs it.
///
/// # Errors
/// When the log's directory cannot be listed, or stdout cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    match show(context, args) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => ui::quiet(Err(error)).map(|()| ExitCode::SUCCESS).map_err(Error::from),
    }
}

fn show(context: &Context, args: &Args) -> io::Result<()> {
    let dir = context.paths.log();
    let now = context.clock.now();
    let time = |when: Option<When>| when.map(|when| when.before(now));
    let parts = retention::parts(&reading::archive(context));
    let range = Range { since: time(args.since), until: time(args.until) };
    let wanted = |line: &Line| args.want(line);
    let mut printer = Printer::new(&context.ui, args.json);
    let count = args.count.or((args.follow && args.since.is_none()).then_some(BEFORE));

    let (problems, follower) = match count {
        Some(count) => {
            let last = log::last(&dir, &parts, range, count, wanted)?;
            last.lines.iter().try_for_each(|line| printer.print(line))?;
            (last.problems, last.follower)
        }
        None if args.follow => (Problems::default(), Follower::new(&dir, range)),
        None => {
            let mut reader = Reader::with(&dir, &parts, range)?;
            reader.by_ref().filter(wanted).try_for_each(|line| printer.print(&line))?;
            (reader.into_problems(), Follower::new(&dir, range))
        }
    };
    printer.out.flush()?;
    warn(&context.ui, &problems);
    if args.follow {
        if printer.printed == 0 && context.ui.is_terminal() {
            context.ui.say("nothing to show yet; waiting for events (Ctrl-C ends this)");
        }
        return follow(context, args, follower, printer);
    }
    if printer.printed == 0 {
        let asked = Asked { team: args.team.as_deref(), events: &args.event, actor: args.actor.as_deref() };
        asked.explain(&dir, &parts)?.iter().for_each(|line| context.ui.say(line));
    }
    Ok(())
}

fn follow(context: &Context, args: &Args, mut follower: Follower, mut printer: Printer) -> io::Result<()> {
    loop {
        printer.measure(&context.ui);
        follower.poll(|line| if args.want(&line) { printer.print(&line) } else { Ok(()) })?;
        printer.out.flush()?;
        warn(&context.ui, &follower.take_problems());
        std::thread::sleep(PAUSE);
    }
}

fn warn(ui: &Ui, problems: &Problems) {
    if problems.is_empty() {
        return;
    }
    ui.say(&format!("teamkeep: what could not be read of the log ({} in all):", problems.count));
    problems.first.iter().for_each(|problem| ui.say(&format!("  {problem}")));
}

impl Args {
    fn want(&self, line: &Line) -> bool {
        let recorded = &line.recorded;
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

/// Prints events in the form that is asked for.
struct Printer {
    out: Box<dyn Write>,
    /// `None` for programs.
    view: Option<LogView>,
    printed: u64,
}

impl Printer {
    fn new(ui: &Ui, json: bool) -> Printer {
        let out: Box<dyn Write> = if json { Box::new(ui.json()) } else { Box::new(ui.out()) };
        let mut printer = Printer { out, view: (!json).then(LogView::default), printed: 0 };
        printer.measure(ui);
        printer
    }

    /// Asks for the width of the terminal, which may change.
    fn measure(&mut self, ui: &Ui) {
        if let Some(view) = &mut self.view {
            view.columns = ui.columns();
        }
    }

    fn print(&mut self, line: &Line) -> io::Result<()> {
        self.printed += 1;
        match &mut self.view {
            Some(view) => view.write(&mut self.out, &line.recorded),
            None => writeln!(self.out, "{}", line.text),
        }
    }
}
