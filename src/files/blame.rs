//! The change that a line of a file comes from.

use serde::Serialize;

use super::Change;
use super::line_owners::LineOwners;

/// A line of the present file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentLine {
    /// From 1.
    pub number: usize,
    pub text: String,
}

/// How a line was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FoundBy {
    /// It is where the recorded changes put it.
    Place,
    /// It is the last one with this text.
    Text,
}

/// The change that a line comes from, of the changes of its file in order of time: the one that added it at this place,
/// or else, if changes that are not recorded have moved it, the newest one that added this text.
pub fn blame<'a>(changes: &[&'a Change], line: &PresentLine) -> Option<(&'a Change, FoundBy)> {
    let at_place = LineOwners::of(changes.iter().copied()).line(line.number);
    let at_place =
        at_place.filter(|(_, text)| *text == line.text).map(|(change, _)| (change, FoundBy::Place));
    let by_text = || changes.iter().rfind(|change| change.adds(&line.text));
    at_place.or_else(|| Some((*by_text()?, FoundBy::Text)))
}
