//! Moves counts when a session joins a run: it counts for itself first, then in its own run, then in the team's.

use super::desk::{Desk, Notebook};
use crate::archive::{Archive, Subject};
use crate::event::SafeName;

/// The run of a session that has subagents and no team.
pub fn run_alone(archive: &Archive, session: &SafeName) -> Option<SafeName> {
    let index = archive.index(&Subject::Session(session.clone()))?;
    SafeName::new(&index.run)
}

/// Adds the counts of a session to those of its run, once. The ledger is not added: without a team the end of a tool
/// call is not recorded. `key` is the name of the counts.
pub fn go_on(desk: &Desk, archive: &Archive, session: Option<&str>, key: &SafeName, notebook: &mut Notebook) {
    let Some(session) = session.and_then(SafeName::stem).filter(|session| session != key) else { return };
    if !notebook.sessions.insert(session.to_string()) {
        return;
    }
    notebook.guard.take_over(&desk.read(&session).guard);
    if let Some(alone) = run_alone(archive, &session).filter(|alone| alone != key) {
        notebook.guard.take_over(&desk.read(&alone).guard);
    }
}
