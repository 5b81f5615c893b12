//! The description of a run whose `run.json` is damaged, from its log: the run itself is intact.

use teamkeep_model::event::ActorKind;
use teamkeep_model::payload::{EventKind, Payload};
use teamkeep_store::archive::{Archive, EndedBy, RunRecord, SessionRecord, SessionRole};
use teamkeep_store::log::Logs;

use crate::reader::{Range, Reader};

/// Describes the run by its own events; `None` if it has none. A deletion of the team is not seen as its
/// end, and an end without a hook call is at the last event.
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
        let leads = |known: &SessionRecord| known.id == session && known.role == SessionRole::Lead;
        let role = match kind {
            ActorKind::Lead => SessionRole::Lead,
            // A teammate in the lead's process has the lead's session.
            ActorKind::Teammate if !run.sessions.iter().any(leads) => SessionRole::Pane,
            _ => continue,
        };
        let payload = Payload::fields_of(&event.payload);
        if role == SessionRole::Lead {
            run.lead_session.get_or_insert_with(|| session.clone());
            if EventKind::named(&event.event) == EventKind::SessionEnd {
                run.end(EndedBy::SessionEnd, payload.text("reason"), event.at);
            }
        }
        let transcript = payload.transcript().map(|path| path.display().to_string());
        let name = event.actor.name.filter(|_| role == SessionRole::Pane);
        run.join(SessionRecord { name, transcript, ..SessionRecord::new(session, role) });
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
