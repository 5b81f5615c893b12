//! `teamkeep replay RUN`: the timeline of a run, or a part of it.

mod filter_args;
mod follow;
mod player;

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use self::player::{Playlist, Speed};
use super::read_context;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::timeline::{Entry, Filter, RunData, merge};
use crate::ui;
use crate::view::{self, TimelineOptions};

/// Arguments of `teamkeep replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    #[command(flatten)]
    part: filter_args::Part,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Include automatic notices (idle, assignment, shutdown), the lead's own membership, and turns without a prompt
    #[arg(short, long)]
    all: bool,
    /// Print messages, prompts and final replies in full (not with --speed on a terminal)
    #[arg(long)]
    full: bool,
    /// Continue with new events until the run ends. Entries that become known late are printed late
    #[arg(short, long, conflicts_with = "until")]
    follow: bool,
    /// Play back in real time, or at a multiple of it: `10x`, `0.5x`, `max`. On a terminal, members and tasks are shown as
    /// they change. Gaps without activity are shortened to 2 s
    #[arg(long, value_name = "SPEED", value_parser = Speed::parse, conflicts_with = "follow")]
    speed: Option<Speed>,
}

const EXAMPLES: &str = "Examples:
  teamkeep replay parser-team --since +1m --until +2m --involving bob
  teamkeep replay latest --kind message --kind verdict --format mermaid > run.mmd
  teamkeep replay latest --speed 10x";

/// Output formats.
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
        let asked = !self.part.kind.is_empty();
        TimelineOptions { all: self.all, asked, full: self.full, columns: context.ui.columns() }
    }
}

/// Runs it.
///
/// # Errors
/// The run does not exist, a time or a name is invalid, or the store cannot be read.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let library = read_context::library(context)?;
    let run = library.find(&args.run)?;
    let filter = args.part.filter(context, run)?;
    if args.format() == Format::Mermaid && (args.follow || args.speed.is_some()) {
        return Err(Error::usage("--format mermaid cannot be combined with --follow or --speed")
            .hint("remove --follow and --speed"));
    }
    if args.follow {
        return follow::follow(context, args, &run.run, &filter);
    }
    let opened = library.open_stories(&[run])?;
    let mut code = ExitCode::SUCCESS;
    for material in &opened.runs {
        code = show(context, args, material, &filter)?;
    }
    read_context::warn(context, &library, &opened);
    Ok(code)
}

fn show(context: &Context, args: &Args, material: &RunData, filter: &Filter) -> Result<ExitCode> {
    let timeline = merge(material);
    filter_args::known(filter, material, &timeline)?;
    let part: Vec<&Entry> =
        timeline.entries.iter().filter(|entry| filter.contains(entry, material)).collect();
    if let Some(speed) = args.speed.filter(|_| !part.is_empty()) {
        let options = args.options(context);
        return Playlist::new(args, speed, (material, &timeline), filter, options).play(context);
    }
    let options = args.options(context);
    match args.format() {
        Format::Text => {
            let write = |out: &mut dyn Write| view::timeline(material, &timeline, &part, options, out);
            read_context::page_with(context, write)?;
        }
        Format::Json => print_json(context, &part)?,
        Format::Mermaid => {
            let diagram = view::mermaid(material, &part, options);
            if diagram.len() > view::MAX_MERMAID_CHARS {
                context.ui.eprint_line(&format!(
                    "the diagram has {} characters, and Mermaid takes {} unless its maxTextSize is set: --from, --to, \
                     --actor and --kind make it smaller",
                    diagram.len(),
                    view::MAX_MERMAID_CHARS
                ));
            }
            read_context::print(context, &diagram)?;
        }
    }
    if part.is_empty() && !timeline.entries.is_empty() {
        context.ui.eprint_line("No entries match these filters.");
    }
    Ok(ExitCode::SUCCESS)
}

fn print_json(context: &Context, part: &[&Entry]) -> Result<()> {
    let mut out = BufWriter::new(context.ui.json());
    let write = |out: &mut dyn Write| -> std::io::Result<()> {
        for entry in part {
            serde_json::to_writer(&mut *out, entry)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    };
    ui::quiet(write(&mut out)).map_err(Error::from)
}
