//! The properties, and the states in which one does not hold.

/// A property of the policy. Each is checked at every hook call, except the last one, which is checked in every state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Property {
    /// A busy teammate is stopped only by an override, or after as many blocks as the loop guard allows.
    BusyTeammateIsNotStopped,
    /// No action that is repeated later and later is blocked more often than the loop guard allows.
    NoLiveLock,
    /// The loop guard allows an action only after as many blocks of this agent by this gate since the last progress.
    GuardCountsEachAgent,
    /// No event is blocked that Claude Code does not let a hook block.
    OnlyBlockableEventsAreBlocked,
    /// A gate has a finding that blocks where its documentation requires one, and none where it must not.
    GatesAreAsDocumented,
    /// A tool call that is blocked leaves the history of the team as it was, because it never ran.
    BlockedCallLeavesNoTrace,
    /// The hook, `policy test` and `policy explain` have the same verdicts.
    CallersAgree,
    /// The order in which two hook calls of different agents come does not change later verdicts.
    OrderDoesNotMatter,
}

impl Property {
    pub const ALL: [Property; 8] = [
        Property::BusyTeammateIsNotStopped,
        Property::NoLiveLock,
        Property::GuardCountsEachAgent,
        Property::OnlyBlockableEventsAreBlocked,
        Property::GatesAreAsDocumented,
        Property::BlockedCallLeavesNoTrace,
        Property::CallersAgree,
        Property::OrderDoesNotMatter,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Property::BusyTeammateIsNotStopped => "busy-teammate-is-not-stopped",
            Property::NoLiveLock => "no-live-lock",
            Property::GuardCountsEachAgent => "guard-counts-each-agent",
            Property::OnlyBlockableEventsAreBlocked => "only-blockable-events-are-blocked",
            Property::GatesAreAsDocumented => "gates-are-as-documented",
            Property::BlockedCallLeavesNoTrace => "blocked-call-leaves-no-trace",
            Property::CallersAgree => "callers-agree",
            Property::OrderDoesNotMatter => "order-does-not-matter",
        }
    }
}

/// A property that does not hold, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub property: Property,
    pub why: String,
}
