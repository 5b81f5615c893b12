//! The changes of one file, or the change that a line comes from.

use std::path::Path;

use super::line_owners::LineOwners;
use super::{Attribution, Change};

/// A line of the present file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentLine {
    /// From 1.
    pub number: usize,
    pub text: String,
}

/// The changes of a file, the newest first.
pub fn changes_of<'a>(found: &'a Attribution, file: &Path) -> Vec<&'a Change> {
    found.changes.iter().rev().filter(|change| change.path == file).collect()
}

/// The change that a line comes from: the one that added it at this place, or else, if changes that are not recorded
/// have moved it, the newest one that added this text.
pub fn blame<'a>(found: &'a Attribution, file: &Path, line: &PresentLine) -> Option<&'a Change> {
    let changes = || found.changes.iter().filter(|change| change.path == file);
    let at_place = LineOwners::of(changes()).line(line.number);
    let at_place = at_place.filter(|(_, text)| *text == line.text).map(|(change, _)| change);
    at_place.or_else(|| changes().rfind(|change| change.adds(&line.text)))
}
