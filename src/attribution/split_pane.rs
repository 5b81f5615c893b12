//! Split-pane teammates: each has its own process and session.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use super::CallContext;
use crate::archive::Index;
use crate::event::SafeName;
use crate::fs;
use crate::json;

type Known = BTreeMap<SafeName, Index>;

/// `TMUX_PANE` is the pane of a member of exactly one team, in the same directory, and the payload has a role but no
/// agent.
pub(super) fn of_member(evidence: &CallContext<'_>, known: &Known) -> Option<(SafeName, String)> {
    evidence.looks_like_split_pane().then(|| find_by_pane(evidence, known)).flatten()
}

/// The same for versions without roles (seen 2.1.47). The pane is not enough evidence there, because panes of another
/// tmux server have the same names: the transcript or the payload must also name that teammate and team.
pub(super) fn from_legacy_client(evidence: &CallContext<'_>, known: &Known) -> Option<(SafeName, String)> {
    let found = may_be_old(evidence).then(|| find_by_pane(evidence, known)).flatten()?;
    let payload = (evidence.named_team(), evidence.payload.text("teammate_name"));
    let told = payload == (Some(found.0.clone()), Some(&found.1));
    (told || named_in_transcript(evidence).as_ref() == Some(&found)).then_some(found)
}

/// Whether a session is in a member's pane but cannot be assigned to the member yet, because its transcript is still
/// missing.
pub fn is_undecided(evidence: &CallContext<'_>, known: &Known) -> bool {
    may_be_old(evidence) && find_by_pane(evidence, known).is_some()
}

/// Whether the call has no agent, no role, and no name from an earlier call.
fn may_be_old(evidence: &CallContext<'_>) -> bool {
    let payload = evidence.payload;
    evidence.memory.name.is_none() && payload.agent_id().is_none() && payload.text("agent_type").is_none()
}

fn find_by_pane(evidence: &CallContext<'_>, known: &Known) -> Option<(SafeName, String)> {
    let pane = evidence.pane?;
    let here = evidence.payload.text("cwd");
    let mut found = known.iter().filter(|(_, index)| !index.ended).flat_map(|(team, index)| {
        let elsewhere = |cwd: Option<&str>| cwd.zip(here).is_some_and(|(theirs, ours)| theirs != ours);
        let in_pane = index.members.iter().filter(|seat| seat.pane.as_deref() == Some(pane));
        let seats = in_pane.filter(move |seat| !elsewhere(seat.cwd.as_deref()));
        seats.map(|seat| (team.clone(), seat.name.clone()))
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The agent's name in a session that has a role but no agent, if the payload names teammate and team.
pub(super) fn name(evidence: &CallContext<'_>) -> Option<String> {
    let told = evidence
        .payload
        .text("teammate_name")
        .filter(|name| !name.is_empty() && evidence.looks_like_split_pane());
    told.map(str::to_owned).or_else(|| evidence.memory.name.clone())
}

/// Agent name and team from a split-pane teammate's transcript, which has both in every entry.
pub(super) fn in_transcript(evidence: &CallContext<'_>) -> Option<(SafeName, String)> {
    evidence.looks_like_split_pane().then(|| named_in_transcript(evidence)).flatten()
}

fn named_in_transcript(evidence: &CallContext<'_>) -> Option<(SafeName, String)> {
    head(evidence.transcript()?).find_map(|record| {
        let team = evidence.directory(record.get("teamName")?.as_str()?)?;
        Some((team, record.get("agentName")?.as_str()?.to_owned()))
    })
}

/// The first entries of a transcript, within a few kilobytes. Empty if the path is not a regular file.
pub(super) fn head(transcript: &Path) -> impl Iterator<Item = Value> {
    let file = fs::open_regular(transcript).ok();
    let lines = file.map(|file| BufReader::new(file.take(64 * 1024)).split(b'\n'));
    let lines = lines.into_iter().flatten().map_while(std::result::Result::ok).take(20);
    lines.filter_map(|line| json::parse_lossy(&line))
}
