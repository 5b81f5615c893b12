//! In which team: the table of the client's evidence, strongest first.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;

use super::{Evidence, pane};
use crate::archive::{Archive, Index, Subject};
use crate::clock;
use crate::event::SafeName;
use crate::fs::Stamp;
use crate::payload::Kind;
use crate::process;
use crate::team;

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
    // A task list alone is no team: `-p` has one, and `/clear` begins one beside that of the team (2.1.328).
    let is_known =
        |team: &SafeName| has_config(&teams.join(team)) || archive.knows(&Subject::Team(team.clone()));
    let told = [evidence.named_team(), evidence.made_team(), evidence.changed_team()];
    let remembered = evidence.memory.team.as_deref().and_then(SafeName::new);
    let now = remembered.is_none().then(clock::file_time);
    let turns = matches!(evidence.kind, Kind::SessionStart | Kind::SessionEnd);
    let teamless = evidence.memory.teamless.filter(|_| !turns && now.is_some() && !evidence.is_pane_like());
    let at_large = (now.is_some() && teamless.is_none()) || turns;
    let mut concerned = Concerned::default();
    let own = evidence.own_team().into_iter().filter(&is_known);
    let told = told.into_iter().flatten().filter(&is_known);
    concerned.subjects.extend(told.chain(remembered).chain(own).map(Subject::Team));
    let open = if at_large { archive.open_subjects() } else { Vec::new() };
    concerned.subjects.extend(open.into_iter().filter(|subject| subject.team().is_some()));
    let mut changed = false;
    for (name, directory) in listing(&teams, &mut concerned.unseen) {
        let subject = Subject::Team(name);
        let is_new = !archive.knows(&subject);
        if is_new && !has_config(&teams.join(directory)) {
            continue;
        }
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

/// Whether a directory is a team's: it has a configuration. One without holds mail of nobody's team (`default`, before
/// 2.1.178), or of a team that the client spells in another way. A link in its place is looked at as well: it is not
/// followed, and that is told.
fn has_config(directory: &Path) -> bool {
    directory.is_symlink() || directory.join("config.json").symlink_metadata().is_ok()
}

/// The kernel's clock for files is no finer than this, in nanoseconds.
const GRAIN: i64 = 50_000_000;

/// What lies below `teams/` under a name that may be a team's: the team, and the directory's own name.
fn listing(teams: &Path, unseen: &mut Vec<String>) -> Vec<(SafeName, SafeName)> {
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
                // A directory on its way out is that of the team which it was, and no team of its own.
                Some(name) => {
                    let erased = team::erasing(name.as_str()).map(SafeName::new);
                    names.extend(erased.unwrap_or_else(|| Some(name.clone())).map(|team| (team, name)));
                }
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
    if let Some((team, name)) = pane::of_an_old_client(evidence, known) {
        let why = "the tmux pane is a member's, and the transcript or the payload names it";
        return (Resolved { team: Some(team), name: Some(name), member: true }, why);
    }
    if let Some((team, index)) = evidence.named_team().and_then(|team| known.get_key_value(&team)) {
        // The session that leads a team is no teammate's, whoever it speaks of.
        let name = if index.is_led_by(evidence.payload.session()) {
            evidence.memory.name.clone()
        } else {
            pane::name(evidence)
        };
        return (Resolved { name, ..member(team.clone()) }, "the payload's team_name");
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
    let seated = pane::of_a_member(evidence, known).map(|found| (found, "the tmux pane is a member's"));
    if let Some(((team, name), why)) =
        seated.or_else(|| pane::in_transcript(evidence).map(|found| (found, "the transcript names it")))
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
    newest(known, |index| index.is_led_by(evidence.payload.session()))
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
