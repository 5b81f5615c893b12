//! The second stage: the files of the teams that a call may concern.

use std::collections::BTreeMap;

use super::parse::Parsed;
use crate::attribution;
use crate::model::event::SafeName;
use crate::model::{Limit, Note};
use crate::policy::Unreadable;
use crate::store::archive::{self, Archive, CaptureScope, Index};

#[derive(Debug, Default)]
pub struct CapturedTeams {
    pub teams: BTreeMap<SafeName, Index>,
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
        let of_team = |note| TeamNote { subject: Some(subject.clone()), note };
        self.notes.extend(captured.notes.into_iter().map(of_team));
        if let (Some(team), Some(index)) = (subject.team(), captured.index) {
            self.teams.insert(team.clone(), index);
            self.left.insert(team.clone(), captured.left);
        }
        if captured.disappeared {
            self.vanished.push(subject.clone());
        }
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
        let unreadable = |(team, index): (&SafeName, &Index)| {
            let lists = index.lists(Some(team.as_str()), None);
            let mut files = index.files.iter().filter(|(_, seen)| seen.object.is_none());
            files.find_map(|(path, seen)| {
                let lacks = Unreadable::of(path, seen.skipped.as_deref(), &lists)?;
                lacks.part.has_roster().then(|| format!("{} cannot be read: {}", lacks.path, lacks.why))
            })
        };
        self.teams
            .iter()
            .find_map(unreadable)
            .or_else(|| self.overlooked().next().map(|note| note.text.clone()))
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
