//! What somebody meant who wrote something else.

/// The known word that a slip of the fingers would turn into this one.
pub fn closest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word: String = word.chars().take(64).collect();
    let word = word.to_lowercase().replace('_', "-");
    let near = known.iter().map(|known| (distance(&word, &known.to_lowercase()), *known)).min()?;
    (near.0 <= 1.max(near.1.len() / 3)).then_some(near.1)
}

/// The number of characters to add, drop or change between two words.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (down, c) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], down + 1);
        for (across, o) in other.iter().enumerate() {
            let changed = diagonal + usize::from(c != *o);
            diagonal = row[across + 1];
            row[across + 1] = changed.min(diagonal + 1).min(row[across] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_seen_through_and_a_guess_is_not_made() {
        assert_eq!(closest("keep_size", &["keep", "keep-size"]), Some("keep-size"));
        assert_eq!(closest("PreToolUs", &["PreToolUse", "PostToolUse"]), Some("PreToolUse"));
        assert_eq!(closest("colour", &["mode", "run"]), None);
        assert_eq!(closest("x", &["on"]), None);
        assert_eq!(closest("x", &[]), None);
    }
}
