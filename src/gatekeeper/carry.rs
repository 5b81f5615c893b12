//! From one notebook to the next: a session counts for itself, then in a run of its own, then in its team's.

use super::desk::{Desk, Notebook};
use crate::archive::{Archive, Subject};
use crate::event::SafeName;

/// The run of a session that has subagents and no team.
pub fn run_alone(archive: &Archive, session: &SafeName) -> Option<SafeName> {
    let index = archive.index(&Subject::Session(session.clone()))?;
    SafeName::new(&index.run)
}

/// Lets a session that has come to a run go on in the run's notebook, once: what was counted before counts there. What it
/// did does not: without a team it is not told when a tool comes back. `key` is the notebook's own.
pub fn go_on(desk: &Desk, archive: &Archive, session: Option<&str>, key: &SafeName, notebook: &mut Notebook) {
    let Some(session) = session.and_then(SafeName::new).filter(|session| session != key) else { return };
    if !notebook.sessions.insert(session.to_string()) {
        return;
    }
    notebook.guard.take_over(&desk.read(&session).guard);
    if let Some(alone) = run_alone(archive, &session).filter(|alone| alone != key) {
        notebook.guard.take_over(&desk.read(&alone).guard);
    }
}
