//! Sets of time spans in milliseconds since 1970, sorted and disjoint.

/// Disjoint spans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans(Vec<(i64, i64)>);

impl Spans {
    /// Merges overlapping and adjacent spans. A span that ends before it starts is ignored.
    pub fn of(spans: impl IntoIterator<Item = (i64, i64)>) -> Spans {
        let mut spans: Vec<(i64, i64)> = spans.into_iter().filter(|(from, to)| from < to).collect();
        spans.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (from, to) in spans {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        Spans(joined)
    }

    /// Total length in milliseconds.
    pub fn total(&self) -> i64 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }

    /// The intersection.
    pub fn both(&self, other: &Spans) -> Spans {
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::new();
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            both.push((a.0.max(b.0), a.1.min(b.1)));
            if a.1 < b.1 {
                mine.next()
            } else {
                theirs.next()
            };
        }
        Spans::of(both)
    }

    /// The difference.
    pub fn without(&self, other: &Spans) -> Spans {
        let mut left = Vec::new();
        let mut others = other.0.iter().peekable();
        for (from, to) in &self.0 {
            let mut from = *from;
            while let Some((begins, ends)) = others.peek().filter(|(begins, _)| begins < to) {
                left.push((from, *begins));
                from = from.max(*ends);
                if ends > to {
                    break;
                }
                others.next();
            }
            left.push((from, *to));
        }
        Spans::of(left)
    }

    /// The union.
    pub fn any<'a>(all: impl IntoIterator<Item = &'a Spans>) -> Spans {
        Spans::of(all.into_iter().flat_map(|spans| spans.0.iter().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spans_are_joined_cut_and_summed() {
        let work = Spans::of([(5, 9), (0, 3), (2, 4), (20, 10)]);
        assert_eq!(work, Spans(vec![(0, 4), (5, 9)]));
        assert_eq!(work.total(), 8);
        let other = Spans::of([(3, 6), (8, 30)]);
        assert_eq!(work.both(&other), Spans(vec![(3, 4), (5, 6), (8, 9)]));
        assert_eq!(work.without(&other), Spans(vec![(0, 3), (6, 8)]));
        assert_eq!(Spans::any([&work, &other]), Spans(vec![(0, 30)]));
    }

    proptest! {
        #[test]
        fn what_both_have_and_what_one_has_alone_is_what_it_has(
            a in prop::collection::vec((0..100i64, 0..100i64), 0..8),
            b in prop::collection::vec((0..100i64, 0..100i64), 0..8),
        ) {
            let (a, b) = (Spans::of(a), Spans::of(b));
            prop_assert_eq!(a.both(&b).total() + a.without(&b).total(), a.total());
            prop_assert_eq!(a.both(&b), b.both(&a));
            prop_assert_eq!(a.without(&b).both(&b).total(), 0);
            prop_assert_eq!(Spans::any([&a, &b]).total(), a.total() + b.without(&a).total());
        }
    }
}
