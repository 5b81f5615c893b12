//! `teamkeep files [RUN|FILE]`: the files that the agents of a run changed, and their commits, or the changes of one file.
//! `teamkeep blame FILE[:LINE]`: the agent that wrote each line of a file, or one line.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{MAIN_SEPARATOR, Path, PathBuf, absolute};

use serde_json::json;

use super::catalog::{self, catalog, with_run};
use super::output::{self, JsonOption};
use crate::view;
use teamkeep_history::files::{
    Attribution, FileChange, FoundBy, LineFinder, PresentLine, ToolChange, agent_trace, file_histories,
};
use teamkeep_history::timeline::{DetailLevel, RunCatalog, RunData, merge, project};
use teamkeep_model::event::LEAD;
use teamkeep_store::archive::RunRecord;
use teamkeep_system::command::quoted;
use teamkeep_system::error::{Error, Result, nearest, unknown};
use teamkeep_system::{fs, os};
use teamkeep_terminal::Context;

/// The newest runs in whose projects a file is searched for.
const MAX_PROJECTS: usize = 5;
/// Maximum size of the file whose lines are read.
const MAX_FILE_BYTES: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # The files that several agents of a run changed
  teamkeep files parser-team --shared

  # The changes of one file in all runs
  teamkeep files src/parser.rs

  # For tools
  teamkeep files latest --agent-trace > trace.json")]
pub struct FilesArgs {
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

pub fn files(context: &Context, args: &FilesArgs) -> Result<()> {
    let agent = args.agent.as_deref().map(|agent| if agent == "lead" { LEAD } else { agent });
    let file = Path::new(&args.of);
    let catalog = catalog(context)?;
    // A run has no separator in its name, and a file that exists is taken as a file.
    let is_file = args.run.is_some() || file.is_file() || args.of.contains(['/', MAIN_SEPARATOR]);
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
fn print_file(
    context: &Context,
    args: &FilesArgs,
    mut found: Vec<FileChange>,
    agent: Option<&str>,
) -> Result<()> {
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

fn print(context: &Context, args: &FilesArgs, data: &RunData, found: &Attribution) -> Result<()> {
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
fn file_changes(
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
fn suggest_file(error: Error, file: &Path) -> Error {
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
    let resolved = fs::canonicalize(file).ok();
    Ok([fs::plain(&given)].into_iter().chain(resolved).collect())
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Each line with its agent, task and time
  teamkeep blame src/parser.rs

  # The change that one line comes from
  teamkeep blame src/parser.rs:42

A line is found by its place in the file after the recorded changes, else by its text: of several
changes that added the same text, the last one is shown.")]
pub struct BlameArgs {
    /// A file, and the number of a line of it
    #[arg(value_name = "FILE[:LINE]")]
    file: PathBuf,
    /// Only changes in this run: team name, run ID (or a unique prefix), or `latest`. Default: all runs
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    output: JsonOption,
}

pub fn blame(context: &Context, args: &BlameArgs) -> Result<()> {
    let (file, number) = target(&args.file)?;
    let catalog = catalog(context)?;
    let lines = present_lines(&file, number).map_err(|error| match file.exists() {
        true => error,
        false => elsewhere(&catalog, &file, error),
    })?;
    let run = args.run.as_deref().map(|name| catalog::find(&catalog, name)).transpose()?;
    let found = file_changes(context, &catalog, &file, run)?;
    let changes: Vec<&ToolChange> = found.iter().map(|found| &found.change).collect();
    let finder = LineFinder::of(&changes);
    let lines: Vec<(&PresentLine, Option<(&FileChange, FoundBy)>)> = lines
        .iter()
        .map(|line| (line, finder.find(line).map(|(index, found_by)| (&found[index], found_by))))
        .collect();
    if args.output.json {
        let lines = lines.iter().map(|(line, found)| {
            let (change, found_by) = found.unzip();
            json!({"number": line.number, "text": line.text, "found_by": found_by, "change": change})
        });
        let lines: Vec<_> = lines.collect();
        return output::print_json(context, &json!({"v": 2, "file": file, "lines": lines}));
    }
    if found.is_empty() {
        context.ui.eprint_line("no change of this file is recorded");
        return Ok(());
    }
    match lines.as_slice() {
        [(line, Some((change, _)))] if number.is_some() => {
            let row = [(change.run_name(), &change.change)];
            output::page_document(context, &view::file_changes(row.into_iter(), Some(&line.text)))?;
        }
        [(_, None)] if number.is_some() => context.ui.eprint_line("no change of this line is recorded"),
        lines => output::page_document(context, &view::blame(lines))?,
    }
    if lines.iter().any(|(_, found)| found.is_some_and(|(_, found_by)| found_by == FoundBy::Text)) {
        let which = if number.is_some() { "the line has moved" } else { "lines with ~ have moved" };
        let shown = "the last recorded change that added the same text is shown";
        context.ui.eprint_line(&format!("{which}: {shown}"));
    }
    Ok(())
}

/// Parses `FILE[:LINE]`. A file whose name ends like a line number is found by its name.
fn target(given: &Path) -> Result<(PathBuf, Option<usize>)> {
    let numbered = given.to_str().and_then(|text| text.rsplit_once(':'));
    // The number after the name of a deleted file is a line of it as well.
    let is_line = |(file, line): &(&str, &str)| Path::new(file).is_file() || line.parse::<usize>().is_ok();
    match numbered.filter(|numbered| given.symlink_metadata().is_err() && is_line(numbered)) {
        None => Ok((given.to_path_buf(), None)),
        Some((file, line)) => {
            let number = line.parse().map_err(|_| {
                Error::usage(format!("invalid line number {line:?}"))
                    .hint("write FILE:LINE, such as src/parser.rs:42")
            });
            Ok((file.into(), Some(number?)))
        }
    }
}

/// Adds where the file is: in the project of a run, or only in the recorded changes.
fn elsewhere(catalog: &RunCatalog, file: &Path, error: Error) -> Error {
    let runs: Vec<&RunRecord> = catalog.runs.iter().rev().take(MAX_PROJECTS).collect();
    let opened = catalog.open_timelines(&runs).map(|opened| opened.runs).unwrap_or_default();
    let mut projects = opened.iter().filter_map(project);
    let shown = quoted(&file.to_string_lossy());
    let here = std::env::current_dir().unwrap_or_default();
    let recorded = opened.iter().flat_map(|data| Attribution::of(data, &merge(data)).changes);
    let recorded = recorded.map(|change| change.path).find(|path| path.ends_with(file) && path.is_file());
    if let Some(path) = recorded {
        let path = path.strip_prefix(&here).unwrap_or(&path);
        return error.hint(format!("did you mean {}?", path.display()));
    }
    match projects.find(|project| Path::new(project).join(file).is_file()) {
        Some(project) => error.hint(format!(
            "it is in the project of a run: {}",
            os::shell::within(&quoted(&project), &format!("teamkeep blame {shown}"))
        )),
        None => error.hint(format!("if it was deleted, list its recorded changes: teamkeep files {shown}")),
    }
}

/// The lines of a file, or the one with this number.
fn present_lines(file: &Path, number: Option<usize>) -> Result<Vec<PresentLine>> {
    let (bytes, _) = fs::read_linked(file, MAX_FILE_BYTES).map_err(|error| {
        let shown = file.display();
        match error.kind() {
            ErrorKind::NotFound => {
                suggest_file(Error::not_found(format!("the file {shown} does not exist")), file)
            }
            _ => error.into(),
        }
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = (1..).zip(text.lines()).map(|(number, text)| PresentLine { number, text: text.to_owned() });
    let Some(number) = number else { return Ok(lines.collect()) };
    let line = lines.into_iter().nth(number.wrapping_sub(1)).ok_or_else(|| {
        let count = text.lines().count();
        Error::usage(format!("{} has no line {number}; it has {count}", file.display()))
    });
    Ok(vec![line?])
}
