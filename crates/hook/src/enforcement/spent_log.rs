//! The stored messages of a run with their usage: `cache/run-<run>-spent.jsonl`. Each line has the new messages of a transcript and
//! the position behind them, so a hook call reads only new lines.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::transcript_tail::{Position, Tail, TailLimits, read_tail, usages};
use teamkeep_model::team::MessageUsage;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{Archive, Interval, RunRecord, TranscriptNote, is_agent_transcript};
use teamkeep_system::fs::{self, Appender, json_lines};

/// Maximum number of bytes of transcripts that one hook call reads.
const MAX_NEW_BYTES: u64 = 8 << 20;

#[derive(Debug)]
pub(crate) struct SpentLog(PathBuf);

/// The messages of a run by id, and how far each transcript is read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SpentMessages {
    pub transcripts: BTreeMap<String, ReadTranscript>,
    /// Each message with its transcript.
    pub messages: HashMap<String, (Arc<str>, MessageUsage)>,
    /// The bytes of transcripts that are not read yet.
    pub unread: u64,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReadTranscript {
    pub position: Position,
    pub note: TranscriptNote,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    path: String,
    /// The offset from which it was read.
    #[serde(default)]
    start: u64,
    #[serde(flatten)]
    position: Position,
    #[serde(default, skip_serializing_if = "TranscriptNote::is_empty")]
    note: TranscriptNote,
    spent: Vec<MessageUsage>,
}

impl SpentLog {
    pub(super) fn at(path: PathBuf) -> SpentLog {
        SpentLog(path)
    }

    /// Reads the new lines of the transcripts, and stores their messages, without a lock: a message that two calls store counts
    /// once, and one whose line a failed call cuts off is read again.
    /// Messages before `from` are left out.
    pub(super) fn update(
        &self,
        transcripts: &[PathBuf],
        from: Option<Timestamp>,
    ) -> io::Result<SpentMessages> {
        let mut all = self.read();
        let (mut left, span) = (MAX_NEW_BYTES, Interval { from, until: None });
        let mut lines = Vec::new();
        for path in transcripts {
            let Some(name) = path.to_str().filter(|name| name.ends_with(".jsonl")) else { continue };
            let known = all.transcripts.entry(name.to_owned()).or_default();
            let note = if known.note.is_empty() { read_note(path) } else { TranscriptNote::default() };
            // A transcript that cannot be read may be gone.
            let limits = TailLimits { bytes: left, line: MAX_NEW_BYTES };
            let Ok(tail) = read_tail(path, &known.position, limits) else { continue };
            left = left.saturating_sub(tail.read);
            all.unread = all.unread.saturating_add(tail.unread);
            if tail.position != known.position || !note.is_empty() {
                lines.push(Line::of(name, tail, note, &span));
            }
        }
        let new = json_lines(&lines)?;
        lines.into_iter().for_each(|line| all.add(line));
        if !new.is_empty() {
            Appender::open(&self.0)?.append_line(&new)?;
        }
        Ok(all)
    }

    /// The stored messages. Damaged lines are skipped: their transcript is read again. A file that cannot be read is removed.
    fn read(&self) -> SpentMessages {
        let mut all = SpentMessages::default();
        let Ok((bytes, _)) = fs::read_regular(&self.0, fs::MAX_JSON_BYTES) else {
            let _ = std::fs::remove_file(&self.0);
            return all;
        };
        let lines = bytes.split(|byte| *byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice(line).ok()).for_each(|line| all.add(line));
        all
    }
}

impl Line {
    fn of(path: &str, tail: Tail, note: TranscriptNote, span: &Interval) -> Line {
        let mut messages: BTreeMap<String, MessageUsage> = BTreeMap::new();
        for line in tail.spent.into_iter().filter(|line| span.contains(line.at)) {
            match messages.get_mut(&line.id) {
                Some(known) => known.add(&line),
                None => drop(messages.insert(line.id.clone(), line)),
            }
        }
        let spent = messages.into_values().collect();
        Line { path: path.to_owned(), start: tail.start, position: tail.position, note, spent }
    }
}

impl SpentMessages {
    /// All messages of a run, from its archived transcripts and from those that are longer in Claude Code's directory.
    pub(crate) fn of_recorded(archive: &Archive, run: &RunRecord, span: &Interval) -> SpentMessages {
        let recorded = archive.longest_transcripts(run);
        let bytes = |path: &str| -> Option<Vec<u8>> {
            let mut bytes = Vec::new();
            let stored = recorded.get(path)?.as_ref();
            archive.open_transcript(&run.run, path, stored).ok()?.read_to_end(&mut bytes).ok()?;
            Some(bytes)
        };
        let mut all = SpentMessages::default();
        for path in recorded.keys().filter(|path| path.ends_with(".jsonl")) {
            let note =
                bytes(&path.replace(".jsonl", ".meta.json")).filter(|_| is_agent_transcript(Path::new(path)));
            let note = note.map(|note| TranscriptNote::parse(&note)).unwrap_or_default();
            let spent = bytes(path).map(|bytes| usages(&bytes)).unwrap_or_default();
            all.add(Line::of(path, Tail { spent, ..Tail::default() }, note, span));
        }
        all
    }

    fn add(&mut self, line: Line) {
        let path: Arc<str> = line.path.as_str().into();
        let transcript = self.transcripts.entry(line.path).or_default();
        // After a gap, the transcript is read again.
        let follows = line.start == 0 || line.start == transcript.position.end;
        transcript.position = if follows { line.position } else { Position::default() };
        if !line.note.is_empty() {
            transcript.note = line.note;
        }
        for message in line.spent {
            match self.messages.get_mut(&message.id) {
                Some((_, known)) => known.add(&message),
                None => drop(self.messages.insert(message.id.clone(), (path.clone(), message))),
            }
        }
    }
}

fn read_note(transcript: &Path) -> TranscriptNote {
    if !is_agent_transcript(transcript) {
        return TranscriptNote::default();
    }
    let read = fs::read_regular(&transcript.with_extension("meta.json"), MAX_NEW_BYTES);
    read.map(|(bytes, _)| TranscriptNote::parse(&bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
