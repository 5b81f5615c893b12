//! Payloads of split-pane teammates without a role: 2.1.47 has no `agent_type` in a pane (seen). The pane is not enough
//! evidence, because panes of another tmux server have the same names: the transcript or the payload must also name the
//! teammate and the team.

use crate::client::payload::Payload;

/// Whether the session of a call may be a split-pane teammate's: the call has no agent and no role. `name` is the name
/// from an earlier call.
pub fn may_be_teammate(payload: &Payload, name: Option<&str>) -> bool {
    name.is_none() && payload.agent_id().is_none() && payload.text("agent_type").is_none()
}
