//! Which runs the closed segments of the log tell of.

use std::collections::BTreeSet;
use std::path::Path;

use chrono::TimeDelta;

use crate::clock::{self, Time};
use crate::log::{self, Lines, Name, Position};

/// A closed segment.
#[derive(Debug, Clone)]
pub struct Segment {
    /// It.
    pub segment: log::Segment,
    /// The runs that its lines belong to.
    pub runs: BTreeSet<String>,
    /// The sessions of lines that belong to no run by themselves.
    pub sessions: BTreeSet<String>,
    /// When the last line was that belongs to no run.
    pub loose: Option<Time>,
    /// Whether a line of it cannot be read.
    pub unreadable: bool,
}

/// Reads the segments that nobody writes to.
pub(super) fn survey(
    dir: &Path,
    all: &[log::Segment],
    current: Option<&Name>,
    now: Time,
    done: &mut dyn FnMut(u64),
) -> Vec<Segment> {
    let newest = all.iter().rfind(|segment| !segment.name.is_solo()).map(|segment| &segment.name);
    // A solo one's writer holds no lock; the newest takes lines even where its name in the lock was lost.
    let at_work = |name: &Name| name.is_solo() && name.start() + TimeDelta::hours(1) > now;
    let closed = all.iter().filter(|segment| {
        let name = Some(&segment.name);
        name != current && name != newest && !at_work(&segment.name)
    });
    closed.map(|segment| read(dir, segment.clone(), done)).collect()
}

fn read(dir: &Path, segment: log::Segment, done: &mut dyn FnMut(u64)) -> Segment {
    let mut read =
        Segment { runs: BTreeSet::new(), sessions: BTreeSet::new(), loose: None, unreadable: false, segment };
    let Ok(mut lines) = Lines::open(&read.segment.path(dir), Position::default()) else {
        read.unreadable = true;
        return read;
    };
    loop {
        let before = lines.position.offset;
        let raw = match lines.next() {
            Ok(Some(raw)) => raw,
            Ok(None) => return read,
            Err(_) => {
                read.unreadable = true;
                return read;
            }
        };
        done(lines.position.offset - before);
        match log::parse(raw) {
            Ok(None) => {}
            Err(_) => read.unreadable = true,
            Ok(Some(line)) => {
                let recorded = line.recorded;
                if let Some(run) = recorded.run {
                    read.runs.insert(run);
                    continue;
                }
                read.sessions.extend(recorded.session);
                match clock::parse(&recorded.at) {
                    Some(at) => read.loose = read.loose.max(Some(at)),
                    None => read.unreadable = true,
                }
            }
        }
    }
}
