//! The spending of a run's agents, for the gate `budget`: reads what is new in the transcripts, and stores the usage of each message.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_err::File;
use serde::{Deserialize, Serialize};

use teamkeep_config::Price;
use teamkeep_model::event::LEAD;
use teamkeep_model::team::MessageUsage;
use teamkeep_model::time::Timestamp;
use teamkeep_policy::TeamState;
use teamkeep_policy::spending::{PriceList, PricedMessage, Spending};
use teamkeep_store::archive::{Archive, Interval, RunRecord, TranscriptNote, is_agent_transcript};
use teamkeep_system::fs::{self, Appender, json_lines};

/// An agent whose name is not known.
const UNKNOWN: &str = "unknown";

/// The messages of a run, before their agents are known, and the user's prices.
#[derive(Debug)]
pub struct RunSpending {
    run: RunRecord,
    spent: SpentMessages,
    prices: Vec<Price>,
}

impl RunSpending {
    /// Reads the run's transcripts as far as they are new. In metadata-only mode no transcript is read.
    pub(super) fn update(archive: &Archive, run: &str, prices: &[Price]) -> io::Result<Option<RunSpending>> {
        let cache = archive.cache_path(run, "spent.jsonl");
        let Some((record, cache)) = archive.run(run).zip(cache) else { return Ok(None) };
        let transcripts = archive.transcripts(&record);
        let spent = SpentLog::at(cache).update(&transcripts, record.created_at)?;
        Ok(Some(RunSpending { run: record, spent, prices: prices.to_vec() }))
    }

    /// Reads all of the run's transcripts, from the archive if Claude Code's are not longer, and stores nothing.
    pub fn read(archive: &Archive, run: &str, prices: &[Price]) -> Option<RunSpending> {
        let run = archive.run(run)?;
        let (all, _) = archive.runs();
        let spent = SpentMessages::of_recorded(archive, &run, &Interval::of(&run, &all));
        Some(RunSpending { run, spent, prices: prices.to_vec() })
    }

    /// The messages, all or until a moment, with their prices and the names of their agents.
    pub fn priced(&self, team: &TeamState, until: Option<Timestamp>) -> Spending {
        let mut prices = PriceList::of(&self.prices);
        let is_member = |name: &str| {
            name == LEAD
                || team.members.iter().any(|member| member == name)
                || team.ledger.members.contains_key(name)
                || team.ledger.live.member(name).is_some()
        };
        let ledger = &team.ledger;
        let by_hooks =
            |id: &str| ledger.agent_names.get(id).or_else(|| ledger.handles.get(id)).map(String::as_str);
        let mut owners: HashMap<&str, Arc<str>> = HashMap::new();
        for (path, read) in &self.spent.transcripts {
            let owner = self.run.owner_of(Path::new(path), &read.note, is_member, by_hooks);
            owners.insert(path, owner.unwrap_or(UNKNOWN).into());
        }
        let is_past = |message: &MessageUsage| until.zip(message.at).is_none_or(|(until, at)| at <= until);
        let messages = self.spent.messages.values().filter(|(_, message)| is_past(message));
        let task_of = |by: &str, at: Option<Timestamp>| {
            let held = team.ledger.live.held_at(by, at?);
            held.max_by_key(|(.., hold)| hold.from).map(|(id, ..)| id.into())
        };
        let priced = messages.map(|(path, message)| {
            let by = owners.get(&**path).cloned().unwrap_or_else(|| UNKNOWN.into());
            let at = message.at.map(|at| at.millis());
            let (tokens, usd) = (message.tokens, prices.cost(message));
            PricedMessage { task: task_of(&by, message.at), by, at, tokens, usd }
        });
        Spending { messages: priced.collect(), unread: self.spent.unread }
    }
}

// The stored messages of a run with their usage: `cache/run-<run>-spent.jsonl`. Each line has the new messages of a transcript and
// the position behind them, so a hook call reads only new lines.

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
        let end = transcript.position.end;
        if line.start > end {
            // After a gap, the transcript is read again.
            transcript.position = Position::default();
        } else if line.start == 0 || line.position.end > end {
            // Two calls at once store the same part, and the one that is written last may have read less of it.
            transcript.position = line.position;
        }
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

// Reads the usage of messages from the part of a transcript that is new.

/// How many bytes before a position are compared, to notice that the file was replaced.
const CHECKED_BYTES: u64 = 64;

/// How far a transcript is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Position {
    /// The offset behind the last complete line.
    pub end: u64,
    /// A hash of the bytes before it.
    pub check: String,
}

/// New messages of a transcript.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// The offset from which it was read.
    pub start: u64,
    pub position: Position,
    pub spent: Vec<MessageUsage>,
    /// Number of bytes that were read.
    pub read: u64,
    /// Number of bytes behind the position, except those of an incomplete line.
    pub unread: u64,
}

/// Maximum numbers of bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TailLimits {
    /// To read in one call.
    pub bytes: u64,
    /// Of a line; a longer one is skipped.
    pub line: u64,
}

/// Reads from a position on; from the start, if the file is shorter or has other bytes there.
pub(crate) fn read_tail(path: &Path, from: &Position, limits: TailLimits) -> io::Result<Tail> {
    let file = fs::open_regular(path)?;
    let length = file.metadata()?.len();
    let is_same = from.end <= length && check(&file, from.end)? == from.check;
    let start = if is_same { from.end } else { 0 };
    let most = usize::try_from(limits.bytes.min(length - start)).unwrap_or_default();
    // The file may become shorter meanwhile.
    let bytes = fs::read_at_most(&file, most, start)?;
    let count = bytes.len();
    let is_full = count as u64 == limits.bytes;
    let used = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(last) => last + 1,
        None if count as u64 >= limits.line => count,
        None => 0,
    };
    let spent = usages(&bytes[..used]);
    let end = start + used as u64;
    let unread = if is_full { length.saturating_sub(end) } else { 0 };
    Ok(Tail {
        start,
        position: Position { end, check: check(&file, end)? },
        spent,
        read: count as u64,
        unread,
    })
}

/// The usage in each line that has one.
pub(super) fn usages(lines: &[u8]) -> Vec<MessageUsage> {
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| has_usage(line));
    lines.filter_map(MessageUsage::parse).collect()
}

/// Most lines have no usage.
fn has_usage(line: &[u8]) -> bool {
    const WORD: &[u8] = b"\"usage\"";
    line.windows(WORD.len()).any(|window| window == WORD)
}

fn check(file: &File, end: u64) -> io::Result<String> {
    let start = end.saturating_sub(CHECKED_BYTES);
    let bytes = fs::read_at_most(file, (end - start) as usize, start)?;
    Ok(blake3::hash(&bytes).to_hex()[..16].to_owned())
}

#[cfg(test)]
mod spent_log_tests;

#[cfg(test)]
mod transcript_tail_tests {
    use super::*;

    fn line(id: &str, output: u64) -> String {
        let message =
            serde_json::json!({"id": id, "model": "m", "usage": {"output_tokens": output}, "content": []});
        serde_json::json!({"message": message}).to_string() + "\n"
    }

    fn ids(tail: &Tail) -> Vec<&str> {
        tail.spent.iter().map(|message| message.id.as_str()).collect()
    }

    const MOST: TailLimits = TailLimits { bytes: 1 << 20, line: 1 << 20 };

    #[test]
    fn only_complete_new_lines_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        let next = line("b", 2);
        let (half, rest) = next.split_at(20);
        std::fs::write(&path, line("a", 1) + "\u{0}{\"usage\"\n" + half).unwrap();
        let first = read_tail(&path, &Position::default(), MOST).unwrap();
        assert_eq!((ids(&first), first.unread), (vec!["a"], 0));
        let again = read_tail(&path, &first.position, MOST).unwrap();
        assert_eq!((ids(&again), &again.position), (vec![], &first.position));
        std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + rest).unwrap();
        assert_eq!(ids(&read_tail(&path, &first.position, MOST).unwrap()), ["b"]);
    }

    #[test]
    fn a_shorter_or_replaced_file_is_read_from_its_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        std::fs::write(&path, line("a", 1) + &line("b", 2)).unwrap();
        let Tail { position, .. } = read_tail(&path, &Position::default(), MOST).unwrap();
        for (text, read) in
            [(line("a", 1), vec!["a"]), (line("c", 1) + &line("d", 2) + &line("e", 3), vec!["c", "d", "e"])]
        {
            std::fs::write(&path, text).unwrap();
            assert_eq!(ids(&read_tail(&path, &position, MOST).unwrap()), read);
        }
    }

    #[test]
    fn a_long_file_is_read_in_parts_and_a_line_that_does_not_fit_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        std::fs::write(&path, line("a", 1) + &"x".repeat(500) + "\n" + &line("b", 2)).unwrap();
        let (mut position, mut found, mut calls) = (Position::default(), Vec::new(), 0);
        loop {
            let tail = read_tail(&path, &position, TailLimits { bytes: 150, line: 150 }).unwrap();
            found.extend(ids(&tail).into_iter().map(str::to_owned));
            assert!(tail.read <= 150 && calls < 20);
            (position, calls) = (tail.position, calls + 1);
            if tail.unread == 0 {
                break;
            }
        }
        assert_eq!(found, ["a", "b"]);
        assert!(calls > 3, "{calls}");
    }

    #[test]
    fn a_line_that_does_not_fit_into_the_rest_of_a_call_is_read_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.jsonl");
        std::fs::write(&path, line("a", 1) + &line("b", 2)).unwrap();
        for bytes in [0, 1, 20] {
            let tail = read_tail(&path, &Position::default(), TailLimits { bytes, ..MOST }).unwrap();
            assert_eq!((ids(&tail), tail.position.end), (vec![], 0), "{bytes}");
            assert_eq!(tail.unread, path.metadata().unwrap().len());
        }
        assert_eq!(ids(&read_tail(&path, &Position::default(), MOST).unwrap()), ["a", "b"]);
    }
}
