//! Checks the directories of runs: the description, the journals, whose states the events of the log name, and the transcripts;
//! and the files that teamkeep can write again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::logs::ALTERED;
use super::{Check, Damage, DamageKind, NamedStates, Scope, UPGRADE};
use teamkeep_store::archive::{ContentError, RunRecord, Snapshot, is_hash};
use teamkeep_store::chain::ChainPoint;
use teamkeep_store::log::{self, Lines, Position};
use teamkeep_store::packed::packed;
use teamkeep_system::fs::{self, JsonFile};

/// The supported format version of a run's description and of a journal line.
const VERSION: u8 = 1;
const SNAPSHOT_VERSION: u8 = 2;

/// Maximum number of uses to list for a damaged content.
const MAX_USES: usize = 5;

/// A hook call that takes longer was killed.
const MAX_CALL_TIME: Duration = Duration::from_secs(60);

const RECORD: &str =
    "the next hook call of its team rebuilds it; for an ended run, import it again from an export";
const LOST: &str = "only these states are lost; if you have an export of the run, move its directory away and \
                    `teamkeep import FILE`";
const LINE: &str = "the changes at that moment are lost, with the states that only this line names; all other lines are intact";
const CUT_LINE: &str =
    "the next hook call of the team stores the files that still exist; all other lines are intact";
const UNNAMED: &str =
    "their files were on the disk at that moment if a hook was killed; compare with other lines";
const TRANSCRIPTS: &str = "transcripts that Claude Code still has are read from there; the others are lost";
const STATE: &str = "no event is in it: whatever writes it next replaces it; or remove it";

impl Check<'_> {
    /// Checks a run, after the logs.
    pub fn run(&mut self, run: &str) {
        self.contents.clear();
        let archive = self.verifier.archive;
        let Some(dir) = archive.run_dir(run) else {
            let (what, hint) =
                (format!("{run:?} is not a valid run id"), "remove it: it does not belong to teamkeep");
            return self.add(Damage::new(DamageKind::DamagedFile, Path::new(run), what, hint));
        };
        // A prune has removed it since the runs were listed.
        if dir.symlink_metadata().is_err() {
            return;
        }
        self.findings.checked.runs += 1;
        let record = archive.run(run).filter(|record| record.run == run);
        self.description(run, record.as_ref(), &dir.join("run.json"));
        let is_imported = record.as_ref().is_some_and(|record| record.imported.is_some());
        // An event of any session can name a line.
        let is_complete = self.verifier.scope == Scope::All && !is_imported;
        let mut named = self.named.remove(run).unwrap_or_default();
        for file in archive.journal_files(run) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let states = named.remove(name.strip_suffix(".gz").unwrap_or(&name)).unwrap_or_default();
            self.journal(run, &file, states, is_complete);
        }
        for (name, states) in named {
            let event = states.into_values().next().unwrap_or_default();
            let what = format!("it is missing, but event {event} names it");
            self.add(Damage::new(DamageKind::DamagedFile, &dir.join(name), what, LOST).of_run(run));
        }
        self.transcripts(run, record.as_ref(), &dir.join("transcripts.json"));
    }

    fn description(&mut self, run: &str, record: Option<&RunRecord>, path: &Path) {
        let (kind, what, hint) = match record {
            None => (DamageKind::DamagedFile, self.verifier.archive.why_damaged(run), RECORD),
            Some(record) if record.v > VERSION => {
                (DamageKind::NewerVersion, format!("format version {}", record.v), UPGRADE)
            }
            Some(record) => match record.flaw() {
                Some(what) => (DamageKind::DamagedFile, what, RECORD),
                None => return,
            },
        };
        self.add(Damage::new(kind, path, what, hint).of_run(run));
    }

    /// Checks the lines of a journal, and that it has the states that events name; with `is_complete`, also that they name
    /// its last line.
    fn journal(&mut self, run: &str, file: &Path, mut named: NamedStates, is_complete: bool) {
        let (mut state, mut lines, mut known, mut is_damaged) = (ChainPoint::default(), 0, 0, false);
        let is_packed = file.extension().is_some_and(|kind| kind == "gz");
        let open = if is_packed { Lines::open_packed } else { Lines::open };
        let opened = open(file, Position::default()).or_else(|error| match error.kind() {
            // The run has ended meanwhile.
            io::ErrorKind::NotFound if !is_packed => Lines::open_packed(&packed(file), Position::default()),
            _ => Err(error),
        });
        let read = opened.and_then(|from| {
            self.each_line(file, from, |check, number, line| {
                let count = state.count + line.len() as u64 + 1;
                state = ChainPoint { count, hash: state.hash.with_line(&line) };
                lines = number;
                if named.remove(&state).is_some() {
                    known = number;
                }
                is_damaged |= !line.is_empty() && check.snapshot(run, file, number, &line);
            })
        });
        let (kind, what, hint) = match (read, named.first_key_value()) {
            (Err(error), _) => (DamageKind::DamagedFile, error.to_string(), LINE),
            _ if is_damaged => return,
            (Ok(()), Some((_, event))) => {
                let what = format!("its lines are not those that event {event} names");
                let what = format!("{what}: a line was changed, removed or inserted here or after");
                (if lines == 0 { DamageKind::DamagedFile } else { DamageKind::AlteredJournal }, what, ALTERED)
            }
            (Ok(()), None) if is_complete && known < lines && is_steady(file) => {
                let what = "no event names this line or those after it: the hook call that wrote them was killed, its run was pruned, or somebody added them";
                (DamageKind::UnnamedJournal, what.to_owned(), UNNAMED)
            }
            _ => return,
        };
        let line = (known + 1).min(lines.max(1));
        self.add(Damage::new(kind, file, what, hint).of_run(run).at(line));
    }

    /// Checks a line of a journal. Returns whether it explains other differences.
    fn snapshot(&mut self, run: &str, file: &Path, number: u64, line: &[u8]) -> bool {
        self.findings.checked.manifests += 1;
        let at_line = |kind, what, hint| Damage::new(kind, file, what, hint).of_run(run).at(number);
        let finding = match Snapshot::parse(line) {
            // No event refers to the state after this line.
            Err(error) if error.is_eof() => {
                self.add(at_line(DamageKind::CutLine, log::CUT_OFF.to_owned(), CUT_LINE));
                return false;
            }
            Err(error) => Some(at_line(DamageKind::DamagedLine, error.to_string(), LINE)),
            Ok(snapshot) => {
                for change in &snapshot.changed {
                    if let Some(hash) = &change.object {
                        let state = format!("{} {}", change.path, snapshot.at);
                        self.require_content(run, hash, &state, &|kind, what| at_line(kind, what, LOST));
                    }
                }
                let newer = format!("format version {}", snapshot.v);
                match snapshot.flaw() {
                    _ if snapshot.v > SNAPSHOT_VERSION => {
                        Some(at_line(DamageKind::NewerVersion, newer, UPGRADE))
                    }
                    flaw => flaw.map(|what| at_line(DamageKind::DamagedLine, what, LINE)),
                }
            }
        };
        let is_damaged = finding.is_some();
        finding.into_iter().for_each(|finding| self.add(finding));
        is_damaged
    }

    fn transcripts(&mut self, run: &str, record: Option<&RunRecord>, file: &Path) {
        let of_file = |kind, what, hint| Damage::new(kind, file, what, hint).of_run(run);
        let why = match self.verifier.archive.read_kept(run) {
            Ok(Some(kept)) => {
                for (path, kept) in kept {
                    self.findings.checked.transcripts += 1;
                    self.require_content(run, &kept.object, &path, &|kind, what| of_file(kind, what, LOST));
                }
                return;
            }
            Ok(None) if !record.is_some_and(RunRecord::has_transcripts) => return,
            Ok(None) => "it is missing, although the run has ended".to_owned(),
            Err(error) => error.to_string(),
        };
        self.add(of_file(DamageKind::DamagedFile, why, TRANSCRIPTS));
    }

    /// Notes that a state needs a content, and records the finding that `lost` makes if it cannot be read.
    fn require_content(
        &mut self,
        run: &str,
        hash: &str,
        state: &str,
        lost: &dyn Fn(DamageKind, String) -> Damage,
    ) {
        if !is_hash(hash) {
            return self.add(lost(DamageKind::DamagedLine, format!("{hash:?} is not a valid hash")));
        }
        if !self.contents.contains_key(hash) {
            self.findings.checked.contents += 1;
            let finding = match self.verifier.archive.content(run, hash) {
                Ok(bytes) => {
                    self.findings.checked.bytes += bytes.len() as u64;
                    (self.done)(bytes.len() as u64);
                    None
                }
                Err(error @ ContentError::Missing { .. }) => {
                    self.findings.add(lost(DamageKind::MissingContent, error.to_string()))
                }
                Err(error) => self.findings.add(lost(DamageKind::DamagedContent, error.to_string())),
            };
            self.contents.insert(hash.to_owned(), finding);
        }
        let finding = self.contents.get(hash).copied().flatten();
        if let Some(finding) = finding.and_then(|at| self.findings.first.get_mut(at))
            && finding.needed_by.len() < MAX_USES
        {
            finding.needed_by.push(format!("{run} {state}"));
        }
    }

    /// Checks the files that teamkeep can write again: the indexes, the state of sessions and gates, and the pauses.
    pub fn state_files(&mut self) {
        let (verifier, archive) = (self.verifier, self.verifier.archive);
        let Some(paths) = verifier.paths else { return };
        let logs = verifier.scoped_logs().unwrap_or_default();
        let mut files: Vec<PathBuf> = logs.iter().map(|log| log.dir().join("gates.json")).collect();
        if verifier.scope == Scope::All {
            let sessions = fs::entries(&paths.sessions()).map(|entry| entry.path());
            files.extend(sessions.filter(|path| {
                let is_draft = path.file_name().is_some_and(fs::is_draft);
                path.extension().is_some_and(|kind| kind == "json") && !is_draft
            }));
            files.push(paths.overrides());
            for index in archive.index_files() {
                let read = JsonFile::<Value>::at(&index).known();
                let run = read.as_ref().and_then(|index| index["run"].as_str()).map(str::to_owned);
                let gone =
                    run.filter(|run| archive.run_dir(run).is_some_and(|dir| dir.symlink_metadata().is_err()));
                if let Some(run) = gone {
                    let what = format!("it names the run {run:?}, which does not exist");
                    self.add(Damage::new(DamageKind::DamagedFile, &index, what, ALTERED).of_run(&run));
                }
                files.push(index);
            }
        }
        for path in files {
            if let Some(why) = state_damage(&path) {
                self.add(Damage::new(DamageKind::DamagedFile, &path, why, STATE));
            }
        }
    }
}

/// Whether no hook call that wrote to a journal can be about to record its event.
fn is_steady(journal: &Path) -> bool {
    let modified = journal.symlink_metadata().and_then(|found| found.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > MAX_CALL_TIME))
}

/// Why a file of one JSON document cannot be used, if it is there.
fn state_damage(path: &Path) -> Option<String> {
    match JsonFile::<Value>::at(path).read() {
        Ok(read) => read.err().map(|damage| damage.why),
        Err(error) => Some(error.to_string()),
    }
}
