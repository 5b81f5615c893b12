//! The loop guard: no gate blocks an agent forever. It counts the blocks of each agent by each gate and by each rule. After
//! `max-blocks` of them the action is allowed, until a task is completed that never was before. Only a `lasting` rule keeps
//! blocking, and only a tool call, which is not a lock.
//!
//! A block counts only if the model has read the one before. The model reads the results of all tool calls of one message
//! together, so the blocks in one message, as the transcript shows it, count once. A call that the transcript does not show
//! was made by hand, for example from an agent's Bash, and does not count.
//!
//! This cannot end in a live-lock. An attempt that does not count is blocked, but one that counts always follows: in the
//! model's next message, after [`MESSAGE_GAP_MS`], or, if the transcript never shows the calls or repeats the ids of
//! messages, after [`COUNT_AGAIN_MS`].

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::ledger::{fits, forget_oldest, mark};
use super::{Decision, Finding, TeamState, Verdict};
use crate::model::TaskStatus;

/// Maximum number of counts, and of remembered warnings. The oldest one makes room for a new one, so neither a gate nor a
/// warning is ever silenced. Endless blocks would need more agents than this that are blocked in turn without progress.
const MAX_ENTRIES: usize = 512;

/// Milliseconds. Without a transcript, attempts within this time after one that counted belong to its message.
const MESSAGE_GAP_MS: u64 = 1_000;

/// Milliseconds. A call that the transcript does not show, although it shows others, and one in a message that already
/// counted count this long after the last count, because message ids may repeat.
const COUNT_AGAIN_MS: u64 = 600_000;

/// How many messages are kept for each count. Only those of concurrent calls are needed.
const MAX_MESSAGES: usize = 16;

/// Where an attempt comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It ends a turn: the next turn begins with the block's reason.
    Turn,
    /// The message of the model with this id.
    Message(String),
    /// The session's transcript does not show the tool call, although it shows others.
    NotInTranscript,
    /// There is no transcript.
    Unknown,
}

/// An action that a gate may block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub origin: Origin,
    /// Milliseconds since 1970.
    pub at: i64,
}

impl Attempt {
    /// An attempt that always counts.
    pub fn single() -> Attempt {
        Attempt { origin: Origin::Turn, at: 0 }
    }
}

/// The circumstances of an attempt.
#[derive(Debug, Clone, Copy)]
pub struct Counting<'a> {
    /// [`TeamState::key`]: a warning is shown once in each state of the work.
    pub state: &'a str,
    pub max_blocks: u32,
    pub attempt: &'a Attempt,
}

/// Counts of blocks and shown warnings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Guard {
    /// `gate\0about` or `rule:name\0about` → its blocks.
    counts: BTreeMap<String, BlockCount>,
    /// Shown warnings: `gate\0about\0state\0hash` → position in the order in which they were shown.
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
    /// Hashes of the messages in which a block counted, newest last.
    messages: Vec<String>,
    /// The time of the last block.
    last: i64,
    /// The time of the last block that counted; before the first one, the time of the first block.
    since: i64,
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
                if let Some(blocks) = self.count(guard_key(finding), most, counting.attempt) {
                    (verdict.decision, verdict.escalated) = (Decision::Allow, true);
                    verdict.blocks = Some(blocks);
                }
            }
            Decision::Block | Decision::Allow => {}
        }
        verdict
    }

    /// Forgets the blocks if a task is completed that never was before.
    pub fn note_progress(&mut self, team: &TeamState) {
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
    fn count(&mut self, key: String, max_blocks: u32, attempt: &Attempt) -> Option<u32> {
        if !self.counts.contains_key(&key) {
            // A time in the future is from before the clock was set back.
            forget_oldest(&mut self.counts, MAX_ENTRIES - 1, |count| {
                (count.last <= attempt.at).then_some(count.last)
            });
        }
        let count = self.counts.entry(key).or_default();
        let is_first = count.last == 0;
        let is_new = count.is_new(attempt);
        if is_new && count.blocks >= max_blocks {
            return Some(count.blocks);
        }
        count.last = attempt.at;
        if is_new || is_first {
            count.since = attempt.at;
        }
        if is_new {
            count.blocks += 1;
            if let Origin::Message(id) = &attempt.origin {
                count.messages.push(mark(id));
                let surplus = count.messages.len().saturating_sub(MAX_MESSAGES);
                count.messages.drain(..surplus);
            }
        }
        None
    }
}

impl BlockCount {
    /// Whether the model can have read the last block before this attempt.
    fn is_new(&self, attempt: &Attempt) -> bool {
        // The difference is absolute, so that a clock that was set back does not delay the count.
        let is_over = |gap: u64| attempt.at.abs_diff(self.since) >= gap;
        match &attempt.origin {
            Origin::Turn => true,
            Origin::Message(id) => !self.messages.contains(&mark(id)) || is_over(COUNT_AGAIN_MS),
            Origin::NotInTranscript => self.last != 0 && is_over(COUNT_AGAIN_MS),
            Origin::Unknown => self.last == 0 || is_over(MESSAGE_GAP_MS),
        }
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

    /// Which of these attempts count, by origin and time.
    fn counted(attempts: &[(Origin, i64)]) -> Vec<bool> {
        let mut guard = Guard::default();
        let attempts = attempts.iter().map(|(origin, at)| {
            let before = guard.counts.get("key").map_or(0, |count| count.blocks);
            guard.count("key".to_owned(), u32::MAX, &Attempt { origin: origin.clone(), at: *at });
            guard.counts["key"].blocks > before
        });
        attempts.collect()
    }

    fn message(id: &str) -> Origin {
        Origin::Message(id.to_owned())
    }

    #[test]
    fn the_calls_of_one_message_count_once_even_if_messages_alternate() {
        let attempts = ["a", "a", "b", "a", "b", "c"].map(|id| (message(id), 1));
        assert_eq!(counted(&attempts), [true, false, true, false, false, true]);
        let many: Vec<(Origin, i64)> = (0..99).map(|id| (message(&id.to_string()), 1)).collect();
        assert!(counted(&many).into_iter().all(|counts| counts));
    }

    #[test]
    fn repeated_message_ids_do_not_block_forever() {
        let minute = 60_000;
        let same: Vec<(Origin, i64)> = (0..31).map(|number| (message("m"), 1 + number * minute)).collect();
        assert_eq!(counted(&same).into_iter().filter(|counts| *counts).count(), 4, "minutes 0, 10, 20, 30");
        let two: Vec<(Origin, i64)> =
            (0..31).map(|number| (message(["m", "n"][number as usize % 2]), 1 + number * minute)).collect();
        assert_eq!(counted(&two).into_iter().filter(|counts| *counts).count(), 4, "minutes 0, 1, 11, 21");
    }

    #[test]
    fn a_call_that_the_transcript_does_not_show_counts_only_after_ten_minutes() {
        let at = |at| (Origin::NotInTranscript, at);
        let hour = 3_600_000;
        let attempts = [at(1), at(60_000), at(599_999), at(hour), at(hour + 1), at(2 * hour)];
        assert_eq!(counted(&attempts), [false, false, false, true, false, true]);
        assert_eq!(counted(&[at(1), (message("a"), 2), (message("b"), 3)]), [false, true, true]);
    }

    #[test]
    fn without_a_transcript_an_attempt_counts_a_second_after_the_last_count() {
        let at = |at| (Origin::Unknown, at);
        assert_eq!(
            counted(&[at(1), at(76), at(400), at(1_500), at(2_000)]),
            [true, false, false, true, false]
        );
        let hammering: Vec<(Origin, i64)> = (0..200).map(|number| at(1 + number * 100)).collect();
        assert_eq!(counted(&hammering).into_iter().filter(|counts| *counts).count(), 20);
        assert_eq!(counted(&[at(3_600_000), at(5_000)]), [true, true], "the clock was set back");
    }

    #[test]
    fn counts_of_the_future_make_room_before_those_of_the_present() {
        let mut guard = Guard::default();
        for agent in 0..MAX_ENTRIES {
            let attempt = Attempt { origin: Origin::Turn, at: 1_000_000 };
            guard.count(format!("before-{agent}"), 2, &attempt);
        }
        let blocks: Vec<Option<u32>> = (1..=6)
            .map(|at| guard.count(format!("now-{}", at % 2), 2, &Attempt { origin: Origin::Turn, at }))
            .collect();
        assert_eq!(blocks, [None, None, None, None, Some(2), Some(2)]);
        assert_eq!(guard.counts.len(), MAX_ENTRIES);
    }

    #[test]
    fn each_end_of_a_turn_counts() {
        assert_eq!(counted(&[(Origin::Turn, 1), (Origin::Turn, 1)]), [true, true]);
    }
}
