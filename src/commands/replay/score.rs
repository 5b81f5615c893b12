//! What of a run is played, and in what order.

use std::collections::HashSet;

use crate::clock::{self, Time};
use crate::render::{self, Lines, Telling};
use crate::timeline::{Entry, Filter, Material, Timeline};

/// What is played: things in their order, and which of them are told.
pub struct Score<'a> {
    /// The run.
    pub material: &'a Material,
    /// Its whole story.
    pub timeline: &'a Timeline,
    /// The part that is played.
    pub filter: &'a Filter,
    /// How it is told.
    pub telling: Telling,
    /// The places of what is told.
    pub told: HashSet<usize>,
    /// The ends of turns that nothing came after.
    idlers: HashSet<usize>,
    lines: Lines,
}

impl<'a> Score<'a> {
    /// What is played of a run.
    pub fn of(
        material: &'a Material,
        timeline: &'a Timeline,
        filter: &'a Filter,
        telling: Telling,
        json: bool,
    ) -> Score<'a> {
        // A program gets everything, and each thing by itself.
        let is_told = |entry: &Entry| filter.holds(entry, material) && (json || telling.tells(entry));
        let entries = timeline.entries.iter().enumerate();
        let (places, shown): (Vec<usize>, Vec<&Entry>) = entries.filter(|(_, entry)| is_told(entry)).unzip();
        let (idles, idlers) = if json { Default::default() } else { render::idles(&shown) };
        let lines = Lines::of(&material.run.started_at, &shown, telling);
        let place = |at: usize| places.get(at).copied();
        let told = (0..places.len()).filter(|at| !idles.contains(at)).filter_map(place).collect();
        let idlers = idlers.into_iter().filter_map(place).collect();
        Score { material, timeline, filter, telling, told, idlers, lines }
    }

    /// The things from where the part begins until it ends; those before it are over when it begins.
    pub fn steps(&self) -> impl Iterator<Item = (usize, &'a Entry)> {
        let (filter, entries) = (self.filter, self.timeline.entries.iter().enumerate());
        entries.filter(|(_, entry)| !filter.is_before(entry)).take_while(|(_, entry)| !filter.is_after(entry))
    }

    /// The line of the thing at this place.
    pub fn line(&self, place: usize, columns: Option<usize>) -> Vec<u8> {
        let (mut lines, mut out) = (self.lines.clone(), Vec::new());
        lines.set_columns(columns);
        if let Some(entry) = self.timeline.entries.get(place) {
            lines.write(entry, self.idlers.contains(&place), &mut out);
        }
        out
    }
}

/// When it was.
pub fn time(entry: &Entry) -> Option<Time> {
    clock::parse(&entry.at)
}

/// Milliseconds between two moments, the first of which there may not be.
pub fn between(before: Option<Time>, now: Time) -> i64 {
    before.map_or(0, |before| (now - before).num_milliseconds())
}
