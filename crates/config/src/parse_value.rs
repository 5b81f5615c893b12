//! Reads one value by its type, or reports every problem; durations and sizes.

use std::ops::Range;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value as Json, json};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::keys::Kind;
use super::pattern::{self, BoundedRegex, RegexTooCostly};
use super::settings::Entry;
use super::source::{Code, Problem, Severity, Source};
use teamkeep_model::payload::{self, JUDGED, KNOWN};
use teamkeep_model::time;
use teamkeep_system::error::nearest;

/// Maximum number of reported problems in one file.
const MAX_PROBLEMS: usize = 100;

/// A string in quotes, shortened.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// How thorough the validation is. Compiling regular expressions costs more than all the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validation {
    Full,
    /// A call that needs a regular expression compiles it.
    WithoutRegexes,
}

/// Why a value is rejected: code, message and hint.
type Rejection = (Code, String, Option<String>);

/// A check in progress.
pub(super) struct Checker<'a> {
    pub source: &'a Source,
    pub validation: Validation,
    /// The path of the current value.
    pub path: String,
    pub entries: Vec<Entry>,
    pub problems: Vec<Problem>,
    /// Number of problems that are errors.
    pub errors: usize,
    /// The paths of the values that are rejected.
    pub rejected: Vec<String>,
}

impl Checker<'_> {
    pub(crate) fn report(
        &mut self,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        let is_error = code.severity() == Severity::Error;
        self.errors += usize::from(is_error);
        // The first error is always listed: it disables the file.
        if self.problems.len() < MAX_PROBLEMS || (is_error && self.errors == 1) {
            let hint = hint.into();
            self.problems.push(Problem { hint, ..self.source.problem(code, span, message) });
        }
    }

    /// Reports a problem of the current value.
    fn reject(&mut self, code: Code, span: Range<usize>, message: &str, hint: Option<String>) {
        self.report(code, span, format!("`{}`: {message}", self.path), hint);
        self.rejected.push(self.path.clone());
    }

    pub(crate) fn wrong_type(&mut self, span: Range<usize>, expected: &str, found: &DeValue<'_>) {
        let message = format!("expected {expected}, found {}", type_of(found));
        self.reject(Code::WrongType, span, &message, None);
    }

    /// Reads a value of this type; with an error it cannot be used.
    pub(super) fn read(&mut self, kind: Kind, value: &Spanned<DeValue<'_>>) -> Option<Json> {
        let (errors, span) = (self.errors, value.span());
        let read = match (kind, value.get_ref()) {
            (Kind::Switch, DeValue::Boolean(on)) => json!(on),
            (Kind::Count | Kind::Times, DeValue::Integer(number)) => self.count(kind, number, span)?,
            (Kind::Price, DeValue::Integer(number)) => self.price(number.as_str(), span)?,
            (Kind::Price, DeValue::Float(number)) => self.price(number.as_str(), span)?,
            (Kind::Names | Kind::Globs | Kind::Events | Kind::Picks(_), DeValue::Array(list)) => {
                let kind = match kind {
                    Kind::Globs => Kind::Glob,
                    Kind::Picks(words) => Kind::Words(words),
                    kind => kind,
                };
                let items = list.iter().filter_map(|item| self.text(kind, item, "a string"));
                Json::Array(items.map(Json::from).collect())
            }
            (Kind::Patterns, DeValue::Table(table)) => self.patterns(table),
            (kind, other) if !kind.is_text() => {
                self.wrong_type(span, expected(kind), other);
                return None;
            }
            (kind, _) => json!(self.text(kind, value, expected(kind))?),
        };
        (self.errors == errors).then_some(read)
    }

    fn patterns(&mut self, table: &DeTable<'_>) -> Json {
        let mut read = serde_json::Map::new();
        for (pointer, wanted) in table {
            if let Err(why) = pattern::check_pointer(pointer.get_ref()) {
                let message = format!("{}: {why}", quoted(pointer.get_ref()));
                self.reject(Code::BadPointer, pointer.span(), &message, None);
            }
            let kind = match wanted.get_ref().as_str().and_then(pattern::regex_of) {
                Some(_) => Kind::Text,
                None => Kind::Glob,
            };
            let Some(text) = self.text(kind, wanted, "a glob or a regular expression") else { continue };
            if let Some(expression) = pattern::regex_of(text)
                && self.validation == Validation::Full
                && let Err((code, message, hint)) = compile(expression)
            {
                self.reject(code, wanted.span(), &message, hint);
            }
            read.insert(pointer.get_ref().to_string(), json!(text));
        }
        Json::Object(read)
    }

    fn price(&mut self, text: &str, span: Range<usize>) -> Option<Json> {
        let price = text.parse::<f64>().ok().filter(|price| (0.0..=MAX_PRICE).contains(price));
        if price.is_none() {
            let message = format!("invalid number {text} of US dollars; expected 0 to {MAX_PRICE}");
            self.reject(Code::BadNumber, span, &message, None);
        }
        price.map(Json::from)
    }

    fn count(&mut self, kind: Kind, number: &DeInteger<'_>, span: Range<usize>) -> Option<Json> {
        let count = u32::from_str_radix(number.as_str(), number.radix()).ok();
        if count.is_none() {
            let message = format!("invalid number {number}; expected 0 to {}", u32::MAX);
            self.reject(Code::BadNumber, span, &message, None);
        } else if kind == Kind::Times && count == Some(0) {
            let hint = "to turn a gate off, set its mode to \"off\"".to_owned();
            self.reject(Code::BadValue, span, "invalid number 0; expected at least 1", Some(hint));
        }
        count.map(Json::from)
    }

    /// Reads and checks a string.
    fn text<'a>(&mut self, kind: Kind, value: &'a Spanned<DeValue<'_>>, expected: &str) -> Option<&'a str> {
        let text = value.get_ref().as_str();
        match text.map(|text| check_text(kind, text)) {
            None => self.wrong_type(value.span(), expected, value.get_ref()),
            Some(Err((code, message, hint))) => self.reject(code, value.span(), &message, hint),
            Some(Ok(())) => {}
        }
        text
    }
}

fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Switch => "a boolean",
        Kind::Count | Kind::Times => "an integer",
        Kind::Price => "a number such as 2.5",
        Kind::Percent => "a percentage such as \"80%\"",
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
pub(crate) fn type_of(value: &DeValue<'_>) -> &'static str {
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

/// Maximum price. A larger one is not the price of a million tokens.
const MAX_PRICE: f64 = 1e6;

pub(super) fn blockable_events() -> String {
    let judged: Vec<&str> = JUDGED.iter().map(|kind| kind.name()).collect();
    format!("the events that can be blocked are {}", judged.join(", "))
}

/// Checks a string of a type.
fn check_text(kind: Kind, text: &str) -> Result<(), Rejection> {
    let named = quoted(text);
    let did_you_mean =
        |known: &[&str]| nearest(text, known, 1).map(|near| format!("did you mean \"{near}\"?"));
    Err(match kind {
        Kind::Size if parse_size(text).is_none() => {
            let message = format!("invalid size {named}; expected a value such as \"16 MiB\" or \"512 KiB\"");
            (Code::BadSize, message, None)
        }
        Kind::Duration if parse_duration(text).is_none() => {
            let message = format!("invalid duration {named}; expected a value such as \"90d\" or \"1m30s\"");
            (Code::BadDuration, message, None)
        }
        Kind::Percent if parse_percent(text).is_none() => {
            let message = format!("invalid percentage {named}; expected \"1%\" to \"1000%\", or \"never\"");
            (Code::BadValue, message, None)
        }
        Kind::Words(words) if !words.contains(&text) => {
            let listed: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            let message = format!("invalid value {named}; expected one of {}", listed.join(", "));
            (Code::BadValue, message, did_you_mean(words))
        }
        // It would match between any two characters.
        Kind::Regex if compile(text)?.is_match("") == Some(true) => {
            (Code::BadRegex, format!("{named} matches the empty string"), None)
        }
        Kind::Glob => {
            let invalid = |why| (Code::BadGlob, format!("invalid glob {named}: {why}"), None);
            return pattern::check_glob(text).map_err(invalid);
        }
        Kind::Events if payload::EventKind::named(text) == payload::EventKind::Unknown => {
            let known: Vec<&str> = KNOWN.iter().flat_map(|row| [row.1, row.2]).collect();
            let hint = did_you_mean(&known).unwrap_or_else(blockable_events);
            (Code::UnknownEvent, format!("unknown event {named}"), Some(hint))
        }
        _ => return Ok(()),
    })
}

/// Compiles a regular expression, or explains why it is invalid.
fn compile(expression: &str) -> Result<BoundedRegex, Rejection> {
    let named = quoted(expression);
    BoundedRegex::of(expression).map_err(|error| match error {
        RegexTooCostly::Malformed(why) => {
            (Code::BadRegex, format!("{named} is not a valid regular expression: {why}"), None)
        }
        RegexTooCostly::TooLarge => (
            Code::LargeRegex,
            format!("{named} is too large: the compiled regular expression exceeds 64 KiB"),
            Some("reduce repetitions: `x{500}` counts as 500 times `x`".to_owned()),
        ),
    })
}

// Durations (`"90d"`) and sizes (`"16 MiB"`).

/// Parses a duration such as `"90d"`. A number without a unit is invalid.
pub(super) fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    parse_duration(&text).ok_or_else(|| {
        D::Error::custom(format!("invalid duration {text:?}; expected a value such as \"90d\" or \"1m30s\""))
    })
}

/// Parses a size such as `"16 MiB"` into bytes.
pub(super) fn size<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    parse_size(&text).ok_or_else(|| {
        D::Error::custom(format!("invalid size {text:?}; expected a value such as \"16 MiB\" or \"512 KiB\""))
    })
}

/// Parses a duration such as `90d`; `None` if it is invalid or has no unit.
pub fn parse_duration(text: &str) -> Option<Duration> {
    if text.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    time::parse_span(text).and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis)
}

/// Parses a size such as `16 MiB` into bytes; `None` if it is invalid.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit: f64 = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "b" => 1.0,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        _ => return None,
    };
    let bytes = number * unit;
    (bytes.is_finite() && bytes < 1e15).then_some(bytes.round() as u64)
}

/// A percentage above this is a mistake.
const MAX_PERCENT: u32 = 1_000;

/// Parses `80%`; `never` is the inner `None`. The outer one is an invalid text.
pub(super) fn parse_percent(text: &str) -> Option<Option<u32>> {
    if text == "never" {
        return Some(None);
    }
    let number = text.strip_suffix('%')?.parse().ok()?;
    (1..=MAX_PERCENT).contains(&number).then_some(Some(number))
}

#[cfg(test)]
mod units_tests {
    use super::*;

    #[test]
    fn a_percentage_is_a_positive_integer_or_never() {
        assert_eq!(parse_percent("80%"), Some(Some(80)));
        assert_eq!(parse_percent("1000%"), Some(Some(1_000)));
        assert_eq!(parse_percent("never"), Some(None));
        for invalid in ["", "80", "0%", "1001%", "-1%", "8.5%", "%", "80 %", "Never", "99999999999%"] {
            assert_eq!(parse_percent(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn sizes_are_read_in_binary_and_decimal_units() {
        assert_eq!(parse_size("16 MiB"), Some(16 << 20));
        assert_eq!(parse_size("1.5kib"), Some(1536));
        assert_eq!(parse_size("2GB"), Some(2_000_000_000));
        assert_eq!(parse_size("0 B"), Some(0));
        for bad in ["", "16", "MiB", "-1 MiB", "1 TiB", "1..2 KiB", "9999999999 GiB"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_duration_needs_its_unit() {
        assert_eq!(parse_duration("90d"), Some(Duration::from_secs(90 * 86_400)));
        assert_eq!(parse_duration("250ms"), Some(Duration::from_millis(250)));
        for bad in ["", "90", "1.5", "-1s", "soon"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }
}
