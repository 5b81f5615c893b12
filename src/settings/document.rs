//! A settings text, parsed with all positions.

use std::collections::HashSet;
use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseError;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions};

/// JSON with comments and trailing commas only.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A settings text and its structure.
pub struct Document<'a> {
    /// The text.
    pub text: &'a str,
    /// The settings.
    pub root: Object<'a>,
    tokens: Vec<TokenAndRange<'a>>,
}

/// The inside of an object or array.
#[derive(Debug)]
pub struct Container {
    /// The byte after the opening bracket.
    pub open: usize,
    /// The closing bracket.
    pub close: usize,
    /// Its properties or elements.
    pub items: Vec<Range<usize>>,
}

impl<'a> Document<'a> {
    /// Parses a text whose `hooks`, if any, have the structure that Claude Code reads.
    ///
    /// # Errors
    /// The reason why it cannot be edited.
    pub fn parse(text: &'a str) -> Result<Document<'a>, String> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = jsonc_parser::parse_to_ast(text, &collect, &OPTIONS).map_err(|error| {
            let (line, what) = said(&error);
            format!("line {line}: {what}")
        })?;
        let Some(Value::Object(root)) = parsed.value else {
            return Err("it is not a JSON object".to_owned());
        };
        let document = Document { text, root, tokens: parsed.tokens.unwrap_or_default() };
        document.check()?;
        Ok(document)
    }

    fn check(&self) -> Result<(), String> {
        if named(&self.root, "hooks").count() > 1 {
            return Err("it has the key `hooks` twice".to_owned());
        }
        let Some(property) = named(&self.root, "hooks").next() else {
            return Ok(());
        };
        let Value::Object(hooks) = &property.value else {
            return Err("its `hooks` is not an object".to_owned());
        };
        let mut seen = HashSet::new();
        for event in &hooks.properties {
            let name = event.name.as_str();
            if !matches!(event.value, Value::Array(_)) {
                return Err(format!("its `hooks.{name}` is not an array"));
            }
            if !seen.insert(name) {
                return Err(format!("its `hooks` has the key `{name}` twice"));
            }
        }
        Ok(())
    }

    /// The first part of the text that is not strict JSON: its byte offset and its kind.
    pub fn first_jsonc_extension(&self) -> Option<(usize, &'static str)> {
        self.loose_parts().next().map(|(place, what)| (place.start, what))
    }

    /// The parts that JSON with comments allows and strict JSON does not: range and kind.
    fn loose_parts(&self) -> impl Iterator<Item = (Range<usize>, &'static str)> {
        let is_comment =
            |token: &TokenAndRange<'_>| matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_));
        self.tokens.iter().enumerate().filter_map(move |(at, token)| {
            let place = token.range.start..token.range.end;
            if is_comment(token) {
                return Some((place, "a comment"));
            }
            let next = || self.tokens.iter().skip(at + 1).find(|token| !is_comment(token));
            let ends =
                |token: &TokenAndRange<'_>| matches!(token.token, Token::CloseBrace | Token::CloseBracket);
            (matches!(token.token, Token::Comma) && next().is_some_and(ends))
                .then_some((place, "a trailing comma"))
        })
    }

    /// The line and the reason if the text is invalid even as JSON with comments.
    pub fn json_error(&self) -> Option<(usize, String)> {
        let mut strict = self.text.as_bytes().to_vec();
        for place in self.loose_parts().map(|(place, _)| place) {
            for byte in strict.get_mut(place).into_iter().flatten().filter(|byte| **byte != b'\n') {
                *byte = b' ';
            }
        }
        let error = serde_json::from_slice::<serde::de::IgnoredAny>(&strict).err()?;
        let what = error.to_string();
        let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
        Some((error.line(), what.to_owned()))
    }

    /// The object with the hooks.
    pub fn hooks(&self) -> Option<&Object<'a>> {
        named(&self.root, "hooks").find_map(|property| property.value.as_object())
    }

    /// The settings as plain data.
    pub fn data(&self) -> serde_json::Value {
        Value::Object(self.root.clone()).into()
    }

    /// The comments between the items of a container.
    pub fn comments(&self, inside: &Container) -> Vec<Range<usize>> {
        self.loose(inside, |token| matches!(token, Token::CommentLine(_) | Token::CommentBlock(_)))
    }

    /// The commas of a container.
    pub fn commas(&self, inside: &Container) -> Vec<Range<usize>> {
        self.loose(inside, |token| matches!(token, Token::Comma))
    }

    /// The end of the last token before this offset, including comments.
    pub fn end_before(&self, place: usize) -> usize {
        let next = self.tokens.partition_point(|token| token.range.start < place);
        next.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(0, |token| token.range.end)
    }

    /// The tokens of a kind that belong to a container itself, not to one of its items.
    fn loose(&self, inside: &Container, kind: fn(&Token<'a>) -> bool) -> Vec<Range<usize>> {
        let first = self.tokens.partition_point(|token| token.range.start < inside.open);
        let mut items = inside.items.iter().peekable();
        let within = self.tokens.iter().skip(first).take_while(|token| token.range.start < inside.close);
        within
            .filter(|token| {
                while items.next_if(|item| item.end <= token.range.start).is_some() {}
                let outside = items.peek().is_none_or(|item| token.range.start < item.start);
                outside && kind(&token.token)
            })
            .map(|token| token.range.start..token.range.end)
            .collect()
    }
}

impl Container {
    /// The inside of an object.
    pub fn of_object(object: &Object) -> Container {
        Container::new(object, object.properties.iter().map(span).collect())
    }

    /// The inside of an array.
    pub fn of_array(array: &Array) -> Container {
        Container::new(array, array.elements.iter().map(span).collect())
    }

    fn new(whole: &impl Ranged, items: Vec<Range<usize>>) -> Container {
        let span = span(whole);
        Container { open: span.start + 1, close: span.end.saturating_sub(1), items }
    }
}

/// The line and the reason if a text is invalid even as JSON with comments.
pub fn jsonc_error(text: &str) -> Option<(usize, String)> {
    let nothing = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    jsonc_parser::parse_to_ast(text, &nothing, &OPTIONS).err().map(|error| said(&error))
}

/// The line of an error, and its message.
fn said(error: &ParseError) -> (usize, String) {
    let what = error.kind().to_string();
    let mut letters = what.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    (error.line_display(), first.into_iter().chain(letters).collect())
}

fn named<'o, 'a>(object: &'o Object<'a>, name: &str) -> impl Iterator<Item = &'o ObjectProp<'a>> {
    object.properties.iter().filter(move |property| property.name.as_str() == name)
}

fn span(node: &impl Ranged) -> Range<usize> {
    let range = node.range();
    range.start..range.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_could_not_read_is_refused_with_the_reason() {
        for (text, why) in [
            ("[]", "it is not a JSON object"),
            ("// nothing", "it is not a JSON object"),
            ("{\"hooks\": [], \"a\": 1}", "its `hooks` is not an object"),
            ("{\"hooks\": {\"Stop\": {}}}", "its `hooks.Stop` is not an array"),
            ("{\"hooks\": {}, \"ho\\u006fks\": {}}", "it has the key `hooks` twice"),
            ("{\"hooks\": {\"Stop\": [], \"Stop\": []}}", "its `hooks` has the key `Stop` twice"),
        ] {
            assert_eq!(Document::parse(text).err().unwrap(), why);
        }
        for broken in
            ["{", "{\"a\": 1,, }", "{'a': 1}", "{a: 1}", "{\"a\": 1 \"b\": 2}", "{} {}", "{\"a\": 0x1}"]
        {
            assert!(Document::parse(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn commas_and_comments_are_those_of_the_container_itself() {
        let text = "{\"a\": [1, /* in */ 2] /* x */ , // y\n \"b\": 2, }";
        let document = Document::parse(text).unwrap();
        let inside = Container::of_object(&document.root);
        let texts =
            |ranges: Vec<Range<usize>>| ranges.into_iter().map(|range| &text[range]).collect::<Vec<_>>();
        assert_eq!(texts(document.comments(&inside)), ["/* x */", "// y"]);
        assert_eq!(document.commas(&inside).len(), 2);
        assert_eq!(&text[document.end_before(inside.items[1].start)..inside.items[1].start], "\n ");
    }

    #[test]
    fn what_is_no_json_without_its_comments_and_trailing_commas_is_unsound() {
        let unsound = |text| Document::parse(text).unwrap().json_error();
        assert_eq!(unsound("// ü\n{\"a\": \"// none\", /* b\n */ \"c\": [1, /* d */],\n} // end"), None);
        let control = "control character (\\u0000-\\u001F) found while parsing a string".to_owned();
        assert_eq!(unsound("{ // one\n\"a\": \"\0\"}"), Some((2, control.clone())));
        assert_eq!(unsound("{\"a\": 1,\n\"b\tc\": 2}"), Some((2, control)));
        assert_eq!(unsound("\u{b}{}"), Some((1, "expected value".to_owned())));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_crash() {
        assert!(Document::parse(&"{\"a\":".repeat(100_000)).is_err());
        assert!(Document::parse(&"[".repeat(100_000)).is_err());
    }
}
