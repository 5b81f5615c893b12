//! Turns findings into verdicts. A hook call, a backtest and `policy explain` do it in the same way.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::{
    Case, Counting, Decision, Finding, Guard, Judged, Judgement, Reason, RecordedVerdict, Rules, TeamState,
    Verdict, reads_team,
};
use teamkeep_config::{Gate, Policy};
use teamkeep_model::event::{Event, Id};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Evaluation {
    /// All verdicts, the decisive one first. Empty if no gate has a finding.
    pub verdicts: Vec<Verdict>,
    /// The agents whose shutdown premature-shutdown allows: they may approve it. A warning does not allow it. After a block, all
    /// agents that it has findings about: only a backtest uses them, because there the request was sent nevertheless.
    #[serde(skip)]
    pub approved: Vec<String>,
}

impl Evaluation {
    pub fn decisive(&self) -> Option<&Verdict> {
        self.verdicts.first()
    }

    pub fn judgement(&self) -> Judgement<'_> {
        Judgement { blocked: self.is_blocked(), approved: &self.approved }
    }

    /// Adds the verdict for a failure of the policy. It is decisive only if no other verdict blocks the event.
    pub fn add(&mut self, failure: Verdict) {
        let is_decisive = failure.decision == Decision::Block && !self.is_blocked();
        self.verdicts.insert(if is_decisive { 0 } else { self.verdicts.len() }, failure);
    }

    pub fn is_blocked(&self) -> bool {
        self.decisive().is_some_and(|verdict| verdict.decision == Decision::Block)
    }

    pub fn sort(&mut self) {
        self.verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.decision));
    }
}

#[derive(Clone, Copy)]
pub struct Findings<'a> {
    pub event: &'a Judged<'a>,
    pub findings: &'a [Finding],
    pub policy: &'a Policy,
    pub rules: &'a Rules<'a>,
}

/// Notes the progress of the team, counts each finding, and applies overrides and the loop guard. `lifts` returns whether an
/// override allows the action of a finding; an allowance is then used up.
pub fn evaluate(
    Findings { event, findings, policy, rules }: Findings<'_>,
    team: &TeamState,
    guard: &mut Guard,
    lifts: impl FnMut(&Finding) -> bool,
) -> Evaluation {
    // For other events, a hook call does not read the tasks.
    if !findings.is_empty() || reads_team(policy, rules, event) {
        guard.note_progress(team);
    }
    if findings.is_empty() {
        return Evaluation::default();
    }
    let (state, max_blocks) = (team.key(), policy.max_blocks);
    let (at, ends_turn) = (event.at.millis(), Case::new(*event, team).ends_turn());
    decide(findings, guard, &Counting { state: &state, max_blocks, at, ends_turn }, lifts)
}

/// The first block decides; the findings behind it are neither shown nor counted.
pub fn decide(
    findings: &[Finding],
    guard: &mut Guard,
    counting: &Counting<'_>,
    mut lifts: impl FnMut(&Finding) -> bool,
) -> Evaluation {
    let mut evaluation = Evaluation::default();
    let shutdown =
        |finding: &Finding| (finding.gate == Gate::PrematureShutdown).then(|| finding.about.clone());
    for finding in findings {
        let verdict = match lifts(finding) {
            true => Verdict { decision: Decision::Allow, paused: true, ..finding.verdict() },
            false => guard.decide(finding, counting),
        };
        if verdict.repeated && finding.once.is_some() {
            continue;
        }
        let decision = verdict.decision;
        evaluation.verdicts.push(verdict);
        if decision == Decision::Allow {
            evaluation.approved.extend(shutdown(finding));
        } else if decision == Decision::Block {
            evaluation.approved = findings.iter().filter_map(shutdown).collect();
            break;
        }
    }
    evaluation.sort();
    evaluation
}

/// A block that cannot be counted becomes a warning, because it might repeat forever. A lasting rule needs no count.
pub fn uncounted(finding: Finding) -> Finding {
    if finding.lasting || finding.decision != Decision::Block {
        return finding;
    }
    let (reason, advice) = Reason::default()
        .then("teamkeep would block this, but cannot count its blocks, so it allows it. The reason was: ")
        .then(&finding.reason)
        .instead(&finding.advice)
        .finish();
    Finding { decision: Decision::Warn, reason, advice, ..finding }
}

pub const VERDICT: &str = "Verdict";

/// Formats a verdict as a line that follows the event's, with the same time and actor. `id` is the line's own.
pub fn line(verdict: &Verdict, id: &Id, event: &Event<'_>) -> serde_json::Result<Vec<u8>> {
    let recorded = RecordedVerdict { verdict: verdict.clone(), of: event.id.to_owned() };
    let raw = to_raw_value(&recorded)?;
    let line = Event {
        id: id.as_str(),
        event: VERDICT,
        warning: None,
        malformed: None,
        verdict: Some(&raw),
        snapshots: None,
        payload: RawValue::NULL,
        ..*event
    };
    line.line()
}

#[cfg(test)]
mod tests {
    use super::*;
    use teamkeep_model::event::{Actor, Recorded};
    use teamkeep_model::time;

    #[test]
    fn the_line_of_a_verdict_has_the_time_and_actor_of_its_event() {
        let actor = Actor::teammate("bob", Some("abob-1"));
        let payload = RawValue::from_string("{\"secret\":1}".to_owned()).unwrap();
        let event = Event {
            v: 1,
            at: time::parse("2026-02-03T04:05:06.789Z").unwrap(),
            id: "e1",
            event: "TeammateIdle",
            session: Some("s1"),
            team: Some("t1"),
            actor: &actor,
            run: Some("r1"),
            task_list: None,
            traceparent: None,
            warning: Some("odd"),
            malformed: None,
            verdict: None,
            snapshots: None,
            plugin: false,
            payload: &payload,
        };
        let reason = "task 2 is yours".to_owned();
        let verdict = Verdict::new(Decision::Block, "idle-with-work", "owns-work", reason);
        let id = Id::new(event.at);
        let written = String::from_utf8(line(&verdict, &id, &event).unwrap()).unwrap();
        let expected = r#"{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"ID","event":"Verdict","session":"s1","team":"t1","actor":{"name":"bob","id":"abob-1","kind":"teammate"},"run":"r1","verdict":{"decision":"block","gate":"idle-with-work","code":"owns-work","reason":"task 2 is yours","rule":null,"file_line":null,"escalated":false,"paused":false,"of":"e1"},"payload":null}"#;
        assert_eq!(written, expected.replace("ID", id.as_str()) + "\n");
        let read: Recorded = serde_json::from_str(&written).unwrap();
        assert_eq!(
            RecordedVerdict::read(&read.verdict.unwrap()).unwrap(),
            RecordedVerdict { verdict, of: "e1".to_owned() }
        );
    }
}
