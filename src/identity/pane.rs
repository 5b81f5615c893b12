//! Teammates in panes of tmux: each a process and a session of its own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use super::Evidence;
use crate::archive::Index;
use crate::event::SafeName;
use crate::fs;
use crate::json;

/// Teams by name, as they were captured.
type Known = BTreeMap<SafeName, Index>;

/// `TMUX_PANE` is a member's pane, in one team alone and in the same directory, and the payload has a role but no agent.
pub(super) fn of_a_member(evidence: &Evidence<'_>, known: &Known) -> Option<(SafeName, String)> {
    evidence.is_pane_like().then(|| seat(evidence, known)).flatten()
}

/// The same where the client tells no roles (seen 2.1.47). A pane alone says too little then: panes of another tmux server
/// have the same names. So the transcript, or the payload, must name the same teammate of the same team.
pub(super) fn of_an_old_client(evidence: &Evidence<'_>, known: &Known) -> Option<(SafeName, String)> {
    let found = may_be_old(evidence).then(|| seat(evidence, known)).flatten()?;
    let payload = (evidence.named_team(), evidence.payload.text("teammate_name"));
    let told = payload == (Some(found.0.clone()), Some(&found.1));
    (told || named_in_transcript(evidence).as_ref() == Some(&found)).then_some(found)
}

/// Whether a session sits in a member's pane and does not show yet whose it is: its transcript has not been begun.
pub fn is_undecided(evidence: &Evidence<'_>, known: &Known) -> bool {
    may_be_old(evidence) && seat(evidence, known).is_some()
}

/// No agent and no role, and no name from an earlier call.
fn may_be_old(evidence: &Evidence<'_>) -> bool {
    let payload = evidence.payload;
    evidence.memory.name.is_none() && payload.agent_id().is_none() && payload.text("agent_type").is_none()
}

fn seat(evidence: &Evidence<'_>, known: &Known) -> Option<(SafeName, String)> {
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

/// The name of a session that has a role but no agent, where the payload names teammate and team.
pub(super) fn name(evidence: &Evidence<'_>) -> Option<String> {
    let told =
        evidence.payload.text("teammate_name").filter(|name| !name.is_empty() && evidence.is_pane_like());
    told.map(str::to_owned).or_else(|| evidence.memory.name.clone())
}

/// The transcript of a split-pane teammate carries its name and its team in every record.
pub(super) fn in_transcript(evidence: &Evidence<'_>) -> Option<(SafeName, String)> {
    evidence.is_pane_like().then(|| named_in_transcript(evidence)).flatten()
}

fn named_in_transcript(evidence: &Evidence<'_>) -> Option<(SafeName, String)> {
    head(evidence.transcript()?).find_map(|record| {
        let team = evidence.directory(record.get("teamName")?.as_str()?)?;
        Some((team, record.get("agentName")?.as_str()?.to_owned()))
    })
}

/// The first records of a transcript, as far as a few kilobytes hold them. What is no regular file is not waited for.
pub(super) fn head(transcript: &Path) -> impl Iterator<Item = Value> {
    let file = fs::open_regular(transcript).ok();
    let lines = file.map(|file| BufReader::new(file.take(64 * 1024)).split(b'\n'));
    let lines = lines.into_iter().flatten().map_while(std::result::Result::ok).take(20);
    lines.filter_map(|line| json::lenient(&line))
}
