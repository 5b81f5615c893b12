//! `teamkeep demo`: a bundled example run.

use std::path::{Path, PathBuf};
use teamkeep_model::unicode::escape;
use teamkeep_model::words::{count, dollars};

use tempfile::TempDir;

use super::output;
use crate::demo::{self, CheckOutcome, DemoOutcome};
use crate::view::{Document, bold, dim, plain};
use teamkeep_config::Config;
use teamkeep_history::report::Report;
use teamkeep_history::timeline::{Entry, OpenedRun, RunCatalog, Summary, merge};
use teamkeep_model::time::duration;
use teamkeep_policy::Decision;
use teamkeep_settings::program::{HookProgram, shell_invocation};
use teamkeep_store::archive::Archive;
use teamkeep_store::log::Logs;
use teamkeep_system::command::quoted;
use teamkeep_system::error::{Cause, Error, Result};
use teamkeep_system::fs::make_private_dir;
use teamkeep_system::os;
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Record the example run into a temporary store, and see which commands to try on it
  teamkeep demo

  # Record it into this directory
  teamkeep demo --keep ~/teamkeep-demo

  # Check that the hook program records and blocks
  teamkeep demo --check")]
pub struct Args {
    /// Record the run into this directory. Default: a new temporary directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Play the run through the hook program in a scratch store, and print what it recorded and blocked
    #[arg(long, conflicts_with = "keep")]
    check: bool,
}

/// The commands to try, and what each shows.
const COMMANDS: [(&str, &str); 8] = [
    ("report", "what went wrong, and what it cost"),
    ("report --open", "the same as a page with a timeline"),
    ("log --involving bob", "the actions of bob, and the blocks"),
    ("watch", "the board, at any moment of the run"),
    ("search escapes", "all messages with a word"),
    ("files --shared", "the files that two agents changed"),
    ("blame src/format.rs", "who wrote each line, and for which task"),
    ("restore", "how to continue the lost tasks"),
];

pub fn run(context: &Context, args: &Args) -> Result<()> {
    if args.check {
        return check(context);
    }
    let dir = match &args.keep {
        Some(dir) => empty_dir(dir)?,
        None => temporary_dir()?,
    };
    let replayed = demo::play(&dir)?;
    let opened = opened(&replayed)?;
    let program = shell_invocation(&context.env);
    let shown = |path: &Path| quoted(&path.to_string_lossy());
    let mut document = Document::default();
    for run in &opened.runs {
        let report = Report::of(run, &merge(run), &Config::default(), replayed.end);
        document.paragraph("A recorded run of Claude Code and teamkeep:");
        document.line([bold(&report.verdict.title)]);
        document.blank();
        let overview = &report.overview;
        document.paragraph(format!(
            "{} of {} done in {}, {}. The incidents:",
            overview.count.completed,
            count(overview.count.tasks, "task"),
            overview.duration_ms.map(duration).unwrap_or_default(),
            report.spending.cost.map(dollars).unwrap_or_default(),
        ));
        for incident in &report.incidents {
            document.line([plain("-"), plain(&incident.summary)]);
        }
    }
    document.blank();
    document.paragraph("Try it on this run, in its project:");
    document.code([plain(format!("  {}", os::shell::enter(&shown(&demo::home(&dir).join(demo::PROJECT)))))]);
    document.code([plain(format!("  {}", os::shell::set_variable("TEAMKEEP_HOME", &shown(&dir))))]);
    let commands = COMMANDS.map(|(command, what)| (format!("{program} {command}"), what));
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    for (command, what) in commands {
        document.code([plain(format!("  {command:width$}  ")), dim(format!("# {what}"))]);
    }
    document.blank();
    document.paragraph("`restore --yes` writes to this run's own task lists, not to yours. Afterwards:");
    document.code([plain(format!(
        "  cd ~; {}; {}",
        os::shell::unset_variable("TEAMKEEP_HOME"),
        os::shell::remove_directory(&shown(&dir))
    ))]);
    output::page(context, &document.to_terminal(context.ui.columns()))
}

/// The replayed run.
fn opened(replayed: &DemoOutcome) -> Result<OpenedRun> {
    let archive = Archive::open(replayed.paths.store.clone(), &Config::default());
    let catalog = RunCatalog::open(archive, Logs::of(&replayed.paths));
    catalog.open_runs(&catalog.runs.iter().collect::<Vec<_>>())
}

/// An empty directory that only the user can read, by its absolute path.
fn empty_dir(dir: &Path) -> Result<PathBuf> {
    let failed = |why: Cause| Error::caused(format!("cannot keep the run in {}", dir.display()), why);
    if std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        let error = failed("the directory is not empty".into());
        if !demo::home(dir).join(demo::PROJECT).is_dir() {
            return Err(error.hint("choose another directory"));
        }
        let shown = quoted(&dir.to_string_lossy());
        return Err(error
            .hint(format!("it has a demo: {}", os::shell::set_variable("TEAMKEEP_HOME", &shown)))
            .hint(format!("to start again: {}", os::shell::remove_directory(&shown))));
    }
    let dir = std::path::absolute(dir).map_err(|error| failed(error.into()))?;
    make_private_dir(&dir).or_else(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists if dir.is_dir() => Ok(()),
        std::io::ErrorKind::AlreadyExists => {
            Err(failed("it is a file".into()).hint("choose another directory"))
        }
        _ => Err(failed(error.into())),
    })?;
    Ok(dir)
}

/// A new directory that remains.
fn temporary_dir() -> Result<PathBuf> {
    let dir = TempDir::with_prefix("teamkeep-demo-").map_err(|error| {
        Error::caused("cannot create a temporary directory", error)
            .hint("set TMPDIR to a writable directory, or use --keep DIR")
    })?;
    Ok(dir.keep())
}

/// Checks the hook program with the bundled run, and prints one line each for what it recorded, what it blocked, and its time.
fn check(context: &Context) -> Result<()> {
    let program = HookProgram::running(&context.env)?;
    let CheckOutcome { replayed, blocks, median } = demo::check(&program)?;
    let opened = opened(&replayed)?;
    let (mut agents, mut tasks, mut messages, mut blocked) = (0, 0, 0, Vec::new());
    for run in &opened.runs {
        let timeline = merge(run);
        let summary = Summary::of(run, &timeline);
        agents += summary.members.len();
        tasks += summary.tasks;
        messages += summary.messages;
        let verdicts = timeline.entries.iter().filter_map(Entry::verdict);
        blocked.extend(verdicts.filter(|verdict| verdict.decision == Decision::Block).cloned());
    }
    let Some(first) = blocked.first().filter(|_| blocks > 0) else {
        let what = format!("{} did not block the shutdown of an agent with unfinished work", program.call());
        return Err(Error::new(what).hint("reinstall teamkeep, then: teamkeep doctor"));
    };
    let text = format!(
        "check with a bundled run: recorded {}, {}, {}, {}\nblocked by {}: {}\nmedian time of a hook call: {:.1} ms\n",
        count(replayed.lines.len(), "event"),
        count(agents, "agent"),
        count(tasks, "task"),
        count(messages, "message"),
        first.gate,
        escape(first.reason.trim_end_matches('.')),
        median.as_secs_f64() * 1e3,
    );
    output::print(context, &text)
}
