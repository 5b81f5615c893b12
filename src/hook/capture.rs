//! The second stage: the files of the teams that a call may concern.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::attribute::Attributed;
use super::parse::Parsed;
use crate::archive::{self, Archive, CaptureScope, Index};
use crate::event::SafeName;
use crate::model::{Limit, Note};
use crate::payload::shown_task;
use crate::policy::Unreadable;
use crate::team::HIGHEST_NUMBER;
use crate::{attribution, fs};

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
    pub(super) fn take(&mut self, subject: &CaptureScope, captured: archive::Captured) {
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
            found.take(&subject, self.archive.capture(&subject, &self.client, &request));
        }
        if left > 0 {
            found.overlook(Some(Limit::Time), format!("not enough time to capture {left} more teams"));
            found.since = None;
        }
        Captured { call: self, found }
    }
}

/// Maximum size of `.highwatermark`, which contains a few digits.
const LARGEST_NUMBER: u64 = 64;

impl Attributed<'_> {
    /// Stores the task list that the session names and captures it immediately: at the next call, parts of it may be
    /// deleted.
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
            Some(_) => self.found.take(own, call.archive.capture(own, &call.client, &call.capture_request())),
            None => self.found.reload(own, &call.archive),
        }
    }

    /// Records a task that a tool of the session names and that is not in any known list: the session uses a list that
    /// its hooks do not know, and no gate sees its tasks.
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

    /// Whether a list of the session has the task, or had it: Claude Code removes the files but keeps the highest
    /// number.
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

impl CapturedTeams {
    fn reload(&mut self, own: &CaptureScope, archive: &Archive) {
        if let (Some(team), Some(index)) = (own.team(), archive.index(own)) {
            self.teams.insert(team.clone(), index);
        }
    }
}

/// Whether a list with this highest number has already assigned the number of the task.
fn was_given(highest: &[u8], task: &str) -> bool {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let highest = std::str::from_utf8(highest).ok().and_then(number);
    number(task).zip(highest).is_some_and(|(task, highest)| task <= highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_up_to_the_highest_was_given() {
        assert!(was_given(b"7\n", "7") && was_given(b"12", "7"));
        assert!(
            !was_given(b"6", "7")
                && !was_given(b"", "7")
                && !was_given(b"7", "x")
                && !was_given(b"\xff", "7")
        );
    }
}
