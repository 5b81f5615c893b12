//! Team directories that a client has left behind.

use std::path::Path;

use super::code::Code;
use super::facts::{Facts, count};
use super::finding::Finding;
use crate::event::SafeName;
use crate::fs::read_regular;
use crate::process::is_gone;
use crate::restore::holder;
use crate::settings::command::{operand, quoted};
use crate::team::{TeamConfig, erasing};

/// A team's configuration is never larger.
const LARGEST: u64 = 16 << 20;
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
    let what = format!("{} left of a client that is gone: {names}", count(stale.len(), "team"));
    let path = client.join("teams").join(first);
    let mend = format!(
        "look first: {} show {}; then: rm -r {}",
        facts.call,
        operand(erasing(first).unwrap_or(first)),
        quoted(&path.to_string_lossy())
    );
    Finding::warn(code, what).mend(mend)
}

/// The teams whose client is gone for certain, by name.
fn stale(client: &Path) -> Vec<String> {
    let teams = std::fs::read_dir(client.join("teams")).into_iter().flatten().flatten();
    let mut stale: Vec<String> = teams
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| SafeName::new(name).is_some() && is_stale(client, name))
        .collect();
    stale.sort();
    stale
}

fn is_stale(client: &Path, name: &str) -> bool {
    let config = read_regular(&client.join("teams").join(name).join("config.json"), LARGEST);
    let Some(team) = config.ok().and_then(|(bytes, _)| TeamConfig::parse(&bytes)) else { return false };
    match team.lead_process {
        Some(lead) => is_gone(lead.pid, lead.space.as_deref(), lead.start.as_deref()),
        // A client before 2.1.328 names no process, and after `/clear` its session has another id than the team's lead:
        // as long as any client runs, it may be this one.
        None => holder(client, name).is_none() && !any_runs(client),
    }
}

/// Whether a session that the client has noted (`sessions/<pid>.json`) may still run.
fn any_runs(client: &Path) -> bool {
    let notes = std::fs::read_dir(client.join("sessions")).into_iter().flatten().flatten();
    let mut pids = notes.filter_map(|note| note.path().file_stem()?.to_str()?.parse::<u32>().ok());
    pids.any(|pid| !is_gone(pid, None, None))
}
