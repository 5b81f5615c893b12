//! The description of a run whose `run.json` is damaged, from its log: the run itself is intact.

use teamkeep_model::event::ActorKind;
use teamkeep_model::payload::{EventKind, Payload};
use teamkeep_store::archive::{Archive, EndedBy, RunRecord, SessionRecord, SessionRole};
use teamkeep_store::log::Logs;

use crate::reader::{Range, Reader};

/// Describes the run by its own events; `None` if it has none. An end without a hook call is at the last event.
pub(super) fn rebuilt_run(archive: &Archive, logs: &Logs, id: &str) -> Option<RunRecord> {
    let log = logs.run(id)?;
    let mut run = RunRecord {
        v: 1,
        run: id.to_owned(),
        metadata_only: archive.metadata_only,
        finished: archive.run_dir(id)?.join("transcripts.json").is_file(),
        ..RunRecord::default()
    };
    let mut last = None;
    for line in Reader::of(&[log], Range::default()) {
        let event = line.recorded;
        if last.is_none() {
            run.started_at = event.at;
        }
        last = Some(event.at);
        run.team = run.team.or(event.team);
        let (kind, Some(session)) = (event.actor.kind, event.session) else { continue };
        let role = match kind {
            ActorKind::Lead => SessionRole::Lead,
            // In the lead's process, teammates have an ID and the lead's session.
            ActorKind::Teammate if event.actor.id.is_none() => SessionRole::Pane,
            _ => continue,
        };
        let payload = Payload::fields_of(&event.payload);
        if role == SessionRole::Lead {
            run.lead_session.get_or_insert_with(|| session.clone());
            if EventKind::named(&event.event) == EventKind::SessionEnd {
                run.end(EndedBy::SessionEnd, payload.text("reason"), event.at);
            }
        }
        if run.sessions.iter().all(|known| known.id != session) {
            let transcript = payload.transcript().and_then(|path| path.to_str()).map(str::to_owned);
            let name = event.actor.name.filter(|_| role == SessionRole::Pane);
            run.sessions.push(SessionRecord { name, transcript, ..SessionRecord::new(session, role) });
        }
    }
    let is_open = || {
        let index = archive.index(&run.subject()?)?;
        Some(index.run == run.run && !index.ended)
    };
    if run.ended_at.is_none() && is_open() != Some(true) {
        run.end(EndedBy::Disappeared, None, last?);
    }
    last.map(|_| run)
}
