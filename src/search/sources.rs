//! The files whose texts are indexed, and how far each of them is.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use crate::timeline::{RunCatalog, read_note};
use teamkeep_core::error::Result;
use teamkeep_core::store::archive::{RunRecord, TranscriptNote};
use teamkeep_core::store::log;
use teamkeep_core::sys::fs;

/// A longer line is not indexed, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Where a source is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file to which lines are appended.
    Growing(PathBuf),
    /// A compressed file.
    Compressed(PathBuf),
    /// An object of the archive.
    Object(String),
}

/// The kind of the lines of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lines {
    Events,
    /// The transcript with this path, of a session or of one of its agents.
    Transcript(PathBuf),
}

#[derive(Debug, Clone)]
pub struct Source {
    /// Names it in the index.
    pub id: String,
    pub content: Content,
    pub lines: Lines,
    /// The run to which all its lines belong, if that is known.
    pub run: Option<String>,
    /// Inode and size of the file; 0 and the size of an object.
    stamp: (u64, u64),
}

/// How far a source is indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub inode: u64,
    /// The size of the source, in bytes.
    pub size: u64,
    /// The indexed bytes: whole lines.
    pub bytes: u64,
    pub lines: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

/// The part of a source that is not indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    Nothing,
    /// The lines after this progress.
    Rest(Progress),
    /// All of it; its indexed texts are outdated.
    Whole,
}

impl Source {
    pub fn missing(&self, known: Option<&Progress>) -> Missing {
        let Some(known) = known else { return Missing::Whole };
        let (inode, size) = self.stamp;
        let is_same_file = known.object.is_none() && known.inode == inode;
        match &self.content {
            Content::Growing(_) if is_same_file && known.size == size => Missing::Nothing,
            Content::Growing(_) if is_same_file && known.size < size => Missing::Rest(known.clone()),
            Content::Compressed(_) if is_same_file && known.size == size => Missing::Nothing,
            Content::Object(hash) if known.object.as_ref() == Some(hash) => Missing::Nothing,
            // The archived copy of a file that was read to its end.
            Content::Object(_) if known.object.is_none() && known.bytes == size => Missing::Nothing,
            _ => Missing::Whole,
        }
    }

    /// The progress before the first line.
    pub fn start(&self) -> Progress {
        let object = if let Content::Object(hash) = &self.content { Some(hash.clone()) } else { None };
        Progress { inode: self.stamp.0, size: self.stamp.1, object, ..Progress::default() }
    }

    /// The size of the rest, in bytes; compressed, if it is a compressed file.
    pub fn left(&self, from: &Progress) -> u64 {
        self.stamp.1.saturating_sub(from.bytes)
    }

    /// Passes each line after `progress` with its number, and moves the progress.
    pub fn read(
        &self,
        catalog: &RunCatalog,
        progress: &mut Progress,
        mut each: impl FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        progress.size = self.stamp.1;
        let is_growing = matches!(self.content, Content::Growing(_));
        let from: Box<dyn Read> = match &self.content {
            Content::Growing(path) => {
                let mut file = fs::open_regular(path)?;
                file.seek(SeekFrom::Start(progress.bytes))?;
                // Lines that are appended meanwhile are for the next time.
                Box::new(file.take(self.stamp.1.saturating_sub(progress.bytes)))
            }
            Content::Compressed(path) => {
                Box::new(MultiGzDecoder::new(BufReader::new(fs::open_regular(path)?)))
            }
            Content::Object(hash) => Box::new(catalog.archive.objects.open(hash)?),
        };
        let mut from = BufReader::with_capacity(256 << 10, from);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut size = from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? as u64;
            if size == 0 {
                return Ok(());
            }
            let is_whole = line.ends_with(b"\n");
            if !is_whole && size == MAX_LINE_BYTES {
                size += from.skip_until(b'\n')? as u64;
                line.clear();
            } else if !is_whole && is_growing {
                return Ok(());
            }
            progress.bytes += size;
            progress.lines += 1;
            each(&line, progress.lines)?;
        }
    }
}

/// All sources of the store: events before transcripts, because events name the agents.
pub fn list(catalog: &RunCatalog) -> io::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let dir = catalog.log_dir();
    // The log is listed first: if a segment is removed after that, its parts already exist.
    let segments = log::list(dir)?;
    for segment in &segments {
        sources.extend(file(format!("log:{}", segment.name), Content::Growing(segment.path(dir)), None));
    }
    for run in &catalog.runs {
        let (archive, id) = (&catalog.archive, &run.run);
        if run.imported.is_some()
            && let Some(path) = archive.events_file(id)
        {
            sources.extend(file(format!("import:{id}"), Content::Growing(path), Some(id)));
        }
        let Some(dir) = archive.run_dir(id) else { continue };
        for (name, path) in log::parts_in(&dir) {
            if segments.binary_search_by(|segment| segment.name.cmp(&name)).is_err() {
                sources.extend(file(format!("part:{id}:{name}"), Content::Compressed(path), Some(id)));
            }
        }
    }
    let mut transcripts: BTreeMap<String, Source> = BTreeMap::new();
    for run in &catalog.runs {
        for found in of_run(catalog, run) {
            match transcripts.get(&found.id) {
                // The longest copy has all lines of the others.
                Some(known) if known.stamp.1 >= found.stamp.1 => {}
                _ => drop(transcripts.insert(found.id.clone(), found)),
            }
        }
    }
    sources.extend(transcripts.into_values());
    Ok(sources)
}

fn file(id: String, content: Content, run: Option<&String>) -> Option<Source> {
    let (Content::Growing(path) | Content::Compressed(path)) = &content else { return None };
    let there = path.symlink_metadata().ok().filter(|there| there.is_file())?;
    let stamp = (there.ino(), there.len());
    Some(Source { id, content, lines: Lines::Events, run: run.cloned(), stamp })
}

/// The transcripts of a run: Claude Code's files, and their archived copies.
fn of_run(catalog: &RunCatalog, run: &RunRecord) -> Vec<Source> {
    let is_transcript = |path: &str| path.ends_with(".jsonl");
    let imported = run.imported.is_some().then(|| run.run.clone());
    // The path of an imported transcript belongs to another machine.
    let id = |path: &str| format!("transcript:{}:{path}", imported.as_deref().unwrap_or_default());
    let of = |path: &str, content: Content, stamp: (u64, u64)| Source {
        id: id(path),
        content,
        lines: Lines::Transcript(PathBuf::from(path)),
        run: imported.clone(),
        stamp,
    };
    let live = catalog.archive.transcripts(run);
    let live = live.iter().filter_map(|path| {
        let (name, there) =
            (path.to_str().filter(|name| is_transcript(name))?, path.symlink_metadata().ok()?);
        Some(of(name, Content::Growing(path.clone()), (there.ino(), there.len())))
    });
    let kept = catalog.archive.kept(&run.run);
    let kept = kept.iter().filter(|(name, _)| is_transcript(name));
    let kept = kept.map(|(name, kept)| of(name, Content::Object(kept.object.clone()), (0, kept.size)));
    live.chain(kept).collect()
}

/// The note beside a transcript; empty if there is none.
pub fn note_of(catalog: &RunCatalog, run: &RunRecord, transcript: &Path) -> TranscriptNote {
    let path = transcript.with_extension("meta.json");
    let kept = catalog.archive.kept(&run.run);
    let object = path.to_str().and_then(|path| kept.get(path)).map(|kept| kept.object.as_str());
    // The path of an imported transcript belongs to another machine.
    let is_known = object.is_some() || run.imported.is_none();
    let note = is_known.then(|| read_note(&catalog.archive, &path, object).ok()).flatten();
    note.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_read_from_where_it_ended_and_from_the_start_if_it_is_another_file() {
        let source =
            |content, stamp| Source { id: "s".into(), content, lines: Lines::Events, run: None, stamp };
        let file = |inode, size| source(Content::Growing("f".into()), (inode, size));
        let known = Progress { inode: 1, size: 12, bytes: 10, lines: 2, object: None };
        assert_eq!(file(1, 12).missing(None), Missing::Whole);
        assert_eq!(file(1, 12).missing(Some(&known)), Missing::Nothing, "the last line is still incomplete");
        assert_eq!(file(1, 13).missing(Some(&known)), Missing::Rest(known.clone()));
        for other in [file(2, 13), file(1, 11)] {
            assert_eq!(other.missing(Some(&known)), Missing::Whole, "it was rewritten");
        }
        let object = |size| source(Content::Object("h".into()), (0, size));
        assert_eq!(object(10).missing(Some(&known)), Missing::Nothing, "a copy of what was read");
        assert_eq!(object(12).missing(Some(&known)), Missing::Whole);
        assert_eq!(object(12).missing(Some(&object(12).start())), Missing::Nothing);
    }
}
