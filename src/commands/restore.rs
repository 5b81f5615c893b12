//! `teamkeep restore`: restores a run's files, its unfinished tasks or the work of its worktrees.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::catalog::{moment_of_run, with_run};
use super::output::{self, JsonOption};
use crate::restore::{
    ExistingFiles, FilePlan, List, Options, Plan, RestoreSource, TaskRestore, UndoLog, WorktreePlan,
};
use crate::view;
use teamkeep_history::timeline::{DetailLevel, RunData, project};
use teamkeep_model::team::mailbox;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_settings::program::shell_invocation;
use teamkeep_store::archive::{Archive, RunRecord};
use teamkeep_system::command::quoted;
use teamkeep_system::error::{Cause, Error, Result};
use teamkeep_system::{fs, os};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(
    group(clap::ArgGroup::new("what").args(["files", "tasks", "worktrees", "undo"])),
    after_long_help = "\
Examples:
  # Show the unfinished tasks of the last run
  teamkeep restore

  # Write them, and print the command that continues them in a new session
  teamkeep restore parser-team --yes

  # Restore the files as of 1m30s after the start of the last run
  teamkeep restore latest --at +1m30s --files ./then

  # In the repository: create a branch for each removed worktree
  teamkeep restore latest --worktrees

Exit codes:
  0   Success, or a preview
  1   Failure
  64  Usage error"
)]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN", default_value = "latest", conflicts_with = "undo")]
    run: String,
    /// Restore the state as of this time: `+1m30s` after the start, `2h` ago, `17:53`, `2026-02-03 04:05`. Default: the last
    /// recorded state of each item
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, conflicts_with = "undo")]
    at: Option<String>,
    /// Restore the tasks into the task list of this team or session. Default: of a new session
    #[arg(long, value_name = "TEAM|SESSION")]
    tasks: Option<String>,
    /// Write the run's files to this directory, laid out as in ~/.claude, instead of restoring tasks
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Create a branch with the recorded work of this worktree in the current git repository, instead of restoring tasks.
    /// Default: of every worktree of the run
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true)]
    worktrees: Option<Option<String>>,
    /// Undo a restore of tasks; tasks changed since then are kept. Default: the last one
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    undo: Option<Option<String>>,
    /// Include completed and deleted tasks
    #[arg(long, conflicts_with_all = NOT_FOR_TASKS)]
    all: bool,
    /// Keep the owners of tasks, and the status of those in progress
    #[arg(long, conflicts_with_all = NOT_FOR_TASKS)]
    keep_owners: bool,
    /// For tasks: write even if a running session is using the list. With --files: write to a directory that is not
    /// empty; existing files are kept
    #[arg(long, conflicts_with = "undo")]
    force: bool,
    /// Print the plan without writing anything
    #[arg(long)]
    dry_run: bool,
    /// Write the tasks (default: dry run)
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    output: JsonOption,
}

const NOT_FOR_TASKS: [&str; 3] = ["files", "worktrees", "undo"];

pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    if let Some(id) = &args.undo {
        return undo(context, args, id.as_deref());
    }
    with_run(context, &args.run, DetailLevel::Whole, |catalog, run| {
        if run.run.metadata_only {
            return Err(Error::new(format!(
                "cannot restore run {}: its texts were not recorded",
                run.run.run
            ))
            .hint("it was recorded in metadata-only mode; see what is known: teamkeep show"));
        }
        let at = moment_of_run(context, args.at.as_deref(), &run.run)?;
        let restore = Restore { context, args, archive: &catalog.archive, run, at };
        if let Some(directory) = &args.files {
            // Without a slash at the end, which would follow a symlink.
            restore.files(&directory.components().collect::<PathBuf>())
        } else if let Some(name) = &args.worktrees {
            restore.worktrees(name.as_deref())
        } else {
            restore.tasks(args.tasks.as_deref())
        }
    })
}

/// The run to restore, and the time of the state.
struct Restore<'a> {
    context: &'a Context,
    args: &'a Args,
    archive: &'a Archive,
    run: &'a RunData,
    at: Option<Timestamp>,
}

impl Restore<'_> {
    /// Writes a run's files into a directory. After an error, nothing is left in it.
    fn files(self, to: &Path) -> Result<ExitCode> {
        let Restore { context, args, archive, run, at } = self;
        let failed = |why: Cause| Error::caused(format!("cannot restore to {}", to.display()), why);
        let directory = std::path::absolute(to).map_err(|error| failed(error.into()))?;
        // Claude Code would take the files for a running team.
        let usual = context.paths.client.as_deref();
        let clients = [usual.map(Path::to_path_buf), run.run.client_dir(usual)];
        if clients.iter().flatten().any(|client| is_within(&directory, client)) {
            return Err(failed("it is inside Claude Code's directory".into())
                .hint("choose another directory; to continue the tasks: teamkeep restore"));
        }
        if is_within(&directory, &context.paths.store) {
            return Err(failed("it is inside teamkeep's store".into()).hint("choose another directory"));
        }
        let mut plan = FilePlan::of(archive, run, at, &directory.to_string_lossy());
        let mut unread = Vec::new();
        if !args.dry_run && !plan.files.is_empty() {
            let existing = if args.force { ExistingFiles::Allow } else { ExistingFiles::Reject };
            unread = plan.write(archive, existing)?;
        }
        args.output.print(context, &plan, || view::restored_files(&plan))?;
        unread.iter().for_each(|file| context.ui.warn(file));
        if plan.files.is_empty() {
            context.ui.eprint_line("nothing to restore: no file of the run was recorded at that time");
        } else if args.dry_run {
            output::propose_again(context, None);
        }
        Ok(if unread.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Creates a branch for each worktree, or for the one with this name.
    fn worktrees(self, name: Option<&str>) -> Result<ExitCode> {
        let Restore { context, args, archive, run, at } = self;
        let mut plan = WorktreePlan::of(archive, run, at, name)?;
        if !args.dry_run {
            let repository = std::env::current_dir()
                .map_err(|error| Error::caused("cannot find the current directory", error))?;
            plan.write(archive, &repository)?;
        }
        args.output.print(context, &plan, || view::restored_worktrees(&plan))?;
        let ui = &context.ui;
        match plan.branches.first() {
            None => ui.eprint_line("nothing to restore: no work of a worktree was recorded"),
            Some(_) if args.dry_run => output::propose_again(context, None),
            Some(first) => {
                ui.hint(format!("show the changes: git diff HEAD...{}", first.branch));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Claude Code's directory with the run's task lists: the one in which the run was.
    fn client(&self) -> Result<PathBuf> {
        let usual = self.context.paths.client.as_deref();
        let client = self.run.run.client_dir(usual).ok_or_else(|| {
            Error::new("cannot find Claude Code's directory: HOME is not set")
                .hint("set HOME or CLAUDE_CONFIG_DIR")
        })?;
        if usual != Some(client.as_path()) && !client.is_dir() {
            let run = &self.run.run.run;
            let what =
                format!("cannot restore tasks of run {run}: its Claude Code directory {}", client.display());
            return Err(Error::caused(what, "it does not exist here")
                .hint(format!("write its files to another directory: teamkeep restore {run} --files DIR")));
        }
        fs::canonicalize(&client).or_else(|_| std::path::absolute(&client)).map_err(|error| {
            Error::caused(format!("cannot find Claude Code's directory {}", client.display()), error)
        })
    }

    /// Prints the plan for a task list, and writes with `--yes`.
    fn tasks(self, list: Option<&str>) -> Result<ExitCode> {
        let client = self.client()?;
        let Restore { context, args, archive, run, at } = self;
        let list = match list {
            Some(numbers) if numbers.chars().all(|c| c.is_ascii_digit() || ", ".contains(c)) => {
                return Err(Error::usage("--tasks names a task list, not tasks")
                    .hint("all unfinished tasks are restored; see: teamkeep restore --help"));
            }
            Some(list) => List::find(list, &client, archive, &run.run)?,
            None => List::of_new_session(&run.run.run),
        };
        let own = run.snapshots.ids.main().is_some_and(|main| list.name == mailbox(main));
        let restore = TaskRestore {
            archive,
            run: &run.run,
            source: RestoreSource::of(archive, run, at),
            at,
            options: Options { all: args.all, keep_owners: args.keep_owners, force: args.force, own },
            client,
            list,
            records: UndoLog { paths: context.paths.clone() },
        };
        let plan = match args.yes && !args.dry_run {
            true => restore.write(context.clock.now())?,
            false => restore.preview()?,
        };
        args.output.print(context, &plan, || view::restored_tasks(&plan))?;
        if run.run.ended_at.is_none() && !run.client_gone && !plan.tasks.is_empty() {
            context.ui.eprint_line("note: the run has not ended: its team may do the same work");
        }
        report(context, args, &restore, &plan, project(run).as_deref());
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints what to do next.
fn report(context: &Context, args: &Args, restore: &TaskRestore<'_>, plan: &Plan, project: Option<&str>) {
    let ui = &context.ui;
    let earlier = plan.undo.clone().or_else(|| restore.earlier_restore());
    if plan.tasks.is_empty() || plan.done {
        if let Some(undo) = earlier {
            ui.eprint_line(&format!("to undo: {} restore --undo {undo}", shell_invocation(&context.env)));
            if plan.held_by.is_none() {
                let command = start_command(context, restore, project, "");
                ui.eprint_line(&format!("to start a session with them: {command}"));
                if restore.run.team.is_some() {
                    let brief = format!("{} brief {}", shell_invocation(&context.env), restore.run.run);
                    let prompt = format!(" \"$({brief} --prompt)\"");
                    let command = start_command(context, restore, project, &prompt);
                    ui.eprint_line(&format!("with the facts about the team: {command}"));
                }
            }
        }
        return;
    }
    if let Some(holder) = &plan.held_by {
        ui.eprint_line(&format!("note: {holder}: --yes needs --force"));
    }
    output::propose(context, &confirmed(context, args, restore));
}

/// The command that writes what a dry run has shown: it names the run and the time, which may be another one later.
fn confirmed(context: &Context, args: &Args, restore: &TaskRestore<'_>) -> String {
    let mut command = format!("{} restore {}", shell_invocation(&context.env), restore.run.run);
    let at = restore.at.map(|at| at.to_string());
    let values = [("--at", &at), ("--tasks", &args.tasks)];
    for (option, value) in values.into_iter().filter_map(|(option, value)| Some((option, value.as_ref()?))) {
        command += &format!(" {option}={}", quoted(value));
    }
    for (option, is_set) in
        [("--all", args.all), ("--keep-owners", args.keep_owners), ("--force", args.force)]
    {
        if is_set {
            command += &format!(" {option}");
        }
    }
    command + " --yes"
}

/// The command that starts a session with the list. Since 2.1.178 the session ID determines the team's name. In every
/// version, `CLAUDE_CODE_TASK_LIST_ID` overrides it: a run with a named team was recorded before.
fn start_command(
    context: &Context,
    restore: &TaskRestore<'_>,
    project: Option<&str>,
    prompt: &str,
) -> String {
    let List { name, session } = &restore.list;
    let is_overridden = context.env.task_list.as_deref().is_some_and(|list| mailbox(list) != *name);
    let mut variables = Vec::new();
    let usual = context.paths.client.as_ref().and_then(|usual| fs::canonicalize(usual).ok());
    if usual.as_ref() != Some(&restore.client) && restore.client.exists() {
        variables.push(("CLAUDE_CONFIG_DIR", quoted(&restore.client.to_string_lossy())));
    }
    let is_found = session.as_ref().is_some_and(|session| restore.list.is_of(session));
    if !is_found || is_overridden || has_named_team(restore.run) {
        variables.push(("CLAUDE_CODE_TASK_LIST_ID", name.clone()));
    }
    let command = session.as_ref().map_or("claude".to_owned(), |session| {
        let mut projects = fs::entries(&restore.client.join("projects"));
        let is_known = projects.any(|project| project.path().join(format!("{session}.jsonl")).exists());
        format!("claude {} {session}", if is_known { "--resume" } else { "--session-id" })
    });
    let command = os::shell::with_variables(&variables, &(command + prompt));
    let here = std::env::current_dir().ok();
    match project.filter(|project| Path::new(project).is_dir()) {
        Some(project) if here.is_none_or(|here| here != Path::new(project)) => {
            os::shell::within(&quoted(project), &command)
        }
        _ => command,
    }
}

fn has_named_team(run: &RunRecord) -> bool {
    run.team.as_deref().is_some_and(|team| !team.starts_with("session-"))
}

/// Whether a directory, which need not exist, is inside of another one.
fn is_within(directory: &Path, other: &Path) -> bool {
    let canonical = |path: &Path| {
        let existing = path.ancestors().find_map(|above| Some((above, fs::canonicalize(above).ok()?)));
        let canonical = existing.and_then(|(above, real)| Some(real.join(path.strip_prefix(above).ok()?)));
        canonical.unwrap_or_else(|| path.to_path_buf())
    };
    canonical(directory).starts_with(canonical(other))
}

fn undo(context: &Context, args: &Args, id: Option<&str>) -> Result<ExitCode> {
    let records = UndoLog { paths: context.paths.clone() };
    let id = match id {
        Some(id) => id.to_owned(),
        None => {
            let why = "nothing to undo: no restore is recorded that is not undone";
            let last = records.last().ok_or_else(|| Error::not_found(why))?;
            let at = time::moment(last.at);
            context.ui.eprint_line(&format!("the last restore: {} of run {}, {at}", last.id, last.run));
            last.id
        }
    };
    let id = &id;
    let undone = if args.dry_run { records.preview_undo(id)? } else { records.undo(id)? };
    args.output.print(context, &undone, || view::undone(&undone, args.dry_run))?;
    if args.dry_run {
        output::propose_again(context, None);
    }
    Ok(ExitCode::SUCCESS)
}
