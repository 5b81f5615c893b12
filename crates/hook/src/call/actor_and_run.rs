//! Who acts, in which team and run.

use super::{CapturedTeams, Received};
use crate::attribution::{self, CallContext, ResolvedTeam, SessionState};
use teamkeep_config::ArchivedSessions;
use teamkeep_model::event::{Actor, ActorKind, SafeName};
use teamkeep_model::payload::{EventKind, Spawn};
use teamkeep_store::archive::{Archive, CaptureScope, Index, RunRecord};
use teamkeep_system::process;

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

impl Received<'_> {
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
