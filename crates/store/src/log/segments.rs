//! The segments of one log: the files with its lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fmt, io};

use flate2::read::MultiGzDecoder;
use fs_err::File;

use super::lines::{Lines, Position};
use super::{EventLog, LogOwner};
use crate::chain::ChainPoint;
use crate::packed::{packed, plain_size};
use teamkeep_model::event::Id;
use teamkeep_model::time::{self, Timestamp};
use teamkeep_system::fs::{self, FileId};
use teamkeep_system::os;

/// The segment that is written to.
pub(super) const CURRENT: &str = "events.jsonl";
const IMPORTED: &str = "events-imported.jsonl";
const PREFIX: &str = "events-";
const SINGLE: &str = "single-";
const SUFFIX: &str = ".jsonl";

/// The name of a segment. Names sort as the lines do, except those of single lines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SegmentName {
    /// `events-imported.jsonl`: the events of an imported run, which are in no chain of this store.
    Imported,
    /// `events-<number>-<hash>.jsonl`, named after its last line. It never changes, but is compressed after the end of the run.
    Closed(ChainPoint),
    /// `events.jsonl`, which is written to.
    Current,
    /// `events-single-<id>.jsonl`: a single line whose writer did not get the lock, or could not write there.
    Single(String),
}

impl SegmentName {
    pub fn single(at: Timestamp) -> SegmentName {
        SegmentName::Single(Id::new(at).as_str().to_owned())
    }

    /// Parses a file name if it is exactly that of a segment.
    pub fn parse(text: &str) -> Option<SegmentName> {
        if text == CURRENT {
            return Some(SegmentName::Current);
        }
        if text == IMPORTED {
            return Some(SegmentName::Imported);
        }
        let rest = text.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        if let Some(id) = rest.strip_prefix(SINGLE) {
            return Id::known(id).map(|id| SegmentName::Single(id.as_str().to_owned()));
        }
        let (count, hash) = rest.split_once('-')?;
        let point = format!("{count}:{hash}").parse().ok()?;
        Some(SegmentName::Closed(point)).filter(|name| name.to_string() == text)
    }

    /// Whether it has a single line, written without the lock.
    pub fn is_single(&self) -> bool {
        matches!(self, SegmentName::Single(_))
    }

    /// The last line of a closed segment.
    pub fn end(&self) -> Option<ChainPoint> {
        if let SegmentName::Closed(end) = self { Some(*end) } else { None }
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SegmentName::Closed(end) => write!(out, "{PREFIX}{:012}-{}{SUFFIX}", end.count, end.hash),
            SegmentName::Imported => out.write_str(IMPORTED),
            SegmentName::Current => out.write_str(CURRENT),
            SegmentName::Single(id) => write!(out, "{PREFIX}{SINGLE}{id}{SUFFIX}"),
        }
    }
}

/// A segment as it was when the directory was listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub log: LogOwner,
    dir: PathBuf,
    pub name: SegmentName,
    /// In bytes, as it is on the disk.
    pub size: u64,
    pub modified: Timestamp,
    pub is_packed: bool,
    pub(super) id: FileId,
    /// The number of the last line of the closed segment before it.
    after: u64,
}

impl Segment {
    /// The path of the plain file.
    fn plain(&self) -> PathBuf {
        self.dir.join(self.name.to_string())
    }

    pub fn path(&self) -> PathBuf {
        if self.is_packed { packed(&self.plain()) } else { self.plain() }
    }

    pub fn open(&self) -> io::Result<Lines> {
        self.open_at(Position::default())
    }

    /// Opens it after a position.
    pub fn open_at(&self, position: Position) -> io::Result<Lines> {
        match self.find()? {
            Found::Plain(file) => Lines::of_file(file, position),
            Found::Packed(path) => Lines::open_packed(&path, position),
        }
    }

    /// Opens it to read its bytes.
    pub fn bytes(&self) -> io::Result<Box<dyn Read>> {
        Ok(match self.find()? {
            Found::Plain(file) => Box::new(file),
            Found::Packed(path) => Box::new(MultiGzDecoder::new(BufReader::new(fs::open_regular(&path)?))),
        })
    }

    /// Finds its lines, also if it was closed or compressed since it was listed.
    fn find(&self) -> io::Result<Found> {
        let opened = fs::if_exists(fs::open_regular(&self.plain()))?;
        if self.name != SegmentName::Current {
            return Ok(opened.map_or_else(|| Found::Packed(packed(&self.plain())), Found::Plain));
        }
        // After it was opened. The inode does not show whether it is the same: that of a compressed segment is used again.
        let log = EventLog { owner: self.log.clone(), dir: self.dir.clone() };
        match list(&log)?.iter().find(|listed| listed.name.end().is_some_and(|end| end.count > self.after)) {
            Some(closed) => closed.find(),
            None => Ok(Found::Plain(opened.ok_or(io::ErrorKind::NotFound)?)),
        }
    }

    /// Its size when it is not compressed, in bytes.
    pub fn plain_size(&self) -> u64 {
        plain_size(&self.plain()).unwrap_or(self.size)
    }

    /// The time since it was written to, by the clock of the file system.
    pub fn age(&self) -> Duration {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        now.saturating_sub(Duration::from_millis(self.modified.millis().max(0).unsigned_abs()))
    }

    /// The time of its first line, from its first bytes; the earliest time if that cannot be read.
    pub fn begins(&self) -> Timestamp {
        const HEADER: usize = 64;
        let time = || {
            let start = self.open().ok()?.peek(HEADER)?;
            let text = String::from_utf8_lossy(&start).into_owned();
            let (_, at) = text.split_once("\"at\":\"")?;
            time::parse(at.split_once('"')?.0)
        };
        time().unwrap_or(Timestamp::MIN)
    }
}

impl EventLog {
    /// The segments in the order of their lines, and then those of a single line.
    pub fn segments(&self) -> io::Result<Vec<Segment>> {
        list(self)
    }

    /// The segments that were written here, without the events of an imported run.
    pub fn own_segments(&self) -> io::Result<Vec<Segment>> {
        let mut segments = self.segments()?;
        segments.retain(|segment| segment.name != SegmentName::Imported);
        Ok(segments)
    }
}

/// Where the lines of a segment are.
enum Found {
    Plain(File),
    Packed(PathBuf),
}

/// The segments of a log in the order of their lines, and then those of a single line, without links and special files. A
/// missing directory has none.
pub(super) fn list(log: &EventLog) -> io::Result<Vec<Segment>> {
    let mut found: BTreeMap<SegmentName, Segment> = BTreeMap::new();
    let mut add = |name: SegmentName, path: &Path, metadata: &Metadata, is_packed: bool| {
        if !metadata.is_file() || (is_packed && found.contains_key(&name)) {
            return;
        }
        let modified = metadata.modified().map(Timestamp::from).unwrap_or_default();
        let (dir, owner) = (log.dir.clone(), log.owner.clone());
        let (size, id) = (metadata.len(), os::files::id(path, metadata));
        let segment =
            Segment { log: owner, dir, name: name.clone(), size, modified, is_packed, id, after: 0 };
        found.insert(name, segment);
    };
    // Before the names: a segment that is closed after them is found by the one that is listed here.
    let current = log.dir.join(CURRENT);
    if let Ok(metadata) = current.symlink_metadata() {
        add(SegmentName::Current, &current, &metadata, false);
    }
    for text in names(&log.dir)? {
        let plain = text.strip_suffix(".gz");
        let Some(name) = SegmentName::parse(plain.unwrap_or(&text)) else { continue };
        let path = log.dir.join(&text);
        // One that is gone by now was compressed or pruned.
        let metadata = path.symlink_metadata().or_else(|_| packed(&path).symlink_metadata());
        if let Ok(metadata) = metadata {
            add(name, &path, &metadata, plain.is_some());
        }
    }
    let mut after = 0;
    let segments = found.into_values().map(|segment| {
        let segment = Segment { after, ..segment };
        after = segment.name.end().map_or(after, |end| end.count);
        segment
    });
    Ok(segments.collect())
}

/// The names of the files that may be closed segments.
///
/// The kernel lists a directory in parts. Between two of them, a file can be renamed or compressed, so that neither of its names is
/// listed. So a directory that may have several parts is listed until two lists are the same.
fn names(dir: &Path) -> io::Result<BTreeSet<String>> {
    const MAX_LISTINGS: usize = 20;
    /// A part has at least so many names.
    const PART: usize = 12;
    let mut last = BTreeSet::new();
    for _ in 0..MAX_LISTINGS {
        let listed = fs::if_exists(fs::names(dir))?.unwrap_or_default();
        let is_one_part = listed.len() < PART;
        let names = listed.into_iter().filter_map(|named| named.name.into_string().ok());
        let names: BTreeSet<String> = names.filter(|name| name.starts_with(PREFIX)).collect();
        if is_one_part || names == last {
            return Ok(names);
        }
        last = names;
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::ChainHash;

    #[test]
    fn a_segment_name_is_parsed_as_it_is_shown_and_nothing_else_is() {
        let end = ChainPoint { count: 42, hash: ChainHash::START.with_line(b"x") };
        let single = SegmentName::single(time::parse("2026-02-03T04:05:06Z").unwrap());
        let (closed, without_lines) = (SegmentName::Closed(end), SegmentName::Closed(ChainPoint::default()));
        for name in [SegmentName::Imported, closed, without_lines, SegmentName::Current, single.clone()] {
            assert_eq!(name.is_single(), name == single);
            assert_eq!(SegmentName::parse(&name.to_string()), Some(name));
        }
        let closed = SegmentName::Closed(end).to_string();
        for bad in [
            "",
            "events.lock",
            "events.jsonl.gz",
            "../events.jsonl",
            "events-single-x.jsonl",
            "events-single-../../x.jsonl",
            &closed.replace("00042", "0042"),
            &closed.to_uppercase(),
            &closed.replace(".jsonl", ".jsonl.gz"),
        ] {
            assert_eq!(SegmentName::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_listed_segment_is_read_after_it_was_closed_and_compressed() {
        let dir = tempfile::tempdir().unwrap();
        let log = EventLog { owner: LogOwner::Run("r".to_owned()), dir: dir.path().to_owned() };
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write(CURRENT, "one\n");
        let listed = list(&log).unwrap().remove(0);
        let end = ChainPoint { count: 1, hash: ChainHash::START.with_line(b"one") };
        let closed = dir.path().join(SegmentName::Closed(end).to_string());
        std::fs::rename(dir.path().join(CURRENT), &closed).unwrap();
        let text = || listed.open().unwrap().next().unwrap().unwrap().bytes.unwrap();
        assert_eq!(text(), b"one");
        write(CURRENT, "two\n");
        assert_eq!(text(), b"one");
        let mut gzip = flate2::write::GzEncoder::new(
            std::fs::File::create(packed(&closed)).unwrap(),
            flate2::Compression::fast(),
        );
        std::io::Write::write_all(&mut gzip, b"one\n").unwrap();
        gzip.finish().unwrap();
        assert_eq!(list(&log).unwrap().len(), 2, "the plain file counts");
        std::fs::remove_file(&closed).unwrap();
        assert_eq!(text(), b"one");
        let all: Vec<_> = list(&log).unwrap().into_iter().map(|one| (one.name, one.is_packed)).collect();
        assert_eq!(all, [(SegmentName::Closed(end), true), (SegmentName::Current, false)]);
        assert_eq!(list(&log).unwrap().iter().map(Segment::plain_size).collect::<Vec<_>>(), [4, 4]);
    }

    #[test]
    fn a_segment_begins_with_the_time_of_its_first_line() {
        let dir = tempfile::tempdir().unwrap();
        let log = EventLog { owner: LogOwner::Run("r".to_owned()), dir: dir.path().to_owned() };
        let began = |text: &str| {
            std::fs::write(dir.path().join(CURRENT), text).unwrap();
            list(&log).unwrap()[0].begins()
        };
        let at = "2026-02-03T04:05:06.789Z";
        let line = format!("{{\"v\":1,\"at\":\"{at}\",\"id\":\"x\"}}\n");
        assert_eq!(Some(began(&line)), time::parse(at));
        assert_eq!(began(&line[..20]), Timestamp::MIN);
        assert_eq!(began("no time\n"), Timestamp::MIN);
    }

    #[test]
    fn a_listed_segment_is_read_after_two_more_were_closed() {
        let dir = tempfile::tempdir().unwrap();
        let log = EventLog { owner: LogOwner::Run("r".to_owned()), dir: dir.path().to_owned() };
        let text = |segment: &Segment| segment.open().unwrap().next().unwrap().unwrap().bytes.unwrap();
        let close = |count: u64| {
            let end = ChainPoint { count, hash: ChainHash::START.with_line(&count.to_le_bytes()) };
            let closed = dir.path().join(SegmentName::Closed(end).to_string());
            std::fs::rename(dir.path().join(CURRENT), &closed).unwrap();
            closed
        };
        let mut listed = Vec::new();
        for (count, line) in [(1, "first"), (2, "second"), (3, "third"), (4, "last")] {
            std::fs::write(dir.path().join(CURRENT), format!("{line}\n")).unwrap();
            listed.push((list(&log).unwrap().pop().unwrap(), line));
            if count < 4 {
                close(count);
            }
        }
        for (segment, line) in &listed {
            assert_eq!((&segment.name, text(segment)), (&SegmentName::Current, line.as_bytes().to_vec()));
        }
        // Retention removed the first one: the one after it is not read in its place unless the log is listed again.
        let all = list(&log).unwrap();
        assert_eq!(all.iter().map(text).collect::<Vec<_>>(), [&b"first"[..], b"second", b"third", b"last"]);
        std::fs::remove_file(all[0].path()).unwrap();
        assert_eq!(all[0].open().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn a_log_is_listed_without_links_drafts_and_other_files() {
        let dir = tempfile::tempdir().unwrap();
        let log = EventLog { owner: LogOwner::Run("r".to_owned()), dir: dir.path().to_owned() };
        let closed = SegmentName::Closed(ChainPoint { count: 7, hash: ChainHash::START }).to_string();
        let single = SegmentName::single(Timestamp::default()).to_string();
        for name in [&closed, &single, IMPORTED, CURRENT] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        for other in [
            "events.lock",
            "events.jsonl.gz",
            "events-.jsonl",
            "run.json",
            ".events.jsonl.0123456789abcdef.tmp",
        ] {
            std::fs::write(dir.path().join(other), "").unwrap();
        }
        let linked = SegmentName::Closed(ChainPoint { count: 8, hash: ChainHash::START }).to_string();
        std::os::unix::fs::symlink(dir.path().join(&closed), dir.path().join(linked)).unwrap();
        let names: Vec<String> = list(&log).unwrap().iter().map(|one| one.name.to_string()).collect();
        assert_eq!(names, [IMPORTED.to_owned(), closed, CURRENT.to_owned(), single]);
        std::fs::remove_file(dir.path().join(CURRENT)).unwrap();
        std::fs::create_dir(dir.path().join(CURRENT)).unwrap();
        assert_eq!(list(&log).unwrap().len(), 3);
    }
}
