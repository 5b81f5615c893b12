//! Durations (`"90d"`) and sizes (`"16 MiB"`).

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use teamkeep_model::time;

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
mod tests {
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
