//! The payload of a hook call, and the facts that need no file of a team.

use std::path::PathBuf;
use std::time::Instant;

use crate::Recorder;
use crate::attribution::{CallContext, SessionState};
use teamkeep_model::event::{Id, SafeName};
use teamkeep_model::payload::{EventKind, Input, Payload, parse};
use teamkeep_model::team::mailbox;
use teamkeep_model::time::Timestamp;
use teamkeep_model::{Tool, TraceParent};
use teamkeep_policy::Verdict;
use teamkeep_store::archive::{Archive, CaptureRequest};

/// Factor for the time limit before a TeamDelete: files that are not captured then are lost.
pub(crate) const BEFORE_DELETE: u32 = 6;

pub(crate) struct Received<'a> {
    pub recorder: &'a Recorder,
    pub archive: Archive,
    pub payload: Payload,
    /// The event named on the command line.
    pub named_event: Option<&'a str>,
    pub kind: EventKind,
    pub at: Timestamp,
    pub id: Id,
    /// Claude Code's directory; empty if unknown.
    pub client: PathBuf,
    pub session: Option<SafeName>,
    /// The directory name of the task list that the session names.
    pub list: Option<SafeName>,
    pub trace_parent: Option<TraceParent>,
    /// Whether a TeamDelete is about to run: files that are not archived before it are lost.
    pub deletes: bool,
    /// Deadline for capturing files, so that the event is recorded before Claude Code's timeout.
    pub until: Option<Instant>,
    pub before: SessionState,
    /// The policy's verdicts on the event, if this call repeats an earlier one.
    pub earlier_verdicts: Option<Vec<Verdict>>,
}

impl<'a> Received<'a> {
    pub(crate) fn new(recorder: &'a Recorder, input: &Input, named_event: Option<&'a str>) -> Received<'a> {
        let payload = parse(input);
        let at = recorder.clock.now();
        let session = payload.session().and_then(SafeName::stem);
        let kind = payload.event_name().or(named_event).map_or(EventKind::Unknown, EventKind::named);
        let deletes = kind == EventKind::PreToolUse && payload.tool() == Some(Tool::TeamDelete);
        let limit = recorder.config.archive.longest_look;
        let limit = limit.saturating_mul(if deletes { BEFORE_DELETE } else { 1 });
        let store = &recorder.paths.store;
        let before = session.as_ref().map(|session| SessionState::load(store, session)).unwrap_or_default();
        Received {
            archive: recorder.archive(),
            earlier_verdicts: None,
            id: Id::new(at),
            client: recorder.paths.client_for(payload.transcript()).unwrap_or_default(),
            list: recorder.env.task_list.as_deref().and_then(|list| SafeName::new(&mailbox(list))),
            trace_parent: recorder.env.trace_parent.as_deref().and_then(TraceParent::parse),
            until: Instant::now().checked_add(limit),
            recorder,
            payload,
            named_event,
            kind,
            at,
            session,
            deletes,
            before,
        }
    }

    pub(crate) fn context(&self) -> CallContext<'_> {
        CallContext {
            payload: &self.payload,
            kind: self.kind,
            state: &self.before,
            client: &self.client,
            client_pid: self.recorder.env.client_pid,
            pane: self.recorder.env.pane.as_deref(),
        }
    }

    pub(crate) fn capture_request(&self) -> CaptureRequest<'_> {
        CaptureRequest { at: self.at, event: &self.id, durable: self.deletes, until: self.until }
    }

    /// Whether the call starts a session. A compacted session continues.
    pub(crate) fn starts_session(&self) -> bool {
        self.kind == EventKind::SessionStart && self.payload.text("source") != Some("compact")
    }
}
