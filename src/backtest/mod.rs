//! Evaluates a policy against recorded runs: each event again, with the state at that time.
//!
//! An action that the policy would have blocked happened nevertheless, and the ledger continues with it. So the
//! verdict for a later event is the one that the policy would give if it had only watched until then.
//!
//! And the comparison of two policies, and of a policy with expected verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use teamkeep_config::{Policy, Rule};
use teamkeep_model::event::Recorded;
use teamkeep_model::payload::{EventKind, Payload};
use teamkeep_policy::gates::{budget, tasks};
use teamkeep_policy::spending::Spending;
use teamkeep_policy::{
    Case, Decision, Evaluation, EvaluationInput, Guard, JudgedEvent, Judgement, Rules, TeamState, Verdict,
    evaluate, judge,
};
use teamkeep_store::archive::Archive;

pub use record::{Record, SnapshotCursor, records};

mod record;

/// An event with a result.
#[derive(Debug, Clone)]
pub struct Found<'a> {
    pub event: &'a Recorded,
    /// The event's index in the run.
    pub index: usize,
    /// The result of this policy; empty if only the recorded verdict exists, or if it cannot be known.
    pub evaluation: Evaluation,
    pub recorded: &'a [Verdict],
    /// Whether commands would have checked a completion. A backtest does not run them.
    pub not_judged: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub events: usize,
    pub blocked: usize,
    pub warned: usize,
    /// Events that the loop guard would have allowed.
    pub escalated: usize,
    /// Completions whose checks were not run.
    pub not_judged: usize,
}

/// Judges each event of a run, and returns those with a result. A result changes nothing for later events except the counts,
/// because the event happened. Only a tool call that was blocked at that time did not.
pub fn test<'a>(archive: &Archive, record: &'a Record, policy: &Policy, rules: &[Rule]) -> Vec<Found<'a>> {
    let rules = Rules::of(rules);
    let mut replay = Replay::new(archive, record, policy, &rules);
    let results = record.events.iter().enumerate().map(|(index, event)| {
        replay.go_to(event);
        let (evaluation, not_judged) = replay.step(event);
        let recorded = record.verdicts.get(&event.id).map(Vec::as_slice).unwrap_or_default();
        Found { event, index, evaluation, recorded, not_judged }
    });
    let has_result =
        |one: &Found<'_>| one.not_judged || !one.evaluation.verdicts.is_empty() || !one.recorded.is_empty();
    results.filter(has_result).collect()
}

/// The state of a team and the counts before the event at this index, as [`test()`] has them.
pub fn before(
    archive: &Archive,
    record: &Record,
    policy: &Policy,
    rules: &[Rule],
    index: usize,
) -> (TeamState, Guard) {
    let rules = Rules::of(rules);
    let mut replay = Replay::new(archive, record, policy, &rules);
    for event in record.events.iter().take(index) {
        replay.go_to(event);
        replay.step(event);
    }
    if let Some(event) = record.events.get(index) {
        replay.go_to(event);
        if record.team.is_some() {
            replay.files.open();
        }
        let team = &mut replay.files.team;
        team.spending =
            record.spending.as_ref().map(|spent| spent.priced(team, Some(event.at))).unwrap_or_default();
    }
    (replay.files.team, replay.guard)
}

/// One run and one policy.
struct Replay<'a> {
    record: &'a Record,
    policy: &'a Policy,
    rules: &'a Rules<'a>,
    files: SnapshotCursor<'a>,
    guard: Guard,
}

impl<'a> Replay<'a> {
    fn new(archive: &'a Archive, record: &'a Record, policy: &'a Policy, rules: &'a Rules<'a>) -> Replay<'a> {
        let lead = archive.run(&record.run).and_then(|run| run.lead_session);
        let mut files = SnapshotCursor::new(archive, &record.journal, record.team.as_deref(), lead);
        files.team.delivers_answers = record.delivers_answers;
        Replay { record, policy, rules, files, guard: Guard::default() }
    }

    /// Moves the files to the time of an event.
    fn go_to(&mut self, recorded: &'a Recorded) {
        self.files.use_list(recorded.session.as_deref(), recorded.task_list.as_deref());
        self.files.go_to(&recorded.id, recorded.at);
        // A hook call reads no tasks without a team.
        let kind = EventKind::named(&recorded.event);
        let counts = kind == EventKind::PostToolUse && self.policy.budget.counts_tasks();
        if self.record.team.is_some() && (kind.can_be_blocked() || counts) {
            self.files.open();
        }
    }

    /// One event: the result, and whether commands would have run.
    fn step(&mut self, recorded: &Recorded) -> (Evaluation, bool) {
        let payload = Payload::from_raw(&recorded.payload);
        let event = judged_event(recorded, &payload);
        let team = &mut self.files.team;
        team.spending = match &self.record.spending {
            Some(spending) if budget::needs_spending(self.policy, &Case::new(event, team)) => {
                spending.priced(team, Some(event.at))
            }
            _ => Spending::default(),
        };
        // Without a team, only rules are evaluated.
        if team.name.is_none() && !self.rules.apply_to(event.kind) {
            return (Evaluation::default(), false);
        }
        let (mut findings, not_judged) = {
            let case = Case::new(event, team);
            (judge(self.policy, self.rules, &case), !tasks::due(self.policy, &case).is_empty())
        };
        findings.extend(self.record.findings(recorded, self.policy));
        let counted =
            EvaluationInput { event: &event, findings: &findings, policy: self.policy, rules: self.rules };
        let evaluation = evaluate(counted, team, &mut self.guard, |_| false);
        let blocked = self.record.was_blocked(recorded);
        budget::observe(self.policy, &event, team);
        team.apply(&event, &Judgement { blocked, ..evaluation.judgement() });
        (evaluation, not_judged)
    }
}

/// An event of the log as input of the policy, without its access to files.
pub fn judged_event<'a>(recorded: &'a Recorded, payload: &'a Payload) -> JudgedEvent<'a> {
    JudgedEvent {
        at: recorded.at,
        kind: EventKind::named(&recorded.event),
        actor: &recorded.actor,
        payload,
        access: None,
    }
}

impl Counts {
    /// Adds the results of a run with this many events.
    pub fn add(&mut self, events: usize, found: &[Found<'_>]) {
        self.events += events;
        for found in found {
            self.not_judged += usize::from(found.not_judged);
            match found.evaluation.decisive() {
                Some(verdict) if verdict.decision == Decision::Block => self.blocked += 1,
                Some(verdict) if verdict.decision == Decision::Warn => self.warned += 1,
                Some(verdict) if verdict.escalated => self.escalated += 1,
                _ => {}
            }
        }
    }
}

#[derive(Debug)]
pub struct Difference<'a> {
    pub event: &'a Recorded,
    pub this: Option<&'a Found<'a>>,
    pub other: Option<&'a Found<'a>>,
}

/// The events for which the decision, the gate or the rule differs. Texts are not compared.
pub fn compare<'a>(this: &'a [Found<'a>], other: &'a [Found<'a>]) -> Vec<Difference<'a>> {
    let mut pairs: BTreeMap<usize, (Option<&Found<'_>>, Option<&Found<'_>>)> = BTreeMap::new();
    this.iter().for_each(|found| pairs.entry(found.index).or_default().0 = Some(found));
    other.iter().for_each(|found| pairs.entry(found.index).or_default().1 = Some(found));
    let differ = pairs.into_values().filter(|(this, other)| compared(*this) != compared(*other));
    differ
        .filter_map(|(this, other)| Some(Difference { event: this.or(other)?.event, this, other }))
        .collect()
}

type Compared<'a> = (bool, Vec<(&'a str, &'a str, Option<&'a str>)>);

/// Whether it was judged, and the decision, gate and rule of each verdict.
fn compared<'a>(found: Option<&'a Found<'_>>) -> Compared<'a> {
    let Some(found) = found else { return (false, Vec::new()) };
    let verdicts = &found.evaluation.verdicts;
    let each = verdicts.iter().map(|one| (one.word(), one.gate.as_str(), one.rule.as_deref()));
    (found.not_judged, each.collect())
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The event's id or a unique prefix of it; for a recorded-run file, `<file name without .jsonl>:<line>`.
    pub event: String,
    /// The decision; `allow` means neither blocked nor warned.
    pub decision: Decision,
    /// The gate; without it any gate.
    #[serde(default)]
    pub gate: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    pub event: String,
    /// The expected and the actual verdict.
    pub why: String,
}

/// Parses one JSON array, or one object per line.
///
/// # Errors
/// The text is neither, or an expectation is invalid.
pub fn expectations(text: &str) -> Result<Vec<Expectation>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim();
    if text.starts_with('[') {
        let all: Vec<Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let read = |(index, value)| {
            serde_json::from_value(value).map_err(|error| format!("expectation {}: {error}", index + 1))
        };
        return all.into_iter().enumerate().map(read).collect();
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("line {}: {error}", index + 1))
    };
    lines.map(read).collect()
}

/// The verdicts by event.
pub type Verdicts<'a> = BTreeMap<&'a str, &'a [Verdict]>;

/// Compares the verdicts with the expectations.
pub fn check(expected: &[Expectation], verdicts: &Verdicts<'_>) -> Vec<Unmet> {
    let unmet = expected.iter().filter_map(|expectation| {
        let why = match expectation.find(verdicts) {
            Ok(event) => expectation.differs(verdicts[event]),
            Err(why) => Some(why),
        };
        why.map(|why| Unmet { event: expectation.event.clone(), why })
    });
    unmet.collect()
}

/// The events with a verdict for which none is expected.
pub fn unexpected(expected: &[Expectation], verdicts: &Verdicts<'_>) -> Vec<Unmet> {
    let found: BTreeSet<&str> =
        expected.iter().filter_map(|expectation| expectation.find(verdicts).ok()).collect();
    let others = verdicts.iter().filter(|(event, verdicts)| !verdicts.is_empty() && !found.contains(**event));
    let unmet = others.map(|(event, verdicts)| {
        let why = format!("expected no verdict, but found: {}", list(verdicts));
        Unmet { event: (*event).to_owned(), why }
    });
    unmet.collect()
}

impl Expectation {
    /// The ID of the event, or why there is none.
    fn find<'a>(&self, verdicts: &Verdicts<'a>) -> Result<&'a str, String> {
        let prefix = self.event.as_str();
        let following = verdicts.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        let mut matching = following.map(|(event, _)| *event).take_while(|event| event.starts_with(prefix));
        match (matching.next(), matching.next()) {
            (Some(first), other) if first == prefix || (other.is_none() && !prefix.is_empty()) => Ok(first),
            (Some(_), Some(_)) => Err("several events match".to_owned()),
            _ => Err("no such event".to_owned()),
        }
    }

    /// The difference between the verdicts and the expectation, if any.
    fn differs(&self, verdicts: &[Verdict]) -> Option<String> {
        let of_gate = |verdict: &&Verdict| self.gate.as_ref().is_none_or(|gate| verdict.gate == *gate);
        let decision = verdicts.iter().find(of_gate).map_or(Decision::Allow, |verdict| verdict.decision);
        let expected = match self.decision {
            Decision::Allow => "allow",
            Decision::Warn => "warn",
            Decision::Block => "block",
        };
        let gate = self.gate.as_ref().map(|gate| format!(" {gate}")).unwrap_or_default();
        (decision != self.decision)
            .then(|| format!("expected: {expected}{gate}, but found: {}", list(verdicts)))
    }
}

fn list(verdicts: &[Verdict]) -> String {
    let each = verdicts.iter().map(|verdict| format!("{} {}", verdict.word(), verdict.source()));
    let each: Vec<String> = each.collect();
    if each.is_empty() { "no verdict".to_owned() } else { each.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use teamkeep_store::archive::{Change, ContentWriter, Journal, Snapshot};

    fn event(id: usize, actor: &str, message: Value) -> Recorded {
        let kind = if actor == "team-lead" { "lead" } else { "teammate" };
        let payload =
            json!({"tool_name": "SendMessage", "tool_use_id": id.to_string(), "tool_input": message});
        let line = json!({"v": 1, "at": format!("2026-02-03T04:05:{:02}.000Z", 2 * id), "id": id.to_string(), "event": "PreToolUse",
            "actor": {"name": actor, "id": null, "kind": kind}, "payload": payload});
        serde_json::from_str(&line.to_string()).unwrap()
    }

    #[test]
    fn blocked_events_happen_nevertheless_and_the_loop_guard_allows_the_fourth() {
        let dir = tempfile::tempdir().unwrap();
        let archive = Archive::new(dir.path().to_owned(), 1 << 20, std::time::Duration::ZERO);
        let task = br#"{"id":"1","subject":"Draft","status":"in_progress","owner":"bob"}"#;
        let mut contents = ContentWriter::new(&archive.run_dir("r").unwrap(), "event", true);
        let mut changed = |path: &str, bytes: &[u8]| {
            let (object, _) = contents.put(bytes, None).unwrap();
            Change { path: path.to_owned(), object: Some(object), ..Change::default() }
        };
        let roster = br#"{"members":[{"name":"team-lead"},{"name":"bob"}]}"#;
        let changed = vec![changed("tasks/t/1.json", task), changed("teams/t/config.json", roster)];
        contents.flush().unwrap();
        let look = Snapshot { changed, ..Snapshot::default() };
        let ask = || json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "enough"}});
        let agree = json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "shutdown-1@bob", "approve": true}});
        let mut events: Vec<Recorded> = (1..=4).map(|id| event(id, "team-lead", ask())).collect();
        events.push(event(5, "bob", agree));
        let journal = Journal { run: "r".to_owned(), snapshots: vec![look], ..Journal::default() };
        let team = Some("t".to_owned());
        let mut record = Record { run: "r".to_owned(), team, events, journal, ..Record::default() };
        let counts = |record: &Record| {
            let mut counts = Counts::default();
            counts.add(record.events.len(), &test(&archive, record, &Policy::default(), &[]));
            counts
        };
        let words: Vec<&str> = test(&archive, &record, &Policy::default(), &[])
            .iter()
            .map(|found| found.evaluation.decisive().unwrap().word())
            .collect();
        assert_eq!(
            words,
            ["block", "block", "block", "allow after blocks"],
            "and the approval is no second breach"
        );
        let all = counts(&record);
        assert_eq!((all.events, all.blocked, all.escalated), (5, 3, 1));
        record.events.drain(..4);
        assert_eq!(counts(&record).blocked, 1, "without a request it is one");
    }
}
