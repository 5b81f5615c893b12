//! How the rows of the screen are shared by the panels.

/// The rows that a panel needs: at least so many to be of use, and all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    pub least: usize,
    pub all: usize,
}

/// Shares rows between panels, the most important first. Each gets its least number as far as there are rows; the rest goes
/// round, and the panel with the focus gets twice as many.
pub fn share(mut rows: u16, needs: &[Need], focus: usize) -> Vec<u16> {
    let mut shares = vec![0; needs.len()];
    let mut give = |place: usize, limit: usize| {
        let is_given = rows > 0 && usize::from(shares[place]) < limit;
        shares[place] += u16::from(is_given);
        rows -= u16::from(is_given);
        is_given
    };
    for (place, need) in needs.iter().enumerate() {
        while give(place, need.least.min(need.all)) {}
    }
    loop {
        let turns = (0..needs.len()).chain([focus.min(needs.len() - 1)]);
        if turns.filter(|place| give(*place, needs[*place].all)).count() == 0 {
            return shares;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn need(least: usize, all: usize) -> Need {
        Need { least, all }
    }

    #[test]
    fn the_most_important_panels_are_shown_first_and_the_rest_is_shared() {
        let needs = [need(3, 5), need(4, 14), need(4, 30), need(3, 3_000)];
        assert_eq!(share(21, &needs, 1), [5, 7, 5, 4], "all have room");
        assert_eq!(share(7, &needs, 1), [3, 4, 0, 0]);
        assert_eq!(share(8, &needs, 1), [3, 4, 1, 0]);
        assert_eq!(share(0, &needs, 3), [0, 0, 0, 0]);
        assert_eq!(share(100, &[need(0, 0), need(2, 3)], 0), [0, 3]);
    }

    proptest! {
        #[test]
        fn no_more_rows_are_shared_than_there_are(
            rows in 0u16..100,
            needs in prop::collection::vec((0usize..8, 0usize..40), 1..5),
            focus in 0usize..5,
        ) {
            let needs: Vec<Need> = needs.into_iter().map(|(least, more)| need(least, least + more)).collect();
            let shares = share(rows, &needs, focus);
            prop_assert!(shares.iter().sum::<u16>() <= rows);
            prop_assert!(shares.iter().zip(&needs).all(|(share, need)| usize::from(*share) <= need.all));
        }
    }
}
