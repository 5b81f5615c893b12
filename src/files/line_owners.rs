//! The change that each line of a file comes from, after the last recorded change.

use super::Change;
use teamkeep_core::client::team::LineChange;

/// Lines beyond are ignored: the number of a line is not checked against the size of the file.
const MAX_LINES: usize = 1_000_000;

/// The change of each line, from the first; `None` for lines that no recorded change added.
#[derive(Debug, Default)]
pub struct LineOwners<'a>(Vec<Option<(&'a Change, &'a str)>>);

impl<'a> LineOwners<'a> {
    /// Applies the changes of one file, which are in order of time.
    pub fn of(changes: impl Iterator<Item = &'a Change>) -> LineOwners<'a> {
        let mut owners = LineOwners::default();
        for change in changes {
            change.lines.iter().for_each(|line| owners.apply(change, line));
        }
        owners
    }

    fn apply(&mut self, change: &'a Change, line: &'a LineChange) {
        let (LineChange::Added { number, .. } | LineChange::Removed { number }) = line;
        let index = (*number as usize).saturating_sub(1);
        if index >= MAX_LINES {
            return;
        }
        match line {
            LineChange::Added { text, .. } => {
                let lines = self.0.len().max(index);
                self.0.resize(lines, None);
                self.0.insert(index, Some((change, text)));
            }
            LineChange::Removed { .. } if index < self.0.len() => drop(self.0.remove(index)),
            LineChange::Removed { .. } => {}
        }
    }

    /// The change that added the line with this number, from 1, and the text that it added.
    pub fn line(&self, number: usize) -> Option<(&'a Change, &'a str)> {
        *self.0.get(number.checked_sub(1)?)?
    }

    /// Blocks of lines of the same change: the change, the first and the last number.
    pub fn blocks(&self) -> Vec<(&'a Change, usize, usize)> {
        let mut blocks: Vec<(&Change, usize, usize)> = Vec::new();
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
