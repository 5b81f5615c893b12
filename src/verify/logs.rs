//! Checks the logs: their lines, how they are linked, and which states of journals they name.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io;

use serde::Deserialize;

use super::chain::{ALTERED, ChainCheck, without_log};
use super::{Check, Damage, DamageKind, Scope, UPGRADE};
use teamkeep_store::archive::JournalPoint;
use teamkeep_store::log::{self, EventLog, Line, LineError, LogOwner, Segment, SegmentName};

const PERMISSIONS: &str = "check its permissions";
const EVENT: &str = "this event is lost; all other events are intact, and recording continues";

/// Event ids seen so far, as hashes: a log may have millions.
#[derive(Default)]
struct SeenIds {
    seen: HashSet<u64>,
    hasher: RandomState,
}

impl SeenIds {
    fn is_new(&mut self, id: &str) -> bool {
        self.seen.insert(self.hasher.hash_one(id))
    }
}

/// The states of journals that an event names, by run.
#[derive(Deserialize)]
struct Naming {
    #[serde(default)]
    snapshots: BTreeMap<String, String>,
}

impl Check<'_> {
    /// Checks the logs in the scope.
    pub fn logs(&mut self) {
        let (verifier, mut ids) = (self.verifier, SeenIds::default());
        let dir = verifier.archive.runs_dir();
        let logs = match verifier.scoped_logs() {
            Ok(logs) => logs,
            // The directory of the runs is reported already.
            Err(_) if verifier.archive.why_unlisted().is_some() => return,
            Err(error) => {
                return self.add(Damage::new(DamageKind::DamagedFile, &dir, error.to_string(), PERMISSIONS));
            }
        };
        logs.iter().for_each(|log| self.log(log, &mut ids));
        if verifier.scope == Scope::All {
            let owners: HashSet<String> = logs.iter().map(|log| log.owner.to_string()).collect();
            for noted in verifier.against.iter().filter(|noted| !owners.contains(&noted.log)) {
                self.add(without_log(noted, &dir));
            }
        }
    }

    fn log(&mut self, log: &EventLog, ids: &mut SeenIds) {
        let run = if let LogOwner::Run(run) = &log.owner { Some(run.clone()) } else { None };
        let mut chain = ChainCheck::new(log, self.verifier.against);
        let segments = log.segments().unwrap_or_else(|error| {
            let finding = Damage::new(DamageKind::DamagedFile, log.dir(), error.to_string(), PERMISSIONS);
            self.add(Damage { run: run.clone(), ..finding });
            Vec::new()
        });
        for segment in &segments {
            let read = match segment.name {
                SegmentName::Imported => self.events(segment, None, &mut SeenIds::default(), run.as_deref()),
                _ => self.events(segment, Some(&mut chain), ids, run.as_deref()),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::NotFound => chain.is_pruned = true,
                Err(error) => {
                    let finding =
                        Damage::new(DamageKind::DamagedFile, &segment.path(), error.to_string(), PERMISSIONS);
                    self.add(Damage { run: run.clone(), ..finding });
                }
                Ok(()) => {}
            }
        }
        self.findings.chain.logs += u64::from(chain.lines > 0);
        self.findings.chain.lines += chain.lines;
        for finding in chain.finish() {
            self.add(Damage { run: run.clone(), ..finding });
        }
    }

    /// Checks the lines of a segment, and that the chain has them.
    fn events(
        &mut self,
        segment: &Segment,
        mut chain: Option<&mut ChainCheck<'_>>,
        ids: &mut SeenIds,
        run: Option<&str>,
    ) -> io::Result<()> {
        let path = segment.path();
        self.each_line(&path, segment.open()?, |check, number, line| {
            let linked = chain.as_mut().and_then(|chain| chain.line(&segment.name, &line));
            let (kind, what, hint) = match log::parse(Some(line)) {
                Ok(None) => return,
                Ok(Some(line)) => {
                    check.findings.checked.events += 1;
                    let id = &line.recorded.id;
                    match (line.recorded.flaw(), linked) {
                        (Some(what), _) => (DamageKind::DamagedLine, what, EVENT),
                        _ if !ids.is_new(id) => {
                            (DamageKind::RepeatedId, format!("another line has the id {id}"), EVENT)
                        }
                        (None, Some((kind, what))) => (kind, what, ALTERED),
                        // States that an altered line names are not compared.
                        (None, None) if chain.is_some() => return check.note_states(&line),
                        (None, None) => return,
                    }
                }
                Err(LineError::CutOff) => (DamageKind::CutLine, log::CUT_OFF.to_owned(), EVENT),
                Err(LineError::NewerVersion(newer)) => {
                    (DamageKind::NewerVersion, format!("format version {newer}"), UPGRADE)
                }
                Err(error) => (DamageKind::DamagedLine, error.to_string(), EVENT),
            };
            let finding = Damage::new(kind, &path, what, hint).at(number);
            check.add(Damage { run: run.map(str::to_owned), ..finding });
        })
    }

    /// Notes the states of journals that an event names.
    fn note_states(&mut self, line: &Line) {
        if !line.text.contains("\"snapshots\":{") {
            return;
        }
        let (archive, event) = (self.verifier.archive, &line.recorded);
        let Ok(Naming { snapshots }) = serde_json::from_str(&line.text) else { return };
        for (run, point) in snapshots {
            let Ok(named) = point.parse::<JournalPoint>() else { continue };
            // A run that was pruned and began again has another journal.
            if archive.run(&run).is_none_or(|run| event.at >= run.started_at || run.imported.is_some()) {
                let journals = self.named.entry(run).or_default();
                let states = journals.entry(named.file_name(&event.id)).or_default();
                states.insert(named.point, event.id.clone());
            }
        }
    }
}
