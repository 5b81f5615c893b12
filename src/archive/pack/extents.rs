//! The positions of a content's bytes in a data file.

use std::ops::Range;

/// Ranges of a data file, in the order of the content. Ranges that are adjacent in the file are merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Extents(Vec<Range<u64>>);

impl Extents {
    /// Adds a range at the end.
    pub fn push(&mut self, range: Range<u64>) {
        match self.0.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.0.push(range),
        }
    }

    /// The ranges.
    pub fn iter(&self) -> std::slice::Iter<'_, Range<u64>> {
        self.0.iter()
    }

    /// Total number of bytes.
    pub fn size(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Adds the ranges of `of` that hold this slice of its content.
    pub fn push_slice(&mut self, of: &Extents, slice: Range<u64>) {
        let mut start = 0;
        for range in &of.0 {
            let end = start + (range.end - range.start);
            let (from, to) = (slice.start.max(start), slice.end.min(end));
            if from < to {
                self.push(range.start + (from - start)..range.start + (to - start));
            }
            if end >= slice.end {
                break;
            }
            start = end;
        }
    }

    /// How many bytes at the beginning and at the end of both contents are the same ranges of the file. The two parts do
    /// not overlap.
    pub fn common(&self, other: &Extents) -> (u64, u64) {
        let least = self.size().min(other.size());
        let mut front = 0;
        for (one, other) in self.0.iter().zip(&other.0) {
            if one.start == other.start {
                front += one.end.min(other.end) - one.start;
            }
            if one != other {
                break;
            }
        }
        let mut back = 0;
        for (one, other) in self.0.iter().rev().zip(other.0.iter().rev()) {
            if one.end == other.end {
                back += one.end - one.start.max(other.start);
            }
            if one != other {
                break;
            }
        }
        let front = front.min(least);
        (front, back.min(least - front))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extents(ranges: &[(u64, u64)]) -> Extents {
        let mut extents = Extents::default();
        ranges.iter().for_each(|(start, end)| extents.push(*start..*end));
        extents
    }

    #[test]
    fn neighbours_become_one_and_slices_cut_them() {
        let all = extents(&[(0, 10), (10, 20), (5, 5), (40, 50)]);
        assert_eq!(all, extents(&[(0, 20), (40, 50)]));
        assert_eq!(all.size(), 30);
        let mut slice = Extents::default();
        slice.push_slice(&all, 5..25);
        slice.push_slice(&all, 25..25);
        assert_eq!(slice, extents(&[(5, 20), (40, 45)]));
    }

    #[test]
    fn what_two_contents_have_in_common_does_not_overlap() {
        let old = extents(&[(0, 100), (120, 130)]);
        assert_eq!(old.common(&extents(&[(0, 100), (200, 230), (120, 130)])), (100, 10));
        assert_eq!(old.common(&extents(&[(0, 90), (300, 304), (94, 100), (120, 130)])), (90, 16));
        assert_eq!(old.common(&old), (110, 0));
        assert_eq!(old.common(&extents(&[(1, 100)])), (0, 0));
        assert_eq!(old.common(&extents(&[(0, 50)])), (50, 0));
        assert_eq!(extents(&[(0, 10)]).common(&extents(&[(0, 20)])), (10, 0));
    }
}
