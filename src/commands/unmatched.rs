//! Why a look into the log found nothing: a name that nothing on record has, or nothing on record at all.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use crate::event::ActorKind;
use crate::log::{Parts, Range, Reader};
use crate::near::nearest;
use crate::payload::KNOWN;

/// The names that a look asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
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

impl Asked<'_> {
    /// Says it, one line a reason.
    ///
    /// # Errors
    /// When the log's directory cannot be listed.
    pub fn explain(&self, dir: &Path, parts: &Parts) -> io::Result<Vec<String>> {
        let names = Names::read(dir, parts)?;
        if names.lines == 0 && names.unreadable == 0 {
            return Ok(vec![super::reading::NOTHING.to_owned()]);
        }
        let mut said = vec!["no events match".to_owned()];
        said.extend(self.team.and_then(|team| unknown("team", team, &names.teams)));
        said.extend(self.actor.and_then(|actor| unknown("actor", actor, &names.actors)));
        for event in self.events.iter().filter(|event| !names.has_event(event)) {
            said.extend(unknown("event", event, &names.events));
        }
        Ok(said)
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

/// The name of an event, alike for both spellings.
pub fn plain(event: &str) -> String {
    event.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect()
}

/// Says that nothing on record has this name, and which one is near.
fn unknown(what: &str, name: &str, known: &BTreeSet<String>) -> Option<String> {
    if known.contains(name) {
        return None;
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = nearest(name, &known, 2).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    Some(format!("no {what} on record is called {name:?}{near}"))
}
