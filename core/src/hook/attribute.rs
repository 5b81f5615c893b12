//! The third stage: who acts, in which team and run.

use std::borrow::Cow;

use super::parse::Parsed;
use super::parse::{Captured, CapturedTeams};
use super::{CalledBy, Outcome};
use crate::attribution::{self, CallContext, ResolvedTeam, SessionState};
use crate::client::payload::{Input, Kind, Spawn, shown_task};
use crate::client::team::HIGHEST_NUMBER;
use crate::config::ArchivedSessions;
use crate::model::event::{Actor, ActorKind, Event, SafeName};
use crate::store::archive::{Archive, CaptureScope, Index, RunRecord, SessionRecord, SessionRole};
use crate::store::log::{EventLog, Logs};
use crate::sys::fs;
use crate::sys::process::{self, ProcessId};

/// Maximum size of `.highwatermark`, which contains a few digits.
const LARGEST_NUMBER: u64 = 64;

pub struct Attribution {
    pub resolved: ResolvedTeam,
    pub actor: Actor,
    pub state: SessionState,
    /// The session's team or subagent run. The session may also see files of other teams.
    pub own: Option<CaptureScope>,
    pub run: Option<String>,
}

pub struct Attributed<'a> {
    pub call: Parsed<'a>,
    pub found: CapturedTeams,
    pub by: Attribution,
    pub outcome: Outcome,
}

impl<'a> Captured<'a> {
    pub fn attribute(self, input: &Input) -> Attributed<'a> {
        let by = self.attribution();
        let Captured { call, found } = self;
        let mut attributed = Attributed { call, found, by, outcome: Outcome::default() };
        attributed.capture_named_list();
        attributed.note_missing_list();
        attributed.prepare_response();
        attributed.note_problems(input);
        attributed
    }

    fn attribution(&self) -> Attribution {
        let (call, found) = (&self.call, &self.found);
        let context = call.context();
        let (resolved, _) = attribution::team(&context, &found.teams);
        let index = resolved.team.as_ref().and_then(|team| found.teams.get(team));
        let left_behind = index.is_some_and(|index| is_left_behind(&context, &call.archive, index));
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
            (own, run) = self.capture_without_team(actor.kind).unzip();
        }
        Attribution { resolved, actor, state, own, run }
    }

    /// Captures a session that has no team but starts subagents. Its task list becomes a run. With `sessions = "all"`, each
    /// other session becomes one when it ends, so that its transcript is archived.
    fn capture_without_team(&self, actor: ActorKind) -> Option<(CaptureScope, String)> {
        let call = &self.call;
        let subject = CaptureScope::Session(call.session.clone()?);
        let starts =
            actor == ActorKind::Subagent && matches!(call.kind, Kind::SubagentStart | Kind::SubagentStop);
        if call.context().looks_like_split_pane() {
            return None;
        }
        if !(starts || call.archive.knows(&subject)) {
            return self.archive_session(subject);
        }
        let index = self.capture_session(&subject)?;
        Some((subject, index.run))
    }

    /// Captures the files of a session, and begins its run if it has none.
    fn capture_session(&self, subject: &CaptureScope) -> Option<Index> {
        let (call, request) = (&self.call, self.call.capture_request());
        if call.archive.index(subject).is_none() {
            call.archive.begin(subject, &request).ok()?;
        }
        // At the next call, files that exist now may be overwritten or deleted.
        call.archive.capture(subject, &call.client, &request).index
    }

    /// Begins the run of a session that ends. It started with its transcript; without one, there is nothing to archive.
    fn archive_session(&self, subject: CaptureScope) -> Option<(CaptureScope, String)> {
        let (call, recorder) = (&self.call, self.call.recorder);
        let is_wanted = call.kind == Kind::SessionEnd
            && recorder.config.archive.sessions == ArchivedSessions::All
            && !recorder.is_metadata_only();
        let start = if is_wanted { call.context().transcript_start()? } else { return None };
        let index = self.capture_session(&subject)?;
        let set_start = |_: &mut Index, run: &mut RunRecord| {
            run.started_at = start.min(run.started_at);
            true
        };
        // With the time of the call, the run has no duration, and is complete otherwise.
        let _ = call.archive.update_run(&subject, set_start);
        Some((subject, index.run))
    }
}

impl Attributed<'_> {
    /// The log that the events of this call belong to.
    pub fn log(&self) -> EventLog {
        let (call, run) = (&self.call, self.by.run.as_deref());
        Logs::of(&call.recorder.paths).of_call(run, call.session.as_ref())
    }

    /// Builds the event in the form that a recorded verdict has.
    pub fn event(&self) -> Event<'_> {
        let (call, by) = (&self.call, &self.by);
        Event {
            v: 1,
            at: call.at,
            id: call.id.as_str(),
            event: call.kind.name(),
            session: call.payload.session(),
            team: by.resolved.team.as_ref().map(SafeName::as_str),
            actor: &by.actor,
            run: by.run.as_deref(),
            task_list: call.list.as_ref().map(SafeName::as_str),
            traceparent: call.trace_parent.as_ref(),
            warning: None,
            malformed: None,
            verdict: None,
            snapshots: None,
            plugin: call.recorder.by == CalledBy::Plugin,
            payload: &call.payload.raw,
        }
    }

    pub fn join_run(&mut self, own: &CaptureScope) -> bool {
        let context = self.call.context();
        let Some(session) = &self.call.session else { return true };
        let name = self.by.resolved.name.clone();
        let role = if name.is_none() { SessionRole::Lead } else { SessionRole::Pane };
        let mut part = SessionRecord {
            transcript: context.transcript().map(|path| path.display().to_string()),
            name,
            ..SessionRecord::new(session.to_string(), role)
        };
        let updated = self.call.archive.update_run(own, |index, run| {
            let leads = part.role == SessionRole::Lead;
            let pane = run.process_of_pane(&part.id);
            let new = context.client_pid.filter(|pid| !leads && pane.is_none_or(|known| known.pid != *pid));
            part.process = new.map(ProcessId::of);
            let mut changed = run.join(part);
            // After `/clear` the lead has a new session, whose tasks are in another list beside the team's (2.1.328).
            let first = run.lead_session.as_deref().filter(|_| leads && run.team.is_some());
            if first.is_some_and(|first| first != session.as_str()) {
                changed |= index.learn_session(session.as_str());
            }
            if run.team.is_none() && run.lead_session.is_none() {
                run.lead_session = Some(session.to_string());
                changed = true;
            }
            if let Some(pid) = context.client_pid.filter(|pid| leads && run.client_pid != Some(*pid)) {
                run.client_pid = Some(pid);
                changed = true;
            }
            // Only files of 2.1.178 and later name the lead's process. A resumed session has a new one.
            let leads_on = leads && run.lead_session.as_deref() == Some(session.as_str());
            if let Some(pid) = context.client_pid.filter(|pid| leads_on && index.lead_pid != Some(*pid)) {
                index.learn_process(ProcessId::of(pid));
                changed = true;
            }
            changed
        });
        self.outcome.note("note the session in its run", updated).is_some()
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
    state.company |= context.payload.agent_id().is_some() || context.kind == Kind::TeammateIdle;
    if state.company && state.version.is_none() {
        state.version = attribution::version(context);
    }
    state
}

/// Whether a resumed session has left this run behind. SessionStart of 2.1.328 comes before the session creates its
/// team again, so the existing files belong to a killed process of Claude Code. Only the lead's process in them may
/// have been rewritten.
pub fn is_left_behind(context: &CallContext<'_>, archive: &Archive, index: &Index) -> bool {
    let resumes = context.kind == Kind::SessionStart && context.payload.text("source") == Some("resume");
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

impl Attributed<'_> {
    /// Stores the task list that the session names, and captures it: at the next call, parts of it may be deleted.
    pub fn capture_named_list(&mut self) {
        let call = &self.call;
        let (Some(own), Some(session)) = (&self.by.own, &call.session) else { return };
        let list = call.list.as_ref().filter(|list| *list != own.name()).map(SafeName::as_str);
        let known = match own.team() {
            Some(team) => self.found.teams.get(team).map(Cow::Borrowed),
            None => list.and_then(|_| call.archive.index(own)).map(Cow::Owned),
        };
        if known.is_none_or(|known| known.lists.knows(session.as_str(), list)) {
            return;
        }
        let updated = call.archive.update_run(own, |index, _| {
            index.learn_list(session.as_str(), list);
            true
        });
        self.outcome.note("note the task list of the session", updated);
        match list {
            Some(_) => self.found.add(own, call.archive.capture(own, &call.client, &call.capture_request())),
            None => self.found.reload(own, &call.archive),
        }
    }

    /// Records a task that a tool names and that is not in any known list: no gate sees the tasks of the session's list.
    pub fn note_missing_list(&mut self) {
        let call = &self.call;
        let task = shown_task(call.kind, &call.payload).and_then(|id| SafeName::new(&id));
        let (Some(task), Some(own), Some(session)) = (task, &self.by.own, &call.session) else { return };
        let Some(index) = own.team().and_then(|team| self.found.teams.get(team)) else { return };
        let missing = (!self.is_in_a_list(own, index, session, &task)).then_some(task.as_str());
        if index.lists.is_missing(session.as_str(), missing) {
            return;
        }
        let updated =
            call.archive.update_run(own, |index, _| index.lists.note_missing(session.as_str(), missing));
        self.outcome.note("note the task that is missing", updated);
        self.found.reload(own, &call.archive);
    }

    /// Whether a list of the session has or had the task: Claude Code removes the files but keeps the highest number.
    fn is_in_a_list(&self, own: &CaptureScope, index: &Index, session: &SafeName, task: &SafeName) -> bool {
        let lists = index.lists(own.team().map(SafeName::as_str), Some(session.as_str()));
        let known = index.more_tasks.iter().map(String::as_str).chain([own.name().as_str()]);
        let tasks = self.call.client.join("tasks");
        let mut dirs = known.filter(|list| lists.prefix(list).is_some()).map(|list| tasks.join(list));
        dirs.any(|dir| {
            let highest =
                || fs::read_regular(&dir.join(HIGHEST_NUMBER), LARGEST_NUMBER).ok().map(|(bytes, _)| bytes);
            dir.join(format!("{task}.json")).symlink_metadata().is_ok()
                || highest().is_some_and(|highest| was_given(&highest, task.as_str()))
        })
    }
}

fn was_given(highest: &[u8], task: &str) -> bool {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let highest = std::str::from_utf8(highest).ok().and_then(number);
    number(task).zip(highest).is_some_and(|(task, highest)| task <= highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_up_to_the_highest_was_assigned() {
        assert!(was_given(b"7\n", "7") && was_given(b"12", "7"));
        assert!(
            !was_given(b"6", "7")
                && !was_given(b"", "7")
                && !was_given(b"7", "x")
                && !was_given(b"\xff", "7")
        );
    }
}
