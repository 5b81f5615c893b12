//! Moves counts when a session joins a run: it counts for itself first, then in its own run, then in the team's.

use super::gate_state::{GateState, GateStateStore};
use crate::archive::{Archive, CaptureScope};
use crate::event::SafeName;

/// The run of a session that has subagents and no team.
pub fn solo_run(archive: &Archive, session: &SafeName) -> Option<SafeName> {
    let index = archive.index(&CaptureScope::Session(session.clone()))?;
    SafeName::new(&index.run)
}

/// Adds the counts of a session to those of its run, once. The ledger is not added: without a team the end of a tool
/// call is not recorded. `key` is the name of the counts. Returns why former counts are lost, if they are.
pub fn merge_session_state(
    store: &GateStateStore,
    archive: &Archive,
    session: Option<&str>,
    key: &SafeName,
    gate_state: &mut GateState,
) -> Option<String> {
    let session = session.and_then(SafeName::stem).filter(|session| session != key)?;
    if !gate_state.sessions.insert(session.to_string()) {
        return None;
    }
    let mut merge = |name: &SafeName| {
        let (earlier, damage) = store.read_reporting(name);
        gate_state.guard.merge(&earlier.guard);
        damage
    };
    let damage = merge(&session);
    let solo = solo_run(archive, &session).filter(|solo| solo != key);
    damage.or(solo.and_then(|solo| merge(&solo)))
}
