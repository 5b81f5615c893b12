//! Team directories that a client has left behind.

use std::path::Path;

use super::code::Code;
use super::facts::{Facts, count};
use super::finding::Finding;
use crate::event::SafeName;
use crate::restore::holder;
use crate::settings::command::quoted;

/// How many are named.
const NAMED: usize = 5;

/// Looks for teams whose client is gone for certain. They are told, and never deleted.
pub fn check(facts: &Facts<'_>) -> Finding {
    let code = Code::StaleTeams;
    let Some(client) = facts.paths.client.as_deref() else {
        return Finding::unknown(code, "where the client keeps its teams cannot be told: HOME is not set");
    };
    let stale = stale(client);
    let Some(first) = stale.first() else {
        return Finding::ok(code, "no team directory of a client that is gone");
    };
    let more = stale.len().saturating_sub(NAMED);
    let mut names = stale.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        names.push_str(&format!(" and {more} more"));
    }
    let what = format!("{} of a client that is gone: {names}", count(stale.len(), "team directory"));
    let what = what.replace("team directorys", "team directories");
    let path = client.join("teams").join(first);
    let mend = format!(
        "look first: {} show {}; then: rm -r {}",
        facts.call,
        quoted(first),
        quoted(&path.to_string_lossy())
    );
    Finding::warn(code, what).mend(mend)
}

/// The teams that nobody holds, by name.
fn stale(client: &Path) -> Vec<String> {
    let teams = std::fs::read_dir(client.join("teams")).into_iter().flatten().flatten();
    let mut stale: Vec<String> = teams
        .filter(|entry| entry.path().join("config.json").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| SafeName::new(name).is_some() && holder(client, name).is_none())
        .collect();
    stale.sort();
    stale
}
