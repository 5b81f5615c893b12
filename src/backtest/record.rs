//! The recorded data of one run that a policy needs: its events and verdicts, and the files of its team over time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use teamkeep_config::{Gate, Mode, Policy, Price};
use teamkeep_history::{Range, ReadErrors, Reader};
use teamkeep_hook::attribution::version_in;
use teamkeep_hook::enforcement::RunSpending;
use teamkeep_model::compat::delivers_answers;
use teamkeep_model::event::Recorded;
use teamkeep_model::team::{Flaw, NamedLists, TeamFile};
use teamkeep_model::time::Timestamp;
use teamkeep_policy::{
    Decision, FAILURE_GATE, Finding, Reason, RecordedVerdict, TeamState, Unreadable, Verdict,
};
use teamkeep_store::archive::{Archive, Journal, RunRecord, Snapshot};
use teamkeep_store::log::Logs;

#[derive(Debug, Default)]
pub struct Record {
    /// The run, or the session for events outside a run.
    pub run: String,
    pub team: Option<String>,
    /// Claude Code's events, by time.
    pub events: Vec<Recorded>,
    /// The verdicts of that time, by event id.
    pub verdicts: HashMap<String, Vec<Verdict>>,
    pub journal: Journal,
    /// Whether Claude Code delivers the final text of a teammate's turn to the lead.
    pub delivers_answers: bool,
    /// The spending of its agents, if a policy needs it.
    pub spending: Option<RunSpending>,
}

/// Reads the logs of the wanted runs, or all, and returns the data of each, ordered by first event. An event outside a run belongs
/// to its session, as for the gatekeeper.
///
/// # Errors
/// The directories of the logs cannot be listed.
pub fn records(
    logs: &Logs,
    archive: &Archive,
    wanted: Option<&[&RunRecord]>,
) -> io::Result<(Vec<Record>, ReadErrors)> {
    let logs = match wanted {
        Some(runs) => runs.iter().filter_map(|run| logs.run(&run.run)).collect(),
        None => logs.all()?,
    };
    let is_wanted = |key: &str| wanted.is_none_or(|runs| runs.iter().any(|run| run.run == key));
    let (all, _) = archive.runs();
    let mut reader = Reader::of(&logs, Range::default());
    let mut records: Vec<Record> = Vec::new();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    let mut add = |recorded: Recorded| {
        let Some(key) = counted_under(&recorded) else { return };
        if !is_wanted(key) {
            return;
        }
        let index = *indexes.entry(key.clone()).or_insert_with(|| {
            let journal = recorded.run.as_ref().map(|run| archive.journal(run)).unwrap_or_default();
            let run = all.iter().find(|run| run.run == *key);
            let version = run.and_then(|run| client_version(archive, run));
            let delivers_answers = delivers_answers(version.as_deref());
            records.push(Record { run: key.clone(), journal, delivers_answers, ..Record::default() });
            records.len() - 1
        });
        if let Some(record) = records.get_mut(index) {
            record.add(recorded);
        }
    };
    reader.by_ref().for_each(|line| add(line.recorded));
    for record in &mut records {
        // Stable sort: calls of the same moment stay in the order of the log.
        record.events.sort_by_key(|one| one.at);
    }
    Ok((records, reader.problems))
}

impl Record {
    fn add(&mut self, recorded: Recorded) {
        if recorded.verdict.is_some() {
            self.add_verdict(&recorded);
            return;
        }
        if self.team.is_none() {
            self.team.clone_from(&recorded.team);
        }
        self.events.push(recorded);
    }

    /// Adds the verdict on a log line. A failure of the policy that blocked nothing is not one.
    fn add_verdict(&mut self, recorded: &Recorded) {
        let Some(RecordedVerdict { verdict, of }) =
            recorded.verdict.as_deref().and_then(RecordedVerdict::read)
        else {
            return;
        };
        if verdict.gate != FAILURE_GATE || verdict.decision == Decision::Block {
            self.verdicts.entry(of).or_default().push(verdict);
        }
    }

    /// Reads the spending of the agents, if one of the policies needs it.
    pub fn read_spending(&mut self, archive: &Archive, policies: &[&Policy], prices: &[Price]) {
        if policies.iter().any(|policy| policy.budget.is_on()) {
            self.spending = RunSpending::read(archive, &self.run, prices);
        }
    }

    /// The team's name, else the run's id.
    pub fn name(&self) -> &str {
        self.team.as_deref().unwrap_or(&self.run)
    }

    /// The findings of the gates for shared files at that time, as far as the policy has these gates. They depend on the files
    /// and on git, which are not recorded.
    pub fn findings(&self, recorded: &Recorded, policy: &Policy) -> Vec<Finding> {
        let verdicts = self.verdicts.get(&recorded.id).into_iter().flatten();
        let finding = |verdict: &Verdict| {
            let gate = Gate::named(&verdict.gate).filter(|gate| gate.guards_files())?;
            let mode = gate.mode(policy).filter(|mode| *mode != Mode::Off)?;
            let reason = Reason::default().then(&verdict.reason).instead(&verdict.advice);
            Some(Finding::new(gate, "recorded", mode.into(), recorded.actor.shown(), reason))
        };
        verdicts.filter_map(finding).collect()
    }

    /// Whether the event was blocked at that time.
    pub fn was_blocked(&self, recorded: &Recorded) -> bool {
        let verdicts = self.verdicts.get(&recorded.id);
        verdicts.into_iter().flatten().any(|verdict| verdict.decision == Decision::Block)
    }
}

/// The version of Claude Code at the start of a run.
fn client_version(archive: &Archive, run: &RunRecord) -> Option<String> {
    archive
        .longest_transcripts(run)
        .iter()
        .filter(|(path, _)| path.ends_with(".jsonl"))
        .find_map(|(path, stored)| version_in(archive.open_transcript(&run.run, path, stored.as_ref()).ok()?))
}

/// The run or, outside a run, the session under which an event is counted, as at the hook call. The timeline instead
/// assigns the events of a session from before its run to the run.
fn counted_under(recorded: &Recorded) -> Option<&String> {
    recorded.run.as_ref().or(recorded.session.as_ref())
}

/// The history of a team's files, at a time that only moves forward.
#[derive(Debug)]
pub struct SnapshotCursor<'a> {
    archive: &'a Archive,
    run: &'a str,
    snapshots: &'a [Snapshot],
    /// For each event, the number of snapshots up to and including its own.
    own: HashMap<&'a str, usize>,
    next: usize,
    lead: Option<String>,
    lists: NamedLists,
    /// The session of the event, and the list that it names.
    session: Option<String>,
    list: Option<String>,
    /// The content hash of each existing file, by path.
    existing: BTreeMap<&'a str, &'a str>,
    /// Paths that changed since the state was last read, with their content; `None` for a deleted file.
    pending: BTreeMap<&'a str, Option<&'a str>>,
    /// The files that were half-written at each state so far.
    torn: BTreeSet<&'a str>,
    /// The files that could not be read at the moment, by path, each with the reason.
    skipped: BTreeMap<&'a str, &'a str>,
    /// The files whose content is not what Claude Code reads.
    flawed: BTreeMap<&'a str, Flaw>,
    /// [`SnapshotCursor::open`] updates its files.
    pub team: TeamState,
}

impl<'a> SnapshotCursor<'a> {
    /// The start of the run. `lead` is the lead's session.
    pub fn new(
        archive: &'a Archive,
        journal: &'a Journal,
        team: Option<&str>,
        lead: Option<String>,
    ) -> SnapshotCursor<'a> {
        let snapshots = journal.snapshots.as_slice();
        let own = snapshots.iter().enumerate().map(|(index, one)| (one.event.as_str(), index + 1)).collect();
        SnapshotCursor {
            archive,
            run: &journal.run,
            snapshots,
            own,
            next: 0,
            lead,
            lists: NamedLists::default(),
            session: None,
            list: None,
            existing: BTreeMap::new(),
            pending: BTreeMap::new(),
            torn: BTreeSet::new(),
            skipped: BTreeMap::new(),
            flawed: BTreeMap::new(),
            team: TeamState { name: team.map(str::to_owned), ..TeamState::default() },
        }
    }

    /// Switches to the task list that the session of an event named. If that changes the lists in use, the tasks are
    /// read again.
    pub fn use_list(&mut self, session: Option<&str>, list: Option<&str>) {
        let list = list.filter(|list| self.team.name.as_deref() != Some(list));
        self.session = session.map(str::to_owned);
        let Some(session) = session else { return };
        let is_new = !self.lists.knows(session, list);
        if is_new {
            self.lists.note(session, list);
        }
        if is_new || self.list.as_deref() != list {
            self.list = list.map(str::to_owned);
            self.team.tasks.clear();
            for (path, object) in self.existing.iter().filter(|(path, _)| path.starts_with("tasks/")) {
                self.pending.entry(path).or_insert(Some(object));
            }
        }
    }

    /// Moves to an event: to all snapshots until then, and to its own, which may be stored after a later one.
    pub fn go_to(&mut self, id: &str, at: Timestamp) {
        while self.snapshots.get(self.next).is_some_and(|one| one.at <= at) {
            self.step();
        }
        let own = self.own.get(id).copied().unwrap_or(0);
        while self.next < own {
            self.step();
        }
    }

    /// Moves to the last moment at which the team's directory existed.
    pub fn go_to_the_end(&mut self) {
        while self.snapshots.get(self.next).is_some_and(|one| one.team_dir != Some(false)) {
            self.step();
        }
    }

    fn step(&mut self) {
        let Some(snapshot) = self.snapshots.get(self.next) else { return };
        self.next += 1;
        for change in &snapshot.changed {
            // A half-written content does not replace a complete one.
            let path = change.path.as_str();
            let torn = change.torn && self.existing.contains_key(path) && !self.torn.contains(path);
            match change.torn {
                true if !torn => drop(self.torn.insert(path)),
                true => {}
                false => drop(self.torn.remove(path)),
            }
            match &change.skipped {
                Some(why) => {
                    self.skipped.insert(&change.path, why);
                    self.pending.insert(&change.path, None);
                    self.existing.remove(change.path.as_str());
                }
                None => drop(self.skipped.remove(change.path.as_str())),
            }
            if let Some(object) = change.object.as_ref().filter(|_| !torn) {
                self.pending.insert(&change.path, Some(object));
                self.existing.insert(&change.path, object);
            }
        }
        for path in &snapshot.gone {
            self.pending.insert(path, None);
            self.existing.remove(path.as_str());
            self.skipped.remove(path.as_str());
            self.torn.remove(path.as_str());
        }
    }

    /// Reads the changed files.
    pub fn open(&mut self) {
        let name = self.team.name.clone();
        let lists = self.lists.in_force(name.as_deref(), self.lead.as_deref(), self.session.as_deref());
        for (path, object) in std::mem::take(&mut self.pending) {
            self.flawed.remove(path);
            let Some(file) = TeamFile::of(path, &lists) else { continue };
            let Some(object) = object else {
                self.team.remove_file(file);
                continue;
            };
            let Ok(bytes) = self.archive.content(self.run, object) else { continue };
            match file.parse(&bytes) {
                Some(facts) => self.team.put_file(file, facts),
                None => {
                    self.team.remove_file(file);
                    self.flawed.insert(path, Flaw::of(path, &bytes).unwrap_or(Flaw::NotJson));
                }
            }
        }
        let skipped = self.skipped.iter().map(|(path, why)| (*path, *why));
        let flawed = self.flawed.iter().map(|(path, flaw)| (*path, flaw.text()));
        self.team.unreadable =
            skipped.chain(flawed).filter_map(|(path, why)| Unreadable::of(path, why, &lists)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_model::TaskStatus;
    use teamkeep_store::archive::{Change, ContentWriter};

    #[test]
    fn an_event_sees_its_own_snapshot_even_if_a_later_one_is_stored_first() {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::new(dir.path().to_owned(), 1 << 20, std::time::Duration::ZERO);
        let put = |text: String| {
            let mut contents = ContentWriter::new(&archive.run_dir("r").unwrap(), "event", true);
            let (hash, _) = contents.put(text.as_bytes(), None).unwrap();
            contents.flush().unwrap();
            hash
        };
        let snapshot = |at: i64, event: &str, status: &str, gone: &[&str]| {
            let object = put(format!("{{\"status\":\"{status}\"}}"));
            let change =
                Change { path: "tasks/t/1.json".to_owned(), object: Some(object), ..Change::default() };
            let gone: Vec<String> = gone.iter().map(|path| (*path).to_owned()).collect();
            let changed = if gone.is_empty() { vec![change] } else { Vec::new() };
            Snapshot {
                at: Timestamp::from_millis(at).unwrap(),
                event: event.to_owned(),
                changed,
                gone,
                ..Snapshot::default()
            }
        };
        let snapshots = vec![
            snapshot(2, "b", "pending", &[]),
            snapshot(2, "a", "in_progress", &[]),
            snapshot(3, "c", "", &["tasks/t/1.json"]),
        ];
        let journal = Journal { run: "r".to_owned(), snapshots, ..Journal::default() };
        let mut past = SnapshotCursor::new(&archive, &journal, Some("t"), None);
        let mut status = |id, at| {
            past.go_to(id, Timestamp::from_millis(at).unwrap());
            past.open();
            past.team.tasks.get("1").and_then(|task| task.status.clone())
        };
        assert_eq!(status("0", 0), None);
        assert_eq!(status("a", 1), Some(TaskStatus::InProgress));
        assert_eq!(status("b", 2), Some(TaskStatus::InProgress), "time only moves forward");
        assert_eq!(status("c", 3), None);
    }
}
