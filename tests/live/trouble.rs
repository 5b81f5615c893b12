//! Incidents of a running team: `status` shows each, and a receiver gets each once.

use std::time::Duration;

use serde_json::Value;

use super::checks::differ;
use super::play::{Played, is};
use super::process;
use super::receiver::name;
use super::record::text;
use super::scenarios::{Scenario, Topology};
use super::terminal::Terminal;

/// What the user types after the incidents.
pub const LAST: &str = "act=look";

/// teamkeep's configuration: short thresholds, and notifications to the receiver.
pub fn config(address: &str) -> String {
    format!(
        "[incidents]\nsilent = \"45s\"\nwaiting = \"10s\"\n\n[notify]\nurl = \"{address}\"\nseverity = \"low\"\n"
    )
}

/// Kills bob's process if it has one, waits until each incident was shown and sent, and gives the permission.
pub fn observe(played: &Played, scenario: &Scenario, terminal: &Terminal<'_>) -> Result<(), String> {
    if scenario.topology == Topology::Panes {
        let pane = played.home.pane("bob").ok_or("bob has no pane")?;
        let bob = process::inside(terminal.process_of(&pane)?).ok_or("bob has no process")?;
        process::kill(bob)?;
    }
    let incidents = &played.incidents;
    let missing = || {
        let mut found = differences("status, incidents", incidents, &shown(played)?);
        found.extend(differences("notifications", incidents, &played.receiver.incidents()));
        Ok::<Vec<String>, String>(found)
    };
    let all = process::wait("the incidents", Duration::from_secs(150), || {
        missing().is_ok_and(|missing| missing.is_empty())
    });
    all.map_err(|error| format!("{error}: {:#?}\n{}", missing(), terminal.screen()))?;
    terminal.press("Enter")?;
    terminal.wait(Duration::from_secs(60), "the end of the work that needed a permission", || {
        let is_done = played.ledger.entries().iter().any(|entry| is(entry, ("carol", "is done")));
        is_done && played.ledger.quiet_for().1 > Duration::from_secs(4)
    })?;
    // A crash of a pane is recorded at the next turn of the lead. 2.1.47 may begin none for a notice.
    terminal.enter(LAST)?;
    terminal.wait(Duration::from_secs(60), "the last turn of the lead", || {
        let is_done = played.ledger.entries().iter().any(|entry| is(entry, ("lead", "is seen")));
        is_done && played.ledger.quiet_for().1 > Duration::from_secs(4)
    })
}

/// Waits until the notifier has ended.
pub fn wait_for_notifier(played: &Played) -> Result<(), String> {
    let program = played.home.root.join("bin/teamkeep").display().to_string();
    process::wait("the notifier's end", Duration::from_secs(60), || {
        process::find(&[&program, "notify", "watch"]).is_empty()
    })
}

/// How incidents differ from these.
pub fn differences(what: &str, expected: &[&str], incidents: &[Value]) -> Vec<String> {
    let expected = expected.iter().map(|name| (*name).to_owned());
    let mut found = differ(what, expected, incidents.iter().map(name));
    if !found.is_empty() {
        found.extend(incidents.iter().map(|incident| format!("    {}", text(incident, "summary"))));
    }
    found
}

/// The incidents in `status`.
fn shown(played: &Played) -> Result<Vec<Value>, String> {
    let status = played.home.json(&["status"])?;
    let teams = status.first().and_then(|status| status["teams"].as_array()).into_iter().flatten();
    Ok(teams.flat_map(|team| team["incidents"].as_array().into_iter().flatten()).cloned().collect())
}
