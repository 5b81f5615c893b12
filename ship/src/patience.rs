//! How often and when a request is sent again: one rule for object stores and receivers.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The wait in sum. After it, each request is sent once, and the next round continues.
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
    /// up. A random part keeps machines apart. The server can ask for a longer pause, not for a shorter one: `Retry-After: 0`
    /// does not mean without a pause.
    pub fn pause(&mut self, attempts: u32, spent: Duration, asked: Option<Duration>) -> Option<Duration> {
        let doubled = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        let doubled = FIRST_WAIT.saturating_mul(doubled);
        let pause = doubled.max(asked.unwrap_or_default()).saturating_add(random(doubled / 2));
        let left = self.left.checked_sub(spent.saturating_add(pause));
        self.left = left.unwrap_or_default();
        left.map(|_| pause)
    }
}

/// A random time below this one. A background round that waits for it does not start in the same second on all machines.
pub fn random(below: Duration) -> Duration {
    let nanos = u64::try_from(below.as_nanos()).unwrap_or(u64::MAX).max(1);
    Duration::from_nanos(RandomState::new().hash_one(std::process::id()) % nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pauses between the attempts to send a request.
    fn pauses(patience: &mut Patience, asked: Option<Duration>) -> Vec<Duration> {
        (1..).map_while(|attempts| patience.pause(attempts, Duration::ZERO, asked)).take(100).collect()
    }

    #[test]
    fn pauses_get_longer_and_end_also_if_the_server_asks_for_none() {
        for asked in [None, Some(Duration::ZERO)] {
            let pauses = pauses(&mut Patience::default(), asked);
            for (pause, least) in pauses.iter().zip([500, 1_000, 2_000, 4_000]) {
                let least = Duration::from_millis(least);
                assert!(*pause >= least && *pause < least * 3 / 2, "{pauses:?}");
            }
            assert!(pauses.len() == 6 && pauses.iter().sum::<Duration>() <= TOTAL, "{pauses:?}");
        }
        assert!(Patience { left: Duration::MAX }.pause(99, Duration::ZERO, None).is_some());
    }

    #[test]
    fn the_server_can_ask_for_a_longer_pause_within_the_limit() {
        let asked = Duration::from_secs(25);
        let pauses = pauses(&mut Patience::default(), Some(asked));
        assert!(pauses.len() == 2 && pauses.iter().all(|pause| *pause >= asked), "{pauses:?}");
        assert_eq!(Patience::default().pause(1, Duration::ZERO, Some(TOTAL * 2)), None);
        assert_eq!(Patience::default().pause(1, TOTAL, None), None);
    }

    #[test]
    fn later_requests_are_sent_once() {
        let mut patience = Patience::default();
        pauses(&mut patience, None);
        assert_eq!(patience.pause(1, Duration::ZERO, None), None);
    }

    #[test]
    fn two_machines_do_not_wait_for_the_same_time() {
        let minute = Duration::from_secs(60);
        let times: std::collections::BTreeSet<Duration> = (0..50).map(|_| random(minute)).collect();
        assert!(times.len() > 40 && times.iter().all(|time| *time < minute), "{times:?}");
        assert_eq!(random(Duration::ZERO), Duration::ZERO);
    }
}
