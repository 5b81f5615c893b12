//! A file of log lines outside of the log: the events of an imported run.

use std::io;
use std::path::Path;

use super::lines::{Lines, Position};
use super::reader::parse;
use super::{Line, ReadError, ReadErrors};

/// Leads over its lines in their order. One that cannot be read is counted and passed over.
///
/// # Errors
/// What `each` fails with; what cannot be read is a problem.
pub fn read_lines(path: &Path, mut each: impl FnMut(Line) -> io::Result<()>) -> io::Result<ReadErrors> {
    let mut problems = ReadErrors::default();
    let mut lines = match Lines::open(path, Position::default()) {
        Ok(lines) => lines,
        Err(error) => {
            problems.add(ReadError { path: path.to_owned(), line: None, why: error.to_string() });
            return Ok(problems);
        }
    };
    loop {
        let why = match lines.next() {
            Ok(None) => return Ok(problems),
            Ok(Some(raw)) => match parse(raw) {
                Ok(Some(line)) => {
                    each(line)?;
                    continue;
                }
                Ok(None) => continue,
                Err(error) => error.to_string(),
            },
            Err(error) => {
                let why = format!("cannot read {}: {error}", path.display());
                problems.add(ReadError { path: path.to_owned(), line: None, why });
                return Ok(problems);
            }
        };
        problems.add(ReadError { path: path.to_owned(), line: Some(lines.position.lines), why });
    }
}
