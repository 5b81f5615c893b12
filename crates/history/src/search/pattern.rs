//! A query: words and phrases, or a regular expression; and the literals that a line must have to match it.

use std::ops::Range;

use memchr::memmem::{self, FinderRev};
use memchr::{memchr, memrchr};
use regex::{Regex, RegexBuilder, bytes};
use regex_syntax::hir::{Class, Hir, HirKind};

use teamkeep_system::error::{Error, Result};

const MAX_PARTS: usize = 64;
/// Maximum size of a compiled regular expression, in bytes.
const MAX_REGEX_BYTES: usize = 4 << 20;
/// More matches of one part are not marked.
const MAX_MARKED: usize = 100;

/// How a query is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Syntax {
    pub is_regex: bool,
    /// Whether only whole words match.
    pub is_word: bool,
}

#[derive(Debug, Clone)]
pub struct Pattern {
    /// All of them must occur in a text.
    parts: Vec<Regex>,
    pub(super) lines: LineFilter,
}

impl Pattern {
    /// A query in lower case matches any case; one with an upper-case letter is exact.
    pub fn parse(query: &str, syntax: Syntax) -> Result<Pattern> {
        let is_exact =
            if syntax.is_regex { has_upper_case(query) } else { query.chars().any(char::is_uppercase) };
        let parts = if syntax.is_regex { vec![query.to_owned()] } else { parts(query) };
        if parts.iter().all(|part| part.trim().is_empty()) {
            return Err(Error::usage("the query is empty"));
        }
        if parts.len() > MAX_PARTS {
            return Err(Error::usage(format!("more than {MAX_PARTS} words")));
        }
        let compile = |part: &String| {
            let expression = if syntax.is_regex { part.clone() } else { regex::escape(part) };
            compile(&expression, syntax.is_word, !is_exact).map_err(|why| {
                let what = if syntax.is_regex { "regular expression" } else { "query" };
                Error::usage(format!("invalid {what} {query:?}: {why}"))
            })
        };
        let compiled = parts.iter().map(compile).collect::<Result<Vec<_>>>()?;
        if syntax.is_regex && compiled.iter().any(|regex| regex.is_match("")) {
            return Err(Error::usage(format!("the regular expression {query:?} matches every text")));
        }
        let literals = |part: &String| {
            if syntax.is_regex { required_literals(part) } else { Some(vec![part.clone()]) }
        };
        // A regular expression can change the case in its middle.
        let lines = LineFilter::new(parts.iter().filter_map(literals), is_exact && !syntax.is_regex)?;
        Ok(Pattern { parts: compiled, lines })
    }

    /// Whether all parts occur in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.parts.iter().all(|part| part.is_match(text))
    }

    /// The places of the parts in a text, in order.
    pub fn marks(&self, text: &str) -> Vec<Range<usize>> {
        let of = |part: &Regex| {
            part.find_iter(text).map(|found| found.range()).take(MAX_MARKED).collect::<Vec<_>>()
        };
        let mut all: Vec<Range<usize>> =
            self.parts.iter().flat_map(of).filter(|range| !range.is_empty()).collect();
        all.sort_by_key(|range| (range.start, range.end));
        let mut marks: Vec<Range<usize>> = Vec::new();
        for range in all {
            match marks.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => marks.push(range),
            }
        }
        marks
    }
}

/// The words and the phrases in quotes. No other character has a meaning. A quote that is not closed extends to the end.
fn parts(query: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for (place, part) in query.split('"').enumerate() {
        match place % 2 {
            0 => parts.extend(part.split_whitespace().map(str::to_owned)),
            _ if part.is_empty() => {}
            _ => parts.push(part.to_owned()),
        }
    }
    // A query of quotes searches for them.
    if parts.is_empty() && !query.trim().is_empty() {
        parts.push(query.trim().to_owned());
    }
    parts
}

fn compile(expression: &str, is_word: bool, is_any_case: bool) -> std::result::Result<Regex, String> {
    let expression = match is_word {
        true => format!(r"\b{{start-half}}(?:{expression})\b{{end-half}}"),
        false => expression.to_owned(),
    };
    let mut builder = RegexBuilder::new(&expression);
    builder.size_limit(MAX_REGEX_BYTES).dfa_size_limit(MAX_REGEX_BYTES).case_insensitive(is_any_case);
    builder.build().map_err(|error| {
        let error = error.to_string();
        error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })
}

/// Whether an expression contains an upper-case letter that is not part of an escape, such as `\S` or `\p{Lu}`.
fn has_upper_case(expression: &str) -> bool {
    let mut chars = expression.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_uppercase() {
            return true;
        }
        let escaped = if c == '\\' { chars.next() } else { None };
        if matches!(escaped, Some('p' | 'P' | 'u' | 'U' | 'x')) && chars.peek() == Some(&'{') {
            chars.by_ref().find(|c| *c == '}');
        }
    }
    false
}

// Literals of which every match of a regular expression contains one, so that only lines with them are parsed.

/// More alternatives are slower to find than the lines are to parse.
const MAX_ALTERNATIVES: usize = 16;

/// The literals, in any case; `None` if there are none, as with `\d+`.
pub(super) fn required_literals(expression: &str) -> Option<Vec<String>> {
    of(&regex_syntax::parse(expression).ok()?)
}

fn of(part: &Hir) -> Option<Vec<String>> {
    match part.kind() {
        HirKind::Capture(capture) => of(&capture.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => of(&repeated.sub),
        HirKind::Alternation(parts) => {
            let all: Vec<String> = parts.iter().map(of).collect::<Option<Vec<_>>>()?.concat();
            (all.len() <= MAX_ALTERNATIVES).then_some(all)
        }
        HirKind::Concat(parts) => of_sequence(parts),
        _ => literal(part).map(|literal| vec![literal]),
    }
}

/// Of the parts that follow each other, the ones with the longest literals.
fn of_sequence(parts: &[Hir]) -> Option<Vec<String>> {
    let (mut found, mut run) = (Vec::new(), String::new());
    for part in parts {
        match literal(part) {
            Some(literal) => run.push_str(&literal),
            None if matches!(part.kind(), HirKind::Empty | HirKind::Look(_)) => {}
            None => {
                found.push(vec![std::mem::take(&mut run)]);
                found.extend(of(part));
            }
        }
    }
    found.push(vec![run]);
    let shortest = |literals: &Vec<String>| literals.iter().map(String::len).min().unwrap_or_default();
    found.into_iter().filter(|literals| shortest(literals) > 0).max_by_key(shortest)
}

fn literal(part: &Hir) -> Option<String> {
    match part.kind() {
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0).ok().map(str::to_owned),
        HirKind::Class(class) => single_char(class).map(String::from),
        _ => None,
    }
}

/// The character of a class that has one character in all cases, as `(?i)` makes them.
fn single_char(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let mut chars = class.iter().flat_map(|range| range.start()..=range.end()).take(5);
    let first = chars.next()?;
    chars.all(|other| folded(other) == folded(first)).then_some(first)
}

fn folded(c: char) -> Vec<char> {
    c.to_uppercase().flat_map(char::to_lowercase).collect()
}

/// Finds one of some literals.
#[derive(Debug, Clone)]
enum Finder {
    Exact(Box<memmem::Finder<'static>>),
    AnyCase(bytes::Regex),
}

/// Selects the lines of JSON whose bytes can contain a match, before any of them is parsed. It never loses a match.
#[derive(Debug, Clone)]
pub(super) struct LineFilter {
    /// Each must occur, the most selective first. Without any, all lines are selected.
    required: Vec<Finder>,
    escape: memmem::Finder<'static>,
}

impl Finder {
    fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        match self {
            Finder::Exact(finder) => finder.find(&bytes[from..]).map(|at| from + at),
            Finder::AnyCase(regex) => regex.find_at(bytes, from).map(|found| found.start()),
        }
    }
}

impl LineFilter {
    /// Of each list, one literal must occur.
    pub(super) fn new(lists: impl Iterator<Item = Vec<String>>, is_exact: bool) -> Result<LineFilter> {
        let pieces = |literals: Vec<String>| literals.iter().map(|literal| safe_piece(literal)).collect();
        let mut lists: Vec<Vec<String>> = lists.map(pieces).collect();
        let shortest = |pieces: &Vec<String>| pieces.iter().map(String::len).min().unwrap_or_default();
        lists.retain(|pieces| shortest(pieces) > 0);
        lists.sort_by_key(|pieces| std::cmp::Reverse(shortest(pieces)));
        let finder = |pieces: Vec<String>| match pieces.as_slice() {
            [piece] if is_exact => Ok(Finder::Exact(Box::new(memmem::Finder::new(piece).into_owned()))),
            pieces => {
                let any = pieces.iter().map(|piece| regex::escape(piece)).collect::<Vec<_>>().join("|");
                let built = bytes::RegexBuilder::new(&any).case_insensitive(!is_exact).build();
                built.map(Finder::AnyCase).map_err(|error| Error::caused("cannot use the query", error))
            }
        };
        let required = lists.into_iter().map(finder).collect::<Result<Vec<_>>>()?;
        Ok(LineFilter { required, escape: memmem::Finder::new(br"\u").into_owned() })
    }

    /// Whether a file that is one JSON value can contain a match.
    pub(super) fn selects(&self, file: &[u8]) -> bool {
        self.find_escape(file, 0).is_some() || self.required.iter().all(|one| one.find(file, 0).is_some())
    }

    /// Calls `each` for every line that can contain a match, with its offset, until that returns false.
    pub(super) fn each_line(&self, block: &[u8], mut each: impl FnMut(usize, &[u8]) -> bool) {
        let Some((first, others)) = self.required.split_first() else {
            let mut at = 0;
            for line in block.split_inclusive(|byte| *byte == b'\n') {
                if !each(at, line) {
                    return;
                }
                at += line.len();
            }
            return;
        };
        let (mut at, mut literal, mut escape) = (0, first.find(block, 0), self.find_escape(block, 0));
        while let Some(found) = literal.into_iter().chain(escape).min() {
            let start = memrchr(b'\n', &block[at..found]).map_or(at, |newline| at + newline + 1);
            let end = memchr(b'\n', &block[found..]).map_or(block.len(), |newline| found + newline + 1);
            let line = &block[start..end];
            let has_escape = escape.is_some_and(|escape| escape < end);
            let has_others = || others.iter().all(|other| other.find(line, 0).is_some());
            if (has_escape || has_others()) && !each(start, line) {
                return;
            }
            at = end;
            if literal.is_some_and(|literal| literal < at) {
                literal = first.find(block, at);
            }
            if has_escape {
                escape = self.find_escape(block, at);
            }
        }
    }

    /// The next escape of a character that a literal can have. Control characters are escaped in most lines, and in no literal.
    fn find_escape(&self, block: &[u8], from: usize) -> Option<usize> {
        let escapes = self.escape.find_iter(&block[from..]).map(|at| from + at);
        escapes.into_iter().find(|at| match block.get(at + 2..at + 6) {
            Some(digits) => {
                digits.iter().all(u8::is_ascii_hexdigit) && !matches!(digits, [b'0', b'0', b'0' | b'1', _])
            }
            None => false,
        })
    }
}

/// The longest part of a literal that has only one form in JSON, except for escapes by number. In messages, Claude Code
/// also escapes tags.
fn safe_piece(literal: &str) -> String {
    let is_unsafe =
        |c: char| c.is_control() || matches!(c, '"' | '\\' | '/' | '<' | char::REPLACEMENT_CHARACTER);
    literal.split(is_unsafe).max_by_key(|piece| piece.len()).unwrap_or_default().to_owned()
}

/// The last line before the end of `bytes` that contains `needle`, and is accepted.
pub(super) fn last_line<T>(
    bytes: &[u8],
    needle: &[u8],
    mut accept: impl FnMut(&[u8]) -> Option<T>,
) -> Option<T> {
    // An event of a call by hand can lack the ID that is searched for. Nothing is found at every place.
    if needle.is_empty() {
        return None;
    }
    let finder = FinderRev::new(needle);
    let mut end = bytes.len();
    while let Some(found) = finder.rfind(&bytes[..end]) {
        let start = memrchr(b'\n', &bytes[..found]).map_or(0, |newline| newline + 1);
        let stop = memchr(b'\n', &bytes[found..]).map_or(bytes.len(), |newline| found + newline);
        if let Some(accepted) = accept(&bytes[start..stop]) {
            return Some(accepted);
        }
        end = start;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::pattern::{Pattern, Syntax};
    use super::*;

    const WORD: Syntax = Syntax { is_regex: false, is_word: true };
    const REGEX: Syntax = Syntax { is_regex: true, is_word: false };

    fn found<'a>(query: &str, syntax: Syntax, text: &'a str) -> Vec<&'a str> {
        let pattern = Pattern::parse(query, syntax).unwrap();
        let marks = if pattern.is_match(text) { pattern.marks(text) } else { Vec::new() };
        marks.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn a_query_finds_what_it_says() {
        let plain = Syntax::default();
        let text = "The parser's Parser; parsers. Test \"the\" PARSER, Straße 配置文件, a.b*c";
        for (query, syntax, expected) in [
            ("parser", plain, &["parser", "Parser", "parser", "PARSER"][..]),
            ("Parser", plain, &["Parser"]),
            ("parser", WORD, &["parser", "Parser", "PARSER"]),
            ("arse", WORD, &[]),
            ("置文", plain, &["置文"]),
            ("置文", WORD, &[]),
            ("STRASSE", plain, &[]),
            ("straße", plain, &["Straße"]),
            ("a.b*c", plain, &["a.b*c"]),
            ("a.b*c", WORD, &["a.b*c"]),
            ("test parsers", plain, &["parsers", "Test"]),
            ("test missing", plain, &[]),
            ("\"test \"the", plain, &["The", "Test ", "the"]),
            ("\"parser; parsers\"", plain, &["Parser; parsers"]),
            ("\"Parser; Parsers\"", plain, &[]),
            (r"p\w+s\b", REGEX, &["parsers"]),
            (r"P\w+", REGEX, &["Parser", "PARSER"]),
            (r"\S+;", REGEX, &["Parser;"]),
            (r"(?i)PARSERS", REGEX, &["parsers"]),
        ] {
            assert_eq!(found(query, syntax, text), expected, "{query} {syntax:?}");
        }
    }

    #[test]
    fn a_query_that_is_invalid_or_matches_everything_is_rejected() {
        for bad in ["(", "a*", "", "(a{1000}){1000}", "x|"] {
            assert!(Pattern::parse(bad, REGEX).is_err(), "{bad}");
        }
        for bad in ["", " ", "\" \"", &"w ".repeat(MAX_PARTS + 1)] {
            assert!(Pattern::parse(bad, Syntax::default()).is_err(), "{bad:?}");
        }
        assert_eq!(found("\"", Syntax::default(), "say \"x\""), ["\"", "\""]);
    }

    #[test]
    fn the_longest_literals_of_an_expression_are_required() {
        for (expression, literals) in [
            (r"panicked at src/main\.rs:\d+", Some(&["panicked at src/main.rs:"][..])),
            (r"error: (timeout|reset)", Some(&["error: "])),
            (r"(timeout|reset): \d", Some(&["timeout", "reset"])),
            (r"-E0\d{3}", Some(&["-E0"])),
            (r"ne+dle", Some(&["dle"])),
            (r"(?:needle)+x", Some(&["needle"])),
            (r"foo|bar", Some(&["foo", "bar"])),
            (r"(foo)?\d*x", Some(&["x"])),
            (r"foo|\d", None),
            (r"[a-z]{20}", None),
            (r"(", None),
        ] {
            assert_eq!(
                required_literals(expression).as_deref(),
                literals.map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>()).as_deref(),
                "{expression}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_line_with_a_match_is_left_out(
            expression in "(\\(\\?i\\))?([aBſkİ7]{1,4}|[ -/.<]|\\(aB|ka\\)[?+*]?|[aK][?+*]|\\\\b|\\\\d|\\^|\\$|\\|){1,6}",
            text in "[aAbBkKsſİi7 ./<\"\n\u{1}-]{0,24}",
            escaped in 0..30usize,
        ) {
            let Ok(pattern) = Pattern::parse(&expression, Syntax { is_regex: true, is_word: false }) else { return Ok(()) };
            if pattern.is_match(&text) {
                let mut line = serde_json::to_string(&text).unwrap();
                if let Some(c) = text.chars().nth(escaped).filter(|c| c.is_alphanumeric()) {
                    line = line.replacen(c, &format!("\\u{:04x}", u32::from(c)), 1);
                }
                let mut seen = 0;
                pattern.lines.each_line(line.as_bytes(), |_, _| { seen += 1; true });
                prop_assert_eq!(seen, 1, "{:?} {:?}", expression, line);
            }
        }
    }

    fn selected(words: &[&str], is_exact: bool, block: &str) -> Vec<String> {
        let filter = LineFilter::new(words.iter().map(|word| vec![(*word).to_owned()]), is_exact).unwrap();
        let mut lines = Vec::new();
        filter.each_line(block.as_bytes(), |at, line| {
            assert_eq!(&block.as_bytes()[at..at + line.len()], line);
            lines.push(String::from_utf8(line.to_vec()).unwrap().trim_end().to_owned());
            true
        });
        lines
    }

    #[test]
    fn lines_are_selected_by_all_words_and_lines_with_escaped_characters_always() {
        let block = "{a one}\n{b One TWO}\n{c \\u001b[31m one}\n{d \\u0041}\n{e C:\\\\users}\n\n{f two one}\n{g \\u4e2d";
        for (words, is_exact, expected) in [
            (
                &["one"][..],
                true,
                &["{a one}", "{c \\u001b[31m one}", "{d \\u0041}", "{f two one}", "{g \\u4e2d"][..],
            ),
            (&["one", "two"], true, &["{d \\u0041}", "{f two one}", "{g \\u4e2d"]),
            (&["one", "two"], false, &["{b One TWO}", "{d \\u0041}", "{f two one}", "{g \\u4e2d"]),
            (&["kſ"], false, &["{d \\u0041}", "{g \\u4e2d"]),
            (&["say\n\"two"], true, &["{d \\u0041}", "{f two one}", "{g \\u4e2d"]),
        ] {
            assert_eq!(selected(words, is_exact, block), expected, "{words:?}");
        }
        assert_eq!(selected(&["\"", "/"], true, block).len(), 8, "no part of them is written as it is");
    }

    #[test]
    fn the_last_line_with_a_needle_is_found() {
        let accept = |line: &[u8]| line.starts_with(b"ok").then(|| line.to_vec());
        assert_eq!(last_line(b"ok 1 id\nok 2 id\nno id\n", b"id", accept).unwrap(), b"ok 2 id");
        assert_eq!(last_line(b"no id", b"id", accept), None);
    }

    #[test]
    fn an_empty_text_is_in_no_line() {
        assert_eq!(last_line(b"one\ntwo\n", b"", |_| None::<()>), None);
        assert_eq!(last_line(b"one\ntwo\n", b"", |line| Some(line.to_vec())), None);
    }
}
