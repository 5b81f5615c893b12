//! Detects the end of a run: SessionEnd, TeamDelete, a removed directory, or a lead's process that has ended.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use serde_json::Value;

use super::attribute::{Attributed, is_left_behind};
use super::judge::Judged;
use super::{FinishStart, Outcome};
use crate::attribution::CallContext;
use crate::client::payload::Kind;
use crate::model::event::SafeName;
use crate::model::{Note, Severity, Tool};
use crate::store::archive::{CaptureScope, EndedBy, Index};
use crate::store::log::{self, Logs};
use crate::sys::clock::Timestamp;
use crate::sys::process;

/// The last line of a log has at most so many bytes. Otherwise the time of the last snapshot counts.
const MAX_TAIL_BYTES: u64 = 1 << 20;

impl Attributed<'_> {
    /// Whether the session is a team's lead, or has no team.
    pub fn is_lead(&self) -> bool {
        self.by.resolved.name.is_none()
    }

    /// Closes the runs that have ended according to this call; returns whether there were any.
    pub fn close_runs(&self) -> io::Result<bool> {
        let (call, archive, own) = (&self.call, &self.call.archive, self.by.own.as_ref());
        let context = call.context();
        let mut closed = false;
        if call.kind == Kind::SessionStart {
            let logs = Logs::of(&call.recorder.paths);
            for subject in archive.open_subjects().iter().filter(|subject| own != Some(*subject)) {
                let is_over =
                    |index: &Index| is_crashed(&context, index) || is_left_behind(&context, archive, index);
                if let Some(index) = archive.index(subject).filter(is_over) {
                    let at = last_activity(&logs, &index).unwrap_or(call.at);
                    closed |= archive.close_run(subject, EndedBy::Crashed, None, at)?;
                }
            }
        }
        let mut end = |subject: &CaptureScope, by: EndedBy, reason: Option<&str>| -> io::Result<()> {
            closed |= archive.close_run(subject, by, reason, call.at)?;
            Ok(())
        };
        // The payload may be wrong: a team whose directory exists was not deleted.
        let is_there = |team: &SafeName| call.client.join("teams").join(team).exists();
        if let Some(team) = deleted_team(&context).filter(|team| !is_there(team)) {
            end(&self.found.scope(&team), EndedBy::TeamDelete, None)?;
        }
        let ends_session = self.is_lead() && call.kind == Kind::SessionEnd;
        if let Some(own) = own.filter(|_| ends_session) {
            let reason = call.payload.text("reason");
            let continues = matches!(reason, Some("clear" | "resume"))
                && archive.index(own).is_some_and(|index| index.present);
            if !continues {
                end(own, EndedBy::SessionEnd, reason)?;
                // A lead that could not delete a team may have created another one (2.1.47): both end with its session.
                let led = |subject: &CaptureScope| {
                    archive.index(subject).is_some_and(|index| index.is_led_by(call.payload.session()))
                };
                for other in archive.open_subjects().iter().filter(|other| *other != own && led(other)) {
                    end(other, EndedBy::SessionEnd, reason)?;
                }
            }
        }
        for subject in &self.found.vanished {
            if !(ends_session && own == Some(subject)) {
                end(subject, EndedBy::Disappeared, None)?;
            }
        }
        Ok(closed)
    }

    /// Reopens a run that was closed too early: its lead acts in a call that began after the end, and its directory exists.
    pub fn reopen(&self) -> io::Result<()> {
        let call = &self.call;
        let acts = matches!(
            call.kind,
            Kind::SessionStart
                | Kind::UserPromptSubmit
                | Kind::PreToolUse
                | Kind::PostToolUse
                | Kind::SubagentStart
        );
        let own = self.by.own.as_ref().filter(|_| acts && deleted_team(&call.context()).is_none());
        let Some(own) = own else { return Ok(()) };
        let known = own.team().and_then(|team| self.found.teams.get(team)).map(Cow::Borrowed);
        let index = known.or_else(|| call.archive.index(own).map(Cow::Owned));
        // A call that was killed at the end of the run may have left its index.
        let has_ended = |index: &Index| {
            index.ended
                || (call.kind == Kind::SessionStart
                    && call.archive.run(&index.run).is_some_and(|run| run.ended_at.is_some()))
        };
        if index.is_some_and(|index| has_ended(&index) && (index.is_there() || own.team().is_none())) {
            call.archive.update_run(own, |_, run| {
                // A call that was killed has reopened the run, but not its index.
                let later = run.ended_at.is_none_or(|ended| ended < call.at);
                if later {
                    run.reopen();
                }
                later
            })?;
        }
        Ok(())
    }
}

fn deleted_team(context: &CallContext<'_>) -> Option<SafeName> {
    if context.kind != Kind::PostToolUse || context.payload.tool() != Some(Tool::TeamDelete) {
        return None;
    }
    let response = context.payload.tool_response();
    if response.get("success").and_then(Value::as_bool) == Some(false) {
        return None;
    }
    let name = response.get("team_name").and_then(Value::as_str).or(context.state.team.as_deref())?;
    context.directory(name)
}

/// Whether the lead's process has ended. Age is not context, and a session that calls a hook is running.
fn is_crashed(context: &CallContext<'_>, index: &Index) -> bool {
    let Some(pid) = index.lead_pid else { return false };
    let (space, start) = (index.lead_space.as_deref(), index.lead_start.as_deref());
    let calls = (context.client_pid == Some(pid) && !process::is_different_process(pid, space, start))
        || index.is_led_by(context.payload.session());
    !calls && process::is_gone(pid, space, start)
}

/// The time of a run's last event. Its end may be noticed days later.
fn last_activity(logs: &Logs, index: &Index) -> Option<Timestamp> {
    let lines = logs.run(&index.run).and_then(|log| log::tail(&log, MAX_TAIL_BYTES, |_| true).ok());
    let event = lines.and_then(|mut lines| lines.pop()).map(|line| line.recorded.at);
    event.or(Some(index.at)).filter(|at| at.is_valid())
}

impl Judged<'_> {
    pub fn finish(self) -> Outcome {
        let Judged(mut hook) = self;
        let closed_pending = hook.call.archive.close_pending_runs(Duration::ZERO);
        if let (Some(own), Some(run)) = (hook.by.own.clone(), hook.by.run.clone())
            && (hook.by.state.run.as_ref() != Some(&run)
                || hook.call.kind == Kind::SessionEnd
                || hook.has_new_process())
        {
            // If the run is locked, the next call joins it.
            if hook.join_run(&own) {
                hook.by.state.run = Some(run);
            }
        }
        let noted = hook.note_gone_panes();
        hook.outcome.note("note which panes are gone", noted);
        let reopened = hook.reopen();
        hook.outcome.note("open the run again", reopened);
        let closed = hook.close_runs();
        let closed = hook.outcome.note("close the run", closed).unwrap_or_default() || closed_pending;
        let (call, recorder) = (&hook.call, hook.call.recorder);
        if let Some(session) = &call.session {
            let patience = call.archive.lock_budget.remaining();
            let saved = hook.by.state.save(&call.before, &recorder.paths.store, session, patience);
            hook.outcome.note("remember the session", saved);
        }
        let mut is_finishing = false;
        if closed || (call.kind == Kind::SessionStart && recorder.has_left(&call.archive)) {
            let in_session = call.kind != Kind::SessionEnd;
            let client = recorder.env.client_pid.filter(|_| !in_session);
            let later = recorder.finish_later(FinishStart { client, in_session });
            is_finishing = hook.outcome.note("archive the transcripts", later).is_some();
        }
        let notifier = hook.start_notifier();
        hook.outcome.note("start the notifier", notifier);
        if let Err(error) = hook.start_shipper(is_finishing) {
            // For the diagnostics only: the next start makes up for it.
            let text = format!("cannot start the shipper: {error}");
            hook.outcome.notes.push(Note::new(Severity::Contention, text));
        }
        hook.outcome
    }
}

impl super::attribute::Attributed<'_> {
    /// Records which panes' processes are gone, when a turn of the lead begins or ends. Later, with the end of the run, all
    /// are gone.
    fn note_gone_panes(&self) -> io::Result<()> {
        let call = &self.call;
        let is_turn = matches!(call.kind, Kind::UserPromptSubmit | Kind::Stop);
        if !is_turn || self.by.resolved.name.is_some() {
            return Ok(());
        }
        let (Some(own), Some(run)) = (&self.by.own, &self.by.run) else { return Ok(()) };
        let record = call.archive.run(run).filter(|_| own.team().is_some());
        if record.is_some_and(|mut record| record.note_gone_panes(call.at)) {
            call.archive.update_run(own, |_, run| run.note_gone_panes(call.at))?;
        }
        Ok(())
    }

    /// Whether Claude Code's process of the run may be new: a resumed session has another one, and so has a reopened run.
    fn has_new_process(&self) -> bool {
        let call = &self.call;
        let is_alone = self.by.own.as_ref().is_some_and(|own| own.team().is_none());
        let index =
            self.by.own.as_ref().and_then(CaptureScope::team).and_then(|team| self.found.teams.get(team));
        (is_alone && call.kind == Kind::SessionStart)
            || index.is_some_and(|index| {
                let leads = self.is_lead() && index.is_led_by(call.payload.session());
                let pid = call.recorder.env.client_pid;
                leads && !index.ended && pid.is_some_and(|pid| index.lead_pid != Some(pid))
            })
    }
}
