//! Judges one event: collects the facts, evaluates the gates, counts, and stores the result.

use std::cell::LazyCell;
use std::cmp::Reverse;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::access::access;
use super::completion;
use super::overrides::{FoundOverrides, OverrideFile, Overrides};
use super::spending::RunSpending;
use teamkeep_config::{Gate, Mode, Policy, Price};
use teamkeep_model::event::SafeName;
use teamkeep_model::json;
use teamkeep_model::payload::Kind;
use teamkeep_model::team::{FileContent, Flaw, TeamFile};
use teamkeep_model::time::Timestamp;
use teamkeep_policy::failure::uncounted_decision;
use teamkeep_policy::gates::{budget, completion_check};
use teamkeep_policy::{
    Case, Counting, Decision, Evaluation, FileHistory, Finding, Findings, Guard, Judged, Ledger, Rules,
    TeamState, Unreadable, Verdict, decide, evaluate, judge, reads_team, uncounted,
};
use teamkeep_store::archive::{Archive, CaptureScope, CapturedFile, Index, RunContents};
use teamkeep_system::fs::{self, Content, Document, JsonFile, Lock};

/// How long a team's files are read for one hook call. Claude Code waits ten seconds for a hook before a tool.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// An event to be judged.
#[derive(Clone, Copy)]
pub struct PolicyRequest<'a> {
    pub archive: &'a Archive,
    /// The directory of the run, or of the session as long as it has no run: it has the counts.
    pub home: &'a Path,
    /// The store, with the overrides.
    pub store: &'a Path,
    pub lock_timeout: Duration,
    /// The session's project, if Claude Code names one. Checks run there.
    pub project: Option<&'a Path>,
    pub now: Timestamp,
    pub policy: &'a Policy,
    pub rules: &'a Rules<'a>,
    pub event: Judged<'a>,
    pub run: Option<&'a str>,
    pub team: Option<&'a str>,
    /// The last snapshot index of the team.
    pub index: Option<&'a Index>,
    /// Number of the team's files that were not archived in time.
    pub unarchived: usize,
    /// Why files of the team may be missing from the index.
    pub problems: &'a [&'a str],
    /// The verdicts on the same event, if this hook call repeats an earlier one.
    pub earlier_verdicts: Option<&'a [Verdict]>,
    /// Whether Claude Code delivers the final text of a teammate's turn to the lead.
    pub delivers_answers: bool,
    /// Claude Code's directory.
    pub client: &'a Path,
    /// The user's prices of models.
    pub prices: &'a [Price],
}

/// How an event was judged, and what went wrong meanwhile.
#[derive(Debug, Default)]
pub struct PolicyOutcome {
    pub evaluation: Evaluation,
    /// Why the policy failed, if it did; `on-error` decides what that means.
    pub failed: Option<String>,
    /// Why the former counts are lost, if they are.
    pub damage: Option<String>,
    /// Overrides in force that are not in the log, if there are findings or a task is completed.
    pub found: Option<FoundOverrides>,
}

impl PolicyRequest<'_> {
    /// Judges the event and stores what must be remembered. If counts cannot be opened or written, the policy failed, but the
    /// event is judged by what can be read: a block that cannot be counted becomes a warning, unless `on-error` is "block".
    pub fn judge(&self) -> PolicyOutcome {
        // Before the lock is taken, because git is asked.
        let access = access(self.policy, &self.event, || HistoryFile::of(self.home).read());
        let event = Judged { access: access.as_ref(), ..self.event };
        PolicyRequest { event, ..*self }.judge_with_access()
    }

    fn judge_with_access(&self) -> PolicyOutcome {
        // The first failure of the policy itself.
        let mut failed: Option<String> = None;

        // Before the lock is taken, because other calls wait for it: files and checks.
        let until = Instant::now().checked_add(READ_TIMEOUT);
        let index = self.index.filter(|_| reads_team(self.policy, self.rules, &self.event));
        let mut team = self.team(index, until);
        let checked = self.check_completion(&team);
        let spent = self.spending(&team).unwrap_or_else(|error| {
            failed = Some(format!("cannot read the spending of the team: {error}"));
            None
        });
        let history = HistoryFile::of(self.home);

        // The counts and the history of the team, locked from here on until they are saved.
        let OpenGateState { gate_state: GateState { ledger, mut guard, .. }, damage, saver } = self.open();
        let files = self.event.access.map(|_| history.read()).unwrap_or_default();
        team.ledger = Ledger { files: files.clone(), ..ledger };
        team.spending = spent.map(|spent| spent.priced(&team, None)).unwrap_or_default();

        // The findings.
        let mut findings = judge(self.policy, self.rules, &Case::new(self.event, &team));
        findings.extend(checked);
        let unread = team.unread + index.map_or(0, |_| self.unarchived);
        if unread > 0 {
            failed.get_or_insert(format!("{unread} of the team's files could not be read in time"));
        }
        let earlier = self.take_decided(&mut findings);
        findings.sort_by_key(|finding| Reverse(finding.decision));

        // The verdicts, by overrides and the loop guard.
        let uses_overrides = !findings.is_empty() || self.event.kind == Kind::TaskCompleted;
        let found = if uses_overrides { self.overrides().found(self.now) } else { None };
        let counted =
            Findings { event: &self.event, findings: &findings, policy: self.policy, rules: self.rules };
        let mut evaluation =
            self.with_overrides(&team.members, |allow| evaluate(counted, &team, &mut guard, allow));

        // The state that the next call needs.
        budget::observe(self.policy, &self.event, &mut team);
        if self.earlier_verdicts.is_none() {
            team.apply(&self.event, &evaluation.judgement());
        }
        let TeamState { mut ledger, members, .. } = team;
        if self.archive.metadata_only {
            ledger.forget_texts();
        }
        if saver.is_locked()
            && let Err(error) = history.write(&files, &ledger.files)
        {
            failed.get_or_insert(error.to_string());
        }
        // The history of files is in a file of its own.
        ledger.files = FileHistory::default();
        if let Err(error) = saver.save(GateState { v: 1, ledger, guard }) {
            failed.get_or_insert(error.to_string());
            if evaluation.is_blocked()
                && uncounted_decision(self.policy.on_error, self.event.kind) == Decision::Allow
            {
                evaluation = self.evaluate_uncounted(findings, &members);
            }
        }
        evaluation.verdicts.extend(earlier);
        evaluation.sort();
        PolicyOutcome { evaluation, failed, damage, found }
    }

    /// Reads the spending of the run, if a gate needs it.
    fn spending(&self, team: &TeamState) -> io::Result<Option<RunSpending>> {
        match self.run {
            Some(run) if budget::needs_spending(self.policy, &Case::new(self.event, team)) => {
                RunSpending::update(self.archive, run, self.prices)
            }
            _ => Ok(None),
        }
    }

    fn overrides(&self) -> OverrideFile {
        OverrideFile::new(self.store, self.lock_timeout)
    }

    /// The team, from its files and without its history.
    fn team(&self, index: Option<&Index>, until: Option<Instant>) -> TeamState {
        let live_first = self.archive.metadata_only;
        let reader = SnapshotReader { archive: self.archive, client: Some(self.client), live_first, until };
        let mut team = reader.team((self.team, self.event.payload.session()), index);
        let lost = |why: &&str| Unreadable { path: String::new(), why: (*why).to_owned() };
        team.unreadable.extend(self.problems.iter().map(lost));
        TeamState { delivers_answers: self.delivers_answers, ..team }
    }

    /// Opens the run's counts, or only reads them if they cannot be locked.
    fn open(&self) -> OpenGateState {
        self.counts().open()
    }

    fn counts(&self) -> GateStateStore {
        GateStateStore::new(self.home.to_owned(), self.lock_timeout)
    }

    /// Removes the findings that already have a verdict from the earlier call, and returns these verdicts.
    fn take_decided(&self, findings: &mut Vec<Finding>) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        findings.retain(|finding| {
            let mut earlier = self.earlier_verdicts.into_iter().flatten();
            let Some(earlier) = earlier.find(|one| finding.verdict().is_same(one)) else { return true };
            // The earlier call turned a block that could not be counted into a warning.
            let finding = match earlier.decision {
                Decision::Warn => uncounted(finding.clone()),
                _ => finding.clone(),
            };
            verdicts.push(Verdict { reason: finding.reason, advice: finding.advice, ..earlier.clone() });
            false
        });
        verdicts
    }

    /// Runs the checks of a completed task. They can take minutes, so the lock is not held: the counts are only read.
    fn check_completion(&self, team: &TeamState) -> Option<Finding> {
        let settings = &self.policy.completion_check;
        if self.event.kind != Kind::TaskCompleted
            || settings.check.is_empty()
            || settings.mode == Mode::Off
            || self.is_paused(Gate::CompletionCheck, &self.overrides().read())
        {
            return None;
        }
        let team = TeamState { ledger: self.counts().read().ledger, ..team.clone() };
        let due = completion_check::due(self.policy, &Case::new(self.event, &team));
        let payload = self.event.payload;
        let id = payload.text("task_id").filter(|_| !due.is_empty())?;
        let cwd = completion::directory(self.project, Path::new(payload.text("cwd").unwrap_or(".")));
        let checked = completion::run(&due, &cwd, completion::BUDGET);
        let owner = team.tasks.get(id).and_then(|task| task.owner.as_deref());
        let about = owner.or(self.event.actor.name.as_deref()).unwrap_or("unknown");
        completion::finding(&checked, (settings.mode, self.policy.on_error), id, about)
    }

    /// Without counts, blocks become warnings.
    fn evaluate_uncounted(&self, findings: Vec<Finding>, members: &[String]) -> Evaluation {
        let mut findings: Vec<Finding> = findings.into_iter().map(uncounted).collect();
        findings.sort_by_key(|finding| Reverse(finding.decision));
        let counting = Counting {
            state: "",
            max_blocks: self.policy.max_blocks,
            at: self.now.millis(),
            ends_turn: true,
        };
        self.with_overrides(members, |allow| decide(&findings, &mut Guard::default(), &counting, allow))
    }

    fn is_paused(&self, gate: Gate, overrides: &Overrides) -> bool {
        !self.policy.unpausable.contains(&gate) && overrides.is_paused(gate, self.team, self.now)
    }

    /// Evaluates with the overrides. An allowance is used up, except by a warning, and returned if another gate blocks the
    /// action.
    fn with_overrides(
        &self,
        members: &[String],
        evaluate: impl FnOnce(&mut dyn FnMut(&Finding) -> bool) -> Evaluation,
    ) -> Evaluation {
        let file = self.overrides();
        let (overrides, mut used) = (LazyCell::new(|| file.read_active(self.now)), Vec::new());
        let evaluation = evaluate(&mut |finding| {
            if self.is_paused(finding.gate, &overrides) {
                return true;
            }
            let is_fixed = self.policy.unpausable.contains(&finding.gate);
            if finding.gate != Gate::PrematureShutdown || finding.decision != Decision::Block || is_fixed {
                return false;
            }
            let Some(name) = overrides.allowed_shutdown(&finding.about, members) else { return false };
            let removed = file.change(self.now, |overrides| {
                let index = overrides.shutdowns.iter().position(|one| one == name)?;
                Some(overrides.shutdowns.remove(index))
            });
            let removed = removed.ok().flatten();
            used.extend(removed.clone());
            removed.is_some()
        });
        if evaluation.is_blocked() && !used.is_empty() {
            let _ = file.change(self.now, |overrides| {
                used.retain(|name| !overrides.shutdowns.contains(name));
                overrides.shutdowns.append(&mut used);
            });
        }
        evaluation
    }
}

// The stored ledger and counts of a run, or of a session without one: `gates.json` in its directory.

/// The counts in the directory of a run or of a session.
#[derive(Debug, Clone)]
pub struct GateStateStore {
    dir: PathBuf,
    lock_timeout: Duration,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateState {
    pub v: u8,
    pub ledger: Ledger,
    pub guard: Guard,
}

impl Document for GateState {}

/// The counts of a run for one call, and where to save them.
#[derive(Debug)]
pub struct OpenGateState {
    pub gate_state: GateState,
    /// Why former counts are lost, if they are.
    pub damage: Option<String>,
    pub saver: GateStateSaver,
}

/// The file of the counts, locked unless that failed.
#[derive(Debug)]
pub struct GateStateSaver {
    /// The lock, and the state before this call.
    locked: io::Result<(Lock, GateState)>,
    is_damaged: bool,
    file: JsonFile<GateState>,
}

impl GateStateStore {
    pub fn new(dir: PathBuf, lock_timeout: Duration) -> GateStateStore {
        GateStateStore { dir, lock_timeout }
    }

    /// The counts with the history of files, for reading only; empty if they cannot be read.
    pub fn read(&self) -> GateState {
        let mut gate_state = self.read_with_damage().0;
        gate_state.ledger.files = HistoryFile::of(&self.dir).read();
        gate_state
    }

    fn file(&self) -> JsonFile<GateState> {
        JsonFile::at(self.dir.join("gates.json"))
    }

    fn read_with_damage(&self) -> (GateState, Option<String>) {
        self.file().read().map(state_and_damage).unwrap_or_default()
    }

    /// Opens the counts for this call. If they cannot be locked, they are read, and [`GateStateSaver::save`] fails.
    pub fn open(&self) -> OpenGateState {
        let file = self.file();
        let locked = self.lock().and_then(|lock| Ok((lock, state_and_damage(file.read()?))));
        let (locked, (gate_state, damage)) = match locked {
            Ok((lock, found)) => (Ok((lock, found.0.clone())), found),
            Err(error) => (Err(error), self.read_with_damage()),
        };
        let saver = GateStateSaver { locked, is_damaged: damage.is_some(), file };
        OpenGateState { gate_state, damage, saver }
    }

    /// Takes the lock. One that is not free in time is a failure of the policy like any other, whoever holds it and why: the
    /// call continues without counting, so it neither waits longer nor repeats a block that nothing counts.
    fn lock(&self) -> io::Result<Lock> {
        let lock = fs::lock(&self.dir.join("gates.lock"), self.lock_timeout)?;
        lock.ok_or_else(|| fs::held_error("the policy's"))
    }
}

impl GateStateSaver {
    pub fn is_locked(&self) -> bool {
        self.locked.is_ok()
    }

    /// Writes what this call changed, and a damaged file in any case, and unlocks it. If only the ledger's order grew, nothing
    /// is written: no stored number refers to it.
    pub fn save(self, after: GateState) -> io::Result<()> {
        let (_lock, mut before) = self.locked?;
        before.ledger.order = after.ledger.order;
        before.v = after.v;
        if before == after && !self.is_damaged {
            return Ok(());
        }
        self.file.exchange(&after)
    }
}

/// The run of a session that has subagents and no team.
pub fn run_of_session(archive: &Archive, session: &SafeName) -> Option<SafeName> {
    SafeName::new(&archive.index(&CaptureScope::Session(session.clone()))?.run)
}

/// The counts, and why former ones are lost, if they are.
fn state_and_damage(read: Content<GateState>) -> (GateState, Option<String>) {
    match read.valid() {
        Ok(state) => (state.unwrap_or_default(), None),
        Err(damage) => (GateState::default(), Some(format!("{damage}; its counts start again"))),
    }
}

// The stored history of the files and commits of a run's agents: `files.json` in its directory. Only a call that a gate for
// shared files judges reads it.

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Stored(FileHistory);

impl Document for Stored {}

pub(crate) struct HistoryFile(JsonFile<Stored>);

impl HistoryFile {
    /// Of the run with this directory.
    pub(super) fn of(dir: &Path) -> HistoryFile {
        HistoryFile(JsonFile::at(dir.join("files.json")))
    }

    /// A file that cannot be read is an empty history: gates that prevent mistakes must not fail for their own records.
    pub(super) fn read(&self) -> FileHistory {
        let stored = self.0.read().ok().and_then(|content| content.valid().ok()).flatten();
        stored.map(|Stored(history)| history).unwrap_or_default()
    }

    /// Replaces the history if it changed. The caller holds the lock of the run's counts.
    pub(super) fn write(&self, before: &FileHistory, now: &FileHistory) -> io::Result<()> {
        if before == now { Ok(()) } else { self.0.exchange(&Stored(now.clone())) }
    }
}

// The state of the team at a hook call, from the snapshots that the call has just taken.

/// Where and until when a team's files are read.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotReader<'a> {
    pub archive: &'a Archive,
    /// Claude Code's directory, for contents that the store does not have: it is damaged, or has only sizes and hashes in
    /// metadata-only mode.
    pub client: Option<&'a Path>,
    /// Whether to read the files there first.
    pub live_first: bool,
    /// The deadline for reading. Files that are not read by then are counted ([`TeamState::unread`]).
    pub until: Option<Instant>,
}

type ListedFile<'a> = (&'a str, TeamFile<'a>, &'a CapturedFile);

impl SnapshotReader<'_> {
    /// Reads the state of a team, without a ledger. Task ids are those that the session sees, or else the
    /// lead.
    pub fn team(&self, (team, session): (Option<&str>, Option<&str>), index: Option<&Index>) -> TeamState {
        let mut state = TeamState { name: team.map(str::to_owned), ..TeamState::default() };
        let Some(index) = index else { return state };
        let lists = index.lists(team, session);
        state.missing = index.lists.missing().map(str::to_owned).collect();
        let mut files: Vec<ListedFile<'_>> = Vec::new();
        for (path, captured) in &index.files {
            match TeamFile::of(path, &lists) {
                Some(file) if captured.object.is_some() => files.push((path.as_str(), file, captured)),
                _ => {
                    let why = captured.why_unreadable();
                    state.unreadable.extend(why.and_then(|why| Unreadable::of(path, why, &lists)));
                }
            }
        }
        let mut contents = self.archive.contents(&index.run);
        for (number, file) in files.iter().enumerate() {
            if self.until.is_some_and(|until| Instant::now() >= until) {
                state.unread = files.len() - number;
                break;
            }
            match self.content(&mut contents, *file) {
                Ok(content) => state.put_file(content),
                Err(why) => state.unreadable.extend(Unreadable::of(file.0, why, &lists)),
            }
        }
        state
    }

    fn content(&self, contents: &mut RunContents, file: ListedFile<'_>) -> Result<FileContent, &'static str> {
        let (path, file, captured) = file;
        if let Some(facts) = captured.facts.clone().filter(|_| !self.live_first)
            && let Some(content) = file.content(facts)
        {
            return Ok(content);
        }
        let largest = self.archive.largest;
        // Before a TeamDelete, larger files are archived as well; a hook call does not have the time to read them.
        let mut stored = || (captured.stamp.0 <= largest).then(|| contents.of_file(captured)).flatten();
        let live = || {
            let (bytes, _) = fs::read_regular(&self.client?.join(path), largest).ok()?;
            json::parse_lossy(&bytes).is_some().then_some(bytes)
        };
        let content = match self.live_first {
            true => live().or_else(stored),
            false => stored().or_else(live),
        };
        let content = content.ok_or("its content cannot be read")?;
        file.parse(&content).ok_or_else(|| Flaw::of(path, &content).unwrap_or(Flaw::NotJson).text())
    }
}

#[cfg(test)]
mod gate_state_tests {
    use std::path::Path;

    use super::*;
    use teamkeep_model::time::Timestamp;
    use teamkeep_policy::{Change, Sign};

    #[test]
    fn one_call_at_a_time_can_change_the_counts_and_damaged_ones_start_again() {
        let dir = tempfile::tempdir().unwrap();
        let store = GateStateStore::new(dir.path().to_owned(), Duration::from_millis(5));
        let session = |number: usize| number.to_string();
        let refused = || store.open().saver.locked.unwrap_err().kind();
        let add = |open: OpenGateState, name: String| {
            let mut after = open.gate_state;
            after.ledger.live.apply(Timestamp::default(), Change::sign(&name, Sign::Leaves));
            open.saver.save(after)
        };
        let open = store.open();
        assert_eq!(refused(), io::ErrorKind::TimedOut, "another call has it");
        add(open, session(2)).unwrap();
        assert!(store.open().gate_state.ledger.has_left("2"));
        std::fs::write(dir.path().join("gates.json"), "{half").unwrap();
        let open = store.open();
        assert_eq!(open.gate_state, GateState::default());
        let path = dir.path().join("gates.json");
        assert!(open.damage.as_ref().is_some_and(|damage| damage.contains(&path.display().to_string())));
        open.saver.save(open.gate_state).unwrap();
        let open = store.open();
        assert!(open.damage.is_none(), "the damage is reported once");
        add(open, session(3)).unwrap();
        assert!(store.open().gate_state.ledger.has_left("3"));
    }

    #[test]
    fn counts_that_are_a_pipe_a_device_or_too_large_are_an_error() {
        let make: [fn(&Path); 3] = [
            |path| rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap(),
            |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
            |path| std::fs::File::create(path).unwrap().set_len(fs::MAX_JSON_BYTES + 1).unwrap(),
        ];
        for make in make {
            let dir = tempfile::tempdir().unwrap();
            make(&dir.path().join("gates.json"));
            let store = GateStateStore::new(dir.path().to_owned(), Duration::from_secs(5));
            assert!(store.open().saver.locked.is_err());
            assert_eq!(store.read(), GateState::default());
        }
    }
}

#[cfg(test)]
mod snapshot_reader_tests {
    use super::*;
    use teamkeep_store::archive::ContentWriter;

    #[test]
    fn files_after_the_deadline_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::new(dir.path().to_owned(), 1 << 20, std::time::Duration::ZERO);
        let mut index = Index { run: "0123456789abcdef".into(), ..Index::default() };
        let mut contents = ContentWriter::new(&archive.run_dir(&index.run).unwrap(), "event", true);
        for number in 1..=100 {
            let text = format!("{{\"status\":\"pending\",\"owner\":\"worker-{number}\"}}");
            let (object, place) = contents.put(text.as_bytes(), None).unwrap();
            let seen = CapturedFile { object: Some(object), place, ..CapturedFile::default() };
            index.files.insert(format!("tasks/t/{number}.json"), seen);
        }
        contents.flush().unwrap();
        let read = |until| {
            SnapshotReader { archive: &archive, client: None, live_first: false, until }
                .team((Some("t"), None), Some(&index))
        };
        let all = read(None);
        assert_eq!((all.tasks.len(), all.unread), (100, 0));
        assert_eq!(all.tasks["77"].owner.as_deref(), Some("worker-77"));
        let none = read(Some(Instant::now()));
        assert_eq!((none.tasks.len(), none.unread), (0, 100));
    }
}
