//! What a call shows about runs: who takes part, which begin again or end (SessionEnd, TeamDelete, a removed directory, a lead's process
//! that has ended), and the task lists of a session beside the team's own.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use serde_json::Value;

use super::call::Call;
use crate::attribution::CallContext;
use crate::facts::is_left_behind;
use teamkeep_model::Tool;
use teamkeep_model::event::SafeName;
use teamkeep_model::payload::{EventKind, shown_task};
use teamkeep_model::team::HIGHEST_NUMBER;
use teamkeep_model::time::Timestamp;
use teamkeep_store::archive::{CaptureScope, EndedBy, Index, SessionRecord, SessionRole};
use teamkeep_store::log::{self, Logs};
use teamkeep_system::{fs, process};

/// The last line of a log has at most so many bytes. Otherwise the time of the last snapshot counts.
const MAX_TAIL_BYTES: u64 = 1 << 20;

impl Call<'_> {
    /// Whether the session is a team's lead, or has no team.
    pub(crate) fn is_lead(&self) -> bool {
        self.by.resolved.name.is_none()
    }

    /// Closes the runs that have ended according to this call; returns whether there were any.
    pub(crate) fn close_runs(&self) -> io::Result<bool> {
        let (received, archive, own) = (&self.received, &self.received.archive, self.by.own.as_ref());
        let context = received.context();
        let mut closed = false;
        if received.kind == EventKind::SessionStart {
            let logs = Logs::of(&received.recorder.paths);
            for subject in archive.open_subjects().iter().filter(|subject| own != Some(*subject)) {
                let is_over =
                    |index: &Index| is_crashed(&context, index) || is_left_behind(&context, archive, index);
                if let Some(index) = archive.index(subject).filter(is_over) {
                    let at = last_activity(&logs, &index).unwrap_or(received.at);
                    closed |= archive.close_run(subject, EndedBy::Crashed, None, at)?;
                }
            }
        }
        let mut end = |subject: &CaptureScope, by: EndedBy, reason: Option<&str>| -> io::Result<()> {
            closed |= archive.close_run(subject, by, reason, received.at)?;
            Ok(())
        };
        // The payload may be wrong: a team whose directory exists was not deleted.
        let is_there = |team: &SafeName| received.client.join("teams").join(team).exists();
        if let Some(team) = deleted_team(&context).filter(|team| !is_there(team)) {
            end(&self.found.scope(&team), EndedBy::TeamDelete, None)?;
        }
        let ends_session = self.is_lead() && received.kind == EventKind::SessionEnd;
        if let Some(own) = own.filter(|_| ends_session) {
            let reason = received.payload.text("reason");
            let continues = matches!(reason, Some("clear" | "resume"))
                && archive.index(own).is_some_and(|index| index.present);
            if !continues {
                end(own, EndedBy::SessionEnd, reason)?;
                // A lead that could not delete a team may have created another one (2.1.47): both end with its session.
                let led = |subject: &CaptureScope| {
                    archive.index(subject).is_some_and(|index| index.is_led_by(received.payload.session()))
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
    pub(crate) fn reopen(&self) -> io::Result<()> {
        let received = &self.received;
        let acts = matches!(
            received.kind,
            EventKind::SessionStart
                | EventKind::UserPromptSubmit
                | EventKind::PreToolUse
                | EventKind::PostToolUse
                | EventKind::SubagentStart
        );
        let own = self.by.own.as_ref().filter(|_| acts && deleted_team(&received.context()).is_none());
        let Some(own) = own else { return Ok(()) };
        let known = own.team().and_then(|team| self.found.teams.get(team)).map(Cow::Borrowed);
        let index = known.or_else(|| received.archive.index(own).map(Cow::Owned));
        // A call that was killed at the end of the run may have left its index.
        let has_ended = |index: &Index| {
            index.ended
                || (received.kind == EventKind::SessionStart
                    && received.archive.run(&index.run).is_some_and(|run| run.ended_at.is_some()))
        };
        if index.is_some_and(|index| has_ended(&index) && (index.is_there() || own.team().is_none())) {
            received.archive.update_run(own, |_, run| {
                // A call that was killed has reopened the run, but not its index.
                let later = run.ended_at.is_none_or(|ended| ended < received.at);
                if later {
                    run.reopen();
                }
                later
            })?;
        }
        Ok(())
    }

    /// Notes what the call shows about runs: who takes part, and which begin again or end. Returns whether any has ended.
    pub(crate) fn update_runs(&mut self) -> bool {
        let closed_pending = self.received.archive.close_pending_runs(Duration::ZERO);
        if let (Some(own), Some(run)) = (self.by.own.clone(), self.by.run.clone())
            && (self.by.state.run.as_ref() != Some(&run)
                || self.received.kind == EventKind::SessionEnd
                || self.has_new_process())
        {
            // If the run is locked, the next call joins it.
            if self.join_run(&own) {
                self.by.state.run = Some(run);
            }
        }
        let noted = self.note_gone_panes();
        self.outcome.note("note which panes are gone", noted);
        let reopened = self.reopen();
        self.outcome.note("open the run again", reopened);
        let closed = self.close_runs();
        self.outcome.note("close the run", closed).unwrap_or_default() || closed_pending
    }

    pub(crate) fn join_run(&mut self, own: &CaptureScope) -> bool {
        let context = self.received.context();
        let Some(session) = &self.received.session else { return true };
        let name = self.by.resolved.name.clone();
        let role = if name.is_none() { SessionRole::Lead } else { SessionRole::Pane };
        let mut part = SessionRecord {
            transcript: context.transcript().map(|path| path.display().to_string()),
            name,
            ..SessionRecord::new(session.to_string(), role)
        };
        let updated = self.received.archive.update_run(own, |index, run| {
            let leads = part.role == SessionRole::Lead;
            let pane = run.process_of_pane(&part.id);
            let new = context.client_pid.filter(|pid| !leads && pane.is_none_or(|known| known.pid != *pid));
            part.process = new.map(process::identify);
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
                index.learn_process(process::identify(pid));
                changed = true;
            }
            changed
        });
        self.outcome.note("note the session in its run", updated).is_some()
    }

    /// Records which panes' processes are gone, when a turn of the lead begins or ends. Later, with the end of the run, all
    /// are gone.
    fn note_gone_panes(&self) -> io::Result<()> {
        let received = &self.received;
        let is_turn = matches!(received.kind, EventKind::UserPromptSubmit | EventKind::Stop);
        if !is_turn || self.by.resolved.name.is_some() {
            return Ok(());
        }
        let (Some(own), Some(run)) = (&self.by.own, &self.by.run) else { return Ok(()) };
        let record = received.archive.run(run).filter(|_| own.team().is_some());
        if record.is_some_and(|mut record| record.note_gone_panes(received.at)) {
            received.archive.update_run(own, |_, run| run.note_gone_panes(received.at))?;
        }
        Ok(())
    }

    /// Whether Claude Code's process of the run may be new: a resumed session has another one, and so has a reopened run.
    fn has_new_process(&self) -> bool {
        let received = &self.received;
        let is_alone = self.by.own.as_ref().is_some_and(|own| own.team().is_none());
        let index =
            self.by.own.as_ref().and_then(CaptureScope::team).and_then(|team| self.found.teams.get(team));
        (is_alone && received.kind == EventKind::SessionStart)
            || index.is_some_and(|index| {
                let leads = self.is_lead() && index.is_led_by(received.payload.session());
                let pid = received.recorder.env.client_pid;
                leads && !index.ended && pid.is_some_and(|pid| index.lead_pid != Some(pid))
            })
    }

    /// Stores the task list that the session names, and captures it: at the next call, parts of it may be deleted.
    pub(crate) fn capture_named_list(&mut self) {
        let received = &self.received;
        let (Some(own), Some(session)) = (&self.by.own, &received.session) else { return };
        let list = received.list.as_ref().filter(|list| *list != own.name()).map(SafeName::as_str);
        let known = match own.team() {
            Some(team) => self.found.teams.get(team).map(Cow::Borrowed),
            None => list.and_then(|_| received.archive.index(own)).map(Cow::Owned),
        };
        if known.is_none_or(|known| known.lists.knows(session.as_str(), list)) {
            return;
        }
        let updated = received.archive.update_run(own, |index, _| {
            index.learn_list(session.as_str(), list);
            true
        });
        self.outcome.note("note the task list of the session", updated);
        match list {
            Some(_) => self
                .found
                .add(own, received.archive.capture(own, &received.client, &received.capture_request())),
            None => self.found.reload(own, &received.archive),
        }
    }

    /// Records a task that a tool names and that is not in any known list: no gate sees the tasks of the session's list.
    pub(crate) fn note_missing_list(&mut self) {
        let received = &self.received;
        let task = shown_task(received.kind, &received.payload).and_then(|id| SafeName::new(&id));
        let (Some(task), Some(own), Some(session)) = (task, &self.by.own, &received.session) else { return };
        let Some(index) = own.team().and_then(|team| self.found.teams.get(team)) else { return };
        let missing = (!self.is_in_a_list(own, index, session, &task)).then_some(task.as_str());
        if index.lists.is_missing(session.as_str(), missing) {
            return;
        }
        let updated =
            received.archive.update_run(own, |index, _| index.lists.note_missing(session.as_str(), missing));
        self.outcome.note("note the task that is missing", updated);
        self.found.reload(own, &received.archive);
    }

    /// Whether a list of the session has or had the task: Claude Code removes the files but keeps the highest number.
    fn is_in_a_list(&self, own: &CaptureScope, index: &Index, session: &SafeName, task: &SafeName) -> bool {
        let lists = index.lists(own.team().map(SafeName::as_str), Some(session.as_str()));
        let known = index.more_tasks.iter().map(String::as_str).chain([own.name().as_str()]);
        let tasks = self.received.client.join("tasks");
        let mut dirs = known.filter(|list| lists.prefix(list).is_some()).map(|list| tasks.join(list));
        dirs.any(|dir| {
            let highest = || {
                fs::read_regular(&dir.join(HIGHEST_NUMBER), fs::MAX_JSON_BYTES).ok().map(|(bytes, _)| bytes)
            };
            dir.join(format!("{task}.json")).symlink_metadata().is_ok()
                || highest().is_some_and(|highest| was_given(&highest, task.as_str()))
        })
    }
}

fn deleted_team(context: &CallContext<'_>) -> Option<SafeName> {
    if context.kind != EventKind::PostToolUse || context.payload.tool() != Some(Tool::TeamDelete) {
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
