//! The first stage: the payload, and the facts that need no file of a team.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use super::Recorder;
use crate::attribution::{self, CallContext, SessionState};
use crate::client::payload::{Input, Kind, Payload, parse};
use crate::client::team::mailbox;
use crate::model::event::{Id, SafeName};
use crate::model::{Limit, Note, Tool, TraceParent};
use crate::policy::{Unreadable, Verdict};
use crate::store::archive::{self, Archive, CaptureRequest, CaptureScope, Index};
use crate::sys::clock::Timestamp;

/// Factor for the time limit before a TeamDelete: files that are not captured then are lost.
pub(super) const BEFORE_DELETE: u32 = 6;

pub struct Parsed<'a> {
    pub recorder: &'a Recorder,
    pub archive: Archive,
    pub payload: Payload,
    /// The event named on the command line.
    pub asked: Option<&'a str>,
    pub kind: Kind,
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

impl<'a> Parsed<'a> {
    pub fn new(recorder: &'a Recorder, input: &Input, asked: Option<&'a str>) -> Parsed<'a> {
        let payload = parse(input);
        let at = recorder.clock.now();
        let session = payload.session().and_then(SafeName::stem);
        let kind = payload.event_name().or(asked).map_or(Kind::Unknown, Kind::named);
        let deletes = kind == Kind::PreToolUse && payload.tool() == Some(Tool::TeamDelete);
        let limit = recorder.config.archive.longest_look;
        let limit = limit.saturating_mul(if deletes { BEFORE_DELETE } else { 1 });
        let store = &recorder.paths.store;
        let before = session.as_ref().map(|session| SessionState::load(store, session)).unwrap_or_default();
        Parsed {
            archive: recorder.archive(),
            earlier_verdicts: None,
            id: Id::new(at),
            client: recorder.paths.client_for(payload.transcript()).unwrap_or_default(),
            list: recorder.env.task_list.as_deref().and_then(|list| SafeName::new(&mailbox(list))),
            trace_parent: recorder.env.trace_parent.as_deref().and_then(TraceParent::parse),
            until: Instant::now().checked_add(limit),
            recorder,
            payload,
            asked,
            kind,
            at,
            session,
            deletes,
            before,
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

#[derive(Debug, Default)]
pub struct CapturedTeams {
    pub teams: BTreeMap<SafeName, Index>,
    /// The scopes of the teams whose name a team in another configuration directory had first.
    shared_names: BTreeMap<SafeName, CaptureScope>,
    /// Number of files of each team that were not archived in time.
    pub left: BTreeMap<SafeName, usize>,
    /// Teams whose directory was removed since the last capture.
    pub vanished: Vec<CaptureScope>,
    /// Since when a session without a team has none.
    pub since: Option<i64>,
    /// Notes of all captures, and reasons why the session's team may be missing.
    pub notes: Vec<TeamNote>,
}

#[derive(Debug)]
pub struct TeamNote {
    /// The team, if the note is about a certain one.
    pub subject: Option<CaptureScope>,
    pub note: Note,
}

impl CapturedTeams {
    pub(super) fn add(&mut self, subject: &CaptureScope, captured: archive::Captured) {
        let subject = captured.instead.as_ref().unwrap_or(subject);
        let of_team = |note| TeamNote { subject: Some(subject.clone()), note };
        self.notes.extend(captured.notes.into_iter().map(of_team));
        if let (Some(team), Some(index)) = (subject.team(), captured.index) {
            self.teams.insert(team.clone(), index);
            self.left.insert(team.clone(), captured.left);
            if matches!(subject, CaptureScope::TeamIn(..)) {
                self.shared_names.insert(team.clone(), subject.clone());
            }
        }
        if captured.disappeared {
            self.vanished.push(subject.clone());
        }
    }

    /// The scope of a team of this call.
    pub fn scope(&self, team: &SafeName) -> CaptureScope {
        self.shared_names.get(team).cloned().unwrap_or_else(|| CaptureScope::Team(team.clone()))
    }

    pub fn store_failures(&self) -> impl Iterator<Item = &TeamNote> {
        self.notes.iter().filter(|of_team| of_team.note.is_store_failure())
    }

    /// The reasons why the session's team may be missing.
    pub fn overlooked(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().map(|of_team| &of_team.note).filter(|note| note.is_overlooked())
    }

    fn overlook(&mut self, limit: Option<Limit>, text: String) {
        self.notes.push(TeamNote { subject: None, note: Note::overlooked(limit, text) });
    }

    /// Why a session of which no team is known may be in one all the same.
    pub(super) fn unseen_team(&self) -> Option<String> {
        self.unreadable_roster().or_else(|| self.overlooked().next().map(|note| note.text.clone()))
    }

    /// The first roster that cannot be read, and why: any session may be in it.
    pub(super) fn unreadable_roster(&self) -> Option<String> {
        self.teams.iter().find_map(|(team, index)| {
            let lists = index.lists(Some(team.as_str()), None);
            index.files.iter().find_map(|(path, seen)| {
                let lacks = Unreadable::of(path, seen.why_unreadable()?, &lists)?;
                lacks.hides_roster().then(|| format!("{} cannot be read: {}", lacks.path, lacks.why))
            })
        })
    }
}

pub struct Captured<'a> {
    pub call: Parsed<'a>,
    pub found: CapturedTeams,
}

impl<'a> Parsed<'a> {
    pub fn capture(self) -> Captured<'a> {
        let mut found = CapturedTeams::default();
        if self.client.as_os_str().is_empty() {
            return Captured { call: self, found };
        }
        let request = self.capture_request();
        let candidates = attribution::candidate_teams(&self.context(), &self.archive);
        candidates.unseen.into_iter().for_each(|text| found.overlook(None, text));
        found.since = candidates.since;
        let mut left = 0;
        for (place, subject) in candidates.subjects.into_iter().enumerate() {
            if place > 0 && request.is_over() {
                left += 1;
                continue;
            }
            found.add(&subject, self.archive.capture(&subject, &self.client, &request));
        }
        if left > 0 {
            found.overlook(Some(Limit::Time), format!("not enough time to capture {left} more teams"));
            found.since = None;
        }
        Captured { call: self, found }
    }
}

impl CapturedTeams {
    pub(super) fn reload(&mut self, own: &CaptureScope, archive: &Archive) {
        if let (Some(team), Some(index)) = (own.team(), archive.index(own)) {
            self.teams.insert(team.clone(), index);
        }
    }
}
