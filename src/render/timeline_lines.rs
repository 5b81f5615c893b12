//! The lines of a timeline: who did what, with the time since the start of the run.

use std::collections::HashSet;

use anstyle::Style;

use super::describe::{phrase, phrase_with};
use super::format::{actor, elapsed, name_style, span};
use super::narrative::NarrativeOptions;
use super::styled_line::StyledLine;
use crate::event::LEAD;
use crate::timeline::{Entry, EntryKind, Kind, TurnEvent};

/// The entries that are shown.
pub fn visible<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    telling: NarrativeOptions,
) -> Vec<&'a Entry> {
    entries.into_iter().filter(|entry| telling.tells(entry)).collect()
}

impl NarrativeOptions {
    /// Whether the entry is shown.
    pub fn tells(&self, entry: &Entry) -> bool {
        self.all || matters(entry) || (self.asked && !entry.is_automatic())
    }
}

/// Formats entries as lines with aligned columns.
#[derive(Debug, Clone)]
pub struct Lines {
    started_at: String,
    telling: NarrativeOptions,
    /// Width of the longest name, limited.
    widest: usize,
    /// Width of the longest time.
    longest: usize,
}

impl Lines {
    /// Lines for these entries of a run that started at this time.
    pub fn of(started_at: &str, shown: &[&Entry], telling: NarrativeOptions) -> Lines {
        let widest = shown.iter().map(|entry| actor(&entry.actor).chars().count()).max().unwrap_or(0);
        let longest = |ends: &[&&Entry]| {
            let times = ends.iter().filter_map(|entry| elapsed(started_at, &entry.at));
            times.map(|time| time.len()).max().unwrap_or(0)
        };
        // Times increase, so the last is the longest; times before the run are at the start.
        let ends: Vec<&&Entry> = shown.iter().take(64).chain(shown.last()).collect();
        let (widest, longest) = (widest.clamp(4, 20), longest(&ends).max(8));
        Lines { started_at: started_at.to_owned(), telling, widest, longest }
    }

    /// Lines for entries that are not known yet, with these names.
    pub fn ahead<'a>(
        started_at: &str,
        names: impl Iterator<Item = &'a String>,
        telling: NarrativeOptions,
    ) -> Lines {
        let widest = names.map(|name| name.chars().count()).max().unwrap_or(0).clamp(9, 20);
        Lines { started_at: started_at.to_owned(), telling, widest, longest: 8 }
    }

    /// Sets the width of the terminal.
    pub fn set_columns(&mut self, columns: Option<usize>) {
        self.telling.columns = columns;
    }

    /// Writes one entry. `idle` means that the agent went idle right after this end of a turn.
    pub fn write(&self, entry: &Entry, idle: bool, out: &mut Vec<u8>) {
        let below = entry.text().filter(|_| self.telling.full && is_speech(entry));
        let time = elapsed(&self.started_at, &entry.at).unwrap_or_default();
        let longest = self.longest;
        let mut cells = StyledLine::default();
        cells.add(Style::new().dimmed(), &format!("{time:>longest$}"), longest);
        cells.add(name_style(&entry.actor), actor(&entry.actor), self.widest);
        let (style, words) = match below {
            Some(_) => phrase_with(entry, "", idle),
            None => phrase(entry, idle),
        };
        cells.add(style, &words, 0);
        let _ = cells.write(out, self.telling.columns);
        for line in below.unwrap_or_default().trim_end().lines() {
            let mut cells = StyledLine::default();
            let line = line.trim_end();
            let line = if line.is_empty() { String::new() } else { format!("{:10}{line}", "") };
            cells.add(Style::new(), &line, 0);
            // The full text is not shortened.
            let _ = cells.write(out, None);
        }
    }
}

/// The text in place of a shortened pause.
pub fn pause(millis: i64) -> String {
    let dim = Style::new().dimmed();
    format!("{dim}          … {} passed{dim:#}", span(millis))
}

/// Whether an entry matters to a reader: not that the lead is in its own team, nor Claude Code's notices of what is
/// shown anyway.
fn matters(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::MemberJoined(_) | EntryKind::MemberLeft => entry.actor != LEAD,
        EntryKind::Turn(turn) if turn.event == TurnEvent::Started => turn.text.is_some() || turn.by_subagent,
        EntryKind::Verdict(verdict) => !verdict.repeated,
        _ => !entry.is_automatic(),
    }
}

/// Whether it has a text of an agent or a person.
fn is_speech(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::MemberJoined(_) | EntryKind::Verdict(_) => true,
        EntryKind::Turn(turn) => turn.event != TurnEvent::Idle,
        EntryKind::Message(message) => !message.automatic,
        _ => false,
    }
}

/// The indexes of idle entries that follow the end of a turn, and of these ends: each pair is one line.
pub fn idles(shown: &[&Entry]) -> (HashSet<usize>, HashSet<usize>) {
    let next = |place: usize| {
        let actor = &shown[place].actor;
        (place + 1..shown.len()).find(|next| shown[*next].actor == *actor && !shown[*next].is_automatic())
    };
    let ends = (0..shown.len()).filter(|place| shown[*place].kind() == Kind::TurnEnded);
    ends.filter_map(|end| Some((next(end).filter(|idle| shown[*idle].kind() == Kind::Idle)?, end))).unzip()
}
