//! What it means when the policy itself fails: `on-error` says.

use super::Decision;
use crate::config::OnError;
use crate::payload::Kind;

/// Whether an event may be held back because the policy fails. A teammate that only waits, or a turn that ends, never is:
/// nothing would ever let it go on.
pub fn is_held(kind: Kind) -> bool {
    matches!(kind, Kind::PreToolUse | Kind::TaskCreated | Kind::TaskCompleted)
}

/// What a failure comes to at an event, where `otherwise` is what it comes to while nothing is held back for it.
pub fn decision(on_error: OnError, kind: Kind, otherwise: Decision) -> Decision {
    if on_error == OnError::Block && is_held(kind) { Decision::Block } else { otherwise }
}
