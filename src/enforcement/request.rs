//! Judges one event: collects the facts, evaluates the gates, counts, and stores the result.

use std::cmp::Reverse;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::completion;
use super::evaluation::{Evaluation, evaluate, uncounted};
use super::gate_state::{GateState, GateStateStore, LockedGateState};
use super::merge_state::merge_session_state;
use super::origin::{ToolCall, origin};
use super::overrides::{OverrideFile, Overrides};
use super::snapshot_reader::SnapshotReader;
use crate::archive::{Archive, Index};
use crate::clock::Time;
use crate::config::{Gate, Mode, Policy};
use crate::event::SafeName;
use crate::payload::Kind;
use crate::policy::failure::decision;
use crate::policy::gates::completion_check;
use crate::policy::{
    Attempt, Counting, Decision, Facts, Finding, Guard, Judged, Ledger, Origin, Part, Rules, TeamState,
    Unreadable, Verdict, judge, needs_team_state,
};

/// The counts of calls without a session.
const NO_SESSION: &str = "no-session";

/// How long a team's files are read for one hook call. Claude Code waits ten seconds for a hook before a tool.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// An event to be judged.
#[derive(Debug, Clone, Copy)]
pub struct PolicyRequest<'a> {
    /// The archive with the snapshots.
    pub archive: &'a Archive,
    /// The policy directory.
    pub dir: &'a Path,
    /// How long to wait for a lock.
    pub patience: Duration,
    /// The session's project, if Claude Code names one. Checks run there.
    pub project: Option<&'a Path>,
    /// The current time.
    pub now: Time,
    /// The gates.
    pub policy: &'a Policy,
    /// The user's rules.
    pub rules: &'a Rules<'a>,
    /// The event.
    pub event: Judged<'a>,
    /// Its run.
    pub run: Option<&'a str>,
    /// Its team.
    pub team: Option<&'a str>,
    /// The last snapshot index of the team.
    pub index: Option<&'a Index>,
    /// Number of the team's files that were not archived in time.
    pub left: usize,
    /// Why files of the team may be missing from the index.
    pub problems: &'a [&'a str],
    /// The verdicts on the same tool call, if an earlier hook call announced it.
    pub settled: Option<&'a [Verdict]>,
    /// The session's transcript, if the payload names one in Claude Code's directory.
    pub transcript: Option<&'a Path>,
    /// Claude Code's directory, if snapshots do not contain the texts.
    pub client: Option<&'a Path>,
}

impl PolicyRequest<'_> {
    /// Judges the event and stores what must be remembered. Counts that cannot be opened or written are a failure of
    /// the policy; the event is still judged by what can be read. A block that cannot be counted becomes a warning,
    /// unless `on-error` is "block". A block that is not counted because other calls hold the lock stays a block.
    pub fn judge(&self) -> Evaluation {
        let own = self.run.or(self.event.session).and_then(SafeName::stem);
        // The counts need a name.
        let Some(key) = own.or_else(|| SafeName::new(NO_SESSION)) else { return Evaluation::default() };
        let store = GateStateStore::new(self.dir.to_owned(), self.patience);
        let mut failed = None;
        // Before the lock is taken, because other calls wait for it.
        let index = self.index.filter(|_| needs_team_state(&self.event));
        let until = Instant::now().checked_add(READ_TIMEOUT);
        let mut team = self.team(index, until);
        let lost = |why: &&str| Unreadable { path: String::new(), why: (*why).to_owned(), part: Part::Any };
        team.unreadable.extend(self.problems.iter().map(lost));
        let mut found = None;
        let look = || OverrideFile::new(self.dir, self.patience).found(self.now);
        if self.event.kind == Kind::TaskCompleted {
            found = look();
        }
        let checked = noted(self.check_completion(&store, &key), &mut failed).flatten();
        let OpenedCounts { mut open, mut gate_state, mut damage } = self.open(&store, &key);
        team.ledger = std::mem::take(&mut gate_state.ledger);
        let mut findings = judge(self.policy, self.rules, &Facts { event: self.event, team: &team });
        findings.extend(checked);
        if !findings.is_empty() && index.is_none() {
            // The loop guard depends on the state of the work.
            team = TeamState { ledger: team.ledger, ..self.team(self.index, until) };
        }
        let unread = team.unread + index.map_or(0, |_| self.left);
        if unread > 0 {
            let why = format!("{unread} of the team's files could not be read in time");
            failed.get_or_insert(why);
        }
        let settled = self.take_settled(&mut findings);
        if !findings.is_empty() {
            found = found.or_else(look);
        }
        findings.sort_by_key(|finding| Reverse(finding.decision));
        let mut attempt = Attempt { origin: Origin::Turn, at: self.now.timestamp_millis() };
        if let Some(id) = self.tool_call(&findings, &team.ledger) {
            // Release the lock while this call waits for the transcript.
            drop(open);
            attempt.origin = self.origin(id.as_deref());
            OpenedCounts { open, gate_state, damage } = self.open(&store, &key);
            team.ledger = std::mem::take(&mut gate_state.ledger);
        }
        gate_state.guard.note_progress(&team);
        let state = if findings.is_empty() { String::new() } else { team.key() };
        let counting = Counting { state: &state, max_blocks: self.policy.max_blocks, attempt: &attempt };
        let mut judgement = self.evaluate(&findings, &mut gate_state.guard, &counting, &team.members);
        if self.settled.is_none() {
            team.apply(&self.event, &judgement.with(judgement.is_blocked(), &findings));
        }
        let members = team.members;
        gate_state.ledger = team.ledger;
        let counted = open.and_then(|mut open| {
            open.gate_state = gate_state;
            open.close()
        });
        if let Err(error) = counted
            && !(is_busy(&error) && judgement.is_blocked())
        {
            failed = Some(error.to_string());
            if decision(self.policy.on_error, self.event.kind) == Decision::Allow {
                let single = Attempt::single();
                let counting = Counting { attempt: &single, ..counting };
                self.allow_uncounted(&mut judgement, findings, &counting, &members);
            }
        }
        judgement.verdicts.extend(settled);
        judgement.verdicts.sort_by_key(|verdict| Reverse(verdict.decision));
        Evaluation { failed, found, damage, ..judgement }
    }

    /// The state of the team without its ledger, as far as it can be read in time.
    fn team(&self, index: Option<&Index>, until: Option<Instant>) -> TeamState {
        let reading = SnapshotReader { archive: self.archive, client: self.client, until };
        reading.team((self.team, self.event.session), index)
    }

    /// Opens the run's counts, or only reads them if they cannot be opened.
    fn open(&self, store: &GateStateStore, key: &SafeName) -> OpenedCounts {
        let mut open = store.open(key);
        let (mut gate_state, damage) = match &mut open {
            Ok(open) => open.take(),
            Err(_) => store.read_reporting(key),
        };
        let earlier = merge_session_state(store, self.archive, self.event.session, key, &mut gate_state);
        OpenedCounts { open, gate_state, damage: damage.or(earlier) }
    }

    /// Removes the findings that already have a verdict from the earlier announcement, and returns these verdicts.
    fn take_settled(&self, findings: &mut Vec<Finding>) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        findings.retain(|finding| {
            let settled = self.settled.into_iter().flatten().find(|verdict| finding.is_of(verdict));
            verdicts.extend(settled.map(|settled| {
                // The earlier call turned a block that could not be counted into a warning.
                let finding = match settled.decision {
                    Decision::Warn => uncounted(finding.clone()),
                    _ => finding.clone(),
                };
                Verdict { reason: finding.reason, ..settled.clone() }
            }));
            settled.is_none()
        });
        verdicts
    }

    /// The tool call that these findings block, if the loop guard counts such blocks: its id, if the payload or the ledger
    /// has one.
    fn tool_call(&self, findings: &[Finding], ledger: &Ledger) -> Option<Option<String>> {
        let counts = |finding: &&Finding| finding.decision == Decision::Block && !finding.lasting;
        findings.iter().find(counts)?;
        match self.event.kind {
            Kind::PreToolUse => Some(self.event.payload.tool_use_id().map(str::to_owned)),
            // At the end of a turn, no tool call completes the task.
            Kind::TaskCompleted => {
                let task = self.event.payload.text("task_id")?;
                let completing = ledger.completing.iter().find(|(_, completing)| *completing == task)?;
                Some(Some(completing.0.clone()))
            }
            _ => None,
        }
    }

    /// The message of the model that a tool call is in. If the payload names no transcript, or a missing one, the transcript
    /// that the run has for the session is read: a call by hand may leave the path out.
    fn origin(&self, id: Option<&str>) -> Origin {
        let payload = self.event.payload;
        let call = ToolCall { id, agent: payload.agent_id(), size: payload.raw.get().len() };
        let known = || {
            let record = self.archive.run(self.run?)?;
            let session =
                record.sessions.into_iter().find(|one| Some(one.id.as_str()) == self.event.session)?;
            session.transcript.map(PathBuf::from)
        };
        let named = self.transcript.filter(|path| path.is_file()).map(Path::to_owned);
        named.or_else(known).map_or(Origin::Unknown, |path| origin(&path, &call))
    }

    /// Runs the checks of a completed task. They can take minutes, so the lock is not held.
    fn check_completion(&self, store: &GateStateStore, key: &SafeName) -> io::Result<Option<Finding>> {
        let settings = &self.policy.completion_check;
        if self.event.kind != Kind::TaskCompleted || settings.check.is_empty() || settings.mode == Mode::Off {
            return Ok(None);
        }
        let overrides = OverrideFile::new(self.dir, self.patience).read();
        if overrides.is_paused(Gate::CompletionCheck, self.team, self.now) {
            return Ok(None);
        }
        let OpenedCounts { open, gate_state, .. } = self.open(store, key);
        // The counts can be read while the lock is held by another call.
        open.map(drop).or_else(|error| if is_busy(&error) { Ok(()) } else { Err(error) })?;
        let team = TeamState { ledger: gate_state.ledger, ..self.team(self.index, None) };
        let due = completion_check::due(self.policy, &Facts { event: self.event, team: &team });
        let payload = self.event.payload;
        let (Some(id), false) = (payload.text("task_id"), due.is_empty()) else { return Ok(None) };
        let cwd = Path::new(payload.text("cwd").unwrap_or("."));
        let place = completion::place(self.project, cwd);
        let checked = completion::run(&due, &place, self.dir, completion::BUDGET);
        let owner = team.tasks.get(id).and_then(|task| task.owner.as_deref());
        let about = owner.or(self.event.actor.name.as_deref()).unwrap_or("unknown");
        Ok(completion::finding(
            &checked,
            settings.mode,
            self.policy.on_error,
            completion::CompletedTask { id, about },
        ))
    }

    /// Counts each finding and applies pauses, allowances and the loop guard.
    fn evaluate(
        &self,
        findings: &[Finding],
        guard: &mut Guard,
        counting: &Counting<'_>,
        members: &[String],
    ) -> Evaluation {
        if findings.is_empty() {
            return Evaluation::default();
        }
        let file = OverrideFile::new(self.dir, self.patience);
        let overrides = file.read();
        let take_one = |name: &str| {
            file.change(self.now, |overrides| take(&mut overrides.shutdowns, name)).unwrap_or(false)
        };
        let mut taken: Vec<&str> = Vec::new();
        let paused = |finding: &Finding| {
            if overrides.is_paused(finding.gate, self.team, self.now) {
                return true;
            }
            // A warning does not use up an allowance.
            let premature = finding.gate == Gate::PrematureShutdown && finding.decision == Decision::Block;
            let word = premature.then(|| overrides.allowed_shutdown(&finding.about, members)).flatten();
            let word = word.filter(|word| take_one(word));
            taken.extend(word);
            word.is_some()
        };
        let judgement = evaluate(findings, guard, counting, paused);
        if judgement.is_blocked() && !taken.is_empty() {
            // Another gate blocks the action, so the allowance was not used. One that cannot be stored must be given
            // again.
            let back = |overrides: &mut Overrides| {
                let missing =
                    taken.iter().filter(|word| !overrides.shutdowns.iter().any(|kept| kept == *word));
                let missing: Vec<String> = missing.map(|word| (*word).to_owned()).collect();
                overrides.shutdowns.extend(missing);
            };
            let _ = file.change(self.now, back);
        }
        judgement
    }

    /// A block that cannot be counted does not apply: takes it back, and settles the findings behind it.
    fn allow_uncounted(
        &self,
        judgement: &mut Evaluation,
        mut findings: Vec<Finding>,
        counting: &Counting<'_>,
        members: &[String],
    ) {
        if !judgement.is_blocked() {
            return;
        }
        let mut rest: Vec<Finding> = findings.drain(judgement.verdicts.len() - 1..).map(uncounted).collect();
        rest.sort_by_key(|finding| Reverse(finding.decision));
        judgement.verdicts.retain(|verdict| verdict.decision != Decision::Block);
        let rest = self.evaluate(&rest, &mut Guard::default(), counting, members);
        judgement.verdicts.extend(rest.verdicts);
        judgement.verdicts.sort_by_key(|verdict| Reverse(verdict.decision));
    }
}

/// The counts of a run for one call.
struct OpenedCounts {
    /// The lock, with which they can be written.
    open: io::Result<LockedGateState>,
    gate_state: GateState,
    /// Why former counts are lost, if they are.
    damage: Option<String>,
}

/// Whether the counts could not be opened because other calls hold the lock.
fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// The value, or `None` with the error noted.
fn noted<T>(result: io::Result<T>, failed: &mut Option<String>) -> Option<T> {
    result.map_err(|error| *failed = Some(error.to_string())).ok()
}

fn take(names: &mut Vec<String>, name: &str) -> bool {
    let place = names.iter().position(|known| known == name);
    place.map(|place| names.remove(place)).is_some()
}
