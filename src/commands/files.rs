//! `teamkeep files [RUN]`: the files that the agents of a run changed, and their commits.

use std::path::Path;

use serde_json::json;

use super::catalog::with_run;
use super::output::{self, JsonOption};
use crate::context::Context;
use crate::files::{Attribution, agent_trace, file_histories};
use crate::timeline::{DetailLevel, RunData, merge, project};
use crate::view;
use teamkeep_core::error::{Error, Result};
use teamkeep_core::model::event::LEAD;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  teamkeep files parser-team --shared
  teamkeep files latest --agent-trace > trace.json")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// Only changes and commits of this agent; `lead` is the lead
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only files that several agents changed
    #[arg(long, conflicts_with = "json")]
    shared: bool,
    #[command(flatten)]
    output: JsonOption,
    /// Print an Agent Trace 0.1 record: the lines that each model wrote, as of the last change
    #[arg(long, conflicts_with_all = ["json", "shared", "agent"])]
    agent_trace: bool,
}

pub fn run(context: &Context, args: &Args) -> Result<()> {
    with_run(context, &args.run, DetailLevel::Timeline, |_, data| {
        let mut found = Attribution::of(data, &merge(data));
        if args.shared {
            found.retain_shared();
        }
        if let Some(agent) = &args.agent {
            found.retain_agent(if agent == "lead" { LEAD } else { agent });
        }
        print(context, args, data, &found)
    })
}

fn print(context: &Context, args: &Args, data: &RunData, found: &Attribution) -> Result<()> {
    let directory = project(data);
    if args.agent_trace {
        let Some(directory) = &directory else {
            return Err(Error::not_found(format!("the directory of run {} is not recorded", data.run.run)));
        };
        let at = data.last_sign().unwrap_or(data.run.started_at);
        return output::print_json(context, &agent_trace(&data.run, found, Path::new(directory), at));
    }
    let files = file_histories(&found.changes, directory.as_deref().map(Path::new));
    if args.output.json {
        let object = json!({
            "v": 1,
            "run": data.run.run,
            "team": data.run.name(),
            "directory": directory,
            "files": files,
            "changes": found.changes,
            "commits": found.commits,
        });
        return output::print_json(context, &object);
    }
    output::page_document(context, &view::files(data.run.started_at, &files, &found.commits))?;
    if files.is_empty() && found.commits.is_empty() {
        let files = if args.shared { "files that several agents changed" } else { "changed files" };
        let of = args.agent.as_ref().map(|agent| format!(" of {agent}")).unwrap_or_default();
        context.ui.eprint_line(&format!("no {files}{of} are recorded"));
    }
    if data.run.metadata_only {
        context.ui.hint("the run was recorded in metadata-only mode, without transcripts");
    }
    Ok(())
}
