//! Checks a run's directory: its description, journals, transcripts and stored events.

use std::path::{Path, PathBuf};

use super::events::{self, each_line};
use super::finding::{Finding, Kind};
use super::verifier::{Place, Verifier, Way};
use crate::archive::Snapshot;
use crate::log;

/// The supported format version of a run's description and of a journal line.
const VERSION: u8 = 1;
const SNAPSHOT_VERSION: u8 = 2;

const UPGRADE: &str = "written by a newer teamkeep; upgrade to read it";
const RECORD: &str =
    "the next hook call of its team rebuilds it; for an ended run, import it again from an export";
const JOURNAL: &str = "the recorded files of this run are lost; if you have an export of the run, remove its directory and \
                       `teamkeep import FILE`";
const LINE: &str = "the changes at that moment are lost, with the states that only this line names; all other lines are intact";

/// Checks a run.
pub(super) fn check(verifier: &Verifier<'_>, run: &str, way: &mut Way, done: &mut dyn FnMut(u64)) {
    way.findings.checked.runs += 1;
    let Some(dir) = verifier.archive.run_dir(run) else {
        let what = format!("{run:?} is not a valid run id");
        way.findings.add(Finding::new(
            Kind::DamagedFile,
            Path::new(run),
            what,
            "remove it: it does not belong to teamkeep",
        ));
        return;
    };
    record(verifier, run, &dir.join("run.json"), way);
    let before = (way.findings.checked.manifests, way.findings.count);
    let files = verifier.archive.journal_files(run);
    for file in &files {
        journal(verifier, run, file, way, done);
    }
    let had = || verifier.archive.run(run).is_some_and(|record| record.has_journal());
    if (way.findings.checked.manifests, way.findings.count) == before && had() {
        let what = "the journal of this team's run is missing or empty";
        let path = dir.join("snapshots.jsonl");
        way.findings.add(Finding::new(Kind::DamagedFile, &path, what, JOURNAL).of_run(run));
    }
    transcripts(verifier, run, &dir.join("transcripts.json"), way, done);
    let own = dir.join("events.jsonl");
    if own.symlink_metadata().is_ok() {
        events::file(&own, Some(run), way, done);
    }
    for (segment, part) in log::parts_in(&dir) {
        // Events that are also in the log are counted there.
        let counted = way.findings.checked.events;
        events::file(&part, Some(run), way, done);
        if verifier.log.join(segment.as_str()).exists() {
            way.findings.checked.events = counted;
        }
    }
}

fn record(verifier: &Verifier<'_>, run: &str, path: &Path, way: &mut Way) {
    let Some(record) = verifier.archive.run(run).filter(|record| record.run == run) else {
        let what = verifier.archive.why_damaged(run);
        way.findings.add(Finding::new(Kind::DamagedFile, path, what, RECORD).of_run(run));
        return;
    };
    if record.v > VERSION {
        let what = format!("format version {}", record.v);
        way.findings.add(Finding::new(Kind::NewerVersion, path, what, UPGRADE).of_run(run));
    } else if let Some(what) = record.flaw() {
        way.findings.add(Finding::new(Kind::DamagedFile, path, what, RECORD).of_run(run));
    }
}

fn journal(verifier: &Verifier<'_>, run: &str, file: &PathBuf, way: &mut Way, done: &mut dyn FnMut(u64)) {
    let problem = each_line(file, done, &mut |number, line, done| {
        if line.is_empty() {
            return;
        }
        way.findings.checked.manifests += 1;
        let snapshot = match Snapshot::parse(line) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                let finding = Finding::new(Kind::DamagedLine, file, error.to_string(), LINE);
                way.findings.add(finding.of_run(run).at(number));
                return;
            }
        };
        if snapshot.v > SNAPSHOT_VERSION {
            let what = format!("format version {}", snapshot.v);
            way.findings.add(Finding::new(Kind::NewerVersion, file, what, UPGRADE).of_run(run).at(number));
        } else if let Some(what) = snapshot.flaw() {
            way.findings.add(Finding::new(Kind::DamagedLine, file, what, LINE).of_run(run).at(number));
        }
        for change in &snapshot.changed {
            if let Some(hash) = &change.object {
                let what = format!("{} {}", change.path, snapshot.at);
                way.require_object(verifier, hash, Place { run, file, line: Some(number), what }, done);
            }
        }
    });
    if let Some(why) = problem {
        way.findings.add(Finding::new(Kind::DamagedFile, file, why, LINE).of_run(run));
    }
}

fn transcripts(verifier: &Verifier<'_>, run: &str, file: &PathBuf, way: &mut Way, done: &mut dyn FnMut(u64)) {
    let hint = "transcripts that Claude Code still has are read from there; the others are lost";
    let missing = || verifier.archive.run(run).is_some_and(|record| record.has_transcripts());
    let read = match verifier.archive.read_kept(run) {
        Ok(None) if !missing() => return,
        Ok(None) => Err("it is missing, although the run has ended".to_owned()),
        Ok(Some(kept)) => Ok(kept),
        Err(error) => Err(error.to_string()),
    };
    match read {
        Err(why) => {
            way.findings.add(Finding::new(Kind::DamagedFile, file, why, hint).of_run(run));
        }
        Ok(kept) => {
            for (path, kept) in kept {
                way.findings.checked.transcripts += 1;
                way.require_object(verifier, &kept.object, Place { run, file, line: None, what: path }, done);
            }
        }
    }
}
