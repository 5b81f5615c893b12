//! The part of a text around its first match.

use std::ops::Range;

use serde::Serialize;

/// Characters before the first match.
const BEFORE_CHARS: usize = 60;
const MAX_CHARS: usize = 200;

/// An excerpt on one line, with ` · ` for line breaks, as between a subject and its text. The marks are the places of the
/// matches, in characters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Snippet {
    pub text: String,
    pub marks: Vec<[usize; 2]>,
}

impl Snippet {
    /// The excerpt of a text with these matches, which are sorted.
    pub fn of(text: &str, matches: &[Range<usize>]) -> Snippet {
        let first = matches.first().map_or(0, |range| range.start);
        let start = text[..first].char_indices().rev().take(BEFORE_CHARS).last().map_or(first, |(at, _)| at);
        // Not in the middle of a word.
        let start = match text[start..first].find(char::is_whitespace).filter(|_| start > 0) {
            Some(space) => start + space,
            None => start,
        };
        let mut snippet = Snippet { text: String::new(), marks: Vec::new() };
        let mut matches = matches.iter().peekable();
        let (mut length, mut opened, mut is_break) = (0, None, false);
        if start > 0 {
            snippet.text.push('…');
            length = 1;
        }
        for (at, c) in text[start..].char_indices().map(|(at, c)| (start + at, c)) {
            if length >= MAX_CHARS {
                snippet.text.push('…');
                break;
            }
            while matches.next_if(|range| range.end <= at).is_some() {
                close(&mut snippet.marks, &mut opened, length);
            }
            let is_space = c.is_whitespace();
            if is_break && !is_space && !snippet.text.is_empty() {
                snippet.text.push_str("· ");
                length += 2;
            }
            is_break = c == '\n' || (is_break && is_space);
            if matches.peek().is_some_and(|range| range.contains(&at)) && opened.is_none() {
                opened = Some(length);
            }
            if is_space && (snippet.text.is_empty() || snippet.text.ends_with(' ')) {
                continue;
            }
            snippet.text.push(if is_space { ' ' } else { c });
            length += 1;
        }
        close(&mut snippet.marks, &mut opened, length);
        snippet
    }

    /// The pieces of the text, each with whether it is a match.
    pub fn pieces(&self) -> Vec<(String, bool)> {
        let chars: Vec<char> = self.text.chars().collect();
        let (mut pieces, mut at) = (Vec::new(), 0);
        for [from, to] in &self.marks {
            pieces.push((chars[at..*from].iter().collect(), false));
            pieces.push((chars[*from..*to].iter().collect(), true));
            at = *to;
        }
        pieces.push((chars[at..].iter().collect(), false));
        pieces.retain(|(text, _): &(String, bool)| !text.is_empty());
        pieces
    }
}

fn close(marks: &mut Vec<[usize; 2]>, opened: &mut Option<usize>, end: usize) {
    marks.extend(opened.take().map(|from| [from, end]).filter(|[from, to]| from < to));
}

#[cfg(test)]
mod tests {
    use super::super::pattern::{Pattern, Syntax};
    use super::*;
    use proptest::prelude::*;

    fn snippet(text: &str, words: &str) -> Snippet {
        Snippet::of(text, &Pattern::parse(words, Syntax::default()).unwrap().marks(text))
    }

    fn marked(snippet: &Snippet) -> Vec<String> {
        snippet.pieces().into_iter().filter(|(_, is_match)| *is_match).map(|(text, _)| text).collect()
    }

    #[test]
    fn a_snippet_is_one_line_around_the_first_match() {
        let text = format!("{}the parser\n\n  fails; parser {}", "before ".repeat(30), "after ".repeat(60));
        let found = snippet(&text, "parser");
        assert!(found.text.starts_with("… before before"), "{}", found.text);
        assert!(found.text.contains("the parser · fails; parser after") && found.text.ends_with('…'));
        assert_eq!(marked(&found), ["parser", "parser"]);
        assert_eq!(snippet("parser", "parser").text, "parser");
        assert_eq!(marked(&snippet("x a\n  b y", "\"a\n  b\"")), ["a · b"]);
    }

    proptest! {
        #[test]
        fn a_snippet_of_any_text_is_short_and_its_marks_are_in_it(text in "[a-c é💥\n\u{301}]{0,600}") {
            let found = snippet(&text, "a");
            // A line break at the end has two characters more, and an ellipsis is one.
            prop_assert!(found.text.chars().count() <= MAX_CHARS + 3);
            prop_assert!(found.marks.iter().all(|[from, to]| from < to && *to <= found.text.chars().count()));
            prop_assert!(found.marks.windows(2).all(|pair| pair[0][1] <= pair[1][0]));
            prop_assert!(marked(&found).iter().all(|text| text == "a"));
        }
    }
}
