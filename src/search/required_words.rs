//! The words that every match of a regular expression contains, so that only the texts with them are read.

use regex_syntax::hir::{Class, Hir, HirKind};
use tantivy::Term;
use tantivy::query::{Query, RegexQuery, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};

/// A shorter part of a word is in too many words.
const MIN_PART_CHARS: usize = 3;

/// A word, or a part of one, as the index has it: in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequiredWord {
    Whole(String),
    Start(String),
    Part(String),
}

/// The required words, the most selective ones; empty if none is obvious, as with alternatives at the top.
pub(super) fn required_words(expression: &str) -> Vec<RequiredWord> {
    let Ok(parsed) = regex_syntax::parse(expression) else { return Vec::new() };
    let mut reader = Reader::default();
    reader.read(&parsed);
    reader.end();
    let (whole, parts): (Vec<_>, Vec<_>) =
        reader.found.into_iter().partition(|word| matches!(word, RequiredWord::Whole(_)));
    if !whole.is_empty() {
        return whole;
    }
    let length = |word: &RequiredWord| match word {
        RequiredWord::Whole(text) | RequiredWord::Part(text) => text.chars().count(),
        // The index finds the words with a start without reading all words.
        RequiredWord::Start(text) => 2 * text.chars().count(),
    };
    parts.into_iter().max_by_key(length).into_iter().collect()
}

impl RequiredWord {
    pub fn query(&self, field: Field) -> tantivy::Result<Box<dyn Query>> {
        // Words have no characters with a meaning in a regular expression.
        let matching = |pattern: &str| RegexQuery::from_pattern(pattern, field);
        Ok(match self {
            RequiredWord::Whole(word) => {
                Box::new(TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::Basic))
            }
            RequiredWord::Start(start) => Box::new(matching(&format!("{start}.*"))?),
            RequiredWord::Part(part) => Box::new(matching(&format!(".*{part}.*"))?),
        })
    }
}

/// Follows the parts of an expression that every match contains, one behind the other.
#[derive(Default)]
struct Reader {
    found: Vec<RequiredWord>,
    /// The letters and digits of the present word.
    word: String,
    /// Whether the character before the present word is known to belong to no word.
    is_start: bool,
}

impl Reader {
    fn read(&mut self, part: &Hir) {
        match part.kind() {
            HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
                Ok(text) => text.chars().for_each(|c| self.push(c)),
                Err(_) => self.end(),
            },
            HirKind::Class(class) => match single_char(class) {
                Some(c) => self.push(c),
                None => self.end(),
            },
            HirKind::Capture(capture) => self.read(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.read(part)),
            HirKind::Repetition(repeated) => {
                self.end();
                if repeated.min > 0 {
                    self.read(&repeated.sub);
                }
                self.end();
            }
            HirKind::Alternation(_) => self.end(),
            HirKind::Empty | HirKind::Look(_) => {}
        }
    }

    fn push(&mut self, c: char) {
        if c.is_alphanumeric() {
            self.word.extend(c.to_lowercase());
            return;
        }
        let word = std::mem::take(&mut self.word);
        self.add(if self.is_start { RequiredWord::Whole(word) } else { RequiredWord::Part(word) });
        self.is_start = true;
    }

    /// Ends the present word where it may continue.
    fn end(&mut self) {
        let word = std::mem::take(&mut self.word);
        self.add(if self.is_start { RequiredWord::Start(word) } else { RequiredWord::Part(word) });
        self.is_start = false;
    }

    fn add(&mut self, word: RequiredWord) {
        let is_useful = match &word {
            RequiredWord::Whole(text) | RequiredWord::Start(text) => !text.is_empty(),
            RequiredWord::Part(text) => text.chars().count() >= MIN_PART_CHARS,
        };
        self.found.extend(is_useful.then_some(word));
    }
}

/// The character of a class that has one character in both cases, as `(?i)` makes them.
fn single_char(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let mut chars = class.iter().flat_map(|range| range.start()..=range.end()).take(4);
    let first = chars.next()?;
    let lower: Vec<char> = first.to_lowercase().collect();
    chars.all(|other| other.to_lowercase().eq(lower.iter().copied())).then_some(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tantivy::tokenizer::TokenStream;

    use super::super::index::words;
    use super::*;

    fn words_of(expression: &str) -> Vec<String> {
        let word = |word: &RequiredWord| match word {
            RequiredWord::Whole(text) => text.clone(),
            RequiredWord::Start(text) => format!("{text}*"),
            RequiredWord::Part(text) => format!("*{text}*"),
        };
        required_words(expression).iter().map(word).collect()
    }

    #[test]
    fn whole_words_come_before_parts_of_words() {
        for (expression, words) in [
            (r"panicked at src/main\.rs:\d+", &["at", "src", "main", "rs"][..]),
            (r"error: (timeout|reset)", &["*error*"]),
            (r"-E0\d{3}", &["e0*"]),
            (r"ne+dle", &["*dle*"]),
            (r"(?i)parser", &["*par*"]),
            (r"(?i)-build-", &["build"]),
            (r"(ab)+ Straße \w", &["straße"]),
            (r"foo|bar", &[]),
            (r"(foo)?\d*x", &[]),
            (r"[a-z]{20}", &[]),
            (r"(", &[]),
        ] {
            assert_eq!(words_of(expression), words, "{expression}");
        }
    }

    /// Whether the index would find the text by the required words.
    fn selects(expression: &str, text: &str) -> bool {
        let mut tokens = Vec::new();
        words().token_stream(text).process(&mut |token| tokens.push(token.text.clone()));
        required_words(expression).iter().all(|word| match word {
            RequiredWord::Whole(text) => tokens.contains(text),
            RequiredWord::Start(text) => tokens.iter().any(|token| token.starts_with(text)),
            RequiredWord::Part(text) => tokens.iter().any(|token| token.contains(text)),
        })
    }

    proptest! {
        #[test]
        fn no_text_that_matches_is_left_out(
            expression in "(\\(\\?i\\))?([aBſkİ7]{1,4}|[ -/.]|\\(aB|ka\\)[?+*]?|[aK][?+*]|\\\\b|\\\\d|\\^|\\$|\\|){1,6}",
            text in "[aAbBkKsſİi7 .-]{0,24}",
        ) {
            if let Ok(regex) = regex::Regex::new(&expression) && regex.is_match(&text) {
                prop_assert!(selects(&expression, &text), "{expression:?} {text:?} {:?}", required_words(&expression));
            }
        }
    }
}
