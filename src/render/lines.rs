//! The lines of a story: who did what, with the time since the run began.

use std::collections::HashSet;

use anstyle::Style;

use super::cells::Cells;
use super::phrase::phrase;
use super::story::Telling;
use super::words::{since, span, voice};
use crate::event::LEAD;
use crate::timeline::{Entry, Kind};

/// What of a story is told.
pub fn visible<'a>(entries: impl IntoIterator<Item = &'a Entry>, telling: Telling) -> Vec<&'a Entry> {
    entries.into_iter().filter(|entry| telling.tells(entry)).collect()
}

impl Telling {
    /// Whether the thing is told.
    pub fn tells(&self, entry: &Entry) -> bool {
        self.all || matters(entry) || (self.asked && !entry.automatic)
    }
}

/// Writes things as lines whose columns stand below each other.
#[derive(Debug, Clone)]
pub struct Lines {
    started_at: String,
    telling: Telling,
    /// Columns of the longest name, within reason.
    widest: usize,
    /// Columns of the longest time.
    longest: usize,
}

impl Lines {
    /// Lines for these things of a run that began at this time.
    pub fn of(started_at: &str, shown: &[&Entry], telling: Telling) -> Lines {
        let widest = shown.iter().map(|entry| entry.actor.chars().count()).max().unwrap_or(0);
        let longest = |ends: &[&&Entry]| {
            let times = ends.iter().filter_map(|entry| since(started_at, &entry.at));
            times.map(|time| time.len()).max().unwrap_or(0)
        };
        // Of spans that grow, the longest is the last; what was before the run is at the beginning.
        let ends: Vec<&&Entry> = shown.iter().take(64).chain(shown.last()).collect();
        let (widest, longest) = (widest.clamp(4, 20), longest(&ends).max(8));
        Lines { started_at: started_at.to_owned(), telling, widest, longest }
    }

    /// Lines for what is not known yet, by those whose names are.
    pub fn ahead<'a>(started_at: &str, names: impl Iterator<Item = &'a String>, telling: Telling) -> Lines {
        let widest = names.map(|name| name.chars().count()).max().unwrap_or(0).clamp(9, 20);
        Lines { started_at: started_at.to_owned(), telling, widest, longest: 8 }
    }

    /// Asks for other columns of the terminal.
    pub fn set_columns(&mut self, columns: Option<usize>) {
        self.telling.columns = columns;
    }

    /// Writes one thing. `idle` says of a turn's end that nothing came after it.
    pub fn write(&self, entry: &Entry, idle: bool, out: &mut Vec<u8>) {
        let below = entry.text.as_deref().filter(|_| self.telling.full && is_speech(entry));
        let time = since(&self.started_at, &entry.at).unwrap_or_default();
        let longest = self.longest;
        let mut cells = Cells::default();
        cells.add(Style::new().dimmed(), &format!("{time:>longest$}"), longest);
        cells.add(voice(&entry.actor), &entry.actor, self.widest);
        let (style, words) = match below {
            Some(_) => phrase(&Entry { text: None, ..entry.clone() }, idle),
            None => phrase(entry, idle),
        };
        cells.add(style, &words, 0);
        let _ = cells.write(out, self.telling.columns);
        for line in below.unwrap_or_default().trim_end().lines() {
            let mut cells = Cells::default();
            let line = line.trim_end();
            let line = if line.is_empty() { String::new() } else { format!("{:10}{line}", "") };
            cells.add(Style::new(), &line, 0);
            // Whoever wants it in full wants it uncut.
            let _ = cells.write(out, None);
        }
    }
}

/// What is said in the place of a pause that was shortened.
pub fn pause(millis: i64) -> String {
    let dim = Style::new().dimmed();
    format!("{dim}          … {} passed{dim:#}", span(millis))
}

/// What a person wants to read: not that the lead is in its own team, nor the client's notices of what is told anyway.
fn matters(entry: &Entry) -> bool {
    match entry.kind {
        Kind::MemberJoined | Kind::MemberLeft => entry.actor != LEAD,
        Kind::TurnStarted => entry.text.is_some() || entry.by_subagent,
        Kind::Verdict => !entry.repeated,
        _ => !entry.automatic,
    }
}

/// Whether it has a text that an agent or a person said.
fn is_speech(entry: &Entry) -> bool {
    let kinds = [
        Kind::MemberJoined,
        Kind::TurnStarted,
        Kind::TurnEnded,
        Kind::Message,
        Kind::MessageRefused,
        Kind::ShutdownRequested,
        Kind::ShutdownApproved,
        Kind::ShutdownRejected,
        Kind::Verdict,
    ];
    kinds.contains(&entry.kind) && !entry.automatic
}

/// The places of those who went idle when they had ended a turn, and of the ends of these turns: each pair is one line.
pub fn idles(shown: &[&Entry]) -> (HashSet<usize>, HashSet<usize>) {
    let next = |place: usize| {
        let actor = &shown[place].actor;
        (place + 1..shown.len()).find(|next| shown[*next].actor == *actor && !shown[*next].automatic)
    };
    let ends = (0..shown.len()).filter(|place| shown[*place].kind == Kind::TurnEnded);
    ends.filter_map(|end| Some((next(end).filter(|idle| shown[*idle].kind == Kind::Idle)?, end))).unzip()
}
