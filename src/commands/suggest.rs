//! Why no event matches: a name that nothing recorded has, or no recorded events at all.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::event::{ActorKind, OVERRIDE};
use crate::log::{Parts, Range, Reader};
use crate::payload::KNOWN;
use crate::suggest;

/// The names in the filters.
#[derive(Debug, Clone, Copy)]
pub struct ArgumentInfo<'a> {
    /// A team.
    pub team: Option<&'a str>,
    /// Events, in either spelling.
    pub events: &'a [String],
    /// A name, an id or a kind.
    pub actor: Option<&'a str>,
}

/// Every name in the log.
#[derive(Debug, Default)]
struct Names {
    events: BTreeSet<String>,
    teams: BTreeSet<String>,
    actors: BTreeSet<String>,
    lines: u64,
    unreadable: u64,
}

impl ArgumentInfo<'_> {
    /// Explains why no event matches: an error for a name that nothing recorded has, else a note.
    ///
    /// # Errors
    /// When the log's directory cannot be listed.
    pub fn explain(&self, dir: &Path, parts: &Parts) -> io::Result<Result<String, Error>> {
        let names = Names::read(dir, parts)?;
        if names.lines == 0 && names.unreadable == 0 {
            return Ok(Ok(
                "no events of this machine recorded yet; check the hooks: teamkeep doctor".to_owned()
            ));
        }
        let unknown = (self.team.and_then(|team| unknown("team", team, &names.teams)))
            .or_else(|| self.actor.and_then(|actor| unknown("actor", actor, &names.actors)));
        Ok(unknown.map_or_else(|| Ok("No events match these filters.".to_owned()), Err))
    }

    /// An error for an event that Claude Code does not have and that was never recorded.
    ///
    /// # Errors
    /// When the log's directory cannot be listed.
    pub fn unknown_event(&self, dir: &Path, parts: &Parts) -> io::Result<Option<Error>> {
        let is_known = |event: &str| {
            let own = ["verdict", OVERRIDE].into_iter();
            own.chain(KNOWN.iter().map(|(_, name, _)| *name)).any(|known| plain(known) == plain(event))
        };
        if self.events.iter().all(|event| is_known(event)) {
            return Ok(None);
        }
        let names = Names::read(dir, parts)?;
        let wrong = self.events.iter().find(|event| !is_known(event) && !names.has_event(event));
        Ok(wrong.and_then(|event| unknown("event", event, &names.events)))
    }
}

impl Names {
    fn read(dir: &Path, parts: &Parts) -> io::Result<Names> {
        let mut names = Names::default();
        names.events.extend(KNOWN.iter().map(|(_, client, _)| (*client).to_owned()));
        names.actors.extend(ActorKind::ALL.iter().map(|kind| kind.word().to_owned()));
        let mut reader = Reader::with(dir, parts, Range::default())?;
        for line in reader.by_ref() {
            let recorded = line.recorded;
            names.lines += 1;
            names.events.insert(recorded.event);
            names.teams.extend(recorded.team);
            names.actors.extend(recorded.actor.name);
            names.actors.extend(recorded.actor.id);
        }
        names.unreadable = reader.problems().count;
        Ok(names)
    }

    fn has_event(&self, event: &str) -> bool {
        self.events.iter().any(|known| plain(known) == plain(event))
    }
}

/// The name of an event, the same for both spellings.
pub fn plain(event: &str) -> String {
    event.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect()
}

/// The error for a name that nothing recorded has.
fn unknown(what: &str, name: &str, known: &BTreeSet<String>) -> Option<Error> {
    if known.contains(name) {
        return None;
    }
    Some(suggest::unknown(what, name, &known.iter().map(String::as_str).collect::<Vec<_>>()))
}
