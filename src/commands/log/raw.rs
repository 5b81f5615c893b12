//! `teamkeep log --raw`: the recorded events.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

use teamkeep_history::{Follower, Range, ReadErrors, Reader};
use teamkeep_model::event::{ActorKind, OVERRIDE};
use teamkeep_model::payload::KNOWN;
use teamkeep_model::team;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::RunRecord;
use teamkeep_store::log::{EventLog, Line, Logs};
use teamkeep_system::error::{self, Error, Result};

use super::Args;
use crate::commands::catalog::{self, catalog};
use crate::view::RawLogView;
use teamkeep_history::timeline::RunCatalog;
use teamkeep_terminal::{Context, Ui, parse_time, quiet};

const POLL_INTERVAL: Duration = Duration::from_millis(200);
const BEFORE: usize = 10;

pub fn run(context: &Context, args: &Args) -> Result<()> {
    let catalog = args.run.as_ref().map(|_| catalog(context)).transpose()?;
    let run = match (&catalog, &args.run) {
        (Some(catalog), Some(name)) => Some((catalog, catalog::find(catalog, name)?)),
        _ => None,
    };
    let times = run.map(|(_, run)| run.into());
    let parse = |text: &Option<String>| -> Result<Option<Timestamp>> {
        text.as_ref().map(|text| parse_time(text, times, context.clock.now())).transpose()
    };
    let range = Range { since: parse(&args.since)?, until: parse(&args.until)? };
    match print_events(context, args, run, range) {
        Ok(error) => error.map_or(Ok(()), Err),
        Err(error) => Ok(quiet(Err(error))?),
    }
}

fn print_events(
    context: &Context,
    args: &Args,
    run: Option<(&RunCatalog, &RunRecord)>,
    range: Range,
) -> io::Result<Option<Error>> {
    let logs = Logs::of(&context.paths);
    let all = logs.all()?;
    if let Some(error) = args.unknown_event(&all) {
        return Ok(Some(error));
    }
    let id = run.map(|(_, run)| run.run.as_str());
    let is_selected =
        |line: &Line| (id.is_none() || line.recorded.run.as_deref() == id) && args.selects(line);
    let mut printer = Printer::new(context, args);
    let count = args.limit.or((args.follow && args.since.is_none()).then_some(BEFORE));
    let mut follower = Follower::new(&logs, range);
    // Lines that are written while the last ones are read are found twice.
    let mut shown = BTreeSet::new();
    let problems = if let (Some((catalog, run)), false) = (run, args.follow) {
        let mut lines = Vec::new();
        let read = catalog.lines_of(run, |line| {
            if range.holds(line.recorded.at) && args.selects(line) {
                lines.push(line.clone());
            }
            Ok(())
        });
        let problems = read.map_err(io::Error::other)?;
        let skipped = lines.len().saturating_sub(count.unwrap_or(usize::MAX));
        lines[skipped..].iter().try_for_each(|line| printer.print(line))?;
        problems
    } else if let Some(count) = count {
        if args.follow {
            follower.skip_to_end()?;
        }
        let (lines, problems) = teamkeep_history::last(&logs.all()?, range, count, is_selected);
        lines.iter().try_for_each(|line| printer.print(line))?;
        shown.extend(lines.into_iter().map(|line| line.text));
        problems
    } else if args.follow {
        ReadErrors::default()
    } else {
        let mut reader = Reader::of_own(&all, range);
        reader.by_ref().filter(is_selected).try_for_each(|line| printer.print(&line))?;
        reader.problems
    };
    // Waits for the pager.
    printer.out.flush()?;
    warn(&context.ui, &problems);
    if args.follow {
        if printer.printed == 0 && context.ui.is_terminal() {
            context.ui.eprint_line("nothing to show yet; waiting for events (Ctrl-C ends this)");
        }
        loop {
            printer.measure(&context.ui);
            let is_new = |line: &Line| is_selected(line) && !shown.contains(&line.text);
            follower.poll(|line| if is_new(&line) { printer.print(&line) } else { Ok(()) })?;
            printer.out.flush()?;
            warn(&context.ui, &std::mem::take(&mut follower.problems));
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    if printer.printed == 0 {
        match args.explain(&all) {
            Ok(note) => {
                context.warn_missing_store();
                context.ui.eprint_line(note);
            }
            Err(error) => return Ok(Some(error)),
        }
    }
    Ok(None)
}

fn warn(ui: &Ui, problems: &ReadErrors) {
    if !problems.is_empty() {
        ui.warn(format!("{} log lines cannot be read:", problems.count));
        problems.first.iter().for_each(|problem| ui.eprint_line(&format!("  {problem}")));
    }
}

struct Printer {
    out: Box<dyn Write>,
    /// `None` for programs.
    view: Option<RawLogView>,
    printed: u64,
}

impl Printer {
    fn new(context: &Context, args: &Args) -> Printer {
        let ui = &context.ui;
        let out: Box<dyn Write> = match (args.json, args.follow || !ui.is_terminal()) {
            (true, _) => Box::new(ui.json()),
            (false, true) => Box::new(ui.out()),
            (false, false) => Box::new(context.paged()),
        };
        let mut printer = Printer { out, view: (!args.json).then(RawLogView::default), printed: 0 };
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

/// The options that only `--raw` has.
#[derive(Debug, clap::Args)]
pub struct Filter {
    /// With --raw: only events of this team
    #[arg(long, requires = "raw")]
    team: Option<String>,
    /// With --raw: only events of sessions whose ID starts with PREFIX
    #[arg(long, value_name = "PREFIX", requires = "raw")]
    session: Option<String>,
    /// With --raw: only this event (`SubagentStop` or `subagent-stop`); can be repeated
    #[arg(long, value_name = "EVENT", requires = "raw")]
    event: Vec<String>,
}

/// The name of an event, the same for both spellings.
fn normalize(event: &str) -> String {
    event.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect()
}

impl Args {
    fn selects(&self, line: &Line) -> bool {
        let recorded = &line.recorded;
        let is_actor = |name: &String| {
            recorded.actor.name.as_ref() == Some(name)
                || recorded.actor.id.as_ref() == Some(name)
                || recorded.actor.kind.name() == name
        };
        // A team's directory is not always called as the team was.
        let is_team = |name: &String| {
            recorded.team.as_ref().is_some_and(|team| team == name || *team == team::directory(name))
        };
        let is_session =
            |prefix: &String| recorded.session.as_ref().is_some_and(|id| id.starts_with(prefix.as_str()));
        let is_event =
            || self.events.event.iter().any(|event| normalize(event) == normalize(&recorded.event));
        let Filter { team, session, event } = &self.events;
        team.as_ref().is_none_or(is_team)
            && (self.agent.is_empty() || self.agent.iter().any(is_actor))
            && session.as_ref().is_none_or(is_session)
            && (event.is_empty() || is_event())
    }

    /// Explains why no event matches: an error for a name that nothing recorded has, else a note.
    fn explain(&self, logs: &[EventLog]) -> Result<&'static str> {
        let names = Names::read(logs);
        if names.is_log_empty {
            return Ok("no events recorded yet; check the hooks: teamkeep doctor");
        }
        let unknown = (self.events.team.as_deref().and_then(|team| unknown("team", team, &names.teams)))
            .or_else(|| {
                let agent = self.agent.iter().find(|agent| !names.agent_ids.contains(*agent))?;
                unknown("agent", agent, &names.actors)
            });
        unknown.map_or(Ok("no events match these filters"), Err)
    }

    /// An error for an event that Claude Code does not have and that was never recorded.
    fn unknown_event(&self, logs: &[EventLog]) -> Option<Error> {
        let known = || KNOWN.iter().map(|(_, name, _)| *name).chain(["verdict", OVERRIDE]);
        let is_known = |event: &&String| known().any(|known| normalize(known) == normalize(event));
        let mut others = self.events.event.iter().filter(|event| !is_known(event)).peekable();
        others.peek()?;
        let recorded = Names::read(logs).events;
        let is_unknown = |event: &&String| !recorded.iter().any(|one| normalize(one) == normalize(event));
        others.find(is_unknown).and_then(|event| unknown("event", event, &recorded)).map(Error::of_usage)
    }
}

#[derive(Default)]
struct Names {
    events: BTreeSet<String>,
    teams: BTreeSet<String>,
    actors: BTreeSet<String>,
    agent_ids: BTreeSet<String>,
    is_log_empty: bool,
}

impl Names {
    fn read(logs: &[EventLog]) -> Names {
        let mut names = Names { is_log_empty: true, ..Names::default() };
        names.events.extend(KNOWN.iter().map(|(_, name, _)| (*name).to_owned()));
        names.actors.extend(ActorKind::ALL.iter().map(|kind| kind.name().to_owned()));
        let mut reader = Reader::of_own(logs, Range::default());
        for line in reader.by_ref() {
            let recorded = line.recorded;
            names.is_log_empty = false;
            names.events.insert(recorded.event);
            names.teams.extend(recorded.team);
            names.actors.extend(recorded.actor.name);
            names.agent_ids.extend(recorded.actor.id);
        }
        names.is_log_empty &= reader.problems.count == 0;
        names
    }
}

fn unknown(what: &str, name: &str, known: &BTreeSet<String>) -> Option<Error> {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    (!known.contains(name)).then(|| error::unknown(what, name, &names))
}
