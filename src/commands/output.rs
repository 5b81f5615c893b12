//! Output of the commands: text, documents and JSON on stdout, and the files that the user asked for.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Serialize;

use crate::view::{self, Document, count};
use teamkeep_config::Problem;
use teamkeep_settings::program::shell_invocation;
use teamkeep_system::command::quoted;
use teamkeep_system::error::{Cause, Error, Result};
use teamkeep_system::process::program;
use teamkeep_system::{fs, os};
use teamkeep_terminal::{Context, quiet};

#[derive(Debug, clap::Args)]
pub struct JsonOption {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

impl JsonOption {
    /// Prints the value as JSON, or as a document.
    pub fn print(
        &self,
        context: &Context,
        value: &impl Serialize,
        document: impl FnOnce() -> Document,
    ) -> Result<()> {
        if self.json { print_json(context, value) } else { print_document(context, &document()) }
    }

    /// The same, with a pager for the document.
    pub fn page(
        &self,
        context: &Context,
        value: &impl Serialize,
        document: impl FnOnce() -> Document,
    ) -> Result<()> {
        if self.json { print_json(context, value) } else { page_document(context, &document()) }
    }
}

/// Writes to stdout, where a closed pipe counts as success.
fn write(mut out: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    quiet(write(&mut out).and_then(|()| out.flush()))
        .map_err(|error| Error::caused("cannot write to stdout", error))
}

pub fn print(context: &Context, text: &str) -> Result<()> {
    write(context.ui.out(), |out| out.write_all(text.as_bytes()))
}

pub fn print_document(context: &Context, document: &Document) -> Result<()> {
    print(context, &document.to_terminal(context.ui.columns()))
}

/// Prints text through a pager when it is longer than the screen.
pub fn page(context: &Context, text: &str) -> Result<()> {
    page_with(context, |out| out.write_all(text.as_bytes()))
}

pub fn page_document(context: &Context, document: &Document) -> Result<()> {
    page(context, &document.to_terminal(context.ui.columns()))
}

pub fn page_with(context: &Context, each: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    write(BufWriter::new(context.paged()), each)
}

pub fn print_json(context: &Context, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(Error::from_json)?;
    print_json_text(context, &format!("{text}\n"))
}

pub fn print_json_text(context: &Context, text: &str) -> Result<()> {
    write(context.ui.json(), |out| out.write_all(text.as_bytes()))
}

pub fn json_line(out: &mut (impl Write + ?Sized), value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Prints problems of configuration files to stderr.
pub fn print_problems(context: &Context, problems: &[Problem]) {
    context.ui.print_err(&view::problems(problems, context.ui.columns()));
}

/// `2 errors and 1 warning`.
pub fn counted_problems(problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let counts = [(errors, "error"), (problems.len() - errors, "warning")];
    let counts = counts.iter().filter(|(number, _)| *number > 0).map(|(number, what)| count(*number, what));
    counts.collect::<Vec<_>>().join(" and ")
}

/// Writes a file atomically, readable only by the user. A device or a pipe is written to directly.
pub fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |error| Error::from(fs::with_path(error, "write", path));
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            Err(Error::usage(format!("{} is a directory", path.display())).hint("choose a file in it"))
        }
        Ok(metadata) if !metadata.is_file() => {
            let mut file = std::fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
            file.write_all(bytes).map_err(failed)
        }
        // A link is kept: its target is written.
        Ok(_) => Ok(fs::write_synced(&fs::canonicalize(path).map_err(failed)?, bytes)?),
        Err(_) => {
            check_directory(path)?;
            Ok(fs::write_synced(path, bytes)?)
        }
    }
}

/// The error for a file that is not overwritten.
pub fn already_exists(path: &Path) -> Error {
    Error::new(format!("cannot write {}: it already exists", path.display()))
        .hint("use --force to overwrite, or choose another file")
}

pub fn check_directory(path: &Path) -> Result<&Path> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if dir.is_dir() {
        return Ok(dir);
    }
    let (path, dir) = (path.display(), dir.display());
    Err(Error::new(format!("cannot write {path}: the directory {dir} does not exist")))
}

/// Writes a page to a new temporary file that only the user can read.
pub fn temporary(page: &[u8]) -> Result<PathBuf> {
    let write = || -> std::result::Result<PathBuf, Cause> {
        let mut file = tempfile::Builder::new().prefix("teamkeep-report-").suffix(".html").tempfile()?;
        file.write_all(page)?;
        Ok(file.keep()?.1)
    };
    write()
        .map_err(|error| Error::caused("cannot write a temporary file", error).hint("choose a file: -o FILE"))
}

pub fn open(path: &Path) -> Result<()> {
    let failed = |why: Cause| {
        let path = path.display();
        Error::caused(format!("cannot open {path}"), why).hint(format!("open it in a browser: {path}"))
    };
    for opener in os::OPENERS {
        let mut command = program(opener);
        command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        return match command.status() {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => Err(failed(error.into())),
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(format!("{opener} failed ({status})").into())),
        };
    }
    Err(failed(format!("{} is not installed", os::OPENERS.join(" or ")).into()))
}

/// Ends a dry run, whose output has `would delete` or `would restore`: prints the present command line without `--dry-run`, and
/// with this option.
pub fn propose_again(context: &Context, option: Option<&str>) {
    let given = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    let words = given.filter(|arg| arg != "--dry-run").chain(option.map(str::to_owned));
    let words: Vec<String> = words.map(|word| quoted(&word)).collect();
    propose(context, &format!("{} {}", shell_invocation(&context.env), words.join(" ")));
}

/// Prints a command that does what a dry run has shown.
pub fn propose(context: &Context, command: &str) {
    context.ui.eprint_line(&format!("to do it: {command}"));
}
