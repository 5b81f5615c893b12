//! `teamkeep export RUN -o FILE`: a run as one file. `teamkeep import FILE`: adds a run that was exported on another machine.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::catalog::{self, catalog, redactor};
use super::{number, output};
use crate::bundle::{self, ImportTarget, ImportedRun};
use crate::view;
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  # Export the last run of a team to a file that `teamkeep import` and `tar` can read
  teamkeep export parser-team -o parser-team.teamkeep.tar.gz

  # Copy the last run to another machine, without secrets and personal data
  teamkeep export latest --redact -o - | ssh other teamkeep import -")]
pub struct ExportArgs {
    /// Team name, run ID (or a unique prefix), or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// File to write; `-` for stdout
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace secrets and personal data in all texts, as configured in [privacy]
    #[arg(long)]
    pub redact: bool,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

pub fn export(context: &Context, args: &ExportArgs) -> Result<()> {
    let catalog = catalog(context)?;
    let run = catalog::find(&catalog, &args.run)?;
    let dir = if args.output.as_os_str() == "-" { None } else { Some(directory(args)?) };
    if dir.is_none() && context.ui.is_terminal() {
        return Err(Error::usage("cannot write an export to a terminal").hint("use -o FILE or a pipe"));
    }
    let redactor = args.redact.then(|| redactor(context, [run])).transpose()?;
    let mut progress = context.ui.progress("exporting", 0);
    let mut done = |bytes| progress.add(bytes);
    let problems = match dir {
        None => {
            let (mut out, problems) =
                bundle::export(&catalog, run, redactor.as_ref(), context.ui.bytes(), &mut done)?;
            out.flush()?;
            problems
        }
        Some(dir) => write_file(args, dir, |file| {
            bundle::export(&catalog, run, redactor.as_ref(), io::BufWriter::new(file), &mut done)
        })?,
    };
    drop(progress);
    problems.iter().for_each(|problem| context.ui.warn(problem));
    let team = run.team.as_deref().unwrap_or("no team");
    let to = dir.map(|_| format!(" to {}", args.output.display())).unwrap_or_default();
    context.ui.eprint_line(&format!("exported run {} ({team}){to}", run.run));
    if let Some(redactor) = &redactor {
        context.ui.eprint_line(&view::redaction_summary(&redactor.counts()));
    }
    Ok(())
}

/// The directory of the file, which can be written.
fn directory(args: &ExportArgs) -> Result<&Path> {
    let path = &args.output;
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => {
            Err(Error::new(format!("cannot write {}: it exists and is not a regular file", path.display())))
        }
        Ok(_) if !args.force => Err(output::already_exists(path)),
        _ => output::check_directory(path),
    }
}

/// Writes the file atomically, readable only by the user.
fn write_file(
    args: &ExportArgs,
    dir: &Path,
    write: impl FnOnce(NamedTempFile) -> Result<(io::BufWriter<NamedTempFile>, Vec<String>)>,
) -> Result<Vec<String>> {
    let path = &args.output;
    let failed = |error: io::Error| Error::caused(format!("cannot write {}", path.display()), error);
    let file =
        tempfile::Builder::new().prefix(".teamkeep-").suffix(".tmp").tempfile_in(dir).map_err(failed)?;
    let (file, problems) = write(file)?;
    let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    file.as_file().sync_all().map_err(failed)?;
    let persisted = if args.force { file.persist(path) } else { file.persist_noclobber(path) };
    persisted.map(|_| problems).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => output::already_exists(path),
        _ => failed(error.error),
    })
}

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  # Import a run and show what happened in it
  teamkeep import parser-team.teamkeep.tar.gz && teamkeep log parser-team

  # Import a run that unpacks to more than 4 GiB
  teamkeep import big.teamkeep.tar.gz --max-size '16 GiB'")]
pub struct ImportArgs {
    /// File that `teamkeep export` wrote; `-` for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Maximum unpacked size (default: 4 GiB)
    #[arg(long, value_name = "SIZE", value_parser = number::size)]
    max_size: Option<u64>,
}

pub fn import(context: &Context, args: &ImportArgs) -> Result<()> {
    let is_stdin = args.file.as_os_str() == "-";
    let shown = if is_stdin { "stdin".to_owned() } else { args.file.display().to_string() };
    let failed = |error: Error| error.within(format!("cannot import {shown}"));
    let print = |line: String| context.ui.eprint_line(&line);
    if is_stdin && io::stdin().is_terminal() {
        return Err(Error::usage("cannot read an export from a terminal").hint("name a file, or use a pipe"));
    }
    context.paths.secure()?;
    let file: Box<dyn Read> = if is_stdin {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).map_err(|error| failed(error.into()))?)
    };
    let exclusive = catalog::archive(context).maintain(context.config.log.lock_patience)?;
    let known = catalog(context)?.runs;
    let progress = context.ui.progress("importing", 0);
    let (paths, config, now) = (&context.paths, &context.config, context.clock.now());
    let target = ImportTarget { right: &exclusive, paths, config, now };
    let ImportedRun { run, events, verdicts, missing } =
        bundle::import(file, &target, args.max_size).map_err(failed)?;
    drop(progress);
    let team = run.team.as_deref().unwrap_or("no team");
    let (events, verdicts) = (view::count(events, "event"), view::count(verdicts, "verdict"));
    print(format!("imported run {} ({team}): {events}, {verdicts}", run.run));
    if missing > 0 {
        print(format!("missing in the file: {}", view::count(missing, "content")));
    }
    if known.iter().any(|other| other.team.is_some() && other.team == run.team) {
        print(format!("another run has the team name {team}: refer to this one by its ID"));
    }
    Ok(())
}
