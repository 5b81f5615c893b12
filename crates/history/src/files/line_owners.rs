//! The change that each line of a file comes from: after the last recorded change, and in the present file.

use std::collections::HashMap;

use serde::Serialize;

use super::attribution::ToolChange;
use crate::transcript::LineChange;

/// Lines beyond are ignored: the number of a line is not checked against the size of the file.
const MAX_LINES: usize = 1_000_000;

/// The change of each line, from the first; `None` for lines that no recorded change added.
#[derive(Debug, Default)]
pub(super) struct LineOwners<'a>(Vec<Option<(&'a ToolChange, &'a str)>>);

impl<'a> LineOwners<'a> {
    /// Applies the changes of one file, which are in order of time.
    pub(super) fn of(changes: impl Iterator<Item = &'a ToolChange>) -> LineOwners<'a> {
        changes.fold(LineOwners::default(), LineOwners::then)
    }

    /// Applies a change, whose lines are in the order of the file; others are ignored.
    fn then(self, change: &'a ToolChange) -> LineOwners<'a> {
        let (mut before, mut after) = (self.0.into_iter(), Vec::new());
        for line in change.lines.iter() {
            let number = match line {
                LineChange::Created => {
                    (before, after) = (Vec::new().into_iter(), Vec::new());
                    continue;
                }
                LineChange::Added { number, .. } | LineChange::Removed { number } => *number as usize,
            };
            let index = number.saturating_sub(1);
            if index >= MAX_LINES || index < after.len() {
                continue;
            }
            after.extend(before.by_ref().take(index - after.len()));
            match line {
                LineChange::Added { text, .. } => {
                    after.resize(index, None);
                    after.push(Some((change, text.as_str())));
                }
                _ => drop(before.next()),
            }
        }
        after.extend(before);
        LineOwners(after)
    }

    /// The change that added the line with this number, from 1, and the text that it added.
    pub(super) fn line(&self, number: usize) -> Option<(&'a ToolChange, &'a str)> {
        *self.0.get(number.checked_sub(1)?)?
    }

    /// Blocks of lines of the same change: the change, the first and the last number.
    pub(super) fn blocks(&self) -> Vec<(&'a ToolChange, usize, usize)> {
        let mut blocks: Vec<(&ToolChange, usize, usize)> = Vec::new();
        for (number, owner) in (1..).zip(&self.0) {
            let Some((change, _)) = owner else { continue };
            match blocks.last_mut() {
                Some((last, _, end)) if std::ptr::eq(*last, *change) && *end + 1 == number => *end = number,
                _ => blocks.push((change, number, number)),
            }
        }
        blocks
    }
}

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

/// Finds the change that a line of the present file comes from.
#[derive(Debug)]
pub struct LineFinder<'a> {
    changes: &'a [&'a ToolChange],
    owners: LineOwners<'a>,
    /// The newest change that added each text.
    by_text: HashMap<&'a str, usize>,
}

impl<'a> LineFinder<'a> {
    /// `changes` are those of the file, in order of time.
    pub fn of(changes: &'a [&'a ToolChange]) -> LineFinder<'a> {
        let mut by_text = HashMap::new();
        for (index, change) in changes.iter().enumerate() {
            by_text.extend(change.added_lines().map(|text| (text, index)));
        }
        LineFinder { changes, owners: LineOwners::of(changes.iter().copied()), by_text }
    }

    /// The index of the change that added the line at this place, or else, if changes that are not recorded have moved it,
    /// of the newest one that added this text.
    pub fn find(&self, line: &PresentLine) -> Option<(usize, FoundBy)> {
        let at_place = self.owners.line(line.number).filter(|(_, text)| *text == line.text);
        let index = at_place
            .and_then(|(owner, _)| self.changes.iter().position(|change| std::ptr::eq(*change, owner)));
        index
            .map(|index| (index, FoundBy::Place))
            .or_else(|| Some((*self.by_text.get(line.text.as_str())?, FoundBy::Text)))
    }
}
