//! The activity of an agent. Only this module decides whether an agent works, is idle or has left.

use serde::{Deserialize, Serialize};

/// The state of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    Works,
    /// It approved its shutdown.
    Stops,
    /// It has joined, and had no turn yet.
    #[default]
    Here,
    #[serde(rename = "idle")]
    Idles,
    /// Its turn failed, and it has not worked since.
    Failed,
    /// It left, its session ended, or its work as a subagent is done.
    Gone,
}

/// A sign of an agent's state. Signs of one moment are in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// It is in the roster, or was spawned.
    Joins,
    StartsSession,
    StartsTurn,
    /// It changes a task or sends a message. The start of a turn is not always recorded.
    Acts,
    /// A usage limit or another error of the API ended its turn.
    FailsTurn,
    EndsTurn,
    /// It is idle, whatever ended its turn.
    GoesIdle,
    ApprovesShutdown,
    /// It leaves the team, or its work as a subagent is done.
    Leaves,
    /// Its roster entry can remain.
    EndsSession,
}

impl Activity {
    /// The state after a sign; `None` for an agent that was and stays unknown. The start of a session or a roster entry
    /// does not interrupt an agent's work, and a turn can end after its agent left. An agent whose turn failed is idle, too:
    /// it stays failed until it works again.
    pub fn after(before: Option<Activity>, sign: Sign) -> Option<Activity> {
        match (sign, before) {
            (Sign::Joins | Sign::StartsSession, None | Some(Activity::Gone)) => Some(Activity::Here),
            (Sign::StartsTurn, _) => Some(Activity::Works),
            (Sign::Acts, Some(Activity::Here | Activity::Idles | Activity::Failed)) => Some(Activity::Works),
            (
                Sign::FailsTurn | Sign::EndsTurn | Sign::GoesIdle | Sign::ApprovesShutdown,
                Some(Activity::Gone),
            )
            | (Sign::GoesIdle, Some(Activity::Failed)) => before,
            (Sign::FailsTurn, _) => Some(Activity::Failed),
            (Sign::EndsTurn | Sign::GoesIdle, _) => Some(Activity::Idles),
            (Sign::ApprovesShutdown, _) => Some(Activity::Stops),
            (Sign::Leaves | Sign::EndsSession, _) => Some(Activity::Gone),
            (Sign::Joins | Sign::StartsSession | Sign::Acts, _) => before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Activity, Sign};

    fn after(signs: &[Sign]) -> Option<Activity> {
        signs.iter().fold(None, |before, sign| Activity::after(before, *sign))
    }

    #[test]
    fn an_agent_stays_failed_when_it_goes_idle_until_it_works_again() {
        use Sign::{Acts, EndsTurn, FailsTurn, GoesIdle, Joins, StartsTurn};
        let failed = [Joins, StartsTurn, FailsTurn, GoesIdle];
        assert_eq!(after(&failed), Some(Activity::Failed));
        assert_eq!(after(&[failed.as_slice(), &[Joins]].concat()), Some(Activity::Failed));
        for (sign, state) in
            [(StartsTurn, Activity::Works), (Acts, Activity::Works), (EndsTurn, Activity::Idles)]
        {
            assert_eq!(after(&[failed.as_slice(), &[sign]].concat()), Some(state), "{sign:?}");
        }
    }

    #[test]
    fn an_agent_that_left_does_not_fail() {
        assert_eq!(
            after(&[Sign::Joins, Sign::Leaves, Sign::FailsTurn, Sign::GoesIdle]),
            Some(Activity::Gone)
        );
    }
}
