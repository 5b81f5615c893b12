//! `teamkeep report RUN`: a summary of a run.

use std::path::{Path, PathBuf};

use super::catalog::{redactor, with_run};
use super::output;
use crate::view;
use teamkeep_history::report::Report;
use teamkeep_history::timeline::{DetailLevel, merge};
use teamkeep_store::archive::RunRecord;
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Open the last run in the browser
  teamkeep report --open

  # Write a page with the timeline, the task board and every message
  teamkeep report parser-team -o parser-team.html

  # List the incidents of the last run
  teamkeep report --json | jq -r '.incidents[].summary'")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Output format; without it, that of the name of FILE, or text
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write to this file (readable only by you) instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a page (to FILE or a private temporary file) and open it in the browser
    #[arg(long, conflicts_with_all = ["json", "format"])]
    open: bool,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    force: bool,
    /// Replace secrets and personal data in all texts: keys, tokens, email addresses, home directories, and what
    /// [privacy] in the configuration adds
    #[arg(long)]
    pub redact: bool,
    /// Everything in text and Markdown: each message, task, tool and time
    #[arg(long)]
    full: bool,
    /// The same with automatic notices and Claude Code's own helper agents
    #[arg(short, long)]
    all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Human-readable
    Text,
    /// Markdown as GitHub renders it
    Markdown,
    /// Machine-readable (one JSON object)
    Json,
    /// Self-contained page for a browser; use with -o
    Html,
}

impl Format {
    /// The format of a file with this name.
    fn of_file(path: &Path) -> Format {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("html" | "htm") => Format::Html,
            Some("json") => Format::Json,
            Some("md") => Format::Markdown,
            _ => Format::Text,
        }
    }
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    let format = match args.open {
        true => Format::Html,
        false if args.json => Format::Json,
        false => args.format.unwrap_or_else(|| args.output.as_deref().map_or(Format::Text, Format::of_file)),
    };
    if args.output.as_deref() == Some(Path::new("-")) {
        return Err(Error::usage("`-o -` is not a file; without -o the report goes to stdout"));
    }
    if format == Format::Html && args.output.is_none() && !args.open && context.ui.is_terminal() {
        return Err(Error::usage("cannot print an HTML page to a terminal")
            .hint("teamkeep report --open")
            .hint("teamkeep report -o report.html"));
    }
    with_run(context, &args.run, DetailLevel::Whole, |_, run| {
        let progress = context.ui.progress("summarizing the run", 0);
        let mut report = Report::of(run, &merge(run), &context.config, context.clock.now());
        drop(progress);
        if args.redact {
            report = redacted(context, &run.run, &report)?;
        }
        let columns = context.ui.columns().filter(|_| args.output.is_none());
        let document = match (args.all, args.full) {
            (true, _) => view::whole_report,
            (false, true) => view::full_report,
            (false, false) => view::report_summary,
        };
        let mut text = match format {
            Format::Text => document(&report).to_terminal(columns),
            Format::Markdown => document(&report).to_markdown(),
            Format::Json => serde_json::to_string_pretty(&report).map_err(Error::from_json)? + "\n",
            Format::Html => view::page(&report),
        };
        match (&args.output, format) {
            (Some(path), _) => {
                if format == Format::Text {
                    // Colors are for the terminal.
                    text = anstream::adapter::strip_str(&text).to_string();
                }
                if !args.force && path.is_file() {
                    return Err(output::already_exists(path));
                }
                output::save(path, text.as_bytes())?;
                if args.open { output::open(path) } else { Ok(()) }
            }
            (None, _) if args.open => output::open(&output::temporary(text.as_bytes())?),
            (None, Format::Json) => output::print_json_text(context, &text),
            (None, Format::Html) => Ok(context.ui.raw(text.as_bytes())?),
            (None, _) => output::page(context, &text),
        }
    })
}

fn redacted(context: &Context, run: &RunRecord, report: &Report) -> Result<Report> {
    report.redacted(&redactor(context, [run])?).map_err(|error| {
        Error::new(format!("cannot redact the report: {error}"))
            .hint("a [[privacy.pattern]] in the configuration also matches required values, such as times; make it narrower")
    })
}
