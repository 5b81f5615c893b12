//! A cache of which runs and sessions the lines of a closed segment belong to, stored beside the segment, so that the
//! segment is read only once for that.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Lines, Position, Segment, SegmentName, parse};
use crate::sys::clock::Timestamp;
use crate::sys::fs;

const VERSION: u8 = 1;
const SUFFIX: &str = ".contents";
const MAX_BYTES: u64 = 1 << 24;
/// A smaller segment is not cached: reading it again costs less.
const SMALL_BYTES: u64 = 64 << 10;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    pub v: u8,
    /// The segment's size in bytes. If the size differs, the cache is out of date.
    pub size: u64,
    pub runs: BTreeSet<String>,
    /// The sessions of lines that name no run, and how many bytes each has here.
    pub sessions: BTreeMap<String, u64>,
    /// The time of the last line that names no run.
    pub loose: Option<Timestamp>,
    pub unreadable: bool,
}

fn cache_path(dir: &Path, segment: &SegmentName) -> PathBuf {
    dir.join(format!("{segment}{SUFFIX}"))
}

impl Contents {
    /// The contents of this segment, from the cache or by reading it. `done` is called with the number of bytes read.
    pub fn of(dir: &Path, segment: &Segment, done: &mut dyn FnMut(u64)) -> Contents {
        Contents::cached(dir, segment).unwrap_or_else(|| Contents::read(dir, segment, done))
    }

    pub fn cached(dir: &Path, segment: &Segment) -> Option<Contents> {
        let (bytes, _) = fs::read_regular(&cache_path(dir, &segment.name), MAX_BYTES).ok()?;
        let contents: Contents = serde_json::from_slice(&bytes).ok()?;
        (contents.v == VERSION && contents.size == segment.size).then_some(contents)
    }

    /// Writes the cache, unless the segment is too small. A failure costs only time.
    pub fn save(&self, dir: &Path, segment: &Segment) {
        if self.size >= SMALL_BYTES
            && !self.unreadable
            && let Ok(bytes) = serde_json::to_vec(self)
        {
            let _ = fs::write_atomic(&cache_path(dir, &segment.name), &bytes);
        }
    }

    pub fn remove(dir: &Path, segment: &SegmentName) {
        let _ = std::fs::remove_file(cache_path(dir, segment));
    }

    pub fn sweep(dir: &Path, segments: &[Segment]) {
        let segment =
            |entry: std::fs::DirEntry| SegmentName::parse(entry.file_name().to_str()?.strip_suffix(SUFFIX)?);
        let cached = fs::entries(dir).filter_map(segment);
        let removed = cached.filter(|name| !segments.iter().any(|segment| segment.name == *name));
        removed.for_each(|name| Contents::remove(dir, &name));
    }

    fn read(dir: &Path, segment: &Segment, done: &mut dyn FnMut(u64)) -> Contents {
        let mut contents = Contents { v: VERSION, size: segment.size, ..Contents::default() };
        let Ok(lines) = Lines::open(&segment.path(dir), Position::default()) else {
            contents.unreadable = true;
            return contents;
        };
        for raw in lines {
            let Ok(raw) = raw else {
                contents.unreadable = true;
                break;
            };
            done(raw.size);
            let line = parse(raw.bytes);
            contents.unreadable |= line.is_err();
            let Some(recorded) = line.ok().flatten().map(|line| line.recorded) else { continue };
            if let Some(run) = recorded.run {
                contents.runs.insert(run);
                continue;
            }
            *contents.sessions.entry(recorded.session.unwrap_or_default()).or_default() += raw.size;
            contents.loose = contents.loose.max(Some(recorded.at));
            contents.unreadable |= !recorded.at.is_valid();
        }
        contents
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::clock;

    #[test]
    fn the_contents_of_a_segment_are_cached_and_invalid_for_another_size() {
        let dir = tempfile::tempdir().unwrap();
        let name = SegmentName::parse("2026-02-03T000000000Z-aaaaaaaa.jsonl").unwrap();
        let pad = "x".repeat(SMALL_BYTES as usize);
        let text = format!(
            "{{\"v\":1,\"id\":\"1\",\"run\":\"r\",\"payload\":\"{pad}\"}}\n\
             {{\"v\":1,\"id\":\"2\",\"at\":\"2026-02-03T04:05:06.000Z\",\"session\":\"s\",\"payload\":{{}}}}\n"
        );
        std::fs::write(dir.path().join(name.as_str()), &text).unwrap();
        let segment = Segment { name, size: text.len() as u64 };
        let mut read = 0;
        let contents = Contents::of(dir.path(), &segment, &mut |bytes| read += bytes);
        assert_eq!(read, segment.size);
        assert!(contents.runs.contains("r") && contents.sessions["s"] > 60 && !contents.unreadable);
        assert_eq!(contents.loose, clock::parse("2026-02-03T04:05:06Z"));
        contents.save(dir.path(), &segment);
        let kept = Contents::of(dir.path(), &segment, &mut |_| panic!("it is not read again"));
        assert_eq!(kept, contents);
        assert_eq!(Contents::cached(dir.path(), &Segment { size: 7, ..segment.clone() }), None);
        Contents::remove(dir.path(), &segment.name);
        assert_eq!(Contents::cached(dir.path(), &segment), None);
    }
}
