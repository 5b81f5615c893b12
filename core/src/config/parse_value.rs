//! Reads one value by its type, or reports every problem.

use serde_json::{Value as Json, json};
use toml::Spanned;
use toml::de::{DeInteger, DeValue};

use super::keys::Kind;
use super::pattern::{self, BoundedRegex, RegexTooCostly};
use super::problem::{Code, Problem, Severity};
use super::source::Source;
use super::{parse_duration, parse_size};
use crate::client::payload::{self, JUDGED, KNOWN};
use crate::config::suggest::nearest;

/// A string in quotes, shortened.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// How thorough the validation is. Compiling regular expressions costs more than all the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validation {
    Full,
    /// A call that needs a regular expression compiles it.
    WithoutRegexes,
}

/// A problem of a value or a table.
pub struct Issue {
    pub code: Code,
    /// Its byte offset.
    pub at: usize,
    pub message: String,
    pub hint: Option<String>,
}

impl Issue {
    /// A problem at a byte offset.
    pub fn new(code: Code, at: usize, message: impl Into<String>) -> Issue {
        Issue { code, at, message: message.into(), hint: None }
    }

    pub fn hint(self, hint: impl Into<String>) -> Issue {
        Issue { hint: Some(hint.into()), ..self }
    }

    pub fn into_problem(self, source: &Source) -> Problem {
        let Issue { code, at, message, hint } = self;
        Problem { code, path: source.path.clone(), at: Some(source.position(at)), message, hint }
    }
}

type Issues = Vec<Issue>;

/// Reads a value of this type; with an error it cannot be used.
pub fn read(
    kind: Kind,
    value: &Spanned<DeValue<'_>>,
    validation: Validation,
    issues: &mut Issues,
) -> Option<Json> {
    let before = issues.len();
    let at = value.span().start;
    let read = match (kind, value.get_ref()) {
        (Kind::Switch, DeValue::Boolean(on)) => json!(on),
        (Kind::Count, DeValue::Integer(number)) => json!(count(number, at, issues)?),
        (Kind::Price, DeValue::Integer(_) | DeValue::Float(_)) => json!(price(value.get_ref(), at, issues)?),
        (Kind::Names | Kind::Globs | Kind::Events | Kind::Picks(_), DeValue::Array(list)) => {
            list.iter().for_each(|item| item_of(kind, item, issues));
            Json::Array(list.iter().map(|item| json!(item.get_ref().as_str().unwrap_or_default())).collect())
        }
        (Kind::Patterns, DeValue::Table(table)) => {
            let mut read = serde_json::Map::new();
            for (pointer, wanted) in table {
                if let Err(why) = pattern::check_pointer(pointer.get_ref()) {
                    let message = format!("{}: {why}", quoted(pointer.get_ref()));
                    issues.push(Issue::new(Code::BadPointer, pointer.span().start, message));
                }
                if let Some(text) = text(wanted, "a glob or a regular expression", issues) {
                    is_pattern(text, wanted.span().start, validation, issues);
                    read.insert(pointer.get_ref().to_string(), json!(text));
                }
            }
            Json::Object(read)
        }
        (Kind::Times, DeValue::Integer(number)) => {
            let count = count(number, at, issues)?;
            if count == 0 {
                let message = "invalid number 0; expected at least 1".to_owned();
                let hint = "to turn a gate off, set its mode to \"off\"";
                issues.push(Issue::new(Code::BadValue, at, message).hint(hint));
            }
            json!(count)
        }
        (kind, other) if !kind.is_text() => {
            wrong(at, expected(kind), other, issues);
            return None;
        }
        (kind, _) => {
            let text = text(value, expected(kind), issues)?;
            is_of(kind, text, at, issues);
            json!(text)
        }
    };
    let errors = issues[before..].iter().any(|flaw| flaw.code.severity() == Severity::Error);
    (!errors).then_some(read)
}

fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Switch => "a boolean",
        Kind::Count | Kind::Times => "an integer",
        Kind::Price => "a number such as 2.5",
        Kind::Size => "a size such as \"16 MiB\"",
        Kind::Duration => "a duration such as \"90d\"",
        Kind::Words(_) | Kind::Text => "a string",
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

fn wrong(at: usize, expected: &str, found: &DeValue<'_>, issues: &mut Issues) {
    let message = format!("expected {expected}, found {}", type_of(found));
    issues.push(Issue::new(Code::WrongType, at, message));
}

fn text<'a>(value: &'a Spanned<DeValue<'_>>, expected: &str, issues: &mut Issues) -> Option<&'a str> {
    let text = value.get_ref().as_str();
    if text.is_none() {
        wrong(value.span().start, expected, value.get_ref(), issues);
    }
    text
}

/// Maximum price. A larger one is not the price of a million tokens.
const DEAREST: f64 = 1e6;

fn price(value: &DeValue<'_>, at: usize, issues: &mut Issues) -> Option<f64> {
    let text = match value {
        DeValue::Integer(number) => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => return None,
    };
    let price = text.parse().ok().filter(|price| (0.0..=DEAREST).contains(price));
    if price.is_none() {
        let message = format!("invalid price {text}; expected 0 to {DEAREST}");
        issues.push(Issue::new(Code::BadNumber, at, message));
    }
    price
}

fn count(number: &DeInteger<'_>, at: usize, issues: &mut Issues) -> Option<u32> {
    let count = u32::from_str_radix(number.as_str(), number.radix()).ok();
    if count.is_none() {
        let message = format!("invalid number {number}; expected 0 to {}", u32::MAX);
        issues.push(Issue::new(Code::BadNumber, at, message));
    }
    count
}

fn item_of(kind: Kind, item: &Spanned<DeValue<'_>>, issues: &mut Issues) {
    let Some(text) = text(item, "a string", issues) else { return };
    let at = item.span().start;
    match kind {
        Kind::Globs => is_of(Kind::Glob, text, at, issues),
        Kind::Events => is_of(kind, text, at, issues),
        Kind::Picks(words) => is_of(Kind::Words(words), text, at, issues),
        _ => {}
    }
}

/// Reports why a string is not valid for a type.
fn is_of(kind: Kind, text: &str, at: usize, issues: &mut Issues) {
    let named = quoted(text);
    let (code, message) = match kind {
        Kind::Size if parse_size(text).is_none() => (
            Code::BadSize,
            format!("invalid size {named}; expected a value such as \"16 MiB\" or \"512 KiB\""),
        ),
        Kind::Duration if parse_duration(text).is_none() => (
            Code::BadDuration,
            format!("invalid duration {named}; expected a value such as \"90d\" or \"1m30s\""),
        ),
        Kind::Words(words) if !words.contains(&text) => {
            let listed: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            let message = format!("invalid value {named}; expected one of {}", listed.join(", "));
            let hint = nearest(text, words, 1).map(|close| format!("did you mean \"{close}\"?"));
            issues.push(Issue { hint, ..Issue::new(Code::BadValue, at, message) });
            return;
        }
        Kind::Regex => match program(text, at) {
            Err(issue) => return issues.push(issue),
            // It would match between any two characters.
            Ok(program) if program.is_match("") == Some(true) => {
                (Code::BadRegex, format!("{named} matches the empty string"))
            }
            Ok(_) => return,
        },
        Kind::Glob => match pattern::check_glob(text) {
            Err(why) => (Code::BadGlob, format!("invalid glob {named}: {why}")),
            Ok(()) => return,
        },
        Kind::Events if payload::Kind::named(text) == payload::Kind::Unknown => {
            let known: Vec<&str> = KNOWN.iter().flat_map(|row| [row.1, row.2]).collect();
            let judged: Vec<&str> = JUDGED.iter().map(|kind| kind.name()).collect();
            let hint = match nearest(text, &known, 1) {
                Some(close) => format!("did you mean \"{close}\"?"),
                None => format!("the events that can be blocked are {}", judged.join(", ")),
            };
            issues.push(Issue::new(Code::UnknownEvent, at, format!("unknown event {named}")).hint(hint));
            return;
        }
        _ => return,
    };
    issues.push(Issue::new(code, at, message));
}

fn is_pattern(text: &str, at: usize, validation: Validation, issues: &mut Issues) {
    match pattern::regex_of(text) {
        Some(_) if validation == Validation::WithoutRegexes => {}
        Some(expression) => issues.extend(program(expression, at).err()),
        None => is_of(Kind::Glob, text, at, issues),
    }
}

/// Compiles a regular expression, or reports why it is invalid.
fn program(expression: &str, at: usize) -> Result<BoundedRegex, Issue> {
    BoundedRegex::of(expression).map_err(|error| {
        let named = quoted(expression);
        match error {
            RegexTooCostly::Malformed(why) => {
                Issue::new(Code::BadRegex, at, format!("{named} is not a valid regular expression: {why}"))
            }
            RegexTooCostly::TooLarge => {
                let message = format!("{named} is too large: the compiled regular expression exceeds 64 KiB");
                Issue::new(Code::LargeRegex, at, message)
                    .hint("reduce repetitions: `x{500}` counts as 500 times `x`")
            }
        }
    })
}
