//! Settings: valid values with their origins, from which the configuration is built.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value as Json;

use super::source::Source;
use super::{Config, Policy};

/// The file that a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// None: the default.
    Default,
    Organization,
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

/// The strings of a list.
pub(super) fn words(list: &Json) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str)
}

/// The default of the key at this path.
pub(super) fn default_of(path: &str) -> Json {
    // A hook call asks only for the keys that a project can set.
    static POLICY: LazyLock<Json> =
        LazyLock::new(|| serde_json::to_value(Policy::default()).unwrap_or_default());
    let pointer = |path: &str| format!("/{}", path.replace('.', "/"));
    let found = match path.strip_prefix("policy.") {
        Some(path) => POLICY.pointer(&pointer(path)).cloned(),
        None => {
            serde_json::to_value(Config::default()).ok().and_then(|all| all.pointer(&pointer(path)).cloned())
        }
    };
    found.unwrap_or_default()
}

/// Reads a configuration. Always from bytes, like the cache: a second reader would make the hook program 90 KB larger.
pub(super) fn parse(tree: &Json) -> serde_json::Result<Config> {
    serde_json::from_slice(&serde_json::to_vec(tree)?)
}

/// Builds the configuration from checked values.
pub(super) fn build(settings: &Settings) -> Result<Config, String> {
    if settings.is_empty() {
        return Ok(Config::default());
    }
    let mut config = parse(&tree(settings)).map_err(|error| error.to_string())?;
    for (index, rule) in config.rule.iter_mut().enumerate() {
        let name = settings.get(&format!("rule[{index}].name"));
        rule.file_line = name.map_or_else(|| rule.name.clone(), |name| name.origin.location());
    }
    config.policy.unpausable = config.organization.unpausable();
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
