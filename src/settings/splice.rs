//! Changes to a text by position, applied at once.

use std::ops::Range;

/// One change: this range becomes that text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The replaced bytes; empty for an insertion.
    pub range: Range<usize>,
    /// The new text.
    pub with: String,
}

impl Splice {
    /// Deletes this range.
    pub fn delete(range: Range<usize>) -> Splice {
        Splice { range, with: String::new() }
    }

    /// Inserts this text.
    pub fn insert(at: usize, with: impl Into<String>) -> Splice {
        Splice { range: at..at, with: with.into() }
    }
}

/// Applies all changes. Insertions at one position keep their order; ranges must not overlap.
pub fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
    let mut out =
        String::with_capacity(text.len() + splices.iter().map(|splice| splice.with.len()).sum::<usize>());
    let mut at = 0;
    for splice in splices {
        out.push_str(text.get(at..splice.range.start).unwrap_or_default());
        out.push_str(&splice.with);
        at = at.max(splice.range.end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_made_by_the_places_of_the_old_text() {
        let splices = vec![Splice::insert(3, "x"), Splice::delete(0..2), Splice::insert(3, "y")];
        assert_eq!(apply("abcdef", splices), "cxydef");
    }
}
