//! The kinds of values: how each is read, written and described in the JSON Schema. A field names its kind, as in
//! `#[serde(with = "Size")]`; both serde and schemars follow it. Other fields have the kind of their type.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serializer};

use super::pattern;
use super::source::Code;
use teamkeep_model::time;
use teamkeep_system::error::nearest;

/// Why a value is rejected. serde passes errors on only as texts, so each of these has a line of the text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub code: Code,
    pub message: String,
    pub hint: Option<String>,
}

impl Rejection {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Rejection {
        Rejection { code, message: message.into(), hint: None }
    }

    /// The rejection of a text that is none of these words.
    pub(crate) fn of_word(text: &str, words: &[&str]) -> Rejection {
        let listed: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let message = format!("invalid value {}; expected one of {}", quoted(text), listed.join(", "));
        Rejection { hint: did_you_mean(text, words), ..Rejection::from(message) }
    }

    /// The rejection in the text of an error; `None` if it is an error of serde itself.
    pub(crate) fn parse(text: &str) -> Option<Rejection> {
        let mut lines = text.splitn(3, '\n');
        let (name, message) = (lines.next()?, lines.next()?.to_owned());
        let code = Code::ALL.iter().copied().find(|code| code.name() == name)?;
        let hint = lines.next().filter(|hint| !hint.is_empty()).map(str::to_owned);
        Some(Rejection { code, message, hint })
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}\n{}\n{}", self.code.name(), self.message, self.hint.as_deref().unwrap_or_default())
    }
}

impl From<String> for Rejection {
    fn from(message: String) -> Rejection {
        Rejection::new(Code::BadValue, message)
    }
}

/// A string in quotes, shortened.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

pub(crate) fn did_you_mean(text: &str, known: &[&str]) -> Option<String> {
    nearest(text, known, 1).map(|near| format!("did you mean \"{near}\"?"))
}

/// A kind of values that are written as strings.
pub(crate) trait ValueKind {
    type Value;
    /// A value of this kind, with an example.
    const EXPECTED: &'static str;

    fn read(text: &str) -> Result<Self::Value, Rejection>;

    fn write(value: &Self::Value) -> String;

    fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(Text { expected: Self::EXPECTED, read: Self::read })
    }

    fn serialize<S: Serializer>(value: &Self::Value, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&Self::write(value))
    }
}

struct Text<T> {
    expected: &'static str,
    read: fn(&str) -> Result<T, Rejection>,
}

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.expected)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text).map_err(E::custom)
    }
}

kinds! {
    Size(u64): "a size such as \"16 MiB\"",
        {"title": "size", "type": "string", "pattern": "^\\s*[0-9.]+\\s*([kKmMgG][iI]?)?[bB]\\s*$"},
        size, write_size;
    Span(Duration): "a duration such as \"90d\"",
        {"title": "duration", "type": "string", "pattern": "^\\s*([0-9.]+(ms|s|m|h|d|w))+([0-9.]+)?\\s*$"},
        duration, write_duration;
    Percent(Option<u32>): "a percentage such as \"80%\"",
        {"title": "percentage, or `\"never\"`", "type": "string", "pattern": "^([0-9]+%|never)$"},
        percent, |part: &Option<u32>| part.map_or("never".to_owned(), |part| format!("{part}%"));
    Glob(String): "a glob in quotes", {"title": "glob", "type": "string", "minLength": 1}, glob, String::clone;
    /// Compiled only by a complete check.
    Expression(String): "a regular expression in quotes",
        {"title": "regular expression", "type": "string", "minLength": 1}, plain, String::clone;
    HttpAddress(String): "a string", {"type": "string"}, |text| checked(text, check_url), String::clone;
    FilePath(String): "a string", {"type": "string"}, |text| checked(text, check_path), String::clone;
}

/// A percentage above this is a mistake.
const MAX_PERCENT: u32 = 1_000;
/// Maximum price in US dollars. A larger one is not the price of a million tokens.
const MAX_PRICE: f64 = 1e6;

pub(crate) fn plain(text: &str) -> Result<String, Rejection> {
    Ok(text.to_owned())
}

/// Reads a text that passes this check.
pub(crate) fn checked(text: &str, check: fn(&str) -> Result<(), String>) -> Result<String, Rejection> {
    check(text)?;
    plain(text)
}

/// Reads one of these words.
pub(crate) fn word(text: &str, words: &[&str]) -> Result<String, Rejection> {
    if words.contains(&text) { plain(text) } else { Err(Rejection::of_word(text, words)) }
}

pub(crate) fn glob(text: &str) -> Result<String, Rejection> {
    let invalid = |why| Rejection::new(Code::BadGlob, format!("invalid glob {}: {why}", quoted(text)));
    pattern::check_glob(text).map_err(invalid)?;
    plain(text)
}

fn size(text: &str) -> Result<u64, Rejection> {
    parse_size(text).ok_or_else(|| {
        let expected = "expected a value such as \"16 MiB\" or \"512 KiB\"";
        Rejection::new(Code::BadSize, format!("invalid size {}; {expected}", quoted(text)))
    })
}

pub(crate) fn duration(text: &str) -> Result<Duration, Rejection> {
    parse_duration(text).ok_or_else(|| {
        let expected = "expected a value such as \"90d\" or \"1m30s\"";
        Rejection::new(Code::BadDuration, format!("invalid duration {}; {expected}", quoted(text)))
    })
}

fn percent(text: &str) -> Result<Option<u32>, Rejection> {
    if text == "never" {
        return Ok(None);
    }
    let number = text.strip_suffix('%').and_then(|number| number.parse().ok());
    number.filter(|number| (1..=MAX_PERCENT).contains(number)).map(Some).ok_or_else(|| {
        let expected = "expected \"1%\" to \"1000%\", or \"never\"";
        Rejection::from(format!("invalid percentage {}; {expected}", quoted(text)))
    })
}

/// A number of US dollars; its values are millionths.
pub(crate) struct Usd;

impl Usd {
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let number = f64::deserialize(from)?;
        if !(0.0..=MAX_PRICE).contains(&number) {
            let message = format!("invalid number {number} of US dollars; expected 0 to {MAX_PRICE}");
            return Err(D::Error::custom(Rejection::new(Code::BadNumber, message)));
        }
        Ok((number * 1e6).round() as u64)
    }

    pub(super) fn serialize<S: Serializer>(millionths: &u64, to: S) -> Result<S::Ok, S::Error> {
        match millionths % 1_000_000 {
            0 => to.serialize_u64(millionths / 1_000_000),
            _ => to.serialize_f64(*millionths as f64 / 1e6),
        }
    }
}

/// A list of values of a kind.
pub(crate) struct ListOf<K>(PhantomData<K>);

struct Item<K: ValueKind>(K::Value);

impl<'de, K: ValueKind> Deserialize<'de> for Item<K> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Item<K>, D::Error> {
        K::deserialize(from).map(Item)
    }
}

impl<K: ValueKind> ListOf<K> {
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<K::Value>, D::Error> {
        Ok(Vec::<Item<K>>::deserialize(from)?.into_iter().map(|item| item.0).collect())
    }

    pub(super) fn serialize<S: Serializer>(list: &[K::Value], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(list.iter().map(K::write))
    }
}

/// A table from JSON pointers to globs, or regular expressions between slashes.
pub(crate) struct Patterns;

impl Patterns {
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<String, String>, D::Error> {
        let patterns = BTreeMap::<String, String>::deserialize(from)?;
        for (pointer, wanted) in &patterns {
            let invalid = |why| Rejection::new(Code::BadPointer, format!("{}: {why}", quoted(pointer)));
            pattern::check_pointer(pointer).map_err(invalid).map_err(D::Error::custom)?;
            if pattern::regex_of(wanted).is_none() {
                glob(wanted).map_err(D::Error::custom)?;
            }
        }
        Ok(patterns)
    }

    pub(super) fn serialize<S: Serializer>(all: &BTreeMap<String, String>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(all)
    }
}

described!(Usd, {"title": "number, 0 or more", "type": "number", "minimum": 0, "maximum": 1_000_000});
described!(Patterns, {
    "title": "table: JSON pointer = glob or `\"/regex/\"`",
    "type": "object",
    "propertyNames": {"pattern": "^/"},
    "additionalProperties": {"type": "string", "minLength": 1},
});

#[cfg(feature = "schema")]
impl<K: schemars::JsonSchema> schemars::JsonSchema for ListOf<K> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "list".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "array", "items": generator.subschema_for::<K>()})
    }
}

// Durations (`"90d"`) and sizes (`"16 MiB"`).

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

fn write_size(bytes: &u64) -> String {
    in_largest_unit(*bytes, &[(1 << 30, " GiB"), (1 << 20, " MiB"), (1 << 10, " KiB"), (1, " B")])
}

fn write_duration(duration: &Duration) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    in_largest_unit(duration.as_millis() as u64, &units)
}

/// A number in the largest unit of which it is a multiple.
fn in_largest_unit(number: u64, units: &[(u64, &str)]) -> String {
    let unit = units.iter().find(|(unit, _)| number > 0 && number.is_multiple_of(*unit)).or(units.last());
    unit.map_or_else(|| number.to_string(), |(unit, name)| format!("{}{name}", number / unit))
}

// Addresses and paths.

/// The path of a file; `None` without one. `~/` is the home directory.
pub(super) fn below_home(file: &str, home: Option<&Path>) -> Option<PathBuf> {
    match (file.strip_prefix("~/"), home) {
        _ if file.is_empty() => None,
        (Some(below), home) => home.map(|home| home.join(below)),
        (None, _) => Some(PathBuf::from(file)),
    }
}

/// Checks an address: http or https, and only characters that an address has.
pub fn check_url(url: &str) -> Result<(), String> {
    if url.is_empty() {
        return Ok(());
    }
    let rest = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let Some(rest) = rest else {
        return Err("invalid address; expected one that starts with http:// or https://".to_owned());
    };
    if rest.is_empty() || rest.starts_with(['/', '?', '#', ':']) {
        return Err("the address names no host".to_owned());
    }
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '<' | '>');
    if !url.chars().all(is_plain) {
        return Err("the address has spaces, quotes or characters that need encoding".to_owned());
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), String> {
    match path.is_empty() || path.starts_with("~/") || Path::new(path).is_absolute() {
        true => Ok(()),
        false => Err("invalid path; expected an absolute one, or one that starts with ~/".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_http_or_https_with_a_host() {
        for good in ["", "https://example.com", "http://127.0.0.1:8080/hook?a=b&c=%20", "https://u:p@h/[x]"] {
            assert_eq!(check_url(good), Ok(()), "{good}");
        }
        for bad in [
            "example.com",
            "ftp://example.com",
            "HTTPS//example.com",
            "https://",
            "https:///path",
            "http://:80",
            "https://example.com/a b",
            "https://example.com/\"",
            "https://example.com/\n",
            "https://example.com/\\",
            "https://exämple.com",
            "file:///etc/passwd",
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_path_is_absolute_or_below_the_home_directory() {
        let absolute = std::env::temp_dir();
        assert!(check_path("").is_ok() && check_path("~/x").is_ok());
        assert!(check_path(absolute.to_str().unwrap()).is_ok());
        assert!(check_path("secret").is_err() && check_path("~other/x").is_err());
    }

    #[test]
    fn a_percentage_is_a_positive_integer_or_never() {
        let parse_percent = |text| percent(text).ok();
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

    #[test]
    fn what_is_written_is_read_as_the_same_value() {
        for bytes in [0, 1, 500, 1 << 10, 1_500, 16 << 20, 1 << 30] {
            assert_eq!(parse_size(&write_size(&bytes)), Some(bytes));
        }
        for millis in [0, 1, 250, 1_000, 90_000, 600_000, 90 * 86_400_000] {
            let duration = Duration::from_millis(millis);
            assert_eq!(parse_duration(&write_duration(&duration)), Some(duration));
        }
    }
}
