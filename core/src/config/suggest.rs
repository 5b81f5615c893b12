//! Suggestions for misspelled words.

use crate::error::Error;

/// An error lists at most this many known words.
const MAX_LISTED: usize = 40;
/// The compared start of a word, in characters.
const MAX_CHARS: usize = 64;

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

/// The most similar known word. It differs in at most `max_distance` characters, or in a third of its own. Two swapped neighbors
/// count as one difference.
pub fn nearest<'a>(word: &str, known: &[&'a str], max_distance: usize) -> Option<&'a str> {
    let plain =
        |word: &str| word.to_lowercase().replace('_', "-").chars().take(MAX_CHARS).collect::<String>();
    let word = plain(word);
    let near = known.iter().map(|known| (strsim::osa_distance(&word, &plain(known)), *known)).min()?;
    (near.0 <= max_distance.max(near.1.chars().count() / 3)).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typo_is_near_and_another_word_is_not() {
        let known = ["keep-size", "SubagentStop", "parser-team"];
        assert_eq!(nearest("keep_sise", &known, 2), Some("keep-size"));
        assert_eq!(nearest("subagentstop", &known, 2), Some("SubagentStop"));
        assert_eq!(nearest("parser-taem", &known, 2), Some("parser-team"));
        assert_eq!((nearest("lexer", &known, 2), nearest("", &[], 2)), (None, None));
    }

    #[test]
    fn suggestion_is_made_only_for_a_typo() {
        assert_eq!(nearest("keep_size", &["keep", "keep-size"], 1), Some("keep-size"));
        assert_eq!(nearest("PreToolUs", &["PreToolUse", "PostToolUse"], 1), Some("PreToolUse"));
        assert_eq!(nearest("moed", &["mode", "run"], 1), Some("mode"), "swapped neighbors");
        assert_eq!(nearest("colour", &["mode", "run"], 1), None);
        assert_eq!(nearest("x", &["on"], 1), None);
        assert_eq!(nearest("x", &[], 1), None);
    }
}
