//! A timeline as text: the heading, and one line per entry.

use super::heading::heading;
use super::timeline_lines::{Lines, idles, visible};
use crate::timeline::{Entry, RunData, Timeline};

/// Options of the output.
#[derive(Debug, Default, Clone, Copy)]
pub struct NarrativeOptions {
    /// Whether automatic messages and implied entries are shown.
    pub all: bool,
    /// Whether kinds were named explicitly, so that implied entries are shown.
    pub asked: bool,
    /// Whether messages and ends of turns are shown in full.
    pub full: bool,
    /// The width of the terminal; `None` for unlimited.
    pub columns: Option<usize>,
}

/// Formats the whole timeline.
pub fn story(material: &RunData, timeline: &Timeline, telling: NarrativeOptions) -> String {
    excerpt(material, timeline, &timeline.entries.iter().collect::<Vec<_>>(), telling)
}

/// Formats a part of the timeline below the heading of the whole run.
pub fn excerpt(
    material: &RunData,
    timeline: &Timeline,
    part: &[&Entry],
    telling: NarrativeOptions,
) -> String {
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
