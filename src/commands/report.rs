//! `teamkeep report RUN`: a summary of a run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{output, read_context};
use crate::archive::RunRecord;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::report::Report;
use crate::timeline::merge;
use crate::view;

/// Arguments of `teamkeep report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Open the last run in the browser
  teamkeep report --open

  # Write a page with the timeline, the task board and every message
  teamkeep report parser-team --format html -o parser-team.html

  # List the problems of the last run
  teamkeep report --json | jq -r '.findings[].what'")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
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
    redact: bool,
    /// Include automatic notices and Claude Code's own helper agents
    #[arg(short, long)]
    all: bool,
}

impl Args {
    /// Whether texts are redacted as configured.
    pub fn redacts(&self) -> bool {
        self.redact
    }
}

/// Output formats.
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

/// Runs it.
///
/// # Errors
/// When there is no such run, the store cannot be read, the file cannot be written, or a page would go to a terminal.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let format = match args.open {
        true => Format::Html,
        false if args.json => Format::Json,
        false => args.format,
    };
    if args.output.as_deref() == Some(Path::new("-")) {
        return Err(Error::usage("`-o -` is not a file; without -o the report goes to stdout"));
    }
    if format == Format::Html && args.output.is_none() && !args.open && context.ui.is_terminal() {
        return Err(Error::usage("cannot print an HTML page to a terminal")
            .hint("teamkeep report --open")
            .hint("teamkeep report --format html -o report.html"));
    }
    let library = read_context::library(context)?;
    let opened = library.open_runs(&[library.find(&args.run)?])?;
    for material in &opened.runs {
        let report = Report::of(material, &merge(material), &context.config.report.price);
        let report = if args.redact { redacted(context, &material.run, &report)? } else { report };
        let columns = context.ui.columns().filter(|_| args.output.is_none());
        let text = match format {
            Format::Text => view::report(&report, args.all).to_terminal(columns),
            Format::Markdown => view::report(&report, args.all).to_markdown(),
            Format::Json => serde_json::to_string_pretty(&report).map_err(Error::from_json)? + "\n",
            Format::Html => view::page(&report),
        };
        match &args.output {
            // Colours are for the terminal.
            Some(path) if format == Format::Text => {
                let plain = anstream::adapter::strip_str(&text).to_string();
                output::save(path, plain.as_bytes(), args.force)?;
            }
            Some(path) => output::save(path, text.as_bytes(), args.force)?,
            None if args.open => output::open(&output::temporary(text.as_bytes())?)?,
            None if format == Format::Json => read_context::print_lines(context, &text)?,
            None if format == Format::Html => context.ui.raw(text.as_bytes())?,
            None => read_context::page(context, &text)?,
        }
    }
    if let Some(path) = args.output.as_ref().filter(|_| args.open) {
        output::open(path)?;
    }
    read_context::warn(context, &library, &opened);
    Ok(ExitCode::SUCCESS)
}

/// Removes secrets and personal data.
fn redacted(context: &Context, run: &RunRecord, report: &Report) -> Result<Report> {
    let redactor = read_context::redactor(context, run)?;
    report.redacted(&redactor).map_err(|error| {
        Error::new(format!("cannot redact the report: {error}"))
            .hint("a [[privacy.pattern]] in the configuration also matches required values, such as times; make it narrower")
    })
}
