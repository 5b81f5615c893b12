//! The rows of a segment of a log.

use std::io;

use teamkeep_store::log::Segment;
use teamkeep_system::error::{Error, Result};

use crate::privacy::Texts;
use crate::rows::{EventRow, Table, events};

/// How many lines of a segment are rows, and how many are damaged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub rows: usize,
    pub damaged: usize,
}

/// Why the rows of a segment were not read to its end.
pub enum ReadError {
    /// It was removed by retention, or with its run.
    Gone(Error),
    Failed(Error),
    /// `each` failed.
    Stopped(Error),
}

/// Visits the rows of a segment, in order. A line that is not an event counts as damaged.
pub fn read(
    segment: &Segment,
    texts: &Texts,
    mut each: impl for<'a> FnMut(&Table<EventRow<'a>>, &EventRow<'a>) -> Result<()>,
) -> std::result::Result<Counts, ReadError> {
    let log = segment.log.to_string();
    let failed = |error: io::Error| {
        let is_gone = error.kind() == io::ErrorKind::NotFound;
        let error = Error::caused(format!("{} of {} was not sent", segment.name, segment.log), error);
        if is_gone { ReadError::Gone(error) } else { ReadError::Failed(error) }
    };
    let mut counts = Counts::default();
    for line in segment.open().map_err(failed)? {
        let line = line.map_err(failed)?.bytes;
        match line.as_deref().and_then(|line| EventRow::parse(line, &log, texts)) {
            Some(row) => {
                counts.rows += 1;
                each(&events(), &row).map_err(ReadError::Stopped)?;
            }
            None => counts.damaged += usize::from(line.is_none_or(|line| !line.is_empty())),
        }
    }
    Ok(counts)
}
