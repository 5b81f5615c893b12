//! Turns findings into verdicts. A hook call, a backtest and `policy explain` do it in the same way.
//!
//! The loop guard: no gate blocks an agent forever. It counts the blocks of each agent by each gate and by each rule. After
//! `max-blocks` of them (fewer for some gates: [`Gate::max_blocks`]) the action is allowed, until a task is completed that never was before. Only a `lasting` rule keeps
//! blocking, and only a tool call, which is not a lock.
//!
//! A block counts only if the model can have read the one before. The model reads the results of all tool calls of one message
//! together, so the blocks within `MESSAGE_MS` after one that counted belong to its message and count with it. The end of a
//! turn always counts: the next turn begins with the reason.
//!
//! This cannot end in a live-lock: the first attempt after that time counts, however many there were in between. Hook calls
//! that an agent makes by hand count like its tool calls, which gain it nothing: to try again has the same effect.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::ledger::{fits, forget_oldest, mark};
use crate::{
    Case, Decision, Finding, JudgedEvent, Judgement, Reason, RecordedVerdict, Rules, TeamState, Verdict,
    reads_team,
};
use teamkeep_config::{Gate, Policy};
use teamkeep_model::TaskStatus;
use teamkeep_model::event::{Event, Id, MAX_ENTRIES};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Evaluation {
    /// All verdicts, the decisive one first. Empty if no gate has a finding.
    pub verdicts: Vec<Verdict>,
    /// The agents whose shutdown premature-shutdown would block, and that an override or the loop guard allowed: they may
    /// approve it. After a block, all agents that it would block: only a backtest uses them, because there the request was
    /// sent nevertheless.
    #[serde(skip)]
    pub permitted: Vec<String>,
}

impl Evaluation {
    pub fn decisive(&self) -> Option<&Verdict> {
        self.verdicts.first()
    }

    pub fn judgement(&self) -> Judgement<'_> {
        Judgement { blocked: self.is_blocked(), permitted: &self.permitted }
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

/// What an event is evaluated by.
#[derive(Clone, Copy)]
pub struct EvaluationInput<'a> {
    pub event: &'a JudgedEvent<'a>,
    pub findings: &'a [Finding],
    pub policy: &'a Policy,
    pub rules: &'a Rules<'a>,
}

/// Notes the progress of the team, counts each finding, and applies overrides and the loop guard. `lifts` returns whether an
/// override allows the action of a finding; an allowance is then used up.
pub fn evaluate(
    EvaluationInput { event, findings, policy, rules }: EvaluationInput<'_>,
    team: &TeamState,
    guard: &mut Guard,
    lifts: impl FnMut(&Finding) -> bool,
) -> Evaluation {
    // For other events, a hook call does not read the tasks.
    if reads_team(policy, rules, event) {
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
    // A warning permits nothing: without it the request would be sent, too.
    let shutdown = |finding: &Finding| {
        let would_block = finding.gate == Gate::PrematureShutdown && finding.decision == Decision::Block;
        would_block.then(|| finding.about.clone())
    };
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
            evaluation.permitted.extend(shutdown(finding));
        } else if decision == Decision::Block {
            evaluation.permitted = findings.iter().filter_map(shutdown).collect();
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
    let reason = Reason::default()
        .then("teamkeep would block this, but cannot count its blocks, so it allows it. The reason was: ")
        .then(&finding.reason)
        .instead(&finding.advice)
        .text();
    Finding { decision: Decision::Warn, reason, ..finding }
}

pub const VERDICT: &str = "Verdict";

/// Formats a verdict as a line that follows the event's, with the same time and actor. `id` is the line's own.
pub fn log_line(verdict: &Verdict, id: &Id, event: &Event<'_>) -> serde_json::Result<Vec<u8>> {
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

/// Milliseconds after a block that counted in which further blocks belong to the same message of the model. In recorded runs of
/// 2.1.47 to 2.1.328, the hooks of one message's calls were at most 0.71 s apart. In a public transcript of Claude Opus 4.5 with
/// 152 calls (2.0.76), the results of eight calls in one message came within 0.8 s, and the model needed 3.5 s at least from a
/// result to its next call. A model that is faster is blocked once more often.
const MESSAGE_MS: u64 = 2_000;

/// The circumstances of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct Counting<'a> {
    /// [`TeamState::key`]: a warning is shown once in each state of the work.
    pub state: &'a str,
    pub max_blocks: u32,
    /// When the action was attempted, in milliseconds since 1970.
    pub at: i64,
    /// Whether it ends a turn ([`Case::ends_turn`]).
    pub ends_turn: bool,
}

/// Counts of blocks and shown warnings, stored beside the ledger in `gates.json` of the run, or of a session without one. The oldest one makes room for a new one, so neither a gate nor a warning is ever silenced.
/// Endless blocks would need more agents than [`MAX_ENTRIES`] that are blocked in turn without progress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Guard {
    /// `gate\0about` or `rule:name\0about` → its blocks.
    counts: BTreeMap<String, BlockCount>,
    /// Shown warnings: `gate\0about\0state\0hash`, or `gate\0about\0once` for a warning that is shown once ([`Finding::once`]) → position
    /// in the order in which they were shown.
    warned: BTreeMap<String, u32>,
    /// The ids of all tasks ever seen completed. Claude Code deletes their files and never reuses an id. Completing the
    /// same task again is not progress.
    pub(super) completed: BTreeSet<String>,
}

/// The blocks of one agent by one gate or rule since the last progress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct BlockCount {
    blocks: u32,
    /// The time of the last block that counted.
    last: i64,
}

impl Guard {
    /// Turns a finding into a verdict and counts it if the attempt counts. A warning that was already shown in this state
    /// is marked as repeated. Of several findings, decide only those up to the first that blocks.
    pub fn decide(&mut self, finding: &Finding, counting: &Counting<'_>) -> Verdict {
        let mut verdict = finding.verdict();
        match finding.decision {
            Decision::Warn => {
                let key = match &finding.once {
                    Some(once) => format!("{}\0{}", guard_key(finding), mark(once)),
                    None => {
                        let hash = blake3::hash(finding.reason.as_bytes()).to_hex();
                        format!("{}\0{}\0{}", guard_key(finding), counting.state, &hash[..8])
                    }
                };
                verdict.repeated = self.warned.contains_key(&key);
                if !verdict.repeated {
                    forget_oldest(&mut self.warned, MAX_ENTRIES - 1, |order| *order);
                    let last = self.warned.values().max().copied().unwrap_or_default();
                    self.warned.insert(key, last.saturating_add(1));
                }
            }
            Decision::Block if !finding.lasting => {
                let most = finding.gate.max_blocks(counting.max_blocks);
                if let Some(blocks) = self.count(guard_key(finding), most, counting) {
                    (verdict.decision, verdict.escalated) = (Decision::Allow, true);
                    verdict.blocks = Some(blocks);
                }
            }
            Decision::Block | Decision::Allow => {}
        }
        verdict
    }

    /// Forgets the blocks if a task is completed that never was before.
    pub(crate) fn note_progress(&mut self, team: &TeamState) {
        let done = team.tasks.values().filter(|task| task.status == Some(TaskStatus::Completed));
        let done: Vec<&String> = done.map(|task| &task.id).collect();
        if done.iter().all(|id| self.completed.contains(*id)) {
            return;
        }
        self.counts.clear();
        if self.completed.len() >= MAX_ENTRIES {
            self.completed.clear();
        }
        self.completed.extend(done.into_iter().cloned());
    }

    /// The number of blocks that count for this finding.
    pub fn blocks(&self, finding: &Finding) -> u32 {
        self.counts.get(&guard_key(finding)).map_or(0, |count| count.blocks)
    }

    /// Counts one more block, or returns the number of blocks if the limit is reached.
    fn count(&mut self, key: String, max_blocks: u32, counting: &Counting<'_>) -> Option<u32> {
        let at = counting.at;
        if !self.counts.contains_key(&key) {
            // A time in the future is from before the clock was set back.
            forget_oldest(&mut self.counts, MAX_ENTRIES - 1, |count| {
                (count.last <= at).then_some(count.last)
            });
        }
        let count = self.counts.entry(key).or_default();
        // The difference is absolute, so that a clock that was set back does not delay the count.
        let is_same_message = count.blocks > 0 && !counting.ends_turn && at.abs_diff(count.last) < MESSAGE_MS;
        if is_same_message {
            return None;
        }
        if count.blocks >= max_blocks {
            return Some(count.blocks);
        }
        count.blocks += 1;
        count.last = at;
        None
    }
}

/// The key of a finding's count: `gate\0about`.
fn guard_key(finding: &Finding) -> String {
    let plain = |text: &str| text.replace('\0', "");
    let rule = finding.rule.as_ref().map(|rule| format!(":{}", plain(rule))).unwrap_or_default();
    let counted = finding.counted.as_ref().filter(|_| finding.decision == Decision::Block);
    let about = plain(counted.unwrap_or(&finding.about));
    let about = if fits(&about) { about } else { mark(&about) };
    format!("{}{rule}\0{about}", finding.gate.name())
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
            malformed: Some("cut off"),
            verdict: None,
            snapshots: Some(&[("r1".to_owned(), "3:abc".to_owned())].into()),
            plugin: false,
            payload: &payload,
        };
        let reason = "task 2 is yours".to_owned();
        let verdict = Verdict::new(Decision::Block, "idle-with-work", "owns-work", reason);
        let id = Id::new(event.at);
        let written = String::from_utf8(log_line(&verdict, &id, &event).unwrap()).unwrap();
        let expected = r#"{"v":1,"at":"2026-02-03T04:05:06.789Z","id":"ID","event":"Verdict","session":"s1","team":"t1","actor":{"name":"bob","id":"abob-1","kind":"teammate"},"run":"r1","verdict":{"decision":"block","gate":"idle-with-work","code":"owns-work","reason":"task 2 is yours","rule":null,"file_line":null,"escalated":false,"paused":false,"of":"e1"},"payload":null}"#;
        assert_eq!(written, expected.replace("ID", id.as_str()) + "\n");
        let read: Recorded = serde_json::from_str(&written).unwrap();
        assert_eq!(
            RecordedVerdict::read(&read.verdict.unwrap()).unwrap(),
            RecordedVerdict { verdict, of: "e1".to_owned() }
        );
    }

    fn counting(at: i64, ends_turn: bool) -> Counting<'static> {
        Counting { state: "", max_blocks: u32::MAX, at, ends_turn }
    }

    /// Which of the attempts at these times count.
    fn counted(times: impl IntoIterator<Item = i64>, ends_turn: bool) -> Vec<bool> {
        let mut guard = Guard::default();
        let times = times.into_iter().map(|at| {
            let before = guard.counts.get("key").map_or(0, |count| count.blocks);
            guard.count("key".to_owned(), u32::MAX, &counting(at, ends_turn));
            guard.counts["key"].blocks > before
        });
        times.collect()
    }

    fn total(times: impl IntoIterator<Item = i64>) -> usize {
        counted(times, false).into_iter().filter(|counts| *counts).count()
    }

    #[test]
    fn the_calls_of_one_message_count_once() {
        assert_eq!(
            counted([1, 76, 712, 2_001, 2_002, 5_500], false),
            [true, false, false, true, false, true]
        );
        assert_eq!(total((0..16).map(|number| 1 + number * 60)), 1, "sixteen calls in less than a second");
    }

    #[test]
    fn attempts_without_a_pause_count_once_in_each_window_and_come_to_an_end() {
        assert_eq!(total((0..200).map(|number| 1 + number * 100)), 10);
        assert_eq!(counted([3_600_000, 5_000], false), [true, true], "the clock was set back");
        let mut guard = Guard::default();
        let blocks: Vec<Option<u32>> = (0..9)
            .map(|number| guard.count("key".to_owned(), 3, &counting(1 + number * 1_000, false)))
            .collect();
        let none = [None; 6];
        assert_eq!(blocks, [&none[..], &[Some(3); 3]].concat(), "three windows of blocks");
    }

    #[test]
    fn each_end_of_a_turn_counts() {
        assert_eq!(counted([1, 1], true), [true, true]);
    }

    #[test]
    fn counts_of_the_future_make_room_before_those_of_the_present() {
        let mut guard = Guard::default();
        for agent in 0..MAX_ENTRIES {
            guard.count(format!("before-{agent}"), 2, &counting(1_000_000, true));
        }
        let blocks: Vec<Option<u32>> =
            (1..=6).map(|at| guard.count(format!("now-{}", at % 2), 2, &counting(at, true))).collect();
        assert_eq!(blocks, [None, None, None, None, Some(2), Some(2)]);
        assert_eq!(guard.counts.len(), MAX_ENTRIES);
    }
}
