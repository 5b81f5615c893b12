//! The typed configuration, with its durations (`"90d"`) and sizes (`"16 MiB"`), and the settings that it is built
//! from. `default.toml` describes each key.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use super::keys::{Key, REDACTABLE};
use super::source::Source;
use super::{Policy, Rule};
use crate::sys::clock;

const MIB: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    pub log: Log,
    pub archive: Archive,
    pub hook: Hook,
    pub report: Report,
    pub incidents: Incidents,
    pub privacy: Privacy,
    pub policy: Policy,
    pub rule: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Log {
    #[serde(deserialize_with = "size")]
    pub segment_size: u64,
    #[serde(deserialize_with = "duration")]
    pub keep: Duration,
    #[serde(deserialize_with = "size")]
    pub keep_size: u64,
    #[serde(deserialize_with = "duration")]
    pub lock_patience: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Archive {
    /// The response to a TeamDelete if the team's files could not be archived first.
    pub on_failure: OnFailure,
    #[serde(deserialize_with = "size")]
    pub largest_file: u64,
    #[serde(deserialize_with = "duration")]
    pub longest_look: Duration,
}

/// The response to a TeamDelete that was not archived first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    Block,
    Warn,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hook {
    pub watch: bool,
    #[serde(deserialize_with = "size")]
    pub largest_input: u64,
    #[serde(deserialize_with = "duration")]
    pub stdin_patience: Duration,
    #[serde(deserialize_with = "duration")]
    pub slow: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Report {
    pub price: Vec<Price>,
}

/// The prices for some models in the user's currency: millionths for a million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Price {
    pub model: String,
    #[serde(default, deserialize_with = "millionths")]
    pub input: u64,
    #[serde(default, deserialize_with = "millionths")]
    pub output: u64,
    #[serde(default, deserialize_with = "millionths")]
    pub cache_read: u64,
    #[serde(default, deserialize_with = "millionths")]
    pub cache_write: u64,
}

/// The thresholds of incidents.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Incidents {
    #[serde(deserialize_with = "duration")]
    pub silent: Duration,
    #[serde(deserialize_with = "duration")]
    pub unread: Duration,
    #[serde(deserialize_with = "duration")]
    pub waiting: Duration,
    pub ping_pong: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Privacy {
    pub record: RecordMode,
    pub redact: Vec<String>,
    pub pattern: Vec<Pattern>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordMode {
    Verbatim,
    Metadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pattern {
    pub name: String,
    pub regex: String,
}

impl Default for Privacy {
    fn default() -> Privacy {
        let redact = REDACTABLE.iter().map(|name| (*name).to_owned()).collect();
        Privacy { record: RecordMode::Verbatim, redact, pattern: Vec::new() }
    }
}

impl Default for Incidents {
    fn default() -> Incidents {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        Incidents { silent: minutes(15), unread: minutes(15), waiting: minutes(5), ping_pong: 10 }
    }
}

impl Default for Log {
    fn default() -> Log {
        Log {
            segment_size: 16 * MIB,
            keep: Duration::from_secs(90 * 86_400),
            keep_size: 512 * MIB,
            lock_patience: Duration::from_secs(1),
        }
    }
}

impl Default for Archive {
    fn default() -> Archive {
        Archive { on_failure: OnFailure::Block, largest_file: 32 * MIB, longest_look: Duration::from_secs(1) }
    }
}

impl Default for Hook {
    fn default() -> Hook {
        Hook {
            watch: true,
            largest_input: 16 * MIB,
            stdin_patience: Duration::from_secs(2),
            slow: Duration::from_millis(250),
        }
    }
}

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

/// Parses a number such as 2.5 into millionths.
fn millionths<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let number = f64::deserialize(from)?;
    let millionths = number * 1e6;
    if !(0.0..1e15).contains(&millionths) {
        return Err(D::Error::custom(format!("invalid price {number}")));
    }
    Ok(millionths.round() as u64)
}

/// Parses a duration such as `90d`; `None` if it is invalid or has no unit.
pub fn parse_duration(text: &str) -> Option<Duration> {
    if text.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    clock::parse_span(text).and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis)
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

/// The file that a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// None: the default.
    Default,
    User,
    Project,
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Origin {
    pub layer: Layer,
    /// The file, for a value that is not the default.
    pub file: Option<PathBuf>,
    /// The line in it; `None` for a value that the file had when it was last valid.
    pub line: Option<usize>,
}

impl Origin {
    pub const DEFAULT: Origin = Origin { layer: Layer::Default, file: None, line: None };

    /// The origin of a value that the user's file had when it was last valid.
    pub fn last(file: &Path) -> Origin {
        Origin { layer: Layer::User, file: Some(file.to_path_buf()), line: None }
    }

    /// `path:line`, or `default`.
    pub fn location(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{}:{line}", file.display()),
            (Some(file), None) => format!("{} (last valid content)", file.display()),
            (None, _) => "default".to_owned(),
        }
    }
}

/// A value as TOML and JSON, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub value: Json,
    pub origin: Origin,
}

/// The values that are set, by path: `policy.max-blocks`, `rule[0].name`. All others have their default.
pub type Settings = BTreeMap<String, Setting>;

/// A valid value in a file.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its path, with dots and list indexes: `rule[0].name`.
    pub path: String,
    pub key: &'static Key,
    pub value: Json,
    /// The bytes of the value.
    pub span: Range<usize>,
}

impl Entry {
    pub(super) fn setting(&self, source: &Source, layer: Layer) -> Setting {
        let origin =
            Origin { layer, file: Some(source.path.clone()), line: Some(source.line(self.span.start)) };
        Setting { value: self.value.clone(), origin }
    }
}

/// Builds the configuration from checked values.
pub(super) fn build(settings: &Settings) -> Result<Config, String> {
    let mut config = Config::deserialize(tree(settings)).map_err(|error| error.to_string())?;
    for (index, rule) in config.rule.iter_mut().enumerate() {
        let name = settings.get(&format!("rule[{index}].name"));
        rule.file_line = name.map_or_else(|| rule.name.clone(), |name| name.origin.location());
    }
    Ok(config)
}

/// The values as one tree.
pub(super) fn tree(settings: &Settings) -> Json {
    let mut root = Json::Object(serde_json::Map::new());
    for (path, setting) in settings {
        *slot(&mut root, path) = setting.value.clone();
    }
    root
}

/// The node at a path of the tree, created if missing.
fn slot<'a>(root: &'a mut Json, path: &str) -> &'a mut Json {
    let mut at = root;
    for name in path.split('.') {
        let (name, index) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            Some((name, index)) => (name, index.parse::<usize>().ok()),
            None => (name, None),
        };
        at = &mut at[name];
        if let Some(index) = index {
            if at.is_null() {
                *at = Json::Array(Vec::new());
            }
            if let Some(list) = at.as_array_mut()
                && list.len() <= index
            {
                list.resize(index + 1, Json::Object(serde_json::Map::new()));
            }
            at = &mut at[index];
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

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
