//! `teamkeep demo`: the main job, seen without a client.

use std::process::ExitCode;

use super::reading;
use crate::archive::Archive;
use crate::clock::{self, Clock};
use crate::config::Config;
use crate::context::Context;
use crate::demo;
use crate::error::Result;
use crate::render::{self, Telling};
use crate::settings::command::typed;
use crate::timeline::{Library, Summary, merge};

/// Arguments of `teamkeep demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

const EXAMPLES: &str = "Examples:
  teamkeep demo
  teamkeep demo | less -R";

/// Runs it. Nothing of the user's is read or written.
///
/// # Errors
/// When the scratch directory cannot be written.
pub fn run(context: &Context, _args: &Args) -> Result<ExitCode> {
    let played = demo::play()?;
    let config = Config::default();
    let archive = Archive::new(played.paths.archive(), config.archive.largest_file, config.log.lock_patience);
    let library = Library::open(archive, played.paths.log());
    let runs: Vec<_> = library.runs.iter().collect();
    let opened = library.open_runs(&runs)?;
    let columns = context.ui.columns();
    let now = Clock::new(Some(&clock::stamp(played.end))).now();
    let before = format!(
        "A recorded run of Claude Code 2.1.328 was played through {} hook calls, into a scratch directory.\n\
         By the end of it the client had erased the team: this is what is left on record.\n",
        played.lines.len()
    );
    let mut told = format!("{}\n$ teamkeep teams\n", render::folded(&before, columns));
    let timelines: Vec<_> = opened.runs.iter().map(|material| (material, merge(material))).collect();
    let rows: Vec<Summary> =
        timelines.iter().map(|(material, timeline)| Summary::of(material, timeline)).collect();
    told.push_str(&render::teams(&rows, &library.ids(), now, columns));
    for (material, timeline) in &timelines {
        told.push_str(&format!(
            "\n$ teamkeep replay {}\n",
            material.run.team.as_deref().unwrap_or(&material.run.run)
        ));
        told.push_str(&render::story(material, timeline, Telling { columns, ..Telling::default() }));
    }
    let after = format!(
        "The run was recorded without a policy: what was held back and warned of is what the default one says of it.\n\
         Bob was shut down with task 2 half done: the client put it back, and nobody owned it.\n\
         Nothing of yours was read or written. To record your own teams: {} install\n",
        typed(&context.env)
    );
    told.push_str(&format!("\n{}", render::folded(&after, columns)));
    reading::print(context, &told)?;
    Ok(ExitCode::SUCCESS)
}
