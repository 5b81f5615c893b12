//! Finds stale team directories of Claude Code.

use std::path::Path;

use super::code::Code;
use super::facts::Facts;
use super::finding::Finding;
use crate::event::SafeName;
use crate::fs::read_regular;
use crate::process::is_gone;
use crate::restore::holder;
use crate::settings::change::count;
use crate::settings::command::{quoted, shell_operand};
use crate::team::{TeamConfig, erasing};

/// Maximum size of a team's configuration in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum number of listed teams.
const MAX_LISTED: usize = 5;

/// Finds teams whose Claude Code process is certainly gone. They are reported and never deleted.
pub fn check(facts: &Facts<'_>) -> Finding {
    let code = Code::StaleTeams;
    let Some(client) = facts.paths.client.as_deref() else {
        return Finding::unknown(code, "cannot find Claude Code's teams: HOME is not set");
    };
    let stale = stale(client);
    let Some(first) = stale.first() else {
        return Finding::ok(code, "no stale team directories");
    };
    let more = stale.len().saturating_sub(MAX_LISTED);
    let mut names = stale.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 {
        names.push_str(&format!(" and {more} more"));
    }
    let what = format!("{} whose Claude Code process has exited: {names}", count(stale.len(), "team"));
    let path = client.join("teams").join(first);
    let mend = format!(
        "check with `{} show {}`, then: rm -r {}",
        facts.call,
        shell_operand(erasing(first).unwrap_or(first)),
        quoted(&path.to_string_lossy())
    );
    Finding::warn(code, what).with_fix(mend)
}

/// The names of these teams.
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
    let config = read_regular(&client.join("teams").join(name).join("config.json"), MAX_BYTES);
    let Some(team) = config.ok().and_then(|(bytes, _)| TeamConfig::parse(&bytes)) else { return false };
    match team.lead_process {
        Some(lead) => is_gone(lead.pid, lead.space.as_deref(), lead.start.as_deref()),
        // Claude Code before 2.1.328 names no process, and after `/clear` its session has another id than the team's
        // lead. As long as any session runs, it may be this one.
        None => holder(client, name).is_none() && !any_runs(client),
    }
}

/// Whether a session that Claude Code has noted (`sessions/<pid>.json`) may still run.
fn any_runs(client: &Path) -> bool {
    let notes = std::fs::read_dir(client.join("sessions")).into_iter().flatten().flatten();
    let mut pids = notes.filter_map(|note| note.path().file_stem()?.to_str()?.parse::<u32>().ok());
    pids.any(|pid| !is_gone(pid, None, None))
}
