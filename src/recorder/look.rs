//! Which files a call looks at, and what it finds there.

use std::collections::BTreeMap;
use std::io;

use super::record::{Recorder, Step};
use crate::archive::{Archive, Call, Captured, Index, Loss, SessionRecord, SessionRole, Subject};
use crate::event::{ActorKind, SafeName};
use crate::identity::{self, Evidence};
use crate::payload::Kind;
use crate::process;

/// What a call found.
#[derive(Debug, Default)]
pub struct Found {
    /// What is known of each team.
    pub teams: BTreeMap<SafeName, Index>,
    /// How many files of a team were not archived in time.
    pub left: BTreeMap<SafeName, usize>,
    /// Teams whose directory was there at the last look and is no longer.
    pub vanished: Vec<Subject>,
    /// Failures of the store, by team.
    pub problems: Vec<(Subject, String)>,
    /// Files that could not be kept, although the store works, by team.
    pub losses: Vec<(Subject, Loss)>,
    /// Why the session's own team may have been overlooked.
    pub unseen: Vec<String>,
    /// Since when a session that was found in no team is in none.
    pub since: Option<i64>,
    /// What was kept, or needed no keeping, but was odd.
    pub notes: Vec<String>,
    /// What comes of many writers at once, and costs nothing.
    pub usual: Vec<String>,
}

impl Found {
    pub(super) fn take(&mut self, subject: &Subject, captured: Captured) {
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
}

impl Recorder {
    /// Looks at every team that the call can concern.
    pub(super) fn look(&self, step: &Step, evidence: &Evidence<'_>, archive: &Archive) -> Found {
        let call = Call { at: step.at, event: &step.id, durable: step.deletes, until: step.until };
        let mut found = Found::default();
        if step.client.as_os_str().is_empty() {
            return found;
        }
        let concerned = identity::concerned(evidence, archive);
        (found.unseen, found.since) = (concerned.unseen, concerned.since);
        let mut left = 0;
        for (place, subject) in concerned.subjects.into_iter().enumerate() {
            if place > 0 && call.is_over() {
                left += 1;
                continue;
            }
            found.take(&subject, archive.capture(&subject, &step.client, &call));
        }
        if left > 0 {
            found.unseen.push(format!("there was no time to look at {left} further teams"));
            found.since = None;
        }
        found
    }

    /// A session that has no team but starts subagents is a run of its own, with its task list.
    pub(super) fn look_alone(
        &self,
        step: &Step,
        evidence: &Evidence<'_>,
        archive: &Archive,
        speaker: ActorKind,
    ) -> Option<(Subject, String)> {
        let subject = Subject::Session(step.session.clone()?);
        let starts =
            speaker == ActorKind::Subagent && matches!(step.kind, Kind::SubagentStart | Kind::SubagentStop);
        if evidence.is_pane_like() || !(starts || archive.knows(&subject)) {
            return None;
        }
        let call = Call { at: step.at, event: &step.id, durable: false, until: step.until };
        let index = match archive.index(&subject) {
            Some(_) => archive.capture(&subject, &step.client, &call).index?,
            None => archive.begin(&subject, &call).ok()?,
        };
        Some((subject, index.run))
    }

    /// Notes the session's part in a run.
    pub(super) fn join(
        &self,
        archive: &Archive,
        subject: &Subject,
        evidence: &Evidence<'_>,
        name: Option<&str>,
    ) -> io::Result<()> {
        let Some(session) = evidence.session() else { return Ok(()) };
        let part = SessionRecord {
            id: session.to_string(),
            role: if name.is_none() { SessionRole::Lead } else { SessionRole::Pane },
            name: name.map(str::to_owned),
            transcript: evidence.transcript().map(|path| path.display().to_string()),
        };
        let amended = archive.amend(subject, |index, run| {
            let leads = part.role == SessionRole::Lead;
            let mut changed = run.join(part);
            // After `/clear` the lead has a new session, and its tasks a further list beside the team's (2.1.328).
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
            // Only the files of 2.1.178 and later name the lead's process; a session that is resumed has another.
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
