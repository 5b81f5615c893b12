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
//! messages, after [`COUNT_AGAIN_UNKNOWN_MS`].

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::ledger::{fits, mark};
use super::{Decision, Finding, TeamState, Verdict};
use crate::model::TaskStatus;

/// Maximum number of counts, and of remembered warnings. The oldest one makes room for a new one, so neither a gate nor a
/// warning is ever silenced. Endless blocks would need more agents than this that are blocked in turn without progress.
const MAX_ENTRIES: usize = 512;

/// Milliseconds. If the message is unknown, two attempts that are further apart belong to different messages.
const MESSAGE_GAP_MS: u64 = 1_000;

/// Milliseconds. If the message is unknown, an attempt counts this long after the last count in any case.
const COUNT_AGAIN_MS: u64 = 30_000;

/// Milliseconds. The same for a call that the transcript does not show, although it shows others, and for a call in a
/// message that already counted, because message ids may repeat.
const COUNT_AGAIN_UNKNOWN_MS: u64 = 600_000;

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
#[serde(from = "StoredGuard")]
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

/// A guard as stored. Version 0.1 counted the blocks in each state of the work (`gate\0about\0state`), apart from
/// their times and messages.
#[derive(Deserialize, Default)]
#[serde(default)]
struct StoredGuard {
    counts: BTreeMap<String, BlockCount>,
    blocks: BTreeMap<String, u32>,
    refusals: BTreeMap<String, BlockCount>,
    warned: BTreeMap<String, u32>,
    completed: BTreeSet<String>,
}

impl From<StoredGuard> for Guard {
    fn from(stored: StoredGuard) -> Guard {
        let mut counts = stored.counts;
        counts.extend(stored.refusals);
        for (key, blocks) in stored.blocks {
            let key = key.rsplit_once('\0').map_or(key.as_str(), |(key, _state)| key);
            let count = counts.entry(key.to_owned()).or_default();
            count.blocks = count.blocks.max(blocks);
        }
        Guard { counts, warned: stored.warned, completed: stored.completed }
    }
}

impl Guard {
    /// Turns a finding into a verdict and counts it if the attempt counts. A warning that was already shown in this state
    /// is marked as repeated. Of several findings, settle only the first that blocks and those before it.
    pub fn settle(&mut self, finding: &Finding, counting: &Counting<'_>) -> Verdict {
        let mut verdict = finding.verdict();
        match finding.decision {
            Decision::Warn => {
                let hash = blake3::hash(finding.reason.as_bytes()).to_hex();
                let shown = format!("{}\0{}\0{}", guard_key(finding), counting.state, &hash[..8]);
                verdict.repeated = self.was_shown(shown);
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

    /// Adds the counts of the same agents from another guard.
    pub fn merge(&mut self, other: &Guard) {
        for (key, theirs) in &other.counts {
            let mine = self.counts.entry(key.clone()).or_default();
            if theirs.blocks > mine.blocks {
                *mine = theirs.clone();
            }
        }
        for (key, order) in &other.warned {
            self.warned.entry(key.clone()).or_insert(*order);
        }
        self.completed.extend(other.completed.iter().cloned());
    }

    /// Counts one more block, or returns the number of blocks if the limit is reached.
    fn count(&mut self, key: String, most: u32, attempt: &Attempt) -> Option<u32> {
        let before = self.counts.get(&key);
        let is_new = BlockCount::is_new(before, attempt);
        let blocks = before.map_or(0, |count| count.blocks);
        if is_new && blocks >= most {
            return Some(blocks);
        }
        if before.is_none() {
            make_room(&mut self.counts, |count| count.last);
        }
        let count = self.counts.entry(key).or_default();
        if is_new || count.last == 0 {
            count.since = attempt.at;
        }
        count.last = attempt.at;
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

    /// Records that a warning is shown, and returns whether it was shown before.
    fn was_shown(&mut self, key: String) -> bool {
        if self.warned.contains_key(&key) {
            return true;
        }
        make_room(&mut self.warned, |order| *order);
        let last = self.warned.values().max().copied().unwrap_or_default();
        self.warned.insert(key, last.saturating_add(1));
        false
    }
}

impl BlockCount {
    /// Whether the model can have read the last block before this attempt.
    fn is_new(before: Option<&BlockCount>, attempt: &Attempt) -> bool {
        // The difference is absolute, so that a clock that was set back does not delay the count.
        let over = |from: i64, least: u64| attempt.at.abs_diff(from) >= least;
        match (&attempt.origin, before) {
            (Origin::Turn, _) | (Origin::Message(_) | Origin::Unknown, None) => true,
            (Origin::NotInTranscript, None) => false,
            (Origin::Message(id), Some(before)) if !before.messages.contains(&mark(id)) => true,
            (Origin::Message(_) | Origin::NotInTranscript, Some(before)) => {
                over(before.since, COUNT_AGAIN_UNKNOWN_MS)
            }
            (Origin::Unknown, Some(before)) => {
                over(before.last, MESSAGE_GAP_MS) || over(before.since, COUNT_AGAIN_MS)
            }
        }
    }
}

/// Drops the oldest entries until there is room for another.
fn make_room<V, K: Ord>(entries: &mut BTreeMap<String, V>, age: impl Fn(&V) -> K) {
    while entries.len() >= MAX_ENTRIES {
        let oldest = entries.iter().min_by_key(|(_, entry)| age(entry)).map(|(key, _)| key.clone());
        oldest.map(|key| entries.remove(&key));
    }
}

/// The key of a finding's count: `gate\0about`.
fn guard_key(finding: &Finding) -> String {
    let plain = |text: &str| text.replace('\0', "");
    let gate = match &finding.rule {
        Some(rule) => format!("{}:{}", finding.gate.name(), plain(rule)),
        None => finding.gate.name().to_owned(),
    };
    let counted = finding.counted.as_ref().filter(|_| finding.decision == Decision::Block);
    let about = plain(counted.unwrap_or(&finding.about));
    format!("{gate}\0{}", if fits(&about) { about } else { mark(&about) })
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
    fn without_a_transcript_an_attempt_counts_after_a_pause_or_after_half_a_minute() {
        let at = |at| (Origin::Unknown, at);
        assert_eq!(
            counted(&[at(1), at(76), at(400), at(1_500), at(2_000)]),
            [true, false, false, true, false]
        );
        let hammering: Vec<(Origin, i64)> = (0..200).map(|number| at(1 + number * 500)).collect();
        assert_eq!(counted(&hammering).into_iter().filter(|counts| *counts).count(), 4);
        assert_eq!(counted(&[at(3_600_000), at(5_000)]), [true, true], "the clock was set back");
    }

    #[test]
    fn each_end_of_a_turn_counts() {
        assert_eq!(counted(&[(Origin::Turn, 1), (Origin::Turn, 1)]), [true, true]);
    }

    #[test]
    fn counts_of_version_0_1_are_read_with_the_most_blocks_of_any_state() {
        let stored = r#"{"blocks":{"protect-lead\u0000bob\u0000s1":1,"protect-lead\u0000bob\u0000s2":2,"rule:a\u0000bob\u0000s":3},
            "warned":{"w":1},"completed":["7"],
            "refusals":{"protect-lead\u0000bob":{"messages":["m"],"last":9,"since":8}}}"#;
        let guard: Guard = serde_json::from_str(stored).unwrap();
        let count = |blocks| BlockCount { blocks, ..BlockCount::default() };
        let bob = BlockCount { messages: vec!["m".to_owned()], last: 9, since: 8, ..count(2) };
        assert_eq!(guard.counts["protect-lead\0bob"], bob);
        assert_eq!(guard.counts["rule:a\0bob"], count(3));
        assert!(guard.warned.contains_key("w") && guard.completed.contains("7"));
        let written = serde_json::to_string(&guard).unwrap();
        assert_eq!(serde_json::from_str::<Guard>(&written).unwrap(), guard);
    }
}
