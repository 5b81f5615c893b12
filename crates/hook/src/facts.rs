//! The facts of a hook call: its payload, the captured files of the teams that it may belong to, and who acts, in which team and run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use crate::Recorder;
use crate::attribution::{self, CallContext, ResolvedTeam, SessionState};
use teamkeep_config::ArchivedSessions;
use teamkeep_model::event::{Actor, ActorKind, Id, SafeName};
use teamkeep_model::payload::{EventKind, Input, Payload, Spawn, parse};
use teamkeep_model::team::mailbox;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::count;
use teamkeep_model::{Limit, Note, Tool, TraceParent};
use teamkeep_policy::{Unreadable, Verdict};
use teamkeep_store::archive::{Archive, CaptureRequest, CaptureScope, Captured, Index, RunRecord};
use teamkeep_system::process;

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

    /// Captures a session that has no team but starts subagents. Its task list becomes a run. With `sessions = "all"`, each
    /// other session becomes one when it ends, so that its transcript is archived.
    fn capture_without_team(&self, actor: ActorKind) -> Option<(CaptureScope, String)> {
        let subject = CaptureScope::Session(self.session.clone()?);
        let starts = actor == ActorKind::Subagent
            && matches!(self.kind, EventKind::SubagentStart | EventKind::SubagentStop);
        if self.context().looks_like_split_pane() {
            return None;
        }
        if !(starts || self.archive.knows(&subject)) {
            return self.archive_session(subject);
        }
        let index = self.capture_session(&subject)?;
        Some((subject, index.run))
    }

    /// Captures the files of a session, and begins its run if it has none.
    fn capture_session(&self, subject: &CaptureScope) -> Option<Index> {
        let request = self.capture_request();
        if self.archive.index(subject).is_none() {
            self.archive.begin(subject, &request).ok()?;
        }
        // At the next call, files that exist now may be overwritten or deleted.
        self.archive.capture(subject, &self.client, &request).index
    }

    /// Begins the run of a session that ends. It started with its transcript; without one, there is nothing to archive.
    fn archive_session(&self, subject: CaptureScope) -> Option<(CaptureScope, String)> {
        let recorder = self.recorder;
        let is_wanted = self.kind == EventKind::SessionEnd
            && recorder.config.archive.sessions == ArchivedSessions::All
            && !recorder.is_metadata_only();
        let start = if is_wanted { self.context().transcript_start()? } else { return None };
        let index = self.capture_session(&subject)?;
        let set_start = |_: &mut Index, run: &mut RunRecord| {
            run.started_at = start.min(run.started_at);
            true
        };
        // With the time of the call, the run has no duration, and is complete otherwise.
        let _ = self.archive.update_run(&subject, set_start);
        Some((subject, index.run))
    }
}

#[derive(Debug, Default)]
pub(crate) struct CapturedTeams {
    pub teams: BTreeMap<SafeName, Index>,
    /// The scopes of the teams whose name a team in another configuration directory had first.
    shared_names: BTreeMap<SafeName, CaptureScope>,
    /// Number of files of each team that were not archived in time.
    pub unarchived: BTreeMap<SafeName, usize>,
    /// Teams whose directory was removed since the last capture.
    pub vanished: Vec<CaptureScope>,
    /// Since when a session without a team has none.
    pub since: Option<i64>,
    /// Notes of all captures, and reasons why the session's team may be missing.
    pub notes: Vec<TeamNote>,
}

#[derive(Debug)]
pub(crate) struct TeamNote {
    /// The team, if the note is about a certain one.
    pub subject: Option<CaptureScope>,
    pub note: Note,
}

impl CapturedTeams {
    pub(crate) fn add(&mut self, subject: &CaptureScope, captured: Captured) {
        let subject = captured.instead.as_ref().unwrap_or(subject);
        let of_team = |note| TeamNote { subject: Some(subject.clone()), note };
        self.notes.extend(captured.notes.into_iter().map(of_team));
        if let (Some(team), Some(index)) = (subject.team(), captured.index) {
            self.teams.insert(team.clone(), index);
            self.unarchived.insert(team.clone(), captured.unarchived);
            if matches!(subject, CaptureScope::TeamIn(..)) {
                self.shared_names.insert(team.clone(), subject.clone());
            }
        }
        if captured.disappeared {
            self.vanished.push(subject.clone());
        }
    }

    /// The scope of a team of this call.
    pub(crate) fn scope(&self, team: &SafeName) -> CaptureScope {
        self.shared_names.get(team).cloned().unwrap_or_else(|| CaptureScope::Team(team.clone()))
    }

    pub(crate) fn store_failures(&self) -> impl Iterator<Item = &TeamNote> {
        self.notes.iter().filter(|of_team| of_team.note.is_store_failure())
    }

    /// The reasons why the session's team may be missing.
    pub(crate) fn overlooked(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().map(|of_team| &of_team.note).filter(|note| note.is_overlooked())
    }

    fn overlook(&mut self, limit: Option<Limit>, text: String) {
        self.notes.push(TeamNote { subject: None, note: Note::overlooked(limit, text) });
    }

    /// Why a session of which no team is known may be in one all the same.
    pub(crate) fn unseen_team(&self) -> Option<String> {
        self.unreadable_roster().or_else(|| self.overlooked().next().map(|note| note.text.clone()))
    }

    /// The first roster that cannot be read, and why: any session may be in it.
    pub(crate) fn unreadable_roster(&self) -> Option<String> {
        self.teams.iter().find_map(|(team, index)| {
            let lists = index.lists(Some(team.as_str()), None);
            index.files.iter().find_map(|(path, seen)| {
                let lacks = Unreadable::of(path, seen.why_unreadable()?, &lists)?;
                lacks.hides_roster().then(|| format!("{} cannot be read: {}", lacks.path, lacks.why))
            })
        })
    }

    /// Captures the files of the teams that the call may belong to.
    pub(crate) fn capture(received: &Received<'_>) -> CapturedTeams {
        let mut found = CapturedTeams::default();
        if received.client.as_os_str().is_empty() {
            return found;
        }
        let request = received.capture_request();
        let candidates = attribution::candidate_teams(&received.context(), &received.archive);
        candidates.unseen.into_iter().for_each(|text| found.overlook(None, text));
        found.since = candidates.since;
        let mut left = 0;
        for (place, subject) in candidates.subjects.into_iter().enumerate() {
            if place > 0 && request.is_over() {
                left += 1;
                continue;
            }
            found.add(&subject, received.archive.capture(&subject, &received.client, &request));
        }
        if left > 0 {
            found.overlook(
                Some(Limit::Time),
                format!("not enough time to capture {}", count(left, "more team")),
            );
            found.since = None;
        }
        found
    }

    pub(crate) fn reload(&mut self, own: &CaptureScope, archive: &Archive) {
        if let (Some(team), Some(index)) = (own.team(), archive.index(own)) {
            self.teams.insert(team.clone(), index);
        }
    }
}

pub(crate) struct Attribution {
    pub resolved: ResolvedTeam,
    pub actor: Actor,
    pub state: SessionState,
    /// The session's team or subagent run. The session may also see files of other teams.
    pub own: Option<CaptureScope>,
    pub run: Option<String>,
}

impl Attribution {
    pub(crate) fn of(received: &Received<'_>, found: &CapturedTeams) -> Attribution {
        let context = received.context();
        let (resolved, _) = attribution::team(&context, &found.teams);
        let index = resolved.team.as_ref().and_then(|team| found.teams.get(team));
        let left_behind = index.is_some_and(|index| is_left_behind(&context, &received.archive, index));
        let (actor, _) = attribution::actor(&context, index, resolved.name.as_deref());
        let mut state = updated_state(&context, &resolved, &actor);
        let is_teamless = resolved.team.is_none()
            && !context.is_undecided(&found.teams)
            && found.unreadable_roster().is_none();
        state.teamless = found.since.filter(|_| is_teamless).or(state.teamless);
        let mut own = resolved.team.as_ref().filter(|_| resolved.member).map(|team| found.scope(team));
        let mut run = index.map(|index| index.run.clone());
        if left_behind {
            // The next run of the team becomes the session's.
            (own, run) = (None, None);
        } else if resolved.team.is_none() {
            (own, run) = received.capture_without_team(actor.kind).unzip();
        }
        Attribution { resolved, actor, state, own, run }
    }
}

fn updated_state(context: &CallContext<'_>, resolved: &ResolvedTeam, actor: &Actor) -> SessionState {
    let mut state = context.state.clone();
    if resolved.member {
        state.team = resolved.team.as_ref().map(ToString::to_string).or(state.team);
        state.name = resolved.name.clone().or(state.name);
    }
    if let Some(spawn) = Spawn::of(context.payload) {
        state.company = true;
        // `name@team` is the member's id, not the agent id in hook payloads.
        if let Some(id) = spawn.agent_id.filter(|id| !id.contains('@')) {
            state.agents.note(&id, &spawn.name);
        }
    }
    if let (ActorKind::Teammate, Some(name), Some(id)) = (actor.kind, &actor.name, &actor.id)
        && state.agents.get(id).is_none()
    {
        state.agents.note(id, name);
    }
    state.company |= context.payload.agent_id().is_some() || context.kind == EventKind::TeammateIdle;
    if state.company && state.version.is_none() {
        state.version = attribution::version(context);
    }
    state
}

/// Whether a resumed session has left this run behind. SessionStart of 2.1.328 comes before the session creates its
/// team again, so the existing files belong to a killed process of Claude Code. Only the lead's process in them may
/// have been rewritten.
pub(crate) fn is_left_behind(context: &CallContext<'_>, archive: &Archive, index: &Index) -> bool {
    let resumes = context.kind == EventKind::SessionStart && context.payload.text("source") == Some("resume");
    if !resumes || !index.is_led_by(context.payload.session()) {
        return false;
    }
    if index.ended {
        // The directory may exist before its configuration is written.
        return !index.is_there();
    }
    let run = archive.run(&index.run);
    // Before 2.1.178 a team has a name of its own, and the resumed session continues with it.
    let own = context.own_team();
    if run.as_ref().and_then(|run| run.team.as_deref()) != own.as_ref().map(SafeName::as_str) {
        return false;
    }
    let led = run.and_then(|run| run.client_pid).or(index.lead_pid);
    let (Some(pid), Some(own)) = (led, context.client_pid) else { return false };
    let start = index.lead_start.as_deref().filter(|_| index.lead_pid == Some(pid));
    pid != own && process::is_gone(pid, index.lead_space.as_deref(), start)
}
