//! A run as a story: who did what, one line each, with the time since the run began.

use std::collections::HashSet;

use anstyle::Style;

use super::cells::Cells;
use super::heading::heading;
use super::phrase::phrase;
use super::words::{since, voice};
use crate::event::LEAD;
use crate::timeline::{Entry, Kind, Material, Timeline};

/// How a story is told.
#[derive(Debug, Default, Clone, Copy)]
pub struct Telling {
    /// Whether with the client's own notices, and with what is clear without saying.
    pub all: bool,
    /// Whether with the whole text of messages and turns.
    pub full: bool,
    /// The columns of the terminal; `None` where lines are not cut.
    pub columns: Option<usize>,
}

/// Tells the story.
pub fn story(material: &Material, timeline: &Timeline, telling: Telling) -> String {
    let mut out = Vec::new();
    heading(material, timeline, telling.columns, &mut out);
    let shown: Vec<&Entry> = timeline.entries.iter().filter(|entry| telling.all || matters(entry)).collect();
    let widest = shown.iter().map(|entry| entry.actor.chars().count()).max().unwrap_or(0).clamp(4, 20);
    let times: Vec<String> =
        (shown.iter()).map(|entry| since(&material.run.started_at, &entry.at).unwrap_or_default()).collect();
    let longest = times.iter().map(String::len).max().unwrap_or(0).max(8);
    let (idles, idlers) = idles(&shown);
    for (place, (entry, time)) in shown.iter().zip(&times).enumerate() {
        if idles.contains(&place) {
            continue;
        }
        let below = entry.text.as_deref().filter(|_| telling.full && is_speech(entry));
        let mut cells = Cells::default();
        cells.add(Style::new().dimmed(), &format!("{time:>longest$}"), longest);
        cells.add(voice(&entry.actor), &entry.actor, widest);
        let (style, words) = match below {
            Some(_) => phrase(&Entry { text: None, ..(*entry).clone() }, idlers.contains(&place)),
            None => phrase(entry, idlers.contains(&place)),
        };
        cells.add(style, &words, 0);
        let _ = cells.write(&mut out, telling.columns);
        for line in below.unwrap_or_default().trim_end().lines() {
            let mut cells = Cells::default();
            let line = line.trim_end();
            cells.add(
                Style::new(),
                &if line.is_empty() { String::new() } else { format!("{:10}{line}", "") },
                0,
            );
            // Whoever wants it in full wants it uncut.
            let _ = cells.write(&mut out, None);
        }
    }
    String::from_utf8_lossy(&out).into_owned()
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
    ];
    kinds.contains(&entry.kind) && !entry.automatic
}

/// The places of those who went idle when they had ended a turn, and of the ends of these turns: each pair is one line.
fn idles(shown: &[&Entry]) -> (HashSet<usize>, HashSet<usize>) {
    let next = |place: usize| {
        let actor = &shown[place].actor;
        (place + 1..shown.len()).find(|next| shown[*next].actor == *actor && !shown[*next].automatic)
    };
    let ends = (0..shown.len()).filter(|place| shown[*place].kind == Kind::TurnEnded);
    ends.filter_map(|end| Some((next(end).filter(|idle| shown[*idle].kind == Kind::Idle)?, end))).unzip()
}
