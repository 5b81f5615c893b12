//! One event before the gates: gathered, judged, counted, kept.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::desk::{Desk, Notebook};
use super::overrides::OverrideFile;
use super::state::team_state;
use crate::archive::{Archive, Index};
use crate::clock::Time;
use crate::config::{Policy, Rule};
use crate::event::SafeName;
use crate::payload::{Kind, Message, MessageKind};
use crate::policy::{Decision, Facts, Finding, Judged, TeamState, Verdict, judge, settle};

/// An event on its way before the gates.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Where states are kept.
    pub archive: &'a Archive,
    /// The gatekeeper's own directory.
    pub dir: &'a Path,
    /// How long a lock is waited for.
    pub patience: Duration,
    /// The present.
    pub now: Time,
    /// The gates.
    pub policy: &'a Policy,
    /// The user's own rules.
    pub rules: &'a [Rule],
    /// The event.
    pub event: Judged<'a>,
    /// Its run.
    pub run: Option<&'a str>,
    /// Its team.
    pub team: Option<&'a str>,
    /// What was last kept of the team.
    pub index: Option<&'a Index>,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Every verdict, the one that decides first. Empty when nothing objected.
    pub verdicts: Vec<Verdict>,
}

impl Judgement {
    /// The verdict that decides.
    pub fn decisive(&self) -> Option<&Verdict> {
        self.verdicts.first()
    }
}

impl Call<'_> {
    /// Judges the event and keeps what is to be remembered of it.
    ///
    /// # Errors
    /// When the notebook cannot be opened or written: then `on-error` decides.
    pub fn judge(&self) -> io::Result<Judgement> {
        let Some(key) = self.run.or(self.event.session).and_then(SafeName::new) else {
            return Ok(Judgement::default());
        };
        let mut open = Desk::new(self.dir.to_owned(), self.patience).open(&key)?;
        let ledger = std::mem::take(&mut open.notebook.ledger);
        let index = self.index.filter(|_| is_judged(self.event.kind));
        let mut team = team_state(self.archive, self.team, index, ledger);
        let findings = judge(self.policy, self.rules, &Facts { event: self.event, team: &team });
        let judgement = self.weigh(&findings, &team, &mut open.notebook);
        self.remember(&judgement, &mut team);
        open.notebook.ledger = team.ledger;
        open.close()?;
        Ok(judgement)
    }

    /// Counts each finding, and lets through what a human or the guard lets through.
    fn weigh(&self, findings: &[Finding], team: &TeamState, notebook: &mut Notebook) -> Judgement {
        if findings.is_empty() {
            return Judgement::default();
        }
        let file = OverrideFile::new(self.dir, self.patience);
        let overrides = file.read();
        let state = team.key();
        let mut verdicts: Vec<Verdict> = Vec::new();
        for finding in findings {
            let allowed = || {
                let named =
                    finding.gate == "premature-shutdown" && overrides.shutdowns.contains(&finding.about);
                named
                    && file
                        .change(|overrides| take(&mut overrides.shutdowns, &finding.about))
                        .unwrap_or(false)
            };
            let paused = overrides.is_paused(finding.gate, self.team, self.now) || allowed();
            verdicts.push(settle(finding, &state, &mut notebook.guard, self.policy.max_blocks, paused));
        }
        // Stable: the strictest first, then as the gates stand.
        verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.decision));
        Judgement { verdicts }
    }

    /// Takes the event into the ledger, unless it was held back.
    fn remember(&self, judgement: &Judgement, team: &mut TeamState) {
        let held = judgement.decisive().is_some_and(|verdict| verdict.decision == Decision::Block);
        if held && self.event.kind == Kind::PreToolUse {
            return;
        }
        team.ledger.observe(&self.event);
        let let_through = judgement.verdicts.iter().any(|verdict| verdict.escalated || verdict.paused);
        if let Some(name) = self.asked_to_stop().filter(|_| let_through) {
            team.ledger.members.entry(name).or_default().let_go = true;
        }
    }

    /// Whom this event asks to stop.
    fn asked_to_stop(&self) -> Option<String> {
        let payload = self.event.payload;
        if self.event.kind != Kind::PreToolUse || payload.tool() != Some("SendMessage") {
            return None;
        }
        let message = Message::of(payload.tool_input(), payload.tool_response())?;
        (message.kind == MessageKind::ShutdownRequest).then_some(message.to).flatten()
    }
}

/// The events that a policy may say no to.
pub fn is_judged(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::PreToolUse
            | Kind::TeammateIdle
            | Kind::TaskCreated
            | Kind::TaskCompleted
            | Kind::SubagentStop
            | Kind::Stop
    )
}

fn take(names: &mut Vec<String>, name: &str) -> bool {
    let place = names.iter().position(|known| known == name);
    place.map(|place| names.remove(place)).is_some()
}
