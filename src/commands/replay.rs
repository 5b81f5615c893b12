//! `teamkeep replay RUN`: the story of a run.

use std::fmt::Write;
use std::process::ExitCode;

use super::reading;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::render::{self, Telling};
use crate::timeline::merge;

/// Arguments of `teamkeep replay`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A team's name, `latest`, or the beginning of a run's id
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Also tell what the client says by itself (who is idle, who was given a task, who has shut down), that the lead
    /// is in its own team, and the beginnings of turns that no prompt began
    #[arg(short, long)]
    all: bool,
    /// Print messages, prompts and what agents said at the end of their turns in full, below their lines
    #[arg(long)]
    full: bool,
}

/// Runs it.
///
/// # Errors
/// When there is no such run, or the record cannot be read.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let library = reading::library(context)?;
    let opened = library.open_runs(&[library.find(&args.run)?])?;
    for material in &opened.runs {
        let timeline = merge(material);
        if args.json {
            let mut lines = String::new();
            for entry in &timeline.entries {
                let line = serde_json::to_string(entry).map_err(Error::from_json)?;
                let _ = writeln!(lines, "{line}");
            }
            reading::print_lines(context, &lines)?;
        } else {
            let telling = Telling { all: args.all, full: args.full, columns: context.ui.columns() };
            reading::print(context, &render::story(material, &timeline, telling))?;
        }
    }
    reading::warn(context, &library, &opened);
    Ok(ExitCode::SUCCESS)
}
