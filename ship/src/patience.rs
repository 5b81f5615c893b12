//! How long a round waits for a receiver that is out of reach or busy.

use std::time::Duration;

/// The wait of a whole round. After it, each request is sent once, and the next round continues.
const TOTAL: Duration = Duration::from_secs(60);
const FIRST_WAIT: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Patience {
    left: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { left: TOTAL }
    }
}

impl Patience {
    /// The pause before a request is sent again that was sent `attempts` times, the last time for `spent`; `None` if it is given
    /// up. The receiver can ask for a longer pause, not for a shorter one: `Retry-After: 0` does not mean without a pause.
    pub fn pause(&mut self, attempts: u32, spent: Duration, asked: Option<Duration>) -> Option<Duration> {
        let doubled =
            FIRST_WAIT.saturating_mul(1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX));
        let pause = doubled.max(asked.unwrap_or_default());
        match self.left.checked_sub(spent.saturating_add(pause)) {
            Some(left) => {
                self.left = left;
                Some(pause)
            }
            None => {
                self.left = Duration::ZERO;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pauses between the attempts to send a request.
    fn pauses(patience: &mut Patience, asked: Option<Duration>) -> Vec<Duration> {
        (1..).map_while(|attempts| patience.pause(attempts, Duration::ZERO, asked)).take(100).collect()
    }

    #[test]
    fn pauses_get_longer_and_end_also_if_the_receiver_asks_for_none() {
        for asked in [None, Some(Duration::ZERO)] {
            let pauses = pauses(&mut Patience::default(), asked);
            assert_eq!(pauses[..3], [500, 1_000, 2_000].map(Duration::from_millis));
            assert!(pauses.len() < 10 && pauses.iter().sum::<Duration>() <= TOTAL, "{pauses:?}");
        }
        assert_eq!(
            Patience { left: Duration::MAX }.pause(99, Duration::ZERO, None),
            Some(FIRST_WAIT * u32::MAX)
        );
    }

    #[test]
    fn the_receiver_can_ask_for_a_longer_pause_within_the_limit() {
        let mut patience = Patience::default();
        let asked = Some(Duration::from_secs(20));
        assert_eq!(pauses(&mut patience, asked), [Duration::from_secs(20); 3]);
        assert_eq!(Patience::default().pause(1, Duration::ZERO, Some(TOTAL * 2)), None);
        assert_eq!(Patience::default().pause(1, TOTAL, None), None);
    }

    #[test]
    fn later_requests_of_the_round_are_sent_once() {
        let mut patience = Patience::default();
        pauses(&mut patience, None);
        assert_eq!(patience.pause(1, Duration::ZERO, None), None);
    }
}
