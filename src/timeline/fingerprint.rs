//! Detects whether the recorded data of a run may have changed, without reading it.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::run_catalog::RunCatalog;
use crate::archive::RunRecord;
use crate::log;

/// Sizes and times of all files of a timeline.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(Vec<(PathBuf, u64, i64, i64)>);

impl RunCatalog {
    /// Takes them for a run.
    pub fn fingerprint(&self, run: &RunRecord) -> Fingerprint {
        let mut paths: Vec<PathBuf> = Vec::new();
        let segments = log::list(&self.log).unwrap_or_default();
        paths.extend(segments.iter().map(|segment| segment.path(&self.log)));
        if let Some(dir) = self.archive.run_dir(&run.run) {
            let listing = std::fs::read_dir(dir).into_iter().flatten().flatten();
            paths.extend(listing.map(|entry| entry.path()));
        }
        paths.extend(self.archive.transcripts(run));
        paths.sort();
        let stamp = |path: PathBuf| {
            let there = std::fs::symlink_metadata(&path).ok()?;
            Some((path, there.size(), there.mtime(), there.mtime_nsec()))
        };
        Fingerprint(paths.into_iter().filter_map(stamp).collect())
    }
}
