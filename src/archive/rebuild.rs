//! What was damaged of the record, made again from the journal of its run.

use super::index::{Index, Seen};
use super::look::Look;
use super::run::RunRecord;
use super::store::{Archive, Subject};
use crate::clock;
use crate::team::is_of;

impl Archive {
    /// What a run is, when its record is missing or damaged. What is left of that stays beside it.
    pub(super) fn rebuilt_run(&self, subject: &Subject, index: &Index) -> RunRecord {
        if let Some(dir) = self.run_dir(&index.run) {
            let _ = std::fs::rename(dir.join("run.json"), dir.join("run.json.damaged"));
        }
        let journal = self.journal(&index.run);
        let started = journal.snapshots.first().map(|first| first.at.clone());
        RunRecord {
            v: 1,
            run: index.run.clone(),
            team: subject.team().map(ToString::to_string),
            lead_session: index.lead_session.clone(),
            created_at: index.created_at.and_then(clock::from_millis).map(clock::stamp),
            started_at: started.unwrap_or_else(|| index.at.clone()),
            client_pid: index.lead_pid,
            veiled: self.veiled,
            ..RunRecord::default()
        }
    }
}

impl Look<'_> {
    /// A run that begins for the index may have a journal already: the index was lost. Then it goes on where
    /// the journal ends, so that what vanished in between is seen to be gone.
    pub(super) fn remember(&mut self, subject: &Subject) {
        let journal = self.archive.journal(&self.index.run);
        let Some(last) = journal.snapshots.last() else { return };
        self.index.at.clone_from(&last.at);
        self.index.present =
            journal.snapshots.iter().rev().find_map(|snapshot| snapshot.team_dir).unwrap_or(false);
        let record = self.archive.run(&self.index.run);
        self.index.ended = record.is_some_and(|record| record.ended_at.is_some());
        self.was_present = Some(self.index.present);
        self.disappeared = self.index.present && !self.scan.team_dir;
        let own = format!("tasks/{}/", subject.name());
        let team = format!("teams/{}/", subject.name());
        for (path, state) in journal.last() {
            let further = path.strip_prefix("tasks/").filter(|_| !path.starts_with(&own));
            let beside = path.strip_prefix("teams/").filter(|_| !path.starts_with(&team));
            if let Some((list, _)) = further.and_then(|path| path.split_once('/')) {
                // This look did not go there: what it holds is found by the next.
                if !self.index.more_tasks.iter().any(|known| known == list) {
                    self.index.more_tasks.push(list.to_owned());
                }
            } else if let Some((dir, _)) = beside.and_then(|path| path.split_once('/')) {
                // Those of a task list that a session names are scanned again when it names it again.
                if is_of(dir, subject.name().as_str()) {
                    self.index.mail_dir = Some(dir.to_owned());
                }
            } else if state.gone_at.is_none() {
                // No stamp: whatever is there now is read again.
                self.index.files.insert(
                    path,
                    Seen { object: state.object, whole: state.whole, fresh: true, ..Seen::default() },
                );
            }
        }
    }
}
