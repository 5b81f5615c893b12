//! Suggestions for misspelled words.

use crate::error::Error;

/// An error lists at most this many known words.
const MAX_LISTED: usize = 40;

/// The error for a word that is not one of the known ones. Its hint has the most similar one, or all of them.
pub fn unknown(what: &str, word: &str, known: &[&str]) -> Error {
    let error = Error::not_found(format!("unknown {what} {word:?}"));
    match nearest(word, known, 2) {
        Some(near) => error.hint(format!("did you mean {near:?}?")),
        None if (1..=MAX_LISTED).contains(&known.len()) => {
            error.hint(format!("known {what}s: {}", known.join(", ")))
        }
        None => error,
    }
}

/// The most similar known word. It differs in at most `slips` characters, or in a third of its own.
pub fn nearest<'a>(word: &str, known: &[&'a str], slips: usize) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace('_', "-");
    let word = plain(word);
    let near = known.iter().map(|known| (distance(&word, &plain(known)), *known)).min()?;
    (near.0 <= slips.max(near.1.chars().count() / 3)).then_some(near.1)
}

/// The number of characters to add, drop or change between two words.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (down, c) in one.chars().take(64).enumerate() {
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
    fn a_slip_of_the_fingers_is_near_and_another_word_is_not() {
        let known = ["keep-size", "SubagentStop", "parser-team"];
        assert_eq!(nearest("keep_sise", &known, 2), Some("keep-size"));
        assert_eq!(nearest("subagentstop", &known, 2), Some("SubagentStop"));
        assert_eq!(nearest("parser-taem", &known, 2), Some("parser-team"));
        assert_eq!((nearest("lexer", &known, 2), nearest("", &[], 2)), (None, None));
    }

    #[test]
    fn a_slip_is_seen_through_and_a_guess_is_not_made() {
        assert_eq!(nearest("keep_size", &["keep", "keep-size"], 1), Some("keep-size"));
        assert_eq!(nearest("PreToolUs", &["PreToolUse", "PostToolUse"], 1), Some("PreToolUse"));
        assert_eq!(nearest("colour", &["mode", "run"], 1), None);
        assert_eq!(nearest("x", &["on"], 1), None);
        assert_eq!(nearest("x", &[], 1), None);
    }
}
