//! Events that are stored with their runs: for each segment of the log and each ended run with lines in it, a compressed
//! file (a part) in the run's directory. While the segment exists, it is read instead of its parts, so each event is read
//! once.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::lines::Lines;
use super::{ReadErrors, Segment, SegmentName, segments};
use crate::sys::fs;

const PREFIX: &str = "events-";
const SUFFIX: &str = ".gz";

/// The parts of segments in the directories of some runs.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    dirs: Vec<PathBuf>,
}

pub fn part_name(segment: &SegmentName) -> String {
    format!("{PREFIX}{segment}{SUFFIX}")
}

pub fn parts_in(dir: &Path) -> BTreeMap<SegmentName, PathBuf> {
    let named = fs::entries(dir).filter_map(|entry| {
        let name = entry.file_name();
        let segment =
            name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX).and_then(SegmentName::parse)?;
        entry.file_type().is_ok_and(|kind| kind.is_file()).then(|| (segment, entry.path()))
    });
    named.collect()
}

impl Parts {
    pub fn of(dirs: impl IntoIterator<Item = PathBuf>) -> Parts {
        Parts { dirs: dirs.into_iter().collect() }
    }

    pub fn segments(&self) -> BTreeSet<SegmentName> {
        self.dirs.iter().flat_map(|dir| parts_in(dir).into_keys()).collect()
    }

    pub fn of_segment(&self, segment: &SegmentName) -> Vec<PathBuf> {
        let name = part_name(segment);
        let paths = self.dirs.iter().map(|dir| dir.join(&name));
        paths.filter(|path| path.symlink_metadata().is_ok_and(|there| there.is_file())).collect()
    }

    /// The segments of the log in this directory and those of which only parts are left, the oldest first. The latter have
    /// size 0.
    pub(super) fn with_log(&self, dir: &Path) -> io::Result<Vec<Segment>> {
        // The log is listed first: if a segment is removed after that, its parts already exist.
        let mut all = segments::list(dir)?;
        let mut removed = self.segments();
        removed.retain(|name| all.binary_search_by(|segment| segment.name.cmp(name)).is_err());
        all.extend(removed.into_iter().map(|name| Segment { name, size: 0 }));
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }
}

/// The lines of several parts of one segment, in the order of their times.
pub(super) fn merged(paths: &[PathBuf], problems: &mut ReadErrors) -> Lines {
    #[derive(Deserialize)]
    struct When {
        #[serde(default)]
        at: String,
    }
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    for path in paths {
        let read = Lines::open_packed(path).and_then(|mut lines| {
            lines.try_for_each(|raw| {
                let Some(mut line) = raw?.bytes else { return Ok(()) };
                let when = serde_json::from_slice::<When>(&line).ok();
                line.push(b'\n');
                all.push((when.map(|when| when.at).unwrap_or_default(), line));
                Ok(())
            })
        });
        if let Err(error) = read {
            problems.add(path, None, format!("cannot read {}: {error}", path.display()));
        }
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    Lines::over(all.into_iter().map(|(_, line)| line).collect::<Vec<_>>().concat())
}
