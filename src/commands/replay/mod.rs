//! `teamkeep replay RUN`: the timeline of a run, or a part of it.

mod follow;

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use super::catalog::{self, catalog, time_of_run, warn_outside_run};
use super::output::{self, json_line};
use super::watch;
use crate::context::Context;
use crate::timeline::{Entry, Filter, Kind, RunData, merge};
use crate::ui;
use crate::view::{self, TimelineOptions};
use crate::watch::Speed;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::store::archive::RunRecord;
use teamkeep_core::sys::clock;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep replay parser-team --since +1m --until +2m --involving bob
  teamkeep replay latest --kind message --kind verdict --format mermaid > run.mmd
  teamkeep replay latest --follow")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    #[command(flatten)]
    part: Part,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Include automatic notices (idle, assignment, shutdown), the lead's own membership, and turns without a prompt
    #[arg(short, long)]
    all: bool,
    /// Print messages, prompts and final replies in full
    #[arg(long)]
    full: bool,
    /// Continue with new events until the run ends. Entries that become known late are printed late
    #[arg(short, long, conflicts_with = "until")]
    follow: bool,
    /// Another name of `teamkeep watch --speed`
    #[arg(long, value_name = "SPEED", value_parser = Speed::parse, hide = true, conflicts_with_all = SPEED_EXCLUDES)]
    speed: Option<Speed>,
}

/// The board always shows the whole run.
const SPEED_EXCLUDES: [&str; 10] =
    ["follow", "format", "json", "all", "full", "since", "until", "actor", "involving", "kind"];

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

#[derive(Debug, clap::Args)]
struct Part {
    /// Start time: time since the start of the run (`+1m30s`), `2026-02-03 04:05` (local), RFC 3339, `2026-02-03`,
    /// `today`, or an age (`10m`, `2h`)
    #[arg(long, alias = "from", value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// End time (same formats as --since)
    #[arg(long, alias = "to", value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
    /// Only events of this actor: a name, an agent ID, `lead`, `teammate` or `subagent`; can be repeated
    #[arg(long, value_name = "NAME")]
    actor: Vec<String>,
    /// Only events by this actor or that concern it: messages to it, its tasks, verdicts about it; can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "actor")]
    involving: Vec<String>,
    /// Only events of this kind, such as `message` or `task-completed`; can be repeated
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
}

impl Args {
    fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    fn options(&self, context: &Context) -> TimelineOptions {
        let asked = !self.part.kind.is_empty();
        TimelineOptions { all: self.all, asked, full: self.full, columns: context.ui.columns() }
    }
}

impl Part {
    fn filter(&self, context: &Context, run: &RunRecord) -> Result<Filter> {
        let kinds = self.kind.iter().map(|kind| Kind::parse(kind)).collect::<Result<Vec<Kind>>>()?;
        let from = time_of_run(context, self.since.as_deref(), run)?;
        let to = time_of_run(context, self.until.as_deref(), run)?;
        if let (Some(from), Some(to)) = (from, to)
            && from > to
        {
            let (from, to) = (clock::moment(from), clock::moment(to));
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
        Ok(Filter::between(from, to).only(&self.actor, &kinds).involving(&self.involving))
    }
}

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    if let Some(speed) = args.speed {
        return watch::run(context, &watch::Args::playing(&args.run, speed));
    }
    let catalog = catalog(context)?;
    let run = catalog.find(&args.run)?;
    let filter = args.part.filter(context, run)?;
    if args.format() == Format::Mermaid && args.follow {
        return Err(Error::usage("--format mermaid cannot be combined with --follow").hint("remove --follow"));
    }
    if args.follow {
        return follow::follow(context, args, &run.run, &filter);
    }
    let opened = catalog.open_timelines(&[run])?;
    for run in &opened.runs {
        show(context, args, run, &filter)?;
    }
    catalog::warn_damaged(context, &catalog, &opened);
    Ok(ExitCode::SUCCESS)
}

fn show(context: &Context, args: &Args, run: &RunData, filter: &Filter) -> Result<()> {
    let timeline = merge(run);
    if let Some(error) = filter.unknown_actor(&timeline.entries, run) {
        return Err(error);
    }
    let part: Vec<&Entry> = timeline.entries.iter().filter(|entry| filter.contains(entry, run)).collect();
    let options = args.options(context);
    match args.format() {
        Format::Text => {
            let write = |out: &mut dyn Write| view::timeline(run, &timeline, &part, options, out);
            output::page_with(context, write)?;
        }
        Format::Json => {
            let mut out = BufWriter::new(context.ui.json());
            let mut entries = part.iter();
            ui::quiet(entries.try_for_each(|entry| json_line(&mut out, entry)).and_then(|()| out.flush()))?;
        }
        Format::Mermaid => {
            let diagram = view::mermaid(run, &part, options);
            if diagram.len() > view::MAX_MERMAID_CHARS {
                context.ui.eprint_line(&format!(
                    "the diagram has {} characters, and Mermaid takes {} unless its maxTextSize is set: --from, --to, \
                     --actor and --kind make it smaller",
                    diagram.len(),
                    view::MAX_MERMAID_CHARS
                ));
            }
            output::print(context, &diagram)?;
        }
    }
    if part.is_empty() && !timeline.entries.is_empty() {
        context.ui.eprint_line("No entries match these filters.");
    }
    Ok(())
}
