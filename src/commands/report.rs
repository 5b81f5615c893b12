//! `teamkeep report RUN`: what a run amounts to.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{output, reading};
use crate::archive::RunRecord;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::render::{self, Listing};
use crate::report::Report;
use crate::timeline::merge;

/// Arguments of `teamkeep report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  teamkeep report parser-team --format html -o parser-team.html
      Write a page with the timeline, the task board and every message, to look at in a browser.
  teamkeep report --json | jq -r '.findings[].what'
      List what was lost or looks wrong in the last run.")]
pub struct Args {
    /// A team's name, `latest`, or the beginning of a run's id
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write into this file instead of to stdout; it is readable by you alone
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write over the file
    #[arg(long, requires = "output")]
    force: bool,
    /// Take out of every text what others are not to see: keys, tokens, addresses, the home directory, and what
    /// [privacy] in the configuration names
    #[arg(long)]
    redact: bool,
    /// Also list what the client says by itself, and its own helpers
    #[arg(short, long)]
    all: bool,
}

impl Args {
    /// Whether texts are to be taken out, as the configuration says.
    pub fn redacts(&self) -> bool {
        self.redact
    }
}

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For the terminal
    Text,
    /// As GitHub reads it
    Markdown,
    /// For programs: docs/report.md describes it
    Json,
    /// One page for a browser, which needs no network: write it with -o
    Html,
}

/// Runs it.
///
/// # Errors
/// When there is no such run, the record cannot be read, the file cannot be written, or a page is asked for in a
/// terminal.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let format = if args.json { Format::Json } else { args.format };
    if format == Format::Html && args.output.is_none() && context.ui.is_terminal() {
        return Err(Error::usage("a page for a browser is nothing to read in a terminal")
            .hint("name a file for it: teamkeep report --format html -o report.html"));
    }
    let library = reading::library(context)?;
    let opened = library.open_runs(&[library.find(&args.run)?])?;
    for material in &opened.runs {
        let report = Report::of(material, &merge(material), &context.config.report.price);
        let report = if args.redact { redacted(context, &material.run, &report)? } else { report };
        let listing = Listing { all: args.all };
        let columns = context.ui.columns().filter(|_| args.output.is_none());
        let text = match format {
            Format::Text => render::report(&report, listing, columns),
            Format::Markdown => render::report_markdown(&report, listing),
            Format::Json => serde_json::to_string_pretty(&report).map_err(Error::from_json)? + "\n",
            Format::Html => render::page(&report),
        };
        match &args.output {
            // Colours are for the terminal.
            Some(path) if format == Format::Text => {
                let plain = anstream::adapter::strip_str(&text).to_string();
                output::save(path, plain.as_bytes(), args.force)?;
            }
            Some(path) => output::save(path, text.as_bytes(), args.force)?,
            None if format == Format::Json => reading::print_lines(context, &text)?,
            None if format == Format::Html => context.ui.raw(text.as_bytes())?,
            None => reading::print(context, &text)?,
        }
    }
    reading::warn(context, &library, &opened);
    Ok(ExitCode::SUCCESS)
}

/// Takes out what others are not to see.
fn redacted(context: &Context, run: &RunRecord, report: &Report) -> Result<Report> {
    let redactor = reading::redactor(context, run)?;
    report.redacted(&redactor).map_err(|error| {
        Error::new(format!("cannot redact the report: {error}"))
            .hint("a pattern under [[privacy.pattern]] means more than texts; make it narrower")
    })
}
