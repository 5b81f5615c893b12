//! A query of `search` over a text: the marks are at characters of the text, and a text without marks does not match.

use teamkeep_history::search::{Pattern, Syntax};

pub fn run(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(rest) = std::str::from_utf8(rest) else { return };
    let (query, text) = rest.split_once('\n').unwrap_or((rest, rest));
    let syntax = Syntax { is_regex: first & 1 == 1, is_word: first & 2 == 2 };
    let Ok(pattern) = Pattern::parse(query, syntax) else { return };
    let marks = pattern.marks(text);
    for mark in &marks {
        assert!(text.get(mark.clone()).is_some(), "{mark:?} is not in {text:?}");
    }
    // A regular expression can match the empty text at the begin of a word.
    let is_marked = syntax.is_regex || !pattern.is_match(text) || !marks.is_empty();
    assert!(is_marked, "{query:?} matches {text:?} without a mark");
}
