//! Which blocks the loop guard counts: those that the model has read before it tries again.
//!
//! The model reads the results of all tool calls of one message together. So the blocks in one message, as the transcript
//! shows it, count once. A call that the transcript does not show was made by hand, for
//! example from an agent's Bash, and does not count. If the message of a call is unknown, the time decides.
//!
//! This cannot end in a live-lock. An attempt that does not count is blocked, but one that counts always follows: in the
//! model's next message, after [`WAIT`], or, if the transcript never shows the calls or repeats the ids of messages, after
//! [`LONG_WAIT`]. Each of these advances the guard by one.

use serde::{Deserialize, Serialize};

use super::ledger::mark;

/// Milliseconds. If the message is unknown, two attempts that are further apart belong to different messages.
const MESSAGE_GAP_MS: i64 = 1_000;

/// Milliseconds. If the message is unknown, an attempt counts this long after the last count in any case.
const COUNT_AGAIN_MS: i64 = 30_000;

/// Milliseconds. The same for a call that the transcript does not show, although it shows others, and for a call in a
/// message that already counted, because message ids may repeat.
const COUNT_AGAIN_UNKNOWN_MS: i64 = 600_000;

/// How many messages are kept. Only those of concurrent calls are needed.
const MAX_MESSAGES: usize = 16;

/// The origin of an attempt, if known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It ends a turn: the next turn begins with the block's reason.
    Turn,
    /// A message of the model with this id.
    Message(String),
    /// A tool call that the session's transcript does not show, although it shows others.
    NotInTranscript,
    /// There is no transcript.
    Unknown,
}

/// An action that a gate may block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Where it comes from.
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

/// The blocks of one actor by one gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Refusals {
    /// Hashes of the messages in which a block counted, newest last.
    pub messages: Vec<String>,
    /// The time of the last block.
    pub last: i64,
    /// The time of the last block that counted; before the first one, the time of the first block.
    pub since: i64,
}

impl Refusals {
    /// Whether the model can have read the last block before this attempt.
    pub fn counts(before: Option<&Refusals>, attempt: &Attempt) -> bool {
        // The difference is absolute, so that a clock that was set back does not delay the count.
        let over = |from: i64, least: i64| attempt.at.abs_diff(from) >= least.unsigned_abs();
        match (&attempt.origin, before) {
            (Origin::Turn, _) | (Origin::Message(_) | Origin::Unknown, None) => true,
            (Origin::Message(id), Some(before)) => {
                !before.messages.contains(&mark(id)) || over(before.since, COUNT_AGAIN_UNKNOWN_MS)
            }
            (Origin::NotInTranscript, before) => {
                before.is_some_and(|before| over(before.since, COUNT_AGAIN_UNKNOWN_MS))
            }
            (Origin::Unknown, Some(before)) => {
                over(before.last, MESSAGE_GAP_MS) || over(before.since, COUNT_AGAIN_MS)
            }
        }
    }

    /// Notes a block.
    pub fn note(&mut self, attempt: &Attempt, counts: bool) {
        if counts || self.last == 0 {
            self.since = attempt.at;
        }
        self.last = attempt.at;
        if let Origin::Message(id) = &attempt.origin
            && counts
        {
            self.messages.push(mark(id));
            if self.messages.len() > MAX_MESSAGES {
                self.messages.remove(0);
            }
        }
    }

    /// Merges another record.
    pub fn merge(&mut self, other: &Refusals) {
        let new = other.messages.iter().filter(|message| !self.messages.contains(message));
        let new: Vec<String> = new.cloned().collect();
        self.messages.extend(new);
        let surplus = self.messages.len().saturating_sub(MAX_MESSAGES);
        self.messages.drain(..surplus);
        (self.last, self.since) = (self.last.max(other.last), self.since.max(other.since));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these attempts count, by origin and time.
    fn counted(attempts: &[(Origin, i64)]) -> Vec<bool> {
        let mut refusals: Option<Refusals> = None;
        let attempts = attempts.iter().map(|(origin, at)| {
            let attempt = Attempt { origin: origin.clone(), at: *at };
            let counts = Refusals::counts(refusals.as_ref(), &attempt);
            refusals.get_or_insert_with(Refusals::default).note(&attempt, counts);
            counts
        });
        attempts.collect()
    }

    fn message(id: &str) -> Origin {
        Origin::Message(id.to_owned())
    }

    #[test]
    fn the_calls_of_one_message_count_once_also_beside_another_agent_s() {
        let attempts = ["a", "a", "b", "a", "b", "c"].map(|id| (message(id), 1));
        assert_eq!(counted(&attempts), [true, false, true, false, false, true]);
        let many: Vec<(Origin, i64)> = (0..99).map(|id| (message(&id.to_string()), 1)).collect();
        assert!(counted(&many).into_iter().all(|counts| counts));
    }

    #[test]
    fn ids_of_messages_that_repeat_do_not_block_for_ever() {
        let minute = 60_000;
        let same: Vec<(Origin, i64)> = (0..31).map(|number| (message("m"), 1 + number * minute)).collect();
        assert_eq!(counted(&same).into_iter().filter(|counts| *counts).count(), 4, "minutes 0, 10, 20, 30");
        let two: Vec<(Origin, i64)> =
            (0..31).map(|number| (message(["m", "n"][number as usize % 2]), 1 + number * minute)).collect();
        assert_eq!(counted(&two).into_iter().filter(|counts| *counts).count(), 4, "minutes 0, 1, 11, 21");
    }

    #[test]
    fn a_call_that_the_transcript_does_not_show_counts_after_a_long_time_alone() {
        let at = |at| (Origin::NotInTranscript, at);
        let hour = 3_600_000;
        let attempts = [at(1), at(60_000), at(599_999), at(hour), at(hour + 1), at(2 * hour)];
        assert_eq!(counted(&attempts), [false, false, false, true, false, true]);
        assert_eq!(counted(&[at(1), (message("a"), 2), (message("b"), 3)]), [false, true, true]);
    }

    #[test]
    fn where_nothing_is_known_a_pause_counts_and_so_does_whatever_comes_after_half_a_minute() {
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
}
