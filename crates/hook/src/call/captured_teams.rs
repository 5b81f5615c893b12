//! The files of teams that the call may belong to, as they were captured.

use std::collections::BTreeMap;

use super::Received;
use crate::attribution;
use teamkeep_model::event::SafeName;
use teamkeep_model::words::count;
use teamkeep_model::{Limit, Note};
use teamkeep_policy::Unreadable;
use teamkeep_store::archive::{self, Archive, CaptureScope, Index};

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
    pub(crate) fn add(&mut self, subject: &CaptureScope, captured: archive::Captured) {
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
}

impl CapturedTeams {
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
}

impl CapturedTeams {
    pub(crate) fn reload(&mut self, own: &CaptureScope, archive: &Archive) {
        if let (Some(team), Some(index)) = (own.team(), archive.index(own)) {
            self.teams.insert(team.clone(), index);
        }
    }
}
