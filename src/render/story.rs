//! A run as a story: what stands above it, and who did what, one line each.

use super::heading::heading;
use super::lines::{Lines, idles, visible};
use crate::timeline::{Entry, Material, Timeline};

/// How a story is told.
#[derive(Debug, Default, Clone, Copy)]
pub struct Telling {
    /// Whether with the client's own notices, and with what is clear without saying.
    pub all: bool,
    /// Whether kinds were asked for by name: then what is clear without saying was meant.
    pub asked: bool,
    /// Whether with the whole text of messages and turns.
    pub full: bool,
    /// The columns of the terminal; `None` where lines are not cut.
    pub columns: Option<usize>,
}

/// Tells the story.
pub fn story(material: &Material, timeline: &Timeline, telling: Telling) -> String {
    excerpt(material, timeline, &timeline.entries.iter().collect::<Vec<_>>(), telling)
}

/// Tells a part of the story, below a heading that is the whole run's.
pub fn excerpt(material: &Material, timeline: &Timeline, part: &[&Entry], telling: Telling) -> String {
    let mut out = Vec::new();
    heading(material, timeline, telling.columns, &mut out);
    let shown = visible(part.iter().copied(), telling);
    let lines = Lines::of(&material.run.started_at, &shown, telling);
    let (idles, idlers) = idles(&shown);
    for (place, entry) in shown.iter().enumerate().filter(|(place, _)| !idles.contains(place)) {
        lines.write(entry, idlers.contains(&place), &mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
}
