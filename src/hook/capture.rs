//! The second stage: the files of the teams that a call may concern.

use std::collections::BTreeMap;

use super::parse::Parsed;
use crate::archive::{self, CaptureScope, Index, Limit, Loss};
use crate::attribution;
use crate::event::SafeName;
use crate::policy::Unreadable;

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
    pub(super) fn take(&mut self, subject: &CaptureScope, captured: archive::Captured) {
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
                let lacks = Unreadable::of(path, seen.skipped.as_deref(), &lists)?;
                lacks.part.has_roster().then(|| format!("{} cannot be read: {}", lacks.path, lacks.why))
            })
        };
        self.teams
            .iter()
            .find_map(unreadable)
            .or_else(|| self.unseen.first().map(|unseen| unseen.what.clone()))
    }
}

/// A hook call whose teams' files were captured.
pub struct Captured<'a> {
    pub call: Parsed<'a>,
    pub found: CapturedTeams,
}

impl<'a> Parsed<'a> {
    /// Captures every team that the call may concern.
    pub fn capture(self) -> Captured<'a> {
        let mut found = CapturedTeams::default();
        if self.client.as_os_str().is_empty() {
            return Captured { call: self, found };
        }
        let request = self.capture_request();
        let candidates = attribution::candidate_teams(&self.context(), &self.archive);
        let unseen = candidates.unseen.into_iter().map(|what| OverlookedTeam { what, limit: None });
        (found.unseen, found.since) = (unseen.collect(), candidates.since);
        let mut left = 0;
        for (place, subject) in candidates.subjects.into_iter().enumerate() {
            if place > 0 && request.is_over() {
                left += 1;
                continue;
            }
            found.take(&subject, self.archive.capture(&subject, &self.client, &request));
        }
        if left > 0 {
            let what = format!("not enough time to capture {left} more teams");
            found.unseen.push(OverlookedTeam { what, limit: Some(Limit::Time) });
            found.since = None;
        }
        Captured { call: self, found }
    }
}
