//! `teamkeep log RUN`: the history of a run, or a part of it. With `--raw`, the recorded events (`raw`); with
//! `--follow`, the later ones as they are added.

use std::io::{BufWriter, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::catalog::{self, catalog, time_of_run, warn_outside_run};
use super::number;
use super::output::{self, json_line};
use crate::view::{self, EntryLines, TimelineOptions};
use teamkeep_history::timeline::{
    Entry, Filter, Fingerprint, Kind, NewEntries, OpenedRun, RunCatalog, RunData, Timeline, merge,
};
use teamkeep_model::time;
use teamkeep_store::archive::RunRecord;
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::{Context, quiet};

mod raw;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # What bob did, and what happened to bob
  teamkeep log --involving bob

  # The second minute of a team's last run
  teamkeep log parser-team --since +1m --until +2m

  # Messages and verdicts as a diagram
  teamkeep log latest --kind message --kind verdict --format mermaid > run.mmd

  # The hook calls of all sessions, as they are recorded
  teamkeep log --raw --event teammate-idle --follow")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`. Default: the last run, and with --raw all sessions
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Only entries since this time: `+1m30s` after the start, `2h` ago, `17:53`, `2026-02-03 04:05`
    #[arg(long, alias = "from", value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// Only entries until this time
    #[arg(long, alias = "to", value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
    /// Only entries of this agent: a name, an agent ID, `lead`, `teammate` or `subagent`; can be repeated
    #[arg(long, value_name = "NAME")]
    agent: Vec<String>,
    /// Only entries of this agent or that concern it: messages to it, its tasks, verdicts about it; can be repeated
    #[arg(long, value_name = "NAME", conflicts_with_all = ["agent", "raw"])]
    involving: Vec<String>,
    /// Only entries of this kind, such as `message` or `task-completed`; can be repeated
    #[arg(long, value_name = "KIND", conflicts_with = "raw")]
    kind: Vec<String>,
    /// Only the last COUNT entries
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = number::count)]
    limit: Option<usize>,
    /// Continue with new entries until the run ends; with --raw, until Ctrl-C. Entries that become known late are printed
    /// late
    #[arg(short, long, conflicts_with = "until")]
    follow: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", conflicts_with = "raw")]
    format: Format,
    /// Print one JSON object per line; with --raw, the recorded lines
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Include automatic notices (idle, assignment, shutdown), the lead's own membership, and turns without a prompt
    #[arg(short, long, conflicts_with = "raw")]
    all: bool,
    /// Print messages, prompts, final replies and the reasons of verdicts in full
    #[arg(long, conflicts_with = "raw")]
    full: bool,
    /// Print the recorded events, one for each hook call, instead of the history
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    events: raw::Filter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Format {
    /// Human-readable
    #[default]
    Text,
    /// One JSON object per line
    Json,
    /// A Mermaid sequence diagram
    Mermaid,
}

impl Args {
    fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    fn options(&self, context: &Context) -> TimelineOptions {
        let asked = !self.kind.is_empty();
        TimelineOptions { all: self.all, asked, full: self.full, columns: context.ui.columns() }
    }

    fn filter(&self, context: &Context, run: &RunRecord) -> Result<Filter> {
        let kinds = self.kind.iter().map(|kind| Kind::parse(kind)).collect::<Result<Vec<Kind>>>()?;
        let from = time_of_run(context, self.since.as_deref(), run)?;
        let to = time_of_run(context, self.until.as_deref(), run)?;
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            let (from, to) = (time::moment(from), time::moment(to));
            return Err(Error::usage(format!("--since {from} is later than --until {to}"))
                .hint("give the earlier time to --since"));
        }
        for (text, at, is_since) in [(&self.since, from, true), (&self.until, to, false)] {
            // A part may well start before the run or end after it.
            if let (Some(text), Some(at)) = (text, at)
                && (at >= run.started_at) == is_since
            {
                warn_outside_run(context, run, &[(text, at)]);
            }
        }
        Ok(Filter::between(from, to).only(&self.agent, &kinds).involving(&self.involving))
    }
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    if args.raw {
        raw::run(context, args)?;
        return Ok(ExitCode::SUCCESS);
    }
    let catalog = catalog(context)?;
    let hint = "to list the recorded events of all sessions: teamkeep log --raw";
    let found = catalog::find(&catalog, args.run.as_deref().unwrap_or("latest"));
    let run = found.map_err(|error| if error.hints.is_empty() { error.hint(hint) } else { error })?;
    let filter = args.filter(context, run)?;
    if args.format() == Format::Mermaid && args.follow {
        return Err(Error::usage("--format mermaid cannot be combined with --follow").hint("remove --follow"));
    }
    if args.follow {
        return follow(context, args, &run.run, &filter);
    }
    let opened = catalog.open_timelines(&[run])?;
    for run in &opened.runs {
        show(context, args, run, &filter)?;
    }
    opened.runs.iter().filter_map(|run| run.clock_note()).for_each(|note| context.ui.warn(note));
    catalog::warn_damaged(context, &catalog, &opened);
    Ok(ExitCode::SUCCESS)
}

fn show(context: &Context, args: &Args, run: &RunData, filter: &Filter) -> Result<()> {
    let timeline = merge(run);
    if let Some(error) = filter.unknown_agent(&timeline.entries, run) {
        return Err(error);
    }
    let options = args.options(context);
    let is_part = |entry: &&Entry| {
        filter.contains(entry, run) && (args.format() != Format::Text || options.shows(entry))
    };
    let mut part: Vec<&Entry> = timeline.entries.iter().filter(is_part).collect();
    part.drain(..part.len().saturating_sub(args.limit.unwrap_or(usize::MAX)));
    match args.format() {
        Format::Text => {
            let write = |out: &mut dyn Write| view::timeline(run, &timeline, &part, options, out);
            output::page_with(context, write)?;
        }
        Format::Json => {
            let mut out = BufWriter::new(context.ui.json());
            let mut entries = part.iter();
            quiet(entries.try_for_each(|entry| json_line(&mut out, entry)).and_then(|()| out.flush()))?;
        }
        Format::Mermaid => {
            let diagram = view::mermaid(run, &part, options);
            if diagram.len() > view::MAX_MERMAID_CHARS {
                context.ui.eprint_line(&format!(
                    "the diagram has {} characters, and Mermaid takes {} unless its maxTextSize is set: --since, --until, \
                     --agent and --kind make it smaller",
                    diagram.len(),
                    view::MAX_MERMAID_CHARS
                ));
            }
            output::print(context, &diagram)?;
        }
    }
    if part.is_empty() && !timeline.entries.is_empty() {
        context.ui.eprint_line("no entries match these filters");
    }
    Ok(())
}

const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Reading takes only a part of the time: after each read, the command waits this many times as long.
const RESTS: u32 = 4;
/// How long an ended run is followed: a background process is still archiving its transcripts.
const LINGER_TIME: Duration = Duration::from_secs(5);

/// `--follow`: prints a running team's timeline as it grows.
fn follow(context: &Context, args: &Args, run: &str, filter: &Filter) -> Result<ExitCode> {
    let (start, mut ended) = (Instant::now(), None);
    let is_json = args.format() == Format::Json;
    let mut out: Box<dyn Write> =
        if is_json { Box::new(context.ui.json()) } else { Box::new(context.ui.out()) };
    let mut lines: Option<EntryLines> = None;
    let mut new_entries = NewEntries::default();
    let mut snapshot = Snapshot::read(context, run, None)?;
    loop {
        let Snapshot { catalog, opened, timeline, cost, changed, .. } = &snapshot;
        let Some(data) = opened.runs.first() else { return Ok(ExitCode::SUCCESS) };
        let is_first = new_entries.is_new();
        if is_first && let Some(error) = filter.unknown_agent(&timeline.entries, data) {
            // The agent may join.
            context.ui.eprint_line(&format!("{error}, as yet"));
            error.hints.iter().for_each(|hint| context.ui.eprint_line(&format!("hint: {hint}")));
        }
        ended = data.run.ended_at.as_ref().map(|_| ended.unwrap_or_else(Instant::now));
        let is_ended = ended.is_some_and(|since| data.run.finished || since.elapsed() > LINGER_TIME);
        // A process of another user may look gone; as long as entries arrive, the run has not ended.
        let is_last = is_ended || (data.client_gone && changed.elapsed() > LINGER_TIME);
        let due = new_entries.take(&timeline.entries, (!is_last).then(|| start.elapsed()));
        let due = due.into_iter().map(|index| &timeline.entries[index]);
        let options = args.options(context);
        let is_due = |entry: &&Entry| filter.contains(entry, data) && (is_json || options.shows(entry));
        let mut due: Vec<&Entry> = due.filter(is_due).collect();
        if is_first {
            due.drain(..due.len().saturating_sub(args.limit.unwrap_or(usize::MAX)));
        }
        let mut text = Vec::new();
        if is_json {
            due.iter().try_for_each(|entry| json_line(&mut text, entry))?;
        } else {
            if is_first {
                text.extend(view::heading(data, timeline).to_terminal(options.columns).into_bytes());
            }
            let new = || EntryLines::ahead(data.run.started_at, &data.members, options);
            let lines = lines.get_or_insert_with(new);
            lines.options = options;
            due.into_iter().for_each(|entry| text.extend(lines.format(entry.into()).into_bytes()));
        }
        if let Err(error) = out.write_all(&text).and_then(|()| out.flush()) {
            return quiet(Err(error)).map(|()| ExitCode::SUCCESS).map_err(Error::from);
        }
        if is_last {
            context.ui.eprint_line(&view::ending(data, timeline));
            catalog::warn_damaged(context, catalog, opened);
            return Ok(ExitCode::SUCCESS);
        }
        if is_first && context.ui.is_terminal() {
            context.ui.eprint_line("waiting for more events (Ctrl-C to stop)");
        }
        std::thread::sleep(POLL_INTERVAL.max(*cost * RESTS));
        if !snapshot.is_current() {
            snapshot = Snapshot::read(context, run, Some(&snapshot))?;
        }
    }
}

struct Snapshot {
    catalog: RunCatalog,
    opened: OpenedRun,
    timeline: Timeline,
    fingerprint: Fingerprint,
    changed: Instant,
    cost: Duration,
}

impl Snapshot {
    fn read(context: &Context, run: &str, before: Option<&Snapshot>) -> Result<Snapshot> {
        let start = Instant::now();
        let catalog = catalog(context)?;
        let record = catalog.find(run)?;
        // Before reading, so that data that arrives meanwhile is a change.
        let fingerprint = catalog.fingerprint(record);
        let opened = catalog.open_timelines(&[record])?;
        let timeline = opened.runs.first().map(merge).unwrap_or_default();
        let unchanged = before.filter(|before| before.fingerprint == fingerprint);
        let changed = unchanged.map_or(start, |before| before.changed);
        let cost = start.elapsed();
        Ok(Snapshot { catalog, opened, timeline, fingerprint, changed, cost })
    }

    fn is_current(&self) -> bool {
        let fingerprint = self.opened.runs.first().map(|run| self.catalog.fingerprint(&run.run));
        fingerprint.as_ref() == Some(&self.fingerprint)
    }
}
