//! The cache of the organization's and the user's file, so that a hook call does not check unchanged files again.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::settings::{Settings, tree};
use super::{Config, OnError};
use teamkeep_system::fs;

/// The version that wrote the cache. Another version may read the file differently.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");
/// The file, stored beside the policy's counts.
#[derive(Serialize, Deserialize)]
struct Cache<C> {
    program: String,
    hash: String,
    /// The position of each rule, for the verdicts.
    #[serde(rename = "places")]
    file_lines: Vec<String>,
    config: C,
}

/// The `on-error` of the last valid content of the user's file.
pub fn last_on_error(user: &Path, cache: &Path) -> Option<OnError> {
    let known: Json = serde_json::from_slice(&fs::read_regular(cache, fs::MAX_JSON_BYTES).ok()?.0).ok()?;
    let (_, path) = known.get("hash")?.as_str()?.split_once(' ')?;
    let on_error = known.pointer("/config/policy/on-error").filter(|_| path == user.display().to_string())?;
    OnError::deserialize(on_error).ok()
}

/// Writes the cache. A failure is ignored.
pub(super) fn write_cache(path: &Path, hash: String, config: &Config, settings: &Settings) {
    let file_lines = config.rule.iter().map(|rule| rule.file_line.clone()).collect();
    let cache = Cache { program: PROGRAM.to_owned(), hash, file_lines, config: tree(settings) };
    if let (Some(dir), Ok(bytes)) = (path.parent(), serde_json::to_vec(&cache)) {
        let _ = fs::private_dir(dir).and_then(|()| fs::write_atomic(path, &bytes));
    }
}

/// The configuration in the cache, if it is that of files with this hash.
pub(super) fn read_cache(path: &Path, wanted: &str) -> Option<Config> {
    let bytes = fs::read_regular(path, fs::MAX_JSON_BYTES).ok()?.0;
    let Cache { program, hash, file_lines, mut config } =
        serde_json::from_slice::<Cache<Config>>(&bytes).ok()?;
    if program != PROGRAM || hash != wanted || file_lines.len() != config.rule.len() {
        return None;
    }
    config.rule.iter_mut().zip(file_lines).for_each(|(rule, file_line)| rule.file_line = file_line);
    Some(config)
}
