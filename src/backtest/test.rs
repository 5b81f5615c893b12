//! The test itself: one run before one policy.

use serde::Serialize;

use super::past::Past;
use super::record::Record;
use crate::archive::Archive;
use crate::config::{Policy, Rule};
use crate::event::Recorded;
use crate::gatekeeper::{Judgement, is_judged, let_go, weigh};
use crate::payload::{Kind, Payload};
use crate::policy::gates::completion_check;
use crate::policy::{Decision, Facts, Guard, Judged, Verdict, judge};

/// What was found in a run.
#[derive(Debug, Default)]
pub struct Tested {
    /// The events that there is something to say of, in order.
    pub found: Vec<Found>,
    /// How many events were judged.
    pub events: usize,
}

/// What there is to say of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The event's place among the run's.
    pub place: usize,
    /// What this policy would have said; none where only the record holds a verdict, or where it cannot be known.
    pub judgement: Judgement,
    /// What the record says was decided.
    pub recorded: Vec<Verdict>,
    /// Whether a completion would have been checked by commands, which a back-test does not run.
    pub not_judged: bool,
}

/// What was found, in numbers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Events.
    pub events: usize,
    /// Events that would have been held back.
    pub blocked: usize,
    /// Events that would have been warned of.
    pub warned: usize,
    /// Events that would have been let through because the same had been blocked often enough.
    pub escalated: usize,
    /// Completions whose checks were not run.
    pub not_judged: usize,
}

/// Leads each event of a run before a policy. What is found in an event changes nothing of those behind it but the
/// guard's counts: it happened.
pub fn test(archive: &Archive, record: &Record, policy: &Policy, rules: &[Rule]) -> Tested {
    let mut past = Past::new(archive, &record.journal, record.team.as_deref());
    let mut guard = Guard::default();
    let mut tested = Tested { events: record.events.len(), ..Tested::default() };
    for (place, recorded) in record.events.iter().enumerate() {
        let payload = Payload::from_raw(&recorded.payload);
        let event = judged(recorded, &payload);
        past.go_to(&recorded.id, &recorded.at);
        if is_judged(event.kind) {
            past.open();
        }
        let facts = Facts { event, team: &past.team };
        let not_judged = !completion_check::due(policy, &facts).is_empty();
        let findings = judge(policy, rules, &facts);
        let judgement = match findings.as_slice() {
            [] => Judgement::default(),
            findings => weigh(findings, &past.team.key(), &mut guard, policy.max_blocks, |_| false),
        };
        past.team.ledger.observe(&event);
        let recorded = record.verdicts.get(event.id).cloned().unwrap_or_default();
        if !judgement.verdicts.is_empty()
            || recorded.iter().any(|verdict| verdict.paused || verdict.escalated)
        {
            // The request was made after all: its approval is no second breach.
            let_go(&mut past.team.ledger, &event);
        }
        if not_judged || !judgement.verdicts.is_empty() || !recorded.is_empty() {
            tested.found.push(Found { place, judgement, recorded, not_judged });
        }
    }
    tested
}

/// An event of the log as the policy sees it.
pub fn judged<'a>(recorded: &'a Recorded, payload: &'a Payload) -> Judged<'a> {
    Judged {
        id: &recorded.id,
        at: &recorded.at,
        kind: Kind::named(&recorded.event),
        session: recorded.session.as_deref(),
        actor: &recorded.actor,
        payload,
    }
}

impl Tested {
    /// Counts what was found.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts { events: self.events, ..Counts::default() };
        for found in &self.found {
            counts.not_judged += usize::from(found.not_judged);
            match found.judgement.decisive() {
                Some(verdict) if verdict.decision == Decision::Block => counts.blocked += 1,
                Some(verdict) if verdict.decision == Decision::Warn => counts.warned += 1,
                Some(verdict) if verdict.escalated => counts.escalated += 1,
                _ => {}
            }
        }
        counts
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.events += other.events;
        self.blocked += other.blocked;
        self.warned += other.warned;
        self.escalated += other.escalated;
        self.not_judged += other.not_judged;
    }
}
