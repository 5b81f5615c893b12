//! What the commands that read have in common.

use std::io::Write;

use serde::Serialize;

use crate::archive::{Archive, RunRecord};
use crate::bundle;
use crate::config::Keeping;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::log::Problems;
use crate::redact::Redactor;
use crate::timeline::{Library, Opened};
use crate::ui;

/// What is said of an empty record.
pub const NOTHING: &str = "nothing is on record yet; `teamkeep doctor` says whether the hooks are there, `teamkeep demo` shows a recorded run";

/// Lists what is on record.
///
/// # Errors
/// When the record's place is not safe to use.
pub fn library(context: &Context) -> Result<Library> {
    Ok(Library::open(archive(context), context.paths.log()))
}

/// The archive, as the configuration says.
pub fn archive(context: &Context) -> Archive {
    let mut archive = Archive::new(
        context.paths.archive(),
        context.config.archive.largest_file,
        context.config.log.lock_patience,
    );
    archive.veiled = context.config.privacy.record == Keeping::Metadata;
    archive
}

/// What takes out of a run's texts what others are not to see, the homes of those whose run it is included.
///
/// # Errors
/// When a pattern of the configuration cannot be used.
pub fn redactor(context: &Context, run: &RunRecord) -> Result<Redactor> {
    let own = context.env.home.iter().map(|home| home.display().to_string());
    let homes: Vec<String> = bundle::homes(run).into_iter().chain(own).collect();
    Redactor::new(&context.config.privacy, &homes)
}

/// Writes text to stdout; a reader that has had enough is no error.
///
/// # Errors
/// When stdout cannot be written.
pub fn print(context: &Context, text: &str) -> Result<()> {
    write(context.ui.out(), text)
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

/// Writes JSON to stdout; a reader that has had enough is no error.
///
/// # Errors
/// When stdout cannot be written.
pub fn print_lines(context: &Context, text: &str) -> Result<()> {
    write(context.ui.json(), text)
}

/// How many problems are told one by one.
const TOLD: usize = 5;

/// Says what of the log could not be read.
pub fn unreadable(context: &Context, problems: &Problems) {
    for problem in &problems.first {
        context.ui.say(&format!("teamkeep: {problem}"));
    }
    let more = problems.count.saturating_sub(problems.first.len() as u64);
    if more > 0 {
        context.ui.say(&format!("teamkeep: {more} more line(s) of the log cannot be read"));
    }
}

/// Says at the end what of the record could not be read.
pub fn warn(context: &Context, library: &Library, opened: &Opened) {
    let mut problems: Vec<String> = opened.problems.first.iter().map(ToString::to_string).collect();
    let unnamed = opened.problems.count.saturating_sub(problems.len() as u64) as usize;
    problems.extend(library.unlisted.iter().map(|why| format!("the runs cannot be listed: {why}")));
    problems.extend(library.damaged.iter().map(|run| {
        let why = library.archive.why_damaged(run);
        format!(
            "{why}; the next hook call of its team makes it again, and an old run's directory can be removed"
        )
    }));
    problems.extend(opened.runs.iter().flat_map(|material| material.problems()));
    let more = unnamed + problems.len().saturating_sub(TOLD);
    for problem in problems.iter().take(TOLD) {
        context.ui.say(&format!("teamkeep: {problem}"));
    }
    if more > 0 {
        context.ui.say(&format!("teamkeep: {more} more of the record could not be read"));
    }
}
