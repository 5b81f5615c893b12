//! Rebuilds damaged files of a run from its journal.

use super::capture_session::CaptureSession;
use super::index::{CapturedFile, Index};
use super::run::RunRecord;
use super::store::{Archive, CaptureScope};
use crate::clock;
use crate::team::is_of;

impl Archive {
    /// Rebuilds the description of a run. Keeps the damaged file beside it.
    pub(super) fn rebuilt_run(&self, subject: &CaptureScope, index: &Index) -> RunRecord {
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
            metadata_only: self.metadata_only,
            ..RunRecord::default()
        }
    }
}

impl CaptureSession<'_> {
    /// Continues an existing journal whose index was lost, so that files deleted in the meantime are recorded as
    /// deleted.
    pub(super) fn remember(&mut self, subject: &CaptureScope) {
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
                // This capture did not include the directory; the next one does.
                if !self.index.more_tasks.iter().any(|known| known == list) {
                    self.index.more_tasks.push(list.to_owned());
                }
            } else if let Some((dir, _)) = beside.and_then(|path| path.split_once('/')) {
                // Inboxes under the name of a task list are captured again when a session names the list again.
                if is_of(dir, subject.name().as_str()) {
                    self.index.mail_dir = Some(dir.to_owned());
                }
            } else if state.gone_at.is_none() {
                // Without a stamp, an existing file is read again.
                self.index.files.insert(
                    path,
                    CapturedFile {
                        object: state.object,
                        whole: state.whole,
                        fresh: true,
                        ..CapturedFile::default()
                    },
                );
            }
        }
    }
}
