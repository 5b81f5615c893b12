//! The last line of a segment that is in the chain.

use std::io;

use super::seal::{MAX_MARK_BYTES, Mark, Sealed};
use crate::chain::ChainPoint;
use teamkeep_system::fs::Appender;

/// The last line of a file that is in the chain. Skips lines that killed writers cut off. A line that lacks only its line break
/// counts, as it does for readers.
pub(super) fn last_point(file: &Appender) -> io::Result<Option<ChainPoint>> {
    let mut most = MAX_MARK_BYTES + 1;
    loop {
        let bytes = file.last_bytes(most)?;
        let is_whole_file = bytes.len() < most;
        let mut lines = bytes.rsplit(|byte| *byte == b'\n').peekable();
        let mut has_line_break = false;
        while let Some(line) = lines.next() {
            let is_whole = is_whole_file || lines.peek().is_some();
            let sealed = Sealed::read(line);
            match sealed.filter(|sealed| has_line_break || is_whole && sealed.is_intact()) {
                Some(Sealed { mark: Mark::Chained(link), .. }) => return Ok(Some(link.point())),
                _ => has_line_break = true,
            }
        }
        if is_whole_file {
            return Ok(None);
        }
        most = most.saturating_mul(16);
    }
}
