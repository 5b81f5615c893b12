//! `teamkeep files [RUN|FILE]`: the files that the agents of a run changed, and their commits, or the changes of one file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf, absolute};

use serde_json::json;

use super::catalog::{self, catalog, with_run};
use super::output::{self, JsonOption};
use crate::view;
use teamkeep_history::files::{Attribution, FileChange, agent_trace, file_histories};
use teamkeep_history::timeline::{DetailLevel, RunCatalog, RunData, merge, project};
use teamkeep_model::event::LEAD;
use teamkeep_store::archive::RunRecord;
use teamkeep_system::error::{Error, Result, nearest, unknown};
use teamkeep_system::fs;
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # The files that several agents of a run changed
  teamkeep files parser-team --shared

  # The changes of one file in all runs
  teamkeep files src/parser.rs

  # For tools
  teamkeep files latest --agent-trace > trace.json")]
pub struct Args {
    /// Team name, run ID (or a unique prefix), `latest`, or a file
    #[arg(value_name = "RUN|FILE", default_value = "latest")]
    of: String,
    /// With FILE: only changes in this run. Default: all runs
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
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
    let agent = args.agent.as_deref().map(|agent| if agent == "lead" { LEAD } else { agent });
    let file = Path::new(&args.of);
    let catalog = catalog(context)?;
    // A run has no slash in its name, and a file that exists is taken as a file.
    let is_file = args.run.is_some() || file.is_file() || args.of.contains('/');
    if is_file || catalog.find(&args.of).is_err() {
        let run = args.run.as_deref().map(|name| catalog::find(&catalog, name)).transpose()?;
        let found = file_changes(context, &catalog, file, run)?;
        // A name that is not a run's can be that of a deleted file.
        if is_file || !found.is_empty() {
            return print_file(context, args, found, agent);
        }
    }
    with_run(context, &args.of, DetailLevel::Timeline, |_, data| {
        let timeline = merge(data);
        let mut found = Attribution::of(data, &timeline);
        if let Some(agent) = agent {
            let acted = timeline.entries.iter().map(|entry| entry.actor.as_str());
            let changed = found.changes.iter().map(|change| change.agent.as_str());
            let known: BTreeSet<&str> =
                data.members.iter().map(String::as_str).chain(acted).chain(changed).collect();
            if !known.contains(agent) {
                return Err(unknown("agent", agent, &Vec::from_iter(known)));
            }
        }
        if args.shared {
            found.retain_shared();
        }
        if let Some(agent) = agent {
            found.retain_agent(agent);
        }
        print(context, args, data, &found)
    })
}

/// Prints the changes of a file, the newest first.
fn print_file(context: &Context, args: &Args, mut found: Vec<FileChange>, agent: Option<&str>) -> Result<()> {
    let file = Path::new(&args.of);
    if args.shared || args.agent_trace {
        return Err(Error::usage("--shared and --agent-trace need a run, and this is a file")
            .hint("list the files of the last run: teamkeep files latest --shared"));
    }
    let known: BTreeSet<String> = found.iter().map(|found| found.change.agent.clone()).collect();
    found.retain(|found| agent.is_none_or(|agent| found.change.agent == agent));
    found.reverse();
    if args.output.json {
        return output::print_json(context, &json!({"v": 1, "changes": found}));
    }
    let rows = found.iter().map(|found| (found.run_name(), &found.change));
    output::page_document(context, &view::file_changes(rows, None))?;
    match agent {
        _ if !found.is_empty() => Ok(()),
        Some(agent) if !known.is_empty() => {
            let what = format!("no change of {} by agent {agent:?} is recorded", file.display());
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            Err(Error::not_found(what).suggest("agent", agent, &known))
        }
        _ => {
            let missing = if file.exists() { "" } else { ", and it does not exist here" };
            let error = Error::not_found(format!("no change of {} is recorded{missing}", file.display()));
            Err(suggest_file(error, file))
        }
    }
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

/// Number of runs that are in memory at a time.
const RUNS_AT_ONCE: usize = 16;

/// The changes of a file in one run, or in all, in order of time: runs overlap, and a line can have moved in a later run.
pub fn file_changes(
    context: &Context,
    catalog: &RunCatalog,
    file: &Path,
    run: Option<&RunRecord>,
) -> Result<Vec<FileChange>> {
    let names = names(file)?;
    let runs: Vec<&RunRecord> = run.map_or_else(|| catalog.runs.iter().collect(), |run| vec![run]);
    let mut found: Vec<FileChange> = Vec::new();
    for some in runs.chunks(RUNS_AT_ONCE) {
        let opened = catalog.open_timelines(some)?;
        for data in &opened.runs {
            let changes = Attribution::of(data, &merge(data)).changes;
            found.extend(changes.into_iter().filter(|change| names.contains(&change.path)).map(|change| {
                FileChange { run: data.run.run.clone(), team: data.run.name().map(str::to_owned), change }
            }));
        }
        catalog::warn_damaged(context, catalog, &opened);
    }
    found.sort_by_key(|found| found.change.at);
    Ok(found)
}

/// At most this many files of a directory are compared with a name.
const MAX_COMPARED: usize = 10_000;

/// Adds the file of the same directory with the most similar name, if the file does not exist.
pub fn suggest_file(error: Error, file: &Path) -> Error {
    let (Some(name), false) = (file.file_name().and_then(|name| name.to_str()), file.exists()) else {
        return error;
    };
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = fs::entries(directory.unwrap_or(Path::new("."))).take(MAX_COMPARED);
    let files: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let known: Vec<&str> = files.iter().map(String::as_str).collect();
    error.maybe_hint(
        nearest(name, &known, 2).map(|near| format!("did you mean {}?", file.with_file_name(near).display())),
    )
}

/// The absolute path as it is given, and with all links resolved.
fn names(file: &Path) -> Result<BTreeSet<PathBuf>> {
    let given =
        absolute(file).map_err(|error| Error::caused(format!("invalid file {}", file.display()), error))?;
    let resolved = file.canonicalize().ok();
    Ok([fs::plain(&given)].into_iter().chain(resolved).collect())
}
