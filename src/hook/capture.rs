//! Selects the files that a call captures, and captures them.

use std::collections::BTreeMap;
use std::io;

use super::pipeline::{HookContext, Recorder};
use crate::archive::{
    Archive, CaptureRequest, CaptureScope, Captured, Index, Limit, Loss, SessionRecord, SessionRole,
};
use crate::attribution::{self, CallContext};
use crate::enforcement::unreadable;
use crate::event::{ActorKind, SafeName};
use crate::payload::Kind;
use crate::process;

/// The result of capturing files.
#[derive(Debug, Default)]
pub struct CapturedTeams {
    /// The index of each team.
    pub teams: BTreeMap<SafeName, Index>,
    /// Number of files of each team that were not archived in time.
    pub left: BTreeMap<SafeName, usize>,
    /// Teams whose directory was removed since the last capture.
    pub vanished: Vec<CaptureScope>,
    /// Failures of the store, by team.
    pub problems: Vec<(CaptureScope, String)>,
    /// Files that could not be archived although the store works, by team.
    pub losses: Vec<(CaptureScope, Loss)>,
    /// Reasons why the session's team may be missing.
    pub unseen: Vec<OverlookedTeam>,
    /// Since when a session without a team has none.
    pub since: Option<i64>,
    /// Oddities in files that were archived or did not need to be.
    pub notes: Vec<String>,
    /// Harmless effects of concurrent writers.
    pub usual: Vec<String>,
}

/// Why a team may have been overlooked.
#[derive(Debug)]
pub struct OverlookedTeam {
    /// The reason.
    pub what: String,
    /// The limit, if it was one.
    pub limit: Option<Limit>,
}

impl CapturedTeams {
    pub(super) fn take(&mut self, subject: &CaptureScope, captured: Captured) {
        self.problems.extend(captured.problems.into_iter().map(|problem| (subject.clone(), problem)));
        self.losses.extend(captured.losses.into_iter().map(|loss| (subject.clone(), loss)));
        self.notes.extend(captured.notes);
        self.usual.extend(captured.usual);
        if let (Some(team), Some(index)) = (subject.team(), captured.index) {
            self.teams.insert(team.clone(), index);
            self.left.insert(team.clone(), captured.left);
        }
        if captured.disappeared {
            self.vanished.push(subject.clone());
        }
    }

    /// Why a session of which no team is known may be in one all the same.
    pub(super) fn unseen_team(&self) -> Option<String> {
        let unreadable = |(team, index): (&SafeName, &Index)| {
            let lists = index.lists(Some(team.as_str()), None);
            let mut files = index.files.iter().filter(|(_, seen)| seen.object.is_none());
            files.find_map(|(path, seen)| {
                let lacks = unreadable(path, seen.skipped.as_deref(), &lists)?;
                lacks.part.has_roster().then(|| format!("{} cannot be read: {}", lacks.path, lacks.why))
            })
        };
        self.teams
            .iter()
            .find_map(unreadable)
            .or_else(|| self.unseen.first().map(|unseen| unseen.what.clone()))
    }
}

impl Recorder {
    /// Captures every team that the call may concern.
    pub(super) fn capture_teams(
        &self,
        step: &HookContext,
        evidence: &CallContext<'_>,
        archive: &Archive,
    ) -> CapturedTeams {
        let call = CaptureRequest { at: step.at, event: &step.id, durable: step.deletes, until: step.until };
        let mut found = CapturedTeams::default();
        if step.client.as_os_str().is_empty() {
            return found;
        }
        let concerned = attribution::candidate_teams(evidence, archive);
        let unseen = concerned.unseen.into_iter().map(|what| OverlookedTeam { what, limit: None });
        (found.unseen, found.since) = (unseen.collect(), concerned.since);
        let mut left = 0;
        for (place, subject) in concerned.subjects.into_iter().enumerate() {
            if place > 0 && call.is_over() {
                left += 1;
                continue;
            }
            found.take(&subject, archive.capture(&subject, &step.client, &call));
        }
        if left > 0 {
            let what = format!("not enough time to capture {left} more teams");
            found.unseen.push(OverlookedTeam { what, limit: Some(Limit::Time) });
            found.since = None;
        }
        found
    }

    /// Captures a session that has no team but starts subagents. Its task list becomes a run.
    pub(super) fn capture_solo(
        &self,
        step: &HookContext,
        evidence: &CallContext<'_>,
        archive: &Archive,
        speaker: ActorKind,
    ) -> Option<(CaptureScope, String)> {
        let subject = CaptureScope::Session(step.session.clone()?);
        let starts =
            speaker == ActorKind::Subagent && matches!(step.kind, Kind::SubagentStart | Kind::SubagentStop);
        if evidence.looks_like_split_pane() || !(starts || archive.knows(&subject)) {
            return None;
        }
        let call = CaptureRequest { at: step.at, event: &step.id, durable: false, until: step.until };
        let index = match archive.index(&subject) {
            Some(_) => archive.capture(&subject, &step.client, &call).index?,
            None => archive.begin(&subject, &call).ok()?,
        };
        Some((subject, index.run))
    }

    /// Records that the session takes part in a run.
    pub(super) fn join(
        &self,
        archive: &Archive,
        subject: &CaptureScope,
        evidence: &CallContext<'_>,
        name: Option<&str>,
    ) -> io::Result<()> {
        let Some(session) = evidence.session() else { return Ok(()) };
        let part = SessionRecord {
            id: session.to_string(),
            role: if name.is_none() { SessionRole::Lead } else { SessionRole::Pane },
            name: name.map(str::to_owned),
            transcript: evidence.transcript().map(|path| path.display().to_string()),
        };
        let amended = archive.update_run(subject, |index, run| {
            let leads = part.role == SessionRole::Lead;
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
            if let Some(pid) = evidence.client_pid.filter(|pid| leads && run.client_pid != Some(*pid)) {
                run.client_pid = Some(pid);
                changed = true;
            }
            // Only files of 2.1.178 and later name the lead's process. A resumed session has a new one.
            let leads_on = leads && run.lead_session.as_deref() == Some(session.as_str());
            if let Some(pid) = evidence.client_pid.filter(|pid| leads_on && index.lead_pid != Some(*pid)) {
                index.learn_process(pid, process::start_of(pid));
                changed = true;
            }
            changed
        });
        amended.map(|_| ())
    }
}
