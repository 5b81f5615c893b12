//! Checks the log, and the events that are stored with a run (imported or copied).

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration;

use super::finding::{Finding, Kind};
use super::verifier::{Verifier, Way};
use crate::clock;
use crate::error::Result;
use crate::event::Recorded;
use crate::log::{self, LineError, Lines, Position, Range, Raw};

/// How long to wait for the end of the last line, which may be being written.
const AT_WORK: Duration = Duration::from_millis(100);

const LOST: &str = "this event is lost; all other events are intact, and recording continues";
const UPGRADE: &str = "written by a newer teamkeep; upgrade to read it";

/// Checks all segments, or those of the run's time.
pub(super) fn check(verifier: &Verifier<'_>, way: &mut Way, done: &mut dyn FnMut(u64)) -> Result<()> {
    let record = verifier.restrict_to().and_then(|run| verifier.archive.run(run));
    let time = |text: Option<&String>| text.and_then(|text| clock::parse(text));
    let range = record.map_or(Range::default(), |record| Range {
        since: time(Some(&record.started_at)),
        until: time(record.ended_at.as_ref()),
    });
    let mut ids = SeenIds::default();
    for segment in log::list(verifier.log)?.iter().filter(|segment| range.overlaps(&segment.name)) {
        lines(&segment.path(verifier.log), None, &mut ids, way, done);
    }
    Ok(())
}

/// Checks a file of events.
pub(super) fn file(path: &Path, run: Option<&str>, way: &mut Way, done: &mut dyn FnMut(u64)) {
    lines(path, run, &mut SeenIds::default(), way, done);
}

fn lines(path: &Path, run: Option<&str>, ids: &mut SeenIds, way: &mut Way, done: &mut dyn FnMut(u64)) {
    let named = |finding: Finding| Finding { run: run.map(str::to_owned), ..finding };
    let problem = each_line(path, done, &mut |number, line, _| {
        let parsed = log::parse(Raw { bytes: Some(line.to_vec()), whole: true });
        let finding = match parsed {
            Ok(None) => return,
            Ok(Some(line)) => {
                flaw(&line.recorded, ids).map(|(kind, what)| Finding::new(kind, path, what, LOST))
            }
            Err(LineError::NewerVersion(newer)) => {
                Some(Finding::new(Kind::NewerVersion, path, format!("format version {newer}"), UPGRADE))
            }
            Err(error) => Some(Finding::new(Kind::DamagedLine, path, error.to_string(), LOST)),
        };
        way.findings.checked.events += 1;
        if let Some(finding) = finding {
            way.findings.add(named(finding.at(number)));
        }
    });
    if let Some(why) = problem {
        way.findings.add(named(Finding::new(Kind::DamagedFile, path, why, "check its permissions")));
    }
}

/// Event ids seen so far, as hashes: a log may have millions.
#[derive(Default)]
struct SeenIds {
    seen: HashSet<u64>,
    hasher: RandomState,
}

/// A problem in an event that was read without errors.
fn flaw(recorded: &Recorded, ids: &mut SeenIds) -> Option<(Kind, String)> {
    if let Some(what) = recorded.flaw() {
        return Some((Kind::DamagedLine, what));
    }
    let hash = ids.hasher.hash_one(&recorded.id);
    let repeated = !ids.seen.insert(hash);
    repeated.then(|| (Kind::RepeatedId, format!("another line has the id {}", recorded.id)))
}

/// A callback for each line: its number, its bytes, and a callback to report further bytes as read.
pub(super) type EachLine<'a> = dyn FnMut(u64, &[u8], &mut dyn FnMut(u64)) + 'a;

/// Calls `each` for each line of a file, keeping only one in memory. Returns why reading stopped, if it failed.
pub(super) fn each_line(path: &Path, done: &mut dyn FnMut(u64), each: &mut EachLine<'_>) -> Option<String> {
    if path.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Some(format!("{} is not a regular file", path.display()));
    }
    let is_packed = path.extension().is_some_and(|kind| kind == "gz");
    let opened = if is_packed { Lines::open_packed(path) } else { Lines::open(path, Position::default()) };
    let mut from = match opened {
        Ok(from) => from,
        // Pruned after it was listed.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => return Some(error.to_string()),
    };
    loop {
        let before = from.position;
        let mut raw = match from.next() {
            Ok(None) => return None,
            Ok(Some(raw)) => raw,
            Err(error) => return Some(format!("cannot read {}: {error}", path.display())),
        };
        if !raw.whole && !is_packed {
            std::thread::sleep(AT_WORK);
            raw = again(path, before).unwrap_or(raw);
        }
        done(from.position.offset - before.offset);
        // A line that is too long is damaged, even if it begins like an event.
        let line = raw.bytes.unwrap_or_else(|| b"too long for a line".to_vec());
        each(before.lines + 1, &line, done);
    }
}

/// Reads a line a second time.
fn again(path: &Path, from: Position) -> Option<Raw> {
    Lines::open(path, from).ok()?.next().ok()?
}
