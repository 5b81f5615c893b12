//! The policy's verdicts. They come after the event is recorded, so that no policy can lose an event.

use std::cell::OnceCell;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::to_raw_value;

use super::call::Call;
use super::{MAX_CHARS, Recorder};
use crate::enforcement::{FoundOverrides, OverrideFile, PolicyOutcome};
use crate::response::BLOCK_EXIT_CODE;
use teamkeep_config::{ORGANIZATION_FILE, OnError, Problem};
use teamkeep_model::event::{Actor, Event, Id, OVERRIDE};
use teamkeep_model::payload::{EventKind, MessageKind, Payload};
use teamkeep_model::{Note, Tool};
use teamkeep_policy::{
    Decision, Evaluation, HOOK_REDIRECTED, Overrides, POLICY_FAILED, POLICY_UNUSABLE, Rules, Sent, Verdict,
    allowance_payload, escaped, log_line,
};
use teamkeep_store::access::{Obstacle, unexpected};
use teamkeep_store::log::EventLog;
use teamkeep_store::metadata_only;
use teamkeep_system::error::{Error, Result};
use teamkeep_system::fs;

/// Time limit for all rules of a call. One more match may follow.
const RULES_TIMEOUT: Duration = Duration::from_secs(1);

impl Call<'_> {
    /// Judges the event, records the verdicts that an earlier call for it did not record, and writes the response.
    pub(crate) fn judge(&mut self) {
        let recorder = self.received.recorder;
        let in_team = self.by.resolved.member && self.by.run.is_some();
        let begin = OnceCell::new();
        let is_late = || begin.get_or_init(Instant::now).elapsed() >= RULES_TIMEOUT;
        let rules = Rules::of(&recorder.config.rule).until(&is_late);
        let by_rule = rules.apply_to(self.received.kind);
        let redirected = if in_team || by_rule { self.redirected() } else { None };
        let warns_of_redirection =
            redirected.as_ref().is_some_and(|verdict| verdict.decision == Decision::Warn);
        let (kind, payload) = (self.received.kind, &self.received.payload);
        let mut judged = PolicyOutcome::default();
        let is_blocked = self.outcome.response.exit == BLOCK_EXIT_CODE;
        let on_error = if in_team || by_rule { recorder.config.policy.on_error } else { OnError::Allow };
        let unusable = recorder.unusable(kind, on_error);
        let failure = self.found.store_failures().next();
        // A malformed payload cannot be judged. An event that could not be recorded is judged nevertheless.
        if let Some(malformed) = &payload.malformed {
            judged.failed = Some(format!("the payload cannot be parsed: {malformed}"));
        } else if is_blocked || unusable.as_ref().is_some_and(|verdict| verdict.decision == Decision::Block) {
            // Blocked already: no gate is asked.
        } else if in_team || by_rule {
            judged = self.ask_gates(&rules);
        } else if let Some(unseen) = self.found.unseen_team().filter(|_| proves_a_team(kind, payload)) {
            judged.failed = Some(unseen);
        } else if let Some(failure) = failure {
            // Without stored team files, it is unknown whether the policy concerns the call.
            judged.failed = Some(failure.note.text.clone());
        }
        let PolicyOutcome { mut evaluation, failed, damage, found_overrides } = judged;
        self.outcome.notes.extend(damage.map(Note::problem));
        let failed = failed.map(|why| {
            self.outcome.add(format!("cannot evaluate the policy: {why}"));
            recorder.failed(kind, &why)
        });
        // For a malformed payload, the event already has the reason.
        let is_shown = |verdict: &Verdict| {
            (payload.malformed.is_none() && kind.can_be_blocked()) || verdict.decision == Decision::Block
        };
        for verdict in unusable.into_iter().chain(failed.filter(is_shown)).chain(redirected) {
            evaluation.add(verdict);
        }
        if !is_blocked {
            if let Some(found) = &found_overrides {
                let recorded = self.record_found(found);
                self.outcome.note("record an override that was found", recorded);
            }
            self.record_verdicts(&evaluation);
        }
        // A block hides the warning, so that it comes again.
        self.by.state.redirected |= warns_of_redirection && self.outcome.response.exit != BLOCK_EXIT_CODE;
    }

    /// Whether no earlier call for the same event recorded this verdict.
    pub(crate) fn is_new(&self, verdict: &Verdict) -> bool {
        !self.received.earlier_verdicts.iter().flatten().any(|earlier| earlier.is_same(verdict))
    }

    pub(crate) fn record_verdicts(&mut self, evaluation: &Evaluation) {
        let kind = self.received.kind;
        let log = self.log();
        for verdict in &evaluation.verdicts {
            if self.is_new(verdict) {
                self.record_verdict(verdict, &log);
            }
        }
        let response = std::mem::take(&mut self.outcome.response);
        self.outcome.response = response.and_verdicts(kind, &self.by.actor, evaluation);
    }

    pub(crate) fn record_verdict(&mut self, verdict: &Verdict, log: &EventLog) {
        let received = &self.received;
        let reduced = received.recorder.is_metadata_only().then(|| Verdict {
            reason: metadata_only::digest_placeholder(verdict.reason.as_bytes()),
            advice: String::new(),
            ..verdict.clone()
        });
        let event = self.event();
        let line = log_line(reduced.as_ref().unwrap_or(verdict), &Id::new(received.at), &event);
        let how = received.recorder.appending();
        let appended = line.map_err(Error::from_json).and_then(|line| log.append(&line, received.at, how));
        self.outcome.note("record the verdict", appended);
    }

    /// Records overrides that no command recorded, in the same form.
    fn record_found(&self, found: &FoundOverrides) -> Result<()> {
        let (received, recorder) = (&self.received, self.received.recorder);
        let Overrides { pauses, shutdowns, shutdowns_until, .. } = &found.overrides;
        let policy = &recorder.config.policy;
        let pauses = pauses.iter().map(|pause| pause.payload(policy));
        let shutdowns = shutdowns.iter();
        let shutdowns =
            shutdowns.map(|name| allowance_payload(name, shutdowns_until.get(name).copied(), policy));
        let (event, log) = (self.event(), self.log());
        for mut payload in pauses.chain(shutdowns) {
            payload["found"] = Value::Bool(true);
            let payload = to_raw_value(&payload).map_err(Error::from_json)?;
            let (id, actor) =
                (Id::new(received.at), Actor { name: Some("user".to_owned()), ..Actor::unknown() });
            let event = Event { id: id.as_str(), event: OVERRIDE, actor: &actor, payload: &payload, ..event };
            log.append(&event.line().map_err(Error::from_json)?, received.at, recorder.appending())?;
        }
        let file = OverrideFile::new(&recorder.paths.store, recorder.config.log.lock_patience);
        file.note_recorded(found)
            .map_err(|error| Error::caused("cannot mark the overrides as recorded", error))
    }

    /// The verdict if the environment points the call elsewhere than an organization with fixed gates expects, as `on-error` defines
    /// it. No gate fails then, but the gates may not see the team that Claude Code uses now, or the organization does not find the
    /// recorded data. A warning is shown once in a session.
    pub(super) fn redirected(&self) -> Option<Verdict> {
        let (received, recorder) = (&self.received, self.received.recorder);
        if !recorder.config.organization.fixes_gates() || !received.kind.can_be_blocked() {
            return None;
        }
        let client = recorder.redirected_client(&received.client);
        let Obstacle { what, fix } = client.or_else(|| recorder.redirected_store())?;
        // The description has two paths.
        let (what, fix) = (escaped(&what, 2 * MAX_CHARS), escaped(&fix, MAX_CHARS));
        let on_error = recorder.config.policy.on_error;
        let mut verdict = Verdict::of_failure(on_error, received.kind, HOOK_REDIRECTED, String::new());
        if verdict.decision == Decision::Block {
            verdict.reason = format!(
                "{what}. The organization has fixed gates and on-error = \"block\". Do not try \
                 again; ask the user to {fix}, and to restart the session."
            );
            return Some(verdict);
        }
        verdict.reason = format!("{what}. To fix it, {fix}, and restart the session.");
        // A store that cannot be written does not remember it, and is reported itself.
        verdict.repeated = self.by.state.redirected || self.found.store_failures().next().is_some();
        if on_error == OnError::Allow && !verdict.repeated {
            verdict.decision = Decision::Warn;
        }
        Some(verdict)
    }
}

/// Whether only a member of a team makes such a call.
fn proves_a_team(kind: EventKind, payload: &Payload) -> bool {
    let sent = || Sent::of(payload).is_some_and(|sent| sent.message.kind != MessageKind::Plain);
    kind == EventKind::PreToolUse && (payload.tool() == Some(Tool::TeamDelete) || sent())
}

impl Recorder {
    /// The verdict when a policy file cannot be used. With `on-error = "block"` the defaults do not replace the file: the event
    /// is blocked regardless of the gates. Otherwise it is only recorded, because it was reported when the session began, as
    /// are errors in other files than the organization's.
    pub(super) fn unusable(&self, kind: EventKind, on_error: OnError) -> Option<Verdict> {
        let decides =
            |problem: &&&Problem| !self.has_organization || problem.path == Path::new(ORGANIZATION_FILE);
        let errors: Vec<&Problem> = self.problems.iter().filter(|problem| problem.is_error()).collect();
        let deciding = errors.iter().find(decides);
        let error = deciding.or(errors.first()).filter(|_| kind.can_be_blocked())?;
        let on_error = if deciding.is_some() { on_error } else { OnError::Allow };
        let place = escaped(&error.location(), MAX_CHARS);
        let verdict = Verdict::of_failure(on_error, kind, POLICY_UNUSABLE, String::new());
        let reason = match verdict.decision {
            Decision::Block => format!(
                "teamkeep cannot use the policy file {place}, and on-error = \"block\" blocks this action until the file is \
                 fixed. Report this to the user; `teamkeep config check` shows the errors."
            ),
            _ => format!("the policy file {place} cannot be used and is ignored"),
        };
        let repeated = verdict.decision != Decision::Block;
        Some(Verdict { reason, repeated, ..verdict })
    }

    /// The verdict when the policy failed or its state could not be written, as `on-error` defines it.
    pub(super) fn failed(&self, kind: EventKind, why: &str) -> Verdict {
        let why = escaped(why, MAX_CHARS);
        let mut verdict =
            Verdict::of_failure(self.config.policy.on_error, kind, POLICY_FAILED, String::new());
        verdict.reason = match verdict.decision {
            Decision::Block => format!(
                "teamkeep could not evaluate the policy, and on-error = \"block\" blocks this action ({why}). \
                 Report this to the user; `teamkeep doctor` shows the cause."
            ),
            _ => format!("the policy could not be evaluated: {why}"),
        };
        verdict
    }

    /// The session's transcript is in `client`, and Claude Code writes new files elsewhere.
    fn redirected_client(&self, client: &Path) -> Option<Obstacle> {
        let named = self.paths.client.as_deref().filter(|named| !fs::is_same_path(named, client))?;
        let variable = if self.env.client.is_some() { "CLAUDE_CONFIG_DIR" } else { "HOME" };
        Some(Obstacle {
            what: format!(
                "{variable} points to {}, but this session began in {}, so gates do not see all of its team",
                named.display(),
                client.display()
            ),
            fix: format!("remove {variable} from `env` in the settings of Claude Code"),
        })
    }

    /// The store is not where the organization expects it.
    fn redirected_store(&self) -> Option<Obstacle> {
        let expected = self.config.organization.store_path(self.env.home.as_deref())?;
        unexpected(&self.paths, &self.env, &expected)
    }
}
