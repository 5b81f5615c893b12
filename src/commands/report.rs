//! `teamkeep report RUN`: what a run amounts to.

use std::process::ExitCode;

use super::reading;
use crate::context::Context;
use crate::error::Result;
use crate::report::Report;
use crate::timeline::merge;

/// Arguments of `teamkeep report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A team's name, `latest`, or the beginning of a run's id
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
}

/// Runs it.
///
/// # Errors
/// When there is no such run, or the record cannot be read.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let library = reading::library(context)?;
    let opened = library.open_runs(&[library.find(&args.run)?])?;
    for material in &opened.runs {
        let report = Report::of(material, &merge(material), &[]);
        reading::print_json(context, &report)?;
    }
    reading::warn(context, &library, &opened);
    Ok(ExitCode::SUCCESS)
}
