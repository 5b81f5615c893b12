//! The entries to play, in order.

use std::collections::HashSet;

use crate::clock::{self, Time};
use crate::render::{self, EntryLines, TimelineOptions};
use crate::timeline::{Entry, Filter, RunData, Timeline};

/// The entries to play, and which of them are printed.
pub struct Playlist<'a> {
    /// The run.
    pub material: &'a RunData,
    /// Its complete timeline.
    pub timeline: &'a Timeline,
    /// The part to play.
    pub filter: &'a Filter,
    /// The output options.
    pub telling: TimelineOptions,
    /// The indexes of the printed entries.
    pub told: HashSet<usize>,
    /// The ends of turns that are followed by an idle.
    idlers: HashSet<usize>,
    lines: EntryLines,
}

impl<'a> Playlist<'a> {
    /// Prepares a run.
    pub fn of(
        material: &'a RunData,
        timeline: &'a Timeline,
        filter: &'a Filter,
        telling: TimelineOptions,
        json: bool,
    ) -> Playlist<'a> {
        // JSON output has every entry separately.
        let is_told = |entry: &Entry| filter.contains(entry, material) && (json || telling.shows(entry));
        let entries = timeline.entries.iter().enumerate();
        let (places, shown): (Vec<usize>, Vec<&Entry>) = entries.filter(|(_, entry)| is_told(entry)).unzip();
        let (idles, idlers) = if json { Default::default() } else { render::idles(&shown) };
        let lines = EntryLines::of(&material.run.started_at, &shown, telling);
        let place = |at: usize| places.get(at).copied();
        let told = (0..places.len()).filter(|at| !idles.contains(at)).filter_map(place).collect();
        let idlers = idlers.into_iter().filter_map(place).collect();
        Playlist { material, timeline, filter, telling, told, idlers, lines }
    }

    /// The entries up to the end of the part; those before its start are applied without waiting.
    pub fn steps(&self) -> impl Iterator<Item = (usize, &'a Entry)> {
        let (filter, entries) = (self.filter, self.timeline.entries.iter().enumerate());
        entries.filter(|(_, entry)| !filter.is_before(entry)).take_while(|(_, entry)| !filter.is_after(entry))
    }

    /// The line of the entry with this index.
    pub fn line(&self, place: usize, columns: Option<usize>) -> Vec<u8> {
        let (mut lines, mut out) = (self.lines.clone(), Vec::new());
        lines.set_columns(columns);
        if let Some(entry) = self.timeline.entries.get(place) {
            let _ = lines.write(entry, self.idlers.contains(&place), &mut out);
        }
        out
    }
}

/// Its time.
pub fn time(entry: &Entry) -> Option<Time> {
    clock::parse(&entry.at)
}

/// Milliseconds between two times; 0 without the first.
pub fn between(before: Option<Time>, now: Time) -> i64 {
    before.map_or(0, |before| (now - before).num_milliseconds())
}
