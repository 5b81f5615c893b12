//! Maps background tasks to teammates. Claude Code lists them by an id of its own and by the description of the spawn.

use serde_json::Value;

use super::Ledger;
use super::ledger::{fits, mark};

/// Maximum number of ids without a known teammate.
const MAX_ENTRIES: usize = 256;

/// The teammate of a background task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TeammateRef<'a> {
    /// This teammate.
    One(&'a str),
    /// One of these teammates.
    Among(&'a [String]),
    /// An unknown teammate.
    Any,
}

impl Ledger {
    /// The teammate of a listed background task; `None` if the task is not a teammate.
    pub fn listed<'a>(&'a self, task: &'a Value) -> Option<TeammateRef<'a>> {
        let text = |key: &str| task.get(key).and_then(Value::as_str);
        (text("type") == Some("teammate")).then(|| {
            let known = text("id").and_then(|id| self.handles.get(id)).map(String::as_str);
            let words = text("description").unwrap_or_default();
            known.map_or_else(|| self.described(words), TeammateRef::One)
        })
    }

    /// The teammate of a background task that was listed earlier without a known teammate.
    pub fn unnamed(&self, id: &str) -> Option<TeammateRef<'_>> {
        let mark = self.background.get(id)?;
        Some(self.spawned_for.get(mark).map_or(TeammateRef::Any, |all| one_of(all)))
    }

    /// Records the ids of the listed tasks.
    pub(super) fn learn_background(&mut self, tasks: Option<&Value>) {
        for task in tasks.and_then(Value::as_array).into_iter().flatten() {
            let Some(id) = task.get("id").and_then(Value::as_str).filter(|id| fits(id)) else { continue };
            match self.listed(task) {
                Some(TeammateRef::One(name)) => {
                    let name = name.to_owned();
                    self.background.remove(id);
                    self.handles.insert(id.to_owned(), name);
                }
                Some(_) if self.background.len() < MAX_ENTRIES => {
                    let words = task.get("description").and_then(Value::as_str).unwrap_or_default();
                    self.background.insert(id.to_owned(), mark(words));
                }
                _ => {}
            }
        }
    }

    /// Forgets the ids of a member that has left. If it shares its description with a member that is still there, the
    /// name stays, because the id may belong to either.
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

    /// 2.1.328 describes a teammate by the description of its spawn, 2.1.177 by its name and the start of its prompt.
    fn described<'a>(&'a self, words: &'a str) -> TeammateRef<'a> {
        if let Some(all) = self.spawned_for.get(&mark(words)) {
            // Claude Code no longer lists a member that has left.
            let mut there = all.iter().filter(|name| !self.left.contains(*name));
            return match (there.next(), there.next()) {
                (Some(one), None) => TeammateRef::One(one),
                _ => TeammateRef::Among(all),
            };
        }
        let named = words.split_once(": ").map(|(name, _)| name);
        named.filter(|name| self.members.contains_key(*name)).map_or(TeammateRef::Any, TeammateRef::One)
    }
}

fn one_of(all: &[String]) -> TeammateRef<'_> {
    match all {
        [one] => TeammateRef::One(one),
        all => TeammateRef::Among(all),
    }
}
