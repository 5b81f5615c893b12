//! Checks a run's directory: its description, journals, transcripts and stored events, and whether the journals have the
//! states that the events of the log name.

use std::path::Path;

use super::check::{Check, ContentUse};
use super::journals::{JournalCheck, JournalStates, Naming};
use super::{Finding, Kind, Scope, UPGRADE};
use teamkeep_core::store::archive::{JournalPoint, Snapshot};
use teamkeep_core::store::log;

/// The supported format version of a run's description and of a journal line.
const VERSION: u8 = 1;
const SNAPSHOT_VERSION: u8 = 2;

const RECORD: &str =
    "the next hook call of its team rebuilds it; for an ended run, import it again from an export";
const JOURNAL: &str = "the recorded files of this run are lost; if you have an export of the run, remove its directory and \
                       `teamkeep import FILE`";
const LINE: &str = "the changes at that moment are lost, with the states that only this line names; all other lines are intact";
const CUT_LINE: &str =
    "the next hook call of the team stores the files that still exist; all other lines are intact";
const TRANSCRIPTS: &str = "transcripts that Claude Code still has are read from there; the others are lost";

impl Check<'_> {
    pub fn run(&mut self, run: &str) {
        self.findings.checked.runs += 1;
        self.contents.clear();
        let archive = self.verifier.archive;
        let Some(dir) = archive.run_dir(run) else {
            let (what, hint) =
                (format!("{run:?} is not a valid run id"), "remove it: it does not belong to teamkeep");
            self.findings.add(Finding::new(Kind::DamagedFile, Path::new(run), what, hint));
            return;
        };
        self.description(run, &dir.join("run.json"));
        let before = (self.findings.checked.manifests, self.findings.count);
        for file in archive.journal_files(run) {
            self.journal(run, &file);
        }
        let is_empty = (self.findings.checked.manifests, self.findings.count) == before;
        if is_empty && archive.run(run).is_some_and(|record| record.has_journal()) {
            let what = "the journal of this team's run is missing or empty";
            let path = dir.join("snapshots.jsonl");
            self.findings.add(Finding::new(Kind::DamagedFile, &path, what, JOURNAL).of_run(run));
        }
        self.transcripts(run, &dir.join("transcripts.json"));
    }

    fn description(&mut self, run: &str, path: &Path) {
        let archive = self.verifier.archive;
        let (kind, what, hint) = match archive.run(run).filter(|record| record.run == run) {
            None => (Kind::DamagedFile, archive.why_damaged(run), RECORD),
            Some(record) if record.v > VERSION => {
                (Kind::NewerVersion, format!("format version {}", record.v), UPGRADE)
            }
            Some(record) => match record.flaw() {
                Some(what) => (Kind::DamagedFile, what, RECORD),
                None => return,
            },
        };
        self.findings.add(Finding::new(kind, path, what, hint).of_run(run));
    }

    fn journal(&mut self, run: &str, file: &Path) {
        let problem = self.each_line(file, |check, number, line| {
            check.journals.of(run, file).states.line(number, &line);
            if line.is_empty() {
                return;
            }
            check.findings.checked.manifests += 1;
            let at_line = |kind, what, hint| Finding::new(kind, file, what, hint).of_run(run).at(number);
            let parsed = Snapshot::parse(&line);
            // No event refers to the state after this line, so it excuses no other difference.
            if parsed.as_ref().is_err_and(serde_json::Error::is_eof) {
                let cut = at_line(Kind::CutLine, log::CUT_OFF.to_owned(), CUT_LINE);
                check.findings.add(cut);
                return;
            }
            let mut add = |kind, what, hint| {
                check.journals.of(run, file).is_damaged = true;
                check.findings.add(at_line(kind, what, hint));
            };
            let snapshot = match parsed {
                Ok(snapshot) => snapshot,
                Err(error) => return add(Kind::DamagedLine, error.to_string(), LINE),
            };
            if snapshot.v > SNAPSHOT_VERSION {
                add(Kind::NewerVersion, format!("format version {}", snapshot.v), UPGRADE);
            } else if let Some(what) = snapshot.flaw() {
                add(Kind::DamagedLine, what, LINE);
            }
            for change in &snapshot.changed {
                if let Some(hash) = &change.object {
                    let what = format!("{} {}", change.path, snapshot.at);
                    check.require_content(hash, &ContentUse { run, file, line: Some(number), what });
                }
            }
        });
        if let Some(why) = problem {
            self.journals.of(run, file).is_damaged = true;
            self.findings.add(Finding::new(Kind::DamagedFile, file, why, LINE).of_run(run));
        }
    }

    fn transcripts(&mut self, run: &str, file: &Path) {
        let archive = self.verifier.archive;
        let why = match archive.read_kept(run) {
            Ok(Some(kept)) => {
                for (what, kept) in kept {
                    self.findings.checked.transcripts += 1;
                    self.require_content(&kept.object, &ContentUse { run, file, line: None, what });
                }
                return;
            }
            Ok(None) if !archive.run(run).is_some_and(|record| record.has_transcripts()) => return,
            Ok(None) => "it is missing, although the run has ended".to_owned(),
            Err(error) => error.to_string(),
        };
        self.findings.add(Finding::new(Kind::DamagedFile, file, why, TRANSCRIPTS).of_run(run));
    }

    /// Compares the states that an event names. Runs that were removed since are not there.
    pub fn named_states(&mut self, line: &[u8]) {
        let Some(Naming { id, at, snapshots }) = Naming::of_event(line) else { return };
        let (archive, single) = (self.verifier.archive, self.single_run());
        for (run, point) in snapshots.iter().filter(|(run, _)| single.is_none_or(|single| single == *run)) {
            let Ok(named) = point.parse::<JournalPoint>() else { continue };
            // A run that was pruned and began again has another journal.
            let is_former =
                archive.run(run).is_some_and(|record| at < record.started_at && record.imported.is_none());
            if let Some(dir) = archive.run_dir(run).filter(|dir| dir.exists() && !is_former) {
                let path = dir.join(named.file_name(&id));
                self.journals.of(run, &path).compare(named.point, &id);
            }
        }
    }

    /// Reports the journals that are not as events name them.
    pub fn finish_journals(&mut self) {
        for (run, journals) in std::mem::take(&mut self.journals.journals) {
            // A run that continues has decompressed its journal in the meantime.
            let files = self.verifier.archive.journal_files(&run);
            let is_imported =
                || self.verifier.archive.run(&run).is_some_and(|record| record.imported.is_some());
            // An event of any session can name it.
            if self.verifier.scope == Scope::All && !is_imported() {
                for finding in journals.values().filter_map(JournalCheck::unnamed) {
                    self.findings.add(finding.of_run(&run));
                }
            }
            for (name, journal) in journals.into_iter().filter(|(_, journal)| journal.is_suspect()) {
                let packed = format!("{name}.gz");
                let path = files.iter().find(|file| file.ends_with(&name) || file.ends_with(&packed));
                // A hook call may have added lines after the journal was read, and before the log was.
                let mut now = JournalStates::default();
                let problem =
                    self.each_line(path.unwrap_or(&journal.path), |_, number, line| now.line(number, &line));
                if let Some(finding) = journal.alteration(&now, problem.is_none()) {
                    self.findings.add(finding.of_run(&run));
                }
            }
        }
    }
}
