//! Shared by the commands that read the store.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::archive::{Archive, RunRecord};
use crate::bundle;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::log::ReadErrors;
use crate::redact::Redactor;
use crate::timeline::{OpenedRun, RunCatalog};
use crate::ui;
use crate::view::Document;

/// Lists the recorded runs.
///
/// # Errors
/// When the runs cannot be listed: an empty list would look like an empty store.
pub fn library(context: &Context) -> Result<RunCatalog> {
    let library = any_library(context);
    library.listing_error().map_or(Ok(library), Err)
}

/// Lists the recorded runs as far as possible, for commands that report damage themselves.
pub fn any_library(context: &Context) -> RunCatalog {
    RunCatalog::open(archive(context), context.paths.log())
}

/// The archive with the limits of the configuration.
pub fn archive(context: &Context) -> Archive {
    Archive::open(context.paths.archive(), &context.config)
}

/// Removes secrets and personal data from a run's texts, including the home directories of its users.
///
/// # Errors
/// When a pattern in the configuration is invalid.
pub fn redactor(context: &Context, run: &RunRecord) -> Result<Redactor> {
    let own = context.env.home.iter().map(|home| home.display().to_string());
    let homes: Vec<String> = bundle::homes(run).into_iter().chain(own).collect();
    Redactor::new(&context.config.privacy, &homes)
}

/// Writes text to stdout. A closed pipe counts as success.
///
/// # Errors
/// When stdout cannot be written.
pub fn print(context: &Context, text: &str) -> Result<()> {
    write(context.ui.out(), text)
}

/// Writes a document to stdout.
///
/// # Errors
/// As [`print`].
pub fn print_document(context: &Context, document: &Document) -> Result<()> {
    print(context, &document.to_terminal(context.ui.columns()))
}

/// Writes a value as JSON, or as a document.
///
/// # Errors
/// As [`print`].
pub fn print_value(
    context: &Context,
    is_json: bool,
    value: &impl Serialize,
    document: impl FnOnce() -> Document,
) -> Result<()> {
    if is_json { print_json(context, value) } else { print_document(context, &document()) }
}

/// Writes a document to stdout, through a pager when it is longer than the screen.
///
/// # Errors
/// As [`page`].
pub fn page_document(context: &Context, document: &Document) -> Result<()> {
    page(context, &document.to_terminal(context.ui.columns()))
}

/// Writes text to stdout, through a pager when it is longer than the screen.
///
/// # Errors
/// When stdout cannot be written. A closed pipe and a closed pager count as success.
pub fn page(context: &Context, text: &str) -> Result<()> {
    page_with(context, |out| out.write_all(text.as_bytes()))
}

/// The same for text that is written in parts.
///
/// # Errors
/// As [`page`].
pub fn page_with(context: &Context, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::new(context.paged());
    ui::quiet(write(&mut out).and_then(|()| out.flush()))
        .map_err(|error| Error::caused("cannot write to stdout", error))
}

fn write(mut out: impl Write, text: &str) -> Result<()> {
    ui::quiet(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
        .map_err(|error| Error::caused("cannot write to stdout", error))
}

/// Writes one JSON value, indented.
///
/// # Errors
/// When stdout cannot be written.
pub fn print_json(context: &Context, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(Error::from_json)?;
    print_lines(context, &format!("{text}\n"))
}

/// Writes JSON to stdout. A closed pipe counts as success.
///
/// # Errors
/// When stdout cannot be written.
pub fn print_lines(context: &Context, text: &str) -> Result<()> {
    write(context.ui.json(), text)
}

/// The most problems that are printed one by one.
const MAX_LISTED: usize = 5;

/// Warns about log lines that cannot be read.
pub fn unreadable(context: &Context, problems: &ReadErrors) {
    for problem in &problems.first {
        context.ui.warn(problem);
    }
    let more = problems.count.saturating_sub(problems.first.len() as u64);
    if more > 0 {
        context.ui.warn(format!("{more} more log lines cannot be read"));
    }
}

/// The runs whose `run.json` cannot be read, and why.
pub fn damaged(library: &RunCatalog) -> impl Iterator<Item = String> {
    library.damaged.iter().map(|run| {
        let why = library.archive.why_damaged(run);
        format!("{why}; check its permissions, and run: teamkeep verify")
    })
}

/// Warns about data that cannot be read.
pub fn warn(context: &Context, library: &RunCatalog, opened: &OpenedRun) {
    let mut problems: Vec<String> = opened.problems.first.iter().map(ToString::to_string).collect();
    let unnamed = opened.problems.count.saturating_sub(problems.len() as u64) as usize;
    problems.extend(damaged(library));
    problems.extend(opened.runs.iter().flat_map(|material| material.problems()));
    let more = unnamed + problems.len().saturating_sub(MAX_LISTED);
    for problem in problems.iter().take(MAX_LISTED) {
        context.ui.warn(problem);
    }
    if more > 0 {
        context.ui.warn(format!("{more} more problems with the recorded data; see: teamkeep verify"));
    }
}
