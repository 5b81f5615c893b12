//! The first stage: the payload, and the facts that need no file of a team.

use std::path::PathBuf;
use std::time::Instant;

use super::Recorder;
use crate::attribution::{CallContext, SessionState};
use crate::client::compat::RecentCall;
use crate::client::payload::{Input, Kind, Payload, parse};
use crate::client::team::mailbox;
use crate::model::Tool;
use crate::model::event::{Id, SafeName};
use crate::policy::Verdict;
use crate::store::archive::{Archive, CaptureRequest};
use crate::sys::clock::Time;

/// Factor for the time limit before a TeamDelete: files that are not captured then are lost.
const BEFORE_DELETE: u32 = 6;

pub struct Parsed<'a> {
    pub recorder: &'a Recorder,
    pub archive: Archive,
    pub payload: Payload,
    /// The event named on the command line.
    pub asked: Option<&'a str>,
    pub kind: Kind,
    pub at: Time,
    pub id: Id,
    /// Claude Code's directory; empty if unknown.
    pub client: PathBuf,
    pub session: Option<SafeName>,
    /// The directory name of the task list that the session names.
    pub list: Option<SafeName>,
    /// Whether a TeamDelete is about to run: files that are not archived before it are lost.
    pub deletes: bool,
    /// Deadline for capturing files, so that the event is recorded before Claude Code's timeout.
    pub until: Option<Instant>,
    pub before: SessionState,
    /// The event that this one repeats: Claude Code announces some tool calls twice.
    pub again: Option<RecentCall>,
    /// The policy's verdicts on that event.
    pub earlier_verdicts: Vec<Verdict>,
}

impl<'a> Parsed<'a> {
    pub fn new(recorder: &'a Recorder, input: &Input, asked: Option<&'a str>) -> Parsed<'a> {
        let payload = parse(input);
        let at = recorder.clock.now();
        let session = payload.session().and_then(SafeName::stem);
        let kind = payload.event_name().or(asked).map_or(Kind::Unknown, Kind::named);
        let deletes = kind == Kind::PreToolUse && payload.tool() == Some(Tool::TeamDelete);
        let limit = recorder.config.archive.longest_look;
        let limit = limit.saturating_mul(if deletes { BEFORE_DELETE } else { 1 });
        let sessions = recorder.paths.sessions();
        let before =
            session.as_ref().map(|session| SessionState::load(&sessions, session)).unwrap_or_default();
        let again = before.announced.earlier(&payload, kind);
        let known = again.as_ref().and_then(|again| Id::known(&again.event));
        let again = again.filter(|_| known.is_some());
        let verdicts = again.iter().flat_map(|again| again.verdicts.iter().cloned());
        Parsed {
            archive: recorder.archive(),
            earlier_verdicts: verdicts.filter_map(|verdict| serde_json::from_value(verdict).ok()).collect(),
            id: known.unwrap_or_else(|| Id::new(at)),
            client: recorder.paths.client_for(payload.transcript()).unwrap_or_default(),
            list: recorder.env.task_list.as_deref().and_then(|list| SafeName::new(&mailbox(list))),
            until: Instant::now().checked_add(limit),
            recorder,
            payload,
            asked,
            kind,
            at,
            session,
            deletes,
            before,
            again,
        }
    }

    pub fn context(&self) -> CallContext<'_> {
        CallContext {
            payload: &self.payload,
            kind: self.kind,
            state: &self.before,
            client: &self.client,
            client_pid: self.recorder.env.client_pid,
            pane: self.recorder.env.pane.as_deref(),
        }
    }

    pub fn capture_request(&self) -> CaptureRequest<'_> {
        CaptureRequest { at: self.at, event: &self.id, durable: self.deletes, until: self.until }
    }

    /// Whether the call starts a session. A compacted session continues.
    pub fn starts_session(&self) -> bool {
        self.kind == Kind::SessionStart && self.payload.text("source") != Some("compact")
    }
}
