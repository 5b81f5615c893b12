//! Removes the lines of sessions without a run from a closed segment.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use crate::fs;
use crate::log::{Contents, ExclusiveLog, LineHeader, Lines, Position, Segment};

/// Rewrites the segment without the lines of these sessions that name no run, and returns how many bytes were removed. The
/// file is replaced atomically, under the log's lock. Lines that cannot be read are kept.
///
/// # Errors
/// When the segment cannot be read, is written to, has another size than planned, the lock is not to be had within
/// `patience`, or writing fails. It is unchanged then.
pub(super) fn thin(
    log: &Path,
    segment: &Segment,
    sessions: &BTreeSet<String>,
    patience: Duration,
) -> io::Result<u64> {
    let path = segment.path(log);
    let temporary = fs::temporary_path(&path);
    let written = rewrite(&path, &temporary, sessions).and_then(|left| {
        let busy = || fs::with_path(io::ErrorKind::ResourceBusy.into(), "rewrite", &path);
        let taken = ExclusiveLog::take(log, patience).map_err(io::Error::other)?;
        let exclusive = taken.ok_or_else(busy)?;
        // A line that was appended since would be lost.
        if exclusive.current().as_ref() == Some(&segment.name)
            || path.symlink_metadata()?.len() != segment.size
        {
            return Err(busy());
        }
        std::fs::rename(&temporary, &path).map_err(|error| fs::with_path(error, "rename to", &path))?;
        fs::sync(log)?;
        Contents::remove(log, &segment.name);
        Ok(segment.size.saturating_sub(left))
    });
    written.inspect_err(|_| {
        let _ = std::fs::remove_file(&temporary);
    })
}

fn rewrite(path: &Path, temporary: &Path, sessions: &BTreeSet<String>) -> io::Result<u64> {
    let mut lines = Lines::open(path, Position::default())?;
    let mut source = fs::open_regular(path)?;
    let file = fs::create_private(temporary)?;
    let mut to = BufWriter::new(file);
    let mut left = 0;
    loop {
        let before = lines.position.offset;
        let Some(raw) = lines.next().map_err(|error| fs::with_path(error, "read", path))? else { break };
        let size = lines.position.offset - before;
        let goes = raw.bytes.as_deref().is_some_and(|bytes| {
            let glance = serde_json::from_slice::<LineHeader<'_>>(bytes);
            glance.is_ok_and(|glance| {
                glance.run.is_none() && sessions.contains(glance.session.as_deref().unwrap_or_default())
            })
        });
        let copied = if goes {
            io::copy(&mut io::Read::take(&mut source, size), &mut io::sink())
        } else {
            left += size;
            io::copy(&mut io::Read::take(&mut source, size), &mut to)
        };
        copied.map_err(|error| fs::with_path(error, "write", temporary))?;
    }
    to.flush()
        .and_then(|()| to.get_ref().sync_all())
        .map_err(|error| fs::with_path(error, "write", temporary))?;
    Ok(left)
}
