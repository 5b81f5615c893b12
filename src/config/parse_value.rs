//! Reads one value by its type, or reports every problem.

use serde_json::{Value as Json, json};
use toml::Spanned;
use toml::de::{DeInteger, DeValue};

use super::bounded_regex::{BoundedRegex, RegexTooCostly};
use super::check::Validation;
use super::keys::Kind;
use super::problem::Code;
use super::{events, pattern, units};
use crate::suggest::nearest;

/// A string in quotes, shortened.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// A problem of a value.
pub struct ParseIssue {
    pub code: Code,
    pub at: usize,
    pub message: String,
    pub hint: Option<String>,
}

type ParseIssues = Vec<ParseIssue>;

/// Reads a value of this type; with an error it cannot be used.
pub fn read(
    kind: Kind,
    value: &Spanned<DeValue<'_>>,
    care: Validation,
    flaws: &mut ParseIssues,
) -> Option<Json> {
    let before = flaws.len();
    let at = value.span().start;
    let read = match (kind, value.get_ref()) {
        (Kind::Switch, DeValue::Boolean(on)) => json!(on),
        (Kind::Count, DeValue::Integer(number)) => json!(count(number, at, flaws)?),
        (Kind::Price, DeValue::Integer(_) | DeValue::Float(_)) => json!(price(value.get_ref(), at, flaws)?),
        (Kind::Names | Kind::Globs | Kind::Events | Kind::Picks(_), DeValue::Array(list)) => {
            list.iter().for_each(|item| item_of(kind, item, flaws));
            Json::Array(list.iter().map(|item| json!(item.get_ref().as_str().unwrap_or_default())).collect())
        }
        (Kind::Patterns, DeValue::Table(table)) => {
            let mut read = serde_json::Map::new();
            for (pointer, wanted) in table {
                if let Err(why) = pattern::check_pointer(pointer.get_ref()) {
                    let message = format!("{}: {why}", quoted(pointer.get_ref()));
                    flaws.push(ParseIssue {
                        code: Code::BadPointer,
                        at: pointer.span().start,
                        message,
                        hint: None,
                    });
                }
                if let Some(text) = text(wanted, "a glob or a regular expression", flaws) {
                    is_pattern(text, wanted.span().start, care, flaws);
                    read.insert(pointer.get_ref().to_string(), json!(text));
                }
            }
            Json::Object(read)
        }
        (Kind::Times, DeValue::Integer(number)) => {
            let count = count(number, at, flaws)?;
            if count == 0 {
                let message = "invalid number 0; expected at least 1".to_owned();
                let hint = Some("to turn a gate off, set its mode to \"off\"".to_owned());
                flaws.push(ParseIssue { code: Code::BadValue, at, message, hint });
            }
            json!(count)
        }
        (
            Kind::Switch
            | Kind::Count
            | Kind::Times
            | Kind::Price
            | Kind::Names
            | Kind::Globs
            | Kind::Events
            | Kind::Patterns
            | Kind::Picks(_),
            other,
        ) => {
            wrong(at, expected(kind), other, flaws);
            return None;
        }
        (_, _) => {
            let text = text(value, expected(kind), flaws)?;
            is_of(kind, text, at, flaws);
            json!(text)
        }
    };
    let errors = flaws[before..].iter().any(|flaw| flaw.code.severity() == super::problem::Severity::Error);
    (!errors).then_some(read)
}

fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Switch => "a boolean",
        Kind::Count | Kind::Times => "an integer",
        Kind::Price => "a number such as 2.5",
        Kind::Size => "a size such as \"16 MiB\"",
        Kind::Duration => "a duration such as \"90d\"",
        Kind::Words(_) => "a string",
        Kind::Text => "a string",
        Kind::Regex => "a regular expression in quotes",
        Kind::Glob => "a glob in quotes",
        Kind::Names | Kind::Globs | Kind::Picks(_) => "a list such as [\"a\", \"b\"]",
        Kind::Events => "a list such as [\"PreToolUse\"]",
        Kind::Patterns => "a table such as { \"/tool_input/command\" = \"*rm*\" }",
    }
}

/// The name of a value's type.
pub fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn wrong(at: usize, expected: &str, found: &DeValue<'_>, flaws: &mut ParseIssues) {
    let message = format!("expected {expected}, found {}", type_of(found));
    flaws.push(ParseIssue { code: Code::WrongType, at, message, hint: None });
}

fn text<'a>(value: &'a Spanned<DeValue<'_>>, expected: &str, flaws: &mut ParseIssues) -> Option<&'a str> {
    let text = value.get_ref().as_str();
    if text.is_none() {
        wrong(value.span().start, expected, value.get_ref(), flaws);
    }
    text
}

/// Maximum price. A larger one is not the price of a million tokens.
const DEAREST: f64 = 1e6;

fn price(value: &DeValue<'_>, at: usize, flaws: &mut ParseIssues) -> Option<f64> {
    let text = match value {
        DeValue::Integer(number) => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => return None,
    };
    let price = text.parse().ok().filter(|price| (0.0..=DEAREST).contains(price));
    if price.is_none() {
        let message = format!("invalid price {text}; expected 0 to {DEAREST}");
        flaws.push(ParseIssue { code: Code::BadNumber, at, message, hint: None });
    }
    price
}

fn count(number: &DeInteger<'_>, at: usize, flaws: &mut ParseIssues) -> Option<u32> {
    let count = u32::from_str_radix(number.as_str(), number.radix()).ok();
    if count.is_none() {
        let message = format!("invalid number {number}; expected 0 to {}", u32::MAX);
        flaws.push(ParseIssue { code: Code::BadNumber, at, message, hint: None });
    }
    count
}

fn item_of(kind: Kind, item: &Spanned<DeValue<'_>>, flaws: &mut ParseIssues) {
    let Some(text) = text(item, "a string", flaws) else { return };
    let at = item.span().start;
    match kind {
        Kind::Globs => is_of(Kind::Glob, text, at, flaws),
        Kind::Events => events::check(text, at, flaws),
        Kind::Picks(words) => is_of(Kind::Words(words), text, at, flaws),
        _ => {}
    }
}

/// Reports why a string is not valid for a type.
fn is_of(kind: Kind, text: &str, at: usize, flaws: &mut ParseIssues) {
    let mut flaw = |code, message: String, hint| flaws.push(ParseIssue { code, at, message, hint });
    match kind {
        Kind::Size if units::parse_size(text).is_none() => {
            flaw(
                Code::BadSize,
                format!("invalid size {}; expected a value such as \"16 MiB\" or \"512 KiB\"", quoted(text)),
                None,
            );
        }
        Kind::Duration if units::parse_duration(text).is_none() => {
            let message =
                format!("invalid duration {}; expected a value such as \"90d\" or \"1m30s\"", quoted(text));
            flaw(Code::BadDuration, message, None);
        }
        Kind::Words(words) if !words.contains(&text) => {
            let hint = nearest(text, words, 1).map(|close| format!("did you mean \"{close}\"?"));
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            flaw(
                Code::BadValue,
                format!("invalid value {}; expected one of {}", quoted(text), words.join(", ")),
                hint,
            );
        }
        Kind::Regex => match program(text, at) {
            Err(found) => flaws.push(found),
            // It would match between any two characters.
            Ok(program) if program.is_match("") == Some(true) => {
                flaw(Code::BadRegex, format!("{} matches the empty string", quoted(text)), None);
            }
            Ok(_) => {}
        },
        Kind::Glob => {
            if let Err(why) = pattern::check_glob(text) {
                flaw(Code::BadGlob, format!("invalid glob {}: {why}", quoted(text)), None);
            }
        }
        _ => {}
    }
}

fn is_pattern(text: &str, at: usize, care: Validation, flaws: &mut ParseIssues) {
    match pattern::regex_of(text) {
        Some(_) if care == Validation::Swift => {}
        Some(expression) => flaws.extend(program(expression, at).err()),
        None => is_of(Kind::Glob, text, at, flaws),
    }
}

/// Compiles a regular expression, or reports why it is invalid.
fn program(expression: &str, at: usize) -> Result<BoundedRegex, ParseIssue> {
    BoundedRegex::of(expression).map_err(|unfit| {
        let (code, why, hint) = match unfit {
            RegexTooCostly::Malformed(why) => {
                (Code::BadRegex, format!("is not a valid regular expression: {why}"), None)
            }
            RegexTooCostly::TooLarge => (
                Code::LargeRegex,
                "is too large: the compiled regular expression exceeds 64 KiB".to_owned(),
                Some("reduce repetitions: `x{500}` counts as 500 times `x`".to_owned()),
            ),
        };
        ParseIssue { code, at, message: format!("{} {why}", quoted(expression)), hint }
    })
}
