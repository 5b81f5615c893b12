//! The stored messages of a run with their usage: `cache/run-<run>-spent.jsonl`. Each line has the new messages of a transcript and
//! the position behind them, so a hook call reads only new lines.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::transcript_tail::{Position, Tail, TailLimits, read_tail, usages};
use teamkeep_model::team::{Spent, Terms, Tokens};
use teamkeep_model::time::Timestamp;
use teamkeep_policy::spending::MessageCost;
use teamkeep_store::archive::{Archive, Interval, RunRecord, TranscriptNote, is_agent_transcript};
use teamkeep_system::fs::{self, Appender, json_lines, write_atomic};

/// Maximum number of bytes of transcripts that one hook call reads.
const MAX_NEW_BYTES: u64 = 8 << 20;
/// A larger file is not read: its messages are read from the transcripts again.
const MAX_BYTES: u64 = 64 << 20;
/// The file is rewritten when it has this many lines for each transcript.
const MAX_LINES_PER_TRANSCRIPT: usize = 256;
/// A message's id or model longer than this is stored as its hash.
const MAX_ID_BYTES: usize = 128;
const MAX_NOTE_BYTES: u64 = 1 << 20;
/// Maximum size of an archived transcript.
const MAX_RECORDED_BYTES: u64 = 256 << 20;

#[derive(Debug)]
pub(crate) struct SpentLog(PathBuf);

/// The messages of a run by id, and how far each transcript is read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SpentMessages {
    pub transcripts: BTreeMap<String, ReadTranscript>,
    /// Each message with its transcript.
    pub messages: HashMap<String, (Arc<str>, MessageCost)>,
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
    spent: Vec<StoredMessage>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredMessage {
    id: String,
    at: Option<Timestamp>,
    model: Option<String>,
    tokens: Tokens,
    #[serde(default, skip_serializing_if = "is_default")]
    terms: Terms,
}

fn bounded(text: String) -> String {
    if text.len() > MAX_ID_BYTES { blake3::hash(text.as_bytes()).to_hex().to_string() } else { text }
}

fn is_default(terms: &Terms) -> bool {
    *terms == Terms::default()
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
        let (mut all, line_count) = self.read();
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
            match line_count > all.transcripts.len().saturating_mul(MAX_LINES_PER_TRANSCRIPT) {
                true => write_atomic(&self.0, &json_lines(&all.lines())?)?,
                false => drop(Appender::open(&self.0)?.append_line(&new)?),
            }
        }
        Ok(all)
    }

    /// The stored messages, and the number of lines. Damaged lines are skipped: their transcript is read again. A file that cannot
    /// be read is rewritten.
    pub(super) fn read(&self) -> (SpentMessages, usize) {
        let mut all = SpentMessages::default();
        let bytes = match fs::read_regular(&self.0, MAX_BYTES) {
            Ok((bytes, _)) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (all, 0),
            Err(_) => return (all, usize::MAX),
        };
        let mut count = 0;
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            count += 1;
            if let Ok(line) = serde_json::from_slice::<Line>(line) {
                all.add(line);
            }
        }
        (all, count)
    }
}

impl Line {
    fn of(path: &str, tail: Tail, note: TranscriptNote, span: &Interval) -> Line {
        let mut costs: BTreeMap<String, MessageCost> = BTreeMap::new();
        for (at, spent) in tail.spent {
            if !span.contains(at) {
                continue;
            }
            let spent = Spent { model: spent.model.map(bounded), ..spent };
            let (tokens, terms, id) = (spent.tokens, spent.terms, bounded(spent.message.clone()));
            costs.entry(id).or_insert_with(|| MessageCost::of(at, spent)).add(tokens, terms);
        }
        let spent = costs.into_iter().map(|(id, cost)| StoredMessage::of(id, cost)).collect();
        Line { path: path.to_owned(), start: tail.start, position: tail.position, note, spent }
    }
}

impl StoredMessage {
    fn of(id: String, MessageCost { at, model, tokens, terms }: MessageCost) -> StoredMessage {
        StoredMessage { id, at, model, tokens, terms }
    }
}

impl SpentMessages {
    /// All messages of a run, from its archived transcripts and from those that are longer in Claude Code's directory.
    pub(crate) fn of_recorded(archive: &Archive, run: &RunRecord, span: &Interval) -> SpentMessages {
        let recorded = archive.longest_transcripts(run);
        let bytes = |path: &str| -> Option<Vec<u8>> {
            let Some(kept) = recorded.get(path)? else {
                return Some(fs::read_regular(Path::new(path), MAX_RECORDED_BYTES).ok()?.0);
            };
            let mut bytes = Vec::new();
            archive
                .open_content(&run.run, &kept.object)
                .ok()?
                .take(MAX_RECORDED_BYTES)
                .read_to_end(&mut bytes)
                .ok()?;
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
        for StoredMessage { id, at, model, tokens, terms } in line.spent {
            match self.messages.get_mut(&id) {
                Some((_, known)) => known.add(tokens, terms),
                None => {
                    self.messages.insert(id, (path.clone(), MessageCost { at, model, tokens, terms }));
                }
            }
        }
    }

    /// One line for each transcript.
    fn lines(&self) -> Vec<Line> {
        let mut spent: BTreeMap<&str, Vec<StoredMessage>> = BTreeMap::new();
        for (id, (path, cost)) in &self.messages {
            spent.entry(path).or_default().push(StoredMessage::of(id.clone(), cost.clone()));
        }
        let line = |(path, read): (&String, &ReadTranscript)| Line {
            path: path.clone(),
            start: 0,
            position: read.position.clone(),
            note: read.note.clone(),
            spent: spent.remove(path.as_str()).unwrap_or_default(),
        };
        self.transcripts.iter().map(line).collect()
    }
}

fn read_note(transcript: &Path) -> TranscriptNote {
    if !is_agent_transcript(transcript) {
        return TranscriptNote::default();
    }
    let read = fs::read_regular(&transcript.with_extension("meta.json"), MAX_NOTE_BYTES);
    read.map(|(bytes, _)| TranscriptNote::parse(&bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
