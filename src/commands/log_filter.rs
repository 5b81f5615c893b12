//! The options of `teamkeep log` that select events, and why nothing matches them: a name that nothing recorded has, or no
//! recorded events at all.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use teamkeep_core::client::payload::KNOWN;
use teamkeep_core::client::team;
use teamkeep_core::config::suggest;
use teamkeep_core::error::Error;
use teamkeep_core::model::event::{ActorKind, OVERRIDE};
use teamkeep_core::store::log::{Line, Parts, Range, Reader};

#[derive(Debug, clap::Args)]
pub struct Filter {
    /// Only events of this team
    #[arg(long)]
    team: Option<String>,
    /// Only events of sessions whose ID starts with PREFIX
    #[arg(long, value_name = "PREFIX")]
    session: Option<String>,
    /// Only this event (`SubagentStop` or `subagent-stop`); can be repeated
    #[arg(long, value_name = "EVENT")]
    event: Vec<String>,
    /// Only events of this actor: a name, an agent ID, or a kind (lead, teammate, subagent, helper, unknown)
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
}

/// The name of an event, the same for both spellings.
fn normalize(event: &str) -> String {
    event.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect()
}

impl Filter {
    pub fn selects(&self, line: &Line) -> bool {
        let recorded = &line.recorded;
        let is_actor = |name: &String| {
            recorded.actor.name.as_ref() == Some(name)
                || recorded.actor.id.as_ref() == Some(name)
                || recorded.actor.kind.word() == name
        };
        // A team's directory is not always called as the team was.
        let is_team = |name: &String| {
            recorded.team.as_ref().is_some_and(|team| team == name || *team == team::directory(name))
        };
        let is_session =
            |prefix: &String| recorded.session.as_ref().is_some_and(|id| id.starts_with(prefix.as_str()));
        let is_event = || self.event.iter().any(|event| normalize(event) == normalize(&recorded.event));
        self.team.as_ref().is_none_or(is_team)
            && self.actor.as_ref().is_none_or(is_actor)
            && self.session.as_ref().is_none_or(is_session)
            && (self.event.is_empty() || is_event())
    }

    /// Explains why no event matches: an error for a name that nothing recorded has, else a note.
    pub fn explain(&self, dir: &Path, parts: &Parts) -> io::Result<Result<&'static str, Error>> {
        let names = Names::read(dir, parts)?;
        if names.is_log_empty {
            return Ok(Ok("no events of this machine recorded yet; check the hooks: teamkeep doctor"));
        }
        let unknown = (self.team.as_deref().and_then(|team| unknown("team", team, &names.teams)))
            .or_else(|| self.actor.as_deref().and_then(|actor| unknown("actor", actor, &names.actors)));
        Ok(unknown.map_or(Ok("No events match these filters."), Err))
    }

    /// An error for an event that Claude Code does not have and that was never recorded.
    pub fn unknown_event(&self, dir: &Path, parts: &Parts) -> io::Result<Option<Error>> {
        let known = KNOWN.iter().map(|(_, name, _)| *name).chain(["verdict", OVERRIDE]);
        let known: BTreeSet<String> = known.map(normalize).collect();
        if self.event.iter().all(|event| known.contains(&normalize(event))) {
            return Ok(None);
        }
        let names = Names::read(dir, parts)?;
        let recorded: BTreeSet<String> = names.events.iter().map(|event| normalize(event)).collect();
        let is_unknown = |event: &&String| {
            let event = normalize(event);
            !known.contains(&event) && !recorded.contains(&event)
        };
        Ok(self.event.iter().find(is_unknown).and_then(|event| unknown("event", event, &names.events)))
    }
}

#[derive(Default)]
struct Names {
    events: BTreeSet<String>,
    teams: BTreeSet<String>,
    actors: BTreeSet<String>,
    is_log_empty: bool,
}

impl Names {
    fn read(dir: &Path, parts: &Parts) -> io::Result<Names> {
        let mut names = Names { is_log_empty: true, ..Names::default() };
        names.events.extend(KNOWN.iter().map(|(_, name, _)| (*name).to_owned()));
        names.actors.extend(ActorKind::ALL.iter().map(|kind| kind.word().to_owned()));
        let mut reader = Reader::with(dir, parts, Range::default())?;
        for line in reader.by_ref() {
            let recorded = line.recorded;
            names.is_log_empty = false;
            names.events.insert(recorded.event);
            names.teams.extend(recorded.team);
            names.actors.extend(recorded.actor.name);
            names.actors.extend(recorded.actor.id);
        }
        names.is_log_empty &= reader.problems.count == 0;
        Ok(names)
    }
}

fn unknown(what: &str, name: &str, known: &BTreeSet<String>) -> Option<Error> {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    (!known.contains(name)).then(|| suggest::unknown(what, name, &names))
}
