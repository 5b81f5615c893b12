//! Which teammate a background task is: the client lists them by an id of its own and by what they were spawned for.

use serde_json::Value;

use super::Ledger;
use super::ledger::{fits, mark};

/// How many ids are remembered whose teammate is not known.
const MOST: usize = 256;

/// Whose a background task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose<'a> {
    /// This teammate's.
    One(&'a str),
    /// One of these teammates'.
    Among(&'a [String]),
    /// Some teammate's.
    Any,
}

impl Ledger {
    /// Whose a listed background task is; nothing where it is no teammate's.
    pub fn listed<'a>(&'a self, task: &'a Value) -> Option<Whose<'a>> {
        let text = |key: &str| task.get(key).and_then(Value::as_str);
        (text("type") == Some("teammate")).then(|| {
            let known = text("id").and_then(|id| self.handles.get(id)).map(String::as_str);
            let words = text("description").unwrap_or_default();
            known.map_or_else(|| self.described(words), Whose::One)
        })
    }

    /// Whose a background task is that was listed once, and whose teammate is not known.
    pub fn unnamed(&self, id: &str) -> Option<Whose<'_>> {
        let mark = self.background.get(id)?;
        Some(self.spawned_for.get(mark).map_or(Whose::Any, |all| one_of(all)))
    }

    /// Learns the ids of the listed ones.
    pub(super) fn learn_background(&mut self, tasks: Option<&Value>) {
        for task in tasks.and_then(Value::as_array).into_iter().flatten() {
            let Some(id) = task.get("id").and_then(Value::as_str).filter(|id| fits(id)) else { continue };
            match self.listed(task) {
                Some(Whose::One(name)) => {
                    let name = name.to_owned();
                    self.background.remove(id);
                    self.handles.insert(id.to_owned(), name);
                }
                Some(_) if self.background.len() < MOST => {
                    let words = task.get("description").and_then(Value::as_str).unwrap_or_default();
                    self.background.insert(id.to_owned(), mark(words));
                }
                _ => {}
            }
        }
    }

    /// Forgets the ids of somebody who has left. The id of one who shared its words with somebody who is there may still be
    /// either's, so that its name stays beside the other's.
    pub(super) fn forget_handles(&mut self, name: &str) {
        let Ledger { handles, spawned_for, background, left, .. } = self;
        handles.retain(|_, member| member != name);
        let mut gone = Vec::new();
        spawned_for.retain(|mark, all| {
            all.retain(|member| member != name || left.contains(name));
            let stays = all.iter().any(|member| !left.contains(member));
            if !stays {
                gone.push(mark.clone());
            }
            stays
        });
        background.retain(|_, mark| !gone.contains(mark));
    }

    /// 2.1.328 describes it by the words of its spawn, 2.1.177 by its name and how its prompt begins.
    fn described<'a>(&'a self, words: &'a str) -> Whose<'a> {
        if let Some(all) = self.spawned_for.get(&mark(words)) {
            // Who has left is listed no more.
            let mut there = all.iter().filter(|name| !self.left.contains(*name));
            return match (there.next(), there.next()) {
                (Some(one), None) => Whose::One(one),
                _ => Whose::Among(all),
            };
        }
        let named = words.split_once(": ").map(|(name, _)| name);
        named.filter(|name| self.members.contains_key(*name)).map_or(Whose::Any, Whose::One)
    }
}

fn one_of(all: &[String]) -> Whose<'_> {
    match all {
        [one] => Whose::One(one),
        all => Whose::Among(all),
    }
}
