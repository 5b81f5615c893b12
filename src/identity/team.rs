//! In which team: the table of the client's evidence, strongest first.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use super::Evidence;
use crate::archive::{Archive, Index, Subject};
use crate::event::SafeName;
use crate::fs;
use crate::json;
use crate::payload::Kind;
use crate::process;

/// The team of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The team.
    pub team: Option<SafeName>,
    /// The session's own name in it, when it is a split-pane teammate's.
    pub name: Option<String>,
    /// Whether the session belongs to the team (and not just saw one of its files change).
    pub member: bool,
}

/// Every team that a call can concern: those that the evidence names, those never seen before, and, for a session
/// whose team is not known, or one that begins or ends, all that are under way.
pub fn concerned(evidence: &Evidence<'_>, archive: &Archive) -> Vec<Subject> {
    let mut names: Vec<SafeName> = Vec::new();
    let own = evidence.own_team().filter(|team| {
        evidence.client.join("teams").join(team).exists() || archive.knows(&Subject::Team(team.clone()))
    });
    let remembered = evidence.memory.team.as_deref().and_then(SafeName::new);
    let at_large = remembered.is_none() || matches!(evidence.kind, Kind::SessionStart | Kind::SessionEnd);
    names.extend(
        [evidence.named_team(), evidence.made_team(), evidence.changed_team(), remembered, own]
            .into_iter()
            .flatten(),
    );
    let open = if at_large { archive.open_subjects() } else { Vec::new() };
    let there = std::fs::read_dir(evidence.client.join("teams")).into_iter().flatten().flatten();
    for name in there.filter_map(|entry| SafeName::new(entry.file_name().to_str()?)) {
        let subject = Subject::Team(name);
        if (at_large && open.contains(&subject)) || !archive.knows(&subject) {
            names.extend(subject.team().cloned());
        }
    }
    let mut subjects: Vec<Subject> = names.into_iter().map(Subject::Team).collect();
    subjects.extend(open.into_iter().filter(|subject| subject.team().is_some()));
    subjects.sort();
    subjects.dedup();
    subjects
}

/// Finds the team among what was captured.
pub fn resolve(evidence: &Evidence<'_>, known: &BTreeMap<SafeName, Index>) -> Resolved {
    resolve_by(evidence, known).0
}

/// The same, and the evidence that it rests on.
pub fn resolve_by(evidence: &Evidence<'_>, known: &BTreeMap<SafeName, Index>) -> (Resolved, &'static str) {
    let member =
        |team: SafeName| Resolved { team: Some(team), name: evidence.memory.name.clone(), member: true };
    let is_open = |team: &SafeName| known.get(team).is_some_and(|index| !index.ended || index.present);
    let remembered = evidence.memory.team.as_deref().and_then(SafeName::new);
    if let Some(team) = evidence.made_team() {
        return (member(team), "the tool's response names it");
    }
    if let Some(team) = evidence.named_team().filter(|team| known.contains_key(team)) {
        return (Resolved { name: pane_name(evidence), ..member(team) }, "the payload's team_name");
    }
    if let Some(team) = remembered.clone().filter(is_open) {
        return (member(team), "an earlier call of the session");
    }
    let by_name = || evidence.own_team().filter(|team| known.contains_key(team));
    let found = led_by_session(evidence, known)
        .map(|team| (team, "its leadSessionId is the session"))
        .or_else(|| by_name().map(|team| (team, "it is named for the session")))
        .or_else(|| led_by_process(evidence, known).map(|team| (team, "its lead's process runs the hook")));
    if let Some((team, why)) = found {
        return (member(team), why);
    }
    let pane = in_pane(evidence, known).map(|found| (found, "the tmux pane is a member's"));
    if let Some(((team, name), why)) =
        pane.or_else(|| in_transcript(evidence).map(|found| (found, "the transcript names it")))
    {
        return (Resolved { team: Some(team), name: Some(name), member: true }, why);
    }
    if let Some(team) = remembered {
        return (member(team), "an earlier call of the session; it has ended since");
    }
    match evidence.changed_team().filter(|team| known.contains_key(team)) {
        Some(team) => (Resolved { team: Some(team), ..Resolved::default() }, "the changed file is its"),
        None => (Resolved::default(), "nothing names one"),
    }
}

/// `leadSessionId` is the session.
fn led_by_session(evidence: &Evidence<'_>, known: &BTreeMap<SafeName, Index>) -> Option<SafeName> {
    let session = evidence.payload.session()?;
    newest(known, |index| index.lead_session.as_deref() == Some(session))
}

/// `leadProcess.pid` is the client that runs this hook: after `/clear` the session is new and the process is not.
/// Where the system tells when that process began, or in which namespace, it must be the same, unless the client says
/// itself that it was just cleared.
fn led_by_process(evidence: &Evidence<'_>, known: &BTreeMap<SafeName, Index>) -> Option<SafeName> {
    let pid = evidence.client_pid?;
    let cleared = evidence.kind == Kind::SessionStart && evidence.payload.text("source") == Some("clear");
    newest(known, |index| {
        let (space, start) = (index.lead_space.as_deref(), index.lead_start.as_deref());
        index.lead_pid == Some(pid) && !index.ended && (cleared || !process::is_another(pid, space, start))
    })
}

fn newest(known: &BTreeMap<SafeName, Index>, wanted: impl Fn(&Index) -> bool) -> Option<SafeName> {
    let matching = known.iter().filter(|(_, index)| wanted(index));
    matching.max_by_key(|(_, index)| (!index.ended, index.created_at)).map(|(team, _)| team.clone())
}

/// `TMUX_PANE` is a member's pane, in one team alone and in the same directory, and the payload has a role but no agent.
fn in_pane(evidence: &Evidence<'_>, known: &BTreeMap<SafeName, Index>) -> Option<(SafeName, String)> {
    let pane = evidence.pane.filter(|_| evidence.is_pane_like())?;
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
fn pane_name(evidence: &Evidence<'_>) -> Option<String> {
    let told =
        evidence.payload.text("teammate_name").filter(|name| !name.is_empty() && evidence.is_pane_like());
    told.map(str::to_owned).or_else(|| evidence.memory.name.clone())
}

/// The transcript of a split-pane teammate carries its name and its team in every record.
fn in_transcript(evidence: &Evidence<'_>) -> Option<(SafeName, String)> {
    if !evidence.is_pane_like() {
        return None;
    }
    head(evidence.transcript()?).find_map(|record| {
        let team = SafeName::new(record.get("teamName")?.as_str()?)?;
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
