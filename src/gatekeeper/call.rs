//! One event before the gates: gathered, judged, counted, kept.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::desk::{Desk, Notebook};
use super::overrides::OverrideFile;
use super::state::team_state;
use super::weigh::{Judgement, let_go, weigh};
use crate::archive::{Archive, Index};
use crate::clock::Time;
use crate::config::{Policy, Rule};
use crate::event::SafeName;
use crate::payload::Kind;
use crate::policy::{Facts, Finding, Judged, TeamState, judge};

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
        let take_one = |name: &str| {
            file.change(self.now, |overrides| take(&mut overrides.shutdowns, name)).unwrap_or(false)
        };
        let paused = |finding: &Finding| {
            let named = finding.gate == "premature-shutdown" && overrides.shutdowns.contains(&finding.about);
            overrides.is_paused(finding.gate, self.team, self.now) || (named && take_one(&finding.about))
        };
        weigh(findings, &team.key(), &mut notebook.guard, self.policy.max_blocks, paused)
    }

    /// Takes the event into the ledger, unless it was held back.
    fn remember(&self, judgement: &Judgement, team: &mut TeamState) {
        if judgement.holds_back() && self.event.kind == Kind::PreToolUse {
            return;
        }
        team.ledger.observe(&self.event);
        if judgement.verdicts.iter().any(|verdict| verdict.escalated || verdict.paused) {
            let_go(&mut team.ledger, &self.event);
        }
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
