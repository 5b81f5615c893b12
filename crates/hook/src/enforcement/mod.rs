//! Applies the policy at a hook call: collects the facts, evaluates the gates, counts, and stores the result, in the order of
//! `Judging::judge`.

mod access;
mod completion;
mod gate_state;
mod overrides;
mod snapshot_reader;
mod spending;
#[cfg(test)]
mod tests;

pub use access::access;
pub use gate_state::{GateState, GateStateStore, run_of_session};
pub use overrides::{FoundOverrides, LONGEST_PAUSE, OverrideFile};
pub use snapshot_reader::SnapshotReader;
pub use spending::RunSpending;

use std::cell::LazyCell;
use std::cmp::Reverse;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::call::Call;
use crate::response::BLOCK_EXIT_CODE;
use crate::{BackgroundMode, Recorder};
use teamkeep_config::{Gate, Mode, Policy};
use teamkeep_model::compat::delivers_answers;
use teamkeep_model::event::SafeName;
use teamkeep_model::payload::EventKind;
use teamkeep_policy::gates::{budget, tasks};
use teamkeep_policy::{
    Case, Counting, Decision, Evaluation, EvaluationInput, FileHistory, Finding, Guard, JudgedEvent, Ledger,
    Lift, Rules, TeamState, Unreadable, Verdict, decide, evaluate, judge, reads_team, uncounted,
};
use teamkeep_store::archive::{CaptureScope, Index};
use teamkeep_system::diagnostics;

/// How long a team's files are read for one hook call. Claude Code waits ten seconds for a hook before a tool.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// An event that is judged.
struct Judging<'a> {
    call: &'a Call<'a>,
    recorder: &'a Recorder,
    policy: &'a Policy,
    rules: &'a Rules<'a>,
    event: JudgedEvent<'a>,
    team: Option<&'a SafeName>,
    /// The last snapshot index of the team.
    index: Option<&'a Index>,
    /// The counts of the run, or of the session as long as it has no run.
    counts: &'a GateStateStore,
}

/// How an event was judged, and what went wrong meanwhile.
#[derive(Debug, Default)]
pub(crate) struct PolicyOutcome {
    pub evaluation: Evaluation,
    /// Why the policy failed, if it did; `on-error` decides what that means.
    pub failed: Option<String>,
    /// Why the former counts are lost, if they are.
    pub damage: Option<String>,
    /// Overrides in force that are not in the log, if there are findings or a task is completed.
    pub found_overrides: Option<FoundOverrides>,
}

impl Call<'_> {
    /// Judges the event and stores what must be remembered. If counts cannot be opened or written, the policy failed, but the
    /// event is judged by what can be read: a block that cannot be counted becomes a warning, unless `on-error` is "block".
    pub(crate) fn ask_gates(&self, rules: &Rules<'_>) -> PolicyOutcome {
        let (received, recorder, log) = (&self.received, self.received.recorder, self.log());
        let (policy, team) = (&recorder.config.policy, self.by.resolved.team.as_ref());
        let event = JudgedEvent {
            at: received.at,
            kind: received.kind,
            actor: &self.by.actor,
            payload: &received.payload,
            access: None,
        };
        let counts = &GateStateStore::new(log.dir().to_owned(), recorder.config.log.lock_patience);
        let judge = || {
            // Before the lock is taken, because git is asked.
            let access = access(policy, &event, || counts.files());
            let event = JudgedEvent { access: access.as_ref(), ..event };
            let index = team.and_then(|team| self.found.teams.get(team));
            Judging { call: self, recorder, policy, rules, event, team, index, counts }.judge()
        };
        // A panic in a gate is handled like any other failure of the policy.
        let blocks_on_panic = Decision::on_uncounted_failure(policy.on_error, received.kind)
            == Decision::Block
            && recorder.finish == BackgroundMode::Detached;
        match blocks_on_panic {
            true => diagnostics::with_panic_exit_code(BLOCK_EXIT_CODE.into(), judge),
            false => judge(),
        }
    }
}

impl Judging<'_> {
    fn judge(&self) -> PolicyOutcome {
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

        // The counts and the history of the team, locked from here on until they are saved.
        let open = self.counts.open();
        let GateState { ledger, mut guard, .. } = open.gate_state.clone();
        let damage = open.damage.clone();
        let files = self.event.access.map(|_| self.counts.files()).unwrap_or_default();
        team.ledger = Ledger { files: files.clone(), ..ledger };
        team.spending = spent.map(|spent| spent.priced(&team, None)).unwrap_or_default();

        // The findings.
        let mut findings = judge(self.policy, self.rules, &Case::new(self.event, &team));
        findings.extend(checked);
        let mut unread = team.unread;
        if index.is_some()
            && let Some(team) = self.team
        {
            unread += self.call.found.unarchived.get(team).copied().unwrap_or_default();
        }
        if unread > 0 {
            failed.get_or_insert(format!("{unread} of the team's files could not be read in time"));
        }
        let earlier = self.take_decided(&mut findings);
        findings.sort_by_key(|finding| Reverse(finding.decision));

        // The verdicts, by overrides and the loop guard.
        let uses_overrides = !findings.is_empty() || self.event.kind == EventKind::TaskCompleted;
        let found_overrides = if uses_overrides { self.overrides().found(self.event.at) } else { None };
        let counted = EvaluationInput {
            event: &self.event,
            findings: &findings,
            policy: self.policy,
            rules: self.rules,
        };
        let mut evaluation =
            self.with_overrides(&team.members, |allow| evaluate(counted, &team, &mut guard, allow));

        // The state that the next call needs.
        budget::observe(self.policy, &self.event, &mut team);
        if self.call.received.earlier_verdicts.is_none() {
            team.apply(&self.event, &evaluation.judgement());
        }
        let TeamState { mut ledger, members, .. } = team;
        if self.call.received.archive.metadata_only {
            ledger.forget_texts();
        }
        if open.is_locked()
            && let Err(error) = self.counts.write_files(&files, &ledger.files)
        {
            failed.get_or_insert(error.to_string());
        }
        // The history of files is in a file of its own.
        ledger.files = FileHistory::default();
        if let Err(error) = open.save(GateState { v: 1, ledger, guard }) {
            failed.get_or_insert(error.to_string());
            if evaluation.is_blocked()
                && Decision::on_uncounted_failure(self.policy.on_error, self.event.kind) == Decision::Allow
            {
                evaluation = self.evaluate_uncounted(findings, &members);
            }
        }
        evaluation.verdicts.extend(earlier);
        evaluation.sort();
        PolicyOutcome { evaluation, failed, damage, found_overrides }
    }

    /// Reads the spending of the run, if a gate needs it.
    fn spending(&self, team: &TeamState) -> io::Result<Option<RunSpending>> {
        match &self.call.by.run {
            Some(run) if budget::needs_spending(self.policy, &Case::new(self.event, team)) => {
                RunSpending::update(&self.call.received.archive, run, &self.recorder.config.report.price)
            }
            _ => Ok(None),
        }
    }

    fn overrides(&self) -> OverrideFile {
        OverrideFile::new(&self.recorder.paths.store, self.recorder.config.log.lock_patience)
    }

    fn team_name(&self) -> Option<&str> {
        self.team.map(SafeName::as_str)
    }

    /// The team, from its files and without its history.
    fn team(&self, index: Option<&Index>, until: Option<Instant>) -> TeamState {
        let (received, found) = (&self.call.received, &self.call.found);
        let archive = &received.archive;
        let (client, live_first) = (Some(received.client.as_path()), archive.metadata_only);
        let reader = SnapshotReader { archive, client, live_first, until };
        let mut team = reader.team((self.team_name(), self.event.payload.session()), index);
        // Files of the team may be missing from the index.
        let is_own = |subject: &CaptureScope| subject.team() == self.team;
        let own = found.store_failures().filter(|failure| failure.subject.as_ref().is_some_and(is_own));
        let lost = own.map(|failure| Unreadable { path: String::new(), why: failure.note.text.clone() });
        team.unreadable.extend(lost);
        let delivers_answers = delivers_answers(self.call.by.state.version.as_deref());
        TeamState { delivers_answers, ..team }
    }

    /// Removes the findings that already have a verdict from the earlier call, and returns these verdicts.
    fn take_decided(&self, findings: &mut Vec<Finding>) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        findings.retain(|finding| {
            let mut earlier = self.call.received.earlier_verdicts.iter().flatten();
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
        if self.event.kind != EventKind::TaskCompleted
            || settings.check.is_empty()
            || settings.mode == Mode::Off
            || self.overrides().read_active(self.event.at).pauses(
                Gate::CompletionCheck,
                self.policy,
                self.team_name(),
            )
        {
            return None;
        }
        let team = TeamState { ledger: self.counts.read().ledger, ..team.clone() };
        let due = tasks::due(self.policy, &Case::new(self.event, &team));
        let payload = self.event.payload;
        let id = payload.text("task_id").filter(|_| !due.is_empty())?;
        let cwd = completion::directory(
            self.recorder.env.project.as_deref(),
            Path::new(payload.text("cwd").unwrap_or(".")),
        );
        let checked = completion::run(&due, &cwd, completion::BUDGET);
        let owner = team.tasks.get(id).and_then(|task| task.owner.as_deref());
        let about = owner.or(self.event.actor.name.as_deref()).unwrap_or("unknown");
        completion::finding(&checked, settings.mode, self.policy.on_error, id, about)
    }

    /// Without counts, blocks become warnings.
    fn evaluate_uncounted(&self, findings: Vec<Finding>, members: &[String]) -> Evaluation {
        let mut findings: Vec<Finding> = findings.into_iter().map(uncounted).collect();
        findings.sort_by_key(|finding| Reverse(finding.decision));
        let counting = Counting {
            state: "",
            max_blocks: self.policy.max_blocks,
            at: self.event.at.millis(),
            ends_turn: true,
        };
        self.with_overrides(members, |allow| decide(&findings, &mut Guard::default(), &counting, allow))
    }

    /// Evaluates with the overrides. An allowance is used up, except by a warning, and returned if another gate blocks the
    /// action.
    fn with_overrides(
        &self,
        members: &[String],
        evaluate: impl FnOnce(&mut dyn FnMut(&Finding) -> bool) -> Evaluation,
    ) -> Evaluation {
        let file = self.overrides();
        let (overrides, mut used) = (LazyCell::new(|| file.read_active(self.event.at)), Vec::new());
        let evaluation = evaluate(&mut |finding| {
            let name = match overrides.lift(finding, self.policy, self.team_name(), members) {
                Some(Lift::Pause) => return true,
                Some(Lift::Allowance(name)) => name,
                None => return false,
            };
            let is_used_up = file.change(self.event.at, |overrides| overrides.use_up(name)).unwrap_or(false);
            if is_used_up {
                used.push(name.to_owned());
            }
            is_used_up
        });
        if evaluation.is_blocked() && !used.is_empty() {
            let _ = file.change(self.event.at, |overrides| {
                used.retain(|name| !overrides.shutdowns.contains(name));
                overrides.shutdowns.append(&mut used);
            });
        }
        evaluation
    }
}
