//! `teamkeep export RUN -o FILE`: a run as one file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{output, read_context};
use crate::bundle::{Bundle, RedactingWriter, gather};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::view;

/// Arguments of `teamkeep export`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// File to write; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace secrets and personal data in all texts, as configured in [privacy]
    #[arg(long)]
    redact: bool,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

impl Args {
    /// Whether texts are redacted as configured.
    pub fn redacts(&self) -> bool {
        self.redact
    }
}

const EXAMPLES: &str = "\
Examples:
  # Export the last run of a team to a file that `teamkeep import` and `tar` can read
  teamkeep export parser-team -o parser-team.teamkeep.tar.gz

  # Copy the last run to another machine, without secrets and personal data
  teamkeep export latest --redact -o - | ssh other teamkeep import -";

/// Runs it.
///
/// # Errors
/// When there is no such run, the file exists, or it cannot be written.
pub fn run(context: &Context, args: &Args) -> Result<ExitCode> {
    let library = read_context::library(context)?;
    let run = library.find(&args.run)?;
    let to_stdout = args.output.as_os_str() == "-";
    if to_stdout && context.ui.is_terminal() {
        return Err(Error::usage("cannot write an export to a terminal").hint("use -o FILE or a pipe"));
    }
    if !to_stdout {
        refuse_taken(&args.output, args.force)?;
    }
    let dir = output::directory(&args.output);
    if !to_stdout {
        output::check_directory(&args.output)?;
    }
    let cleaner =
        args.redact.then(|| read_context::redactor(context, run)).transpose()?.map(RedactingWriter::new);
    let mut progress = context.ui.progress("gathering", 0);
    let spool = (!to_stdout).then_some(dir);
    let mut gathered = gather(&library, run, cleaner.as_ref(), spool, &mut |bytes| progress.add(bytes))?;
    drop(progress);
    let mut progress = context.ui.progress("writing", gathered.size());
    let mut done = |bytes| progress.add(bytes);
    if to_stdout {
        let written = gathered.write(context.ui.bytes(), &mut done).and_then(|mut out| Ok(out.flush()?));
        written?;
    } else {
        to_file(&mut gathered, &args.output, dir, args.force, &mut done)?;
    }
    drop(progress);
    report(context, args, &gathered);
    Ok(ExitCode::SUCCESS)
}

fn report(context: &Context, args: &Args, gathered: &Bundle) {
    for problem in &gathered.problems {
        context.ui.warn(problem);
    }
    let manifest = &gathered.manifest;
    let what = manifest.team.as_deref().unwrap_or("no team");
    let to = match args.output.to_str() {
        Some("-") => String::new(),
        _ => format!(" to {}", args.output.display()),
    };
    context.ui.eprint_line(&format!("exported run {} ({what}){to}", manifest.run));
    if let Some(counts) = manifest.redacted.as_ref().filter(|_| args.redact) {
        context.ui.eprint_line(&view::redaction_summary(counts));
    }
}

fn refuse_taken(path: &Path, force: bool) -> Result<()> {
    match path.symlink_metadata() {
        Ok(there) if !there.is_file() => {
            Err(Error::new(format!("cannot write {}: it exists and is not a regular file", path.display())))
        }
        Ok(_) if !force => Err(output::already_exists(path)),
        _ => Ok(()),
    }
}

/// Writes the file atomically, readable only by the user.
fn to_file(
    gathered: &mut Bundle,
    path: &Path,
    dir: &Path,
    force: bool,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    let cannot = |error: io::Error| Error::caused(format!("cannot write {}", path.display()), error);
    let file =
        tempfile::Builder::new().prefix(".teamkeep-").suffix(".tmp").tempfile_in(dir).map_err(cannot)?;
    let file = gathered.write(io::BufWriter::new(file), done)?;
    let file = file.into_inner().map_err(|error| cannot(error.into_error()))?;
    file.as_file().sync_all().map_err(cannot)?;
    let placed = if force { file.persist(path) } else { file.persist_noclobber(path) };
    match placed {
        Ok(_) => Ok(()),
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(output::already_exists(path))
        }
        Err(refused) => Err(cannot(refused.error)),
    }
}
