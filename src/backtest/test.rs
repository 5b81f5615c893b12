//! The test itself: one run before one policy.

use serde::Serialize;

use super::past::Past;
use super::record::Record;
use crate::archive::Archive;
use crate::config::{Policy, Rule};
use crate::event::Recorded;
use crate::gatekeeper::{Judgement, weigh};
use crate::payload::{Kind, Payload};
use crate::policy::gates::completion_check;
use crate::policy::{Decision, Facts, Guard, Judged, Rules, Verdict, judge};

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
    let rules = &Rules::of(rules);
    let mut past = Past::new(archive, &record.journal, record.team.as_deref());
    let mut guard = Guard::default();
    let mut tested = Tested { events: record.events.len(), ..Tested::default() };
    for (place, recorded) in record.events.iter().enumerate() {
        let payload = Payload::from_raw(&recorded.payload);
        let event = judged(recorded, &payload);
        past.go_to(&recorded.id, &recorded.at);
        if event.kind.is_judged() {
            past.open();
        }
        let facts = Facts { event, team: &past.team };
        let not_judged = !completion_check::due(policy, &facts).is_empty();
        let findings = judge(policy, rules, &facts);
        let judgement = match findings.as_slice() {
            [] => Judgement::default(),
            findings => weigh(findings, &past.team.key(), &mut guard, policy.max_blocks, |_| false),
        };
        past.team.observe(&event, false);
        let recorded = record.verdicts.get(event.id).cloned().unwrap_or_default();
        if !judgement.verdicts.is_empty()
            || recorded.iter().any(|verdict| verdict.paused || verdict.escalated)
        {
            // The request was made after all: its approval is no second breach.
            past.team.ledger.let_go(&event, |_| true);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{Change, Journal, Snapshot};
    use serde_json::{Value, json};

    fn event(id: usize, actor: &str, message: Value) -> Recorded {
        let kind = if actor == "team-lead" { "lead" } else { "teammate" };
        let payload =
            json!({"tool_name": "SendMessage", "tool_use_id": id.to_string(), "tool_input": message});
        let line = json!({"v": 1, "at": format!("2026-02-03T04:05:0{id}.000Z"), "id": id.to_string(), "event": "PreToolUse",
            "actor": {"name": actor, "id": null, "kind": kind}, "payload": payload});
        serde_json::from_str(&line.to_string()).unwrap()
    }

    #[test]
    fn what_would_be_blocked_happens_all_the_same_and_is_let_through_in_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::new(dir.path().to_owned(), 1 << 20, std::time::Duration::ZERO);
        let task = br#"{"id":"1","subject":"Draft","status":"in_progress","owner":"bob"}"#;
        let changed = |path: &str, bytes: &[u8]| Change {
            path: path.to_owned(),
            object: Some(archive.objects.put_compressed(bytes).unwrap()),
            ..Change::default()
        };
        let roster = br#"{"members":[{"name":"team-lead"},{"name":"bob"}]}"#;
        let changed = vec![changed("tasks/t/1.json", task), changed("teams/t/config.json", roster)];
        let look = Snapshot { at: "2026-02-03T04:05:00.000Z".to_owned(), changed, ..Snapshot::default() };
        let ask = || json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "enough"}});
        let agree = json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": true}});
        let mut events: Vec<Recorded> = (1..=4).map(|id| event(id, "team-lead", ask())).collect();
        events.push(event(5, "bob", agree));
        let journal = Journal { snapshots: vec![look], ..Journal::default() };
        let team = Some("t".to_owned());
        let mut record = Record { run: "r".to_owned(), team, events, verdicts: Default::default(), journal };
        let tested = test(&archive, &record, &Policy::default(), &[]);
        let words: Vec<&str> =
            tested.found.iter().map(|found| found.judgement.decisive().unwrap().word()).collect();
        assert_eq!(words, ["block", "block", "block", "let through"], "and the approval is no second breach");
        let counts = tested.counts();
        assert_eq!((counts.events, counts.blocked, counts.escalated), (5, 3, 1));
        record.events.drain(..4);
        let alone = test(&archive, &record, &Policy::default(), &[]);
        assert_eq!(alone.counts().blocked, 1, "without a request it is one");
    }
}
