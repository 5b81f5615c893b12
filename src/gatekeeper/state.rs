//! The team at the moment of a call, out of what the call's look has just kept.

use serde_json::Value;

use crate::archive::{Archive, Index};
use crate::policy::{Ledger, TeamState};
use crate::team::{Task, TeamConfig};

/// Gathers it. What cannot be read is left out: a gate judges by what is known.
pub fn team_state(archive: &Archive, team: Option<&str>, index: Option<&Index>, ledger: Ledger) -> TeamState {
    let mut state = TeamState { name: team.map(str::to_owned), ledger, ..TeamState::default() };
    let Some(index) = index else { return state };
    for (path, seen) in &index.files {
        let Some(bytes) = seen.object.as_deref().and_then(|hash| archive.objects.get(hash).ok()) else {
            continue;
        };
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["teams", _, "config.json"] => {
                let config = TeamConfig::parse(&bytes).unwrap_or_default();
                state.members = config.members.into_iter().map(|member| member.name).collect();
            }
            ["teams", _, "inboxes", name] => {
                if let Some(owner) = name.strip_suffix(".json") {
                    state.mail.insert(owner.to_owned(), unread(&bytes));
                }
            }
            ["tasks", list, name] if team.is_none_or(|team| team == *list) => {
                if let Some(task) = Task::parse(name, &bytes).filter(|task| !task.internal) {
                    state.tasks.insert(task.id.clone(), task);
                }
            }
            _ => {}
        }
    }
    state
}

/// How many messages wait. What was delivered is gone, or marked as read (2.1.47).
fn unread(bytes: &[u8]) -> usize {
    let waits = |entry: &&Value| entry.get("read").and_then(Value::as_bool) != Some(true);
    let file: Value = serde_json::from_slice(bytes).unwrap_or(Value::Null);
    file.as_array().map_or(0, |entries| entries.iter().filter(waits).count())
}
