//! `teamkeep export RUN -o FILE`: a run as one file.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::catalog::{self, catalog, redactor};
use super::output;
use crate::{bundle, view};
use teamkeep_system::error::{Error, Result};
use teamkeep_terminal::Context;

#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  # Export the last run of a team to a file that `teamkeep import` and `tar` can read
  teamkeep export parser-team -o parser-team.teamkeep.tar.gz

  # Copy the last run to another machine, without secrets and personal data
  teamkeep export latest --redact -o - | ssh other teamkeep import -")]
pub struct Args {
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

pub fn run(context: &Context, args: &Args) -> Result<()> {
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
fn directory(args: &Args) -> Result<&Path> {
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
    args: &Args,
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
