//! The values of all layers in one map, and the configuration built from them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::Config;
use super::keys::Key;
use super::source::Source;

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
    pub fn place(&self) -> String {
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
    /// Its byte offset.
    pub at: usize,
}

impl Entry {
    pub(super) fn setting(&self, source: &Source, layer: Layer) -> Setting {
        let origin = Origin { layer, file: Some(source.path.clone()), line: Some(source.line(self.at)) };
        Setting { value: self.value.clone(), origin }
    }
}

/// Builds the configuration from checked values.
pub(super) fn build(settings: &Settings) -> Result<Config, String> {
    let mut config = Config::deserialize(tree(settings)).map_err(|error| error.to_string())?;
    for (index, rule) in config.rule.iter_mut().enumerate() {
        let name = settings.get(&format!("rule[{index}].name"));
        rule.place = name.map_or_else(|| rule.name.clone(), |name| name.origin.place());
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
    use crate::config::keys::KEYS;

    #[test]
    fn the_defaults_of_the_table_make_the_default() {
        let plain = KEYS.iter().filter(|key| !key.path.contains("[]"));
        let settings: Settings = plain
            .map(|key| {
                let value = serde_json::from_str(key.default.unwrap()).unwrap();
                (key.path.to_owned(), Setting { value, origin: Origin::DEFAULT })
            })
            .collect();
        assert_eq!(build(&settings).unwrap(), Config::default());
    }

    #[test]
    fn the_defaults_of_a_check_and_a_rule_are_those_of_the_table() {
        let set = |paths: &[(&str, &str)], all: bool| {
            let mut settings = Settings::new();
            let mut put = |path: &str, value: Json| {
                let path = path.replace("[]", "[0]");
                settings.insert(path, Setting { value, origin: Origin::DEFAULT });
            };
            for key in KEYS.iter().filter(|key| all && key.path.contains("[]")) {
                if let Some(default) = key.default {
                    put(key.path, serde_json::from_str(default).unwrap());
                }
            }
            paths.iter().for_each(|(path, value)| put(path, Json::from(*value)));
            build(&settings).unwrap()
        };
        let needed = [
            ("rule[].name", "r"),
            ("rule[].action", "warn"),
            ("policy.completion-check.check[].run", "true"),
            ("report.price[].model", "m"),
        ];
        assert_eq!(set(&needed, true), set(&needed, false));
    }

    #[test]
    fn tenth_rule_follows_the_second() {
        let mut settings = Settings::new();
        for place in 0..12 {
            for (key, value) in [("name", format!("r{place}")), ("action", "warn".to_owned())] {
                let setting = Setting { value: Json::from(value), origin: Origin::DEFAULT };
                settings.insert(format!("rule[{place}].{key}"), setting);
            }
        }
        let names: Vec<String> = build(&settings).unwrap().rule.into_iter().map(|rule| rule.name).collect();
        assert_eq!(names, (0..12).map(|place| format!("r{place}")).collect::<Vec<_>>());
    }
}
