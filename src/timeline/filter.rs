//! Which part of a story is asked for.

use super::entry::{Entry, Kind};
use super::material::Material;
use crate::clock::{self, Time};
use crate::event::LEAD;
use crate::json;
use crate::near::nearest;

/// A part of a story: between two moments, of some actors, of some kinds.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    from: Option<String>,
    to: Option<String>,
    /// Names, agent ids, or what an actor is (`lead`, `teammate`, `subagent`); none for everybody.
    actors: Vec<String>,
    /// None for every kind.
    kinds: Vec<Kind>,
}

impl Filter {
    /// A part between two moments, both of them included; without a moment it has no bound there.
    pub fn between(from: Option<Time>, to: Option<Time>) -> Filter {
        Filter { from: from.map(clock::stamp), to: to.map(clock::stamp), ..Filter::default() }
    }

    /// The same of these actors and kinds alone.
    pub fn only(self, actors: &[String], kinds: &[Kind]) -> Filter {
        Filter { actors: actors.to_vec(), kinds: kinds.to_vec(), ..self }
    }

    /// Whether the part is the whole.
    pub fn is_empty(&self) -> bool {
        self.from.is_none() && self.to.is_none() && self.actors.is_empty() && self.kinds.is_empty()
    }

    /// Whether the thing is in the part.
    pub fn holds(&self, entry: &Entry, material: &Material) -> bool {
        self.from.as_deref().is_none_or(|from| from <= entry.at.as_str())
            && self.to.as_deref().is_none_or(|to| entry.at.as_str() <= to)
            && (self.kinds.is_empty() || self.kinds.contains(&entry.kind))
            && (self.actors.is_empty() || self.actors.iter().any(|actor| is_by(entry, actor, material)))
    }

    /// Whether the thing was before the part begins.
    pub fn is_before(&self, entry: &Entry) -> bool {
        self.from.as_deref().is_some_and(|from| entry.at.as_str() < from)
    }

    /// Whether the thing was after the part ends.
    pub fn is_after(&self, entry: &Entry) -> bool {
        self.to.as_deref().is_some_and(|to| to < entry.at.as_str())
    }

    /// The first of the actors that nobody in the story is, and whom it may mean.
    pub fn stranger<'a>(
        &'a self,
        entries: &'a [Entry],
        material: &'a Material,
    ) -> Option<(&'a str, Vec<&'a str>)> {
        let is_known = |actor: &String| {
            material.is_member(actor) || entries.iter().any(|entry| is_by(entry, actor, material))
        };
        let stranger =
            self.actors.iter().find(|actor| !WHAT.contains(&actor.as_str()) && !is_known(actor))?;
        let mut names: Vec<&str> = entries.iter().map(|entry| entry.actor.as_str()).collect();
        names.extend(material.members.iter().map(String::as_str));
        names.sort_unstable();
        names.dedup();
        let near = nearest(stranger, &names, 2);
        Some((stranger, near.map_or(names, |near| vec![near])))
    }
}

/// What an actor may be, beside a name.
const WHAT: [&str; 3] = ["lead", "teammate", "subagent"];

fn is_by(entry: &Entry, actor: &str, material: &Material) -> bool {
    let is_lead = || entry.actor == LEAD || entry.actor == "lead";
    entry.actor == actor
        || entry.agent.as_deref() == Some(actor)
        || match actor {
            "lead" => is_lead(),
            "teammate" => material.is_member(&entry.actor) && !is_lead(),
            "subagent" => entry.by_subagent,
            _ => false,
        }
}

impl Kind {
    /// The kind's word: `task-changed`.
    pub fn word(self) -> String {
        json::word(&self)
    }

    /// Reads a kind from the command line.
    ///
    /// # Errors
    /// When there is none of that name: which may be meant, and all that there are.
    pub fn parse(text: &str) -> Result<Kind, String> {
        let plain = text.to_lowercase().replace('_', "-");
        if let Some(kind) = Kind::ALL.iter().find(|kind| kind.word() == plain) {
            return Ok(*kind);
        }
        let words: Vec<String> = Kind::ALL.iter().map(|kind| kind.word()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let near = nearest(text, &words, 2).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Err(format!("no such kind{near}\nkinds: {}", words.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_as_it_is_written_and_a_slip_is_told() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(&kind.word()), Ok(*kind));
        }
        assert_eq!(Kind::parse("Task_Changed"), Ok(Kind::TaskChanged));
        let said = Kind::parse("mesage").unwrap_err();
        assert!(said.starts_with("no such kind; did you mean message?\nkinds: session-started, "), "{said}");
        assert!(Kind::parse("moon").unwrap_err().starts_with("no such kind\nkinds: "));
    }
}
