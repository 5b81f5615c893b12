//! In which team: the table of the client's evidence, strongest first.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use super::Evidence;
use crate::archive::{Archive, Index, Subject};
use crate::clock;
use crate::event::SafeName;
use crate::fs::{self, Stamp};
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

/// The teams that a call can concern.
#[derive(Debug, Default)]
pub struct Concerned {
    /// The teams, those first that the evidence names.
    pub subjects: Vec<Subject>,
    /// Why a team may have been overlooked.
    pub unseen: Vec<String>,
    /// The clock for files before it was looked: whoever is found in no team now is in none until one changes later.
    pub since: Option<i64>,
}

/// A directory below `teams/` whose name we would not give to a file of ours.
const REFUSED: &str = "no name for a team that teamkeep can record";

/// Every team that a call can concern: those that the evidence names, those never seen before, and, for a session
/// whose team is not known, or one that begins or ends, all that are under way. A session that was found to be in none
/// need look only at those whose configuration changed since.
pub fn concerned(evidence: &Evidence<'_>, archive: &Archive) -> Concerned {
    let teams = evidence.client.join("teams");
    let own = evidence
        .own_team()
        .filter(|team| teams.join(team).exists() || archive.knows(&Subject::Team(team.clone())));
    let remembered = evidence.memory.team.as_deref().and_then(SafeName::new);
    let now = remembered.is_none().then(clock::file_time);
    let turns = matches!(evidence.kind, Kind::SessionStart | Kind::SessionEnd);
    let teamless = evidence.memory.teamless.filter(|_| !turns && now.is_some() && !evidence.is_pane_like());
    let at_large = (now.is_some() && teamless.is_none()) || turns;
    let mut concerned = Concerned::default();
    let named = [evidence.named_team(), evidence.made_team(), evidence.changed_team(), remembered, own];
    concerned.subjects.extend(named.into_iter().flatten().map(Subject::Team));
    let open = if at_large { archive.open_subjects() } else { Vec::new() };
    concerned.subjects.extend(open.into_iter().filter(|subject| subject.team().is_some()));
    let mut changed = false;
    for name in listing(&teams, &mut concerned.unseen) {
        let subject = Subject::Team(name);
        let is_new = !archive.knows(&subject);
        changed |= is_new;
        let is_changed = || {
            let config = teams.join(subject.name()).join("config.json").symlink_metadata();
            config
                .ok()
                .zip(teamless)
                .is_some_and(|(config, since)| Stamp::of(&config).changed > since - GRAIN)
        };
        if is_new || is_changed() {
            changed = true;
            concerned.subjects.push(subject);
        }
    }
    let mut known = HashSet::new();
    concerned.subjects.retain(|subject| known.insert(subject.clone()));
    concerned.since = now.filter(|_| !concerned.subjects.is_empty() && (at_large || changed));
    concerned
}

/// The kernel's clock for files is no finer than this, in nanoseconds.
const GRAIN: i64 = 50_000_000;

/// The names below `teams/` that may be teams'.
fn listing(teams: &Path, unseen: &mut Vec<String>) -> Vec<SafeName> {
    let mut names = Vec::new();
    let listing = match std::fs::read_dir(teams) {
        Ok(listing) => listing,
        Err(error) => {
            if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
                unseen.push(format!("cannot look at teams: {error}"));
            }
            return names;
        }
    };
    for entry in listing {
        match entry {
            Ok(entry) => match entry.file_name().to_str().and_then(SafeName::new) {
                Some(name) => names.push(name),
                None if entry.file_type().is_ok_and(|kind| kind.is_dir()) => {
                    unseen.push(format!("{:?} is {REFUSED}", entry.file_name()));
                }
                None => {}
            },
            Err(error) => {
                unseen.push(format!("cannot look at teams: {error}"));
                break;
            }
        }
    }
    names.sort();
    names
}

/// Finds the team among what was captured.
pub fn resolve(evidence: &Evidence<'_>, known: &BTreeMap<SafeName, Index>) -> Resolved {
    let member =
        |team: SafeName| Resolved { team: Some(team), name: evidence.memory.name.clone(), member: true };
    let is_open = |team: &SafeName| known.get(team).is_some_and(|index| !index.ended || index.present);
    let remembered = evidence.memory.team.as_deref().and_then(SafeName::new);
    if let Some(team) = evidence.made_team() {
        return member(team);
    }
    if let Some(team) = evidence.named_team().filter(|team| known.contains_key(team)) {
        return Resolved { name: pane_name(evidence), ..member(team) };
    }
    if let Some(team) = remembered.clone().filter(is_open) {
        return member(team);
    }
    let found = led_by_session(evidence, known)
        .or_else(|| evidence.own_team().filter(|team| known.contains_key(team)))
        .or_else(|| led_by_process(evidence, known));
    if let Some(team) = found {
        return member(team);
    }
    if let Some((team, name)) = in_pane(evidence, known).or_else(|| in_transcript(evidence)) {
        return Resolved { team: Some(team), name: Some(name), member: true };
    }
    if let Some(team) = remembered {
        return member(team);
    }
    Resolved { team: evidence.changed_team().filter(|team| known.contains_key(team)), ..Resolved::default() }
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
