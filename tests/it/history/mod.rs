//! What `replay`, `show` and `list` make of the recorded data.

pub mod answers;
pub mod brief;
pub mod brief_agents;
pub mod degraded_traces;
pub mod diff;
pub mod duplicate_messages;
pub mod ended_runs;
pub mod files;
pub mod follow;
pub mod legacy_panes;
pub mod message_merge_props;
pub mod message_recipients;
pub mod messages;
pub mod narrative;
pub mod replay;
pub mod resumed;
pub mod runs;
pub mod stopped_agents;
pub mod subagents;
mod task_owners;
pub mod time_origin;
pub mod traces;
#[cfg(target_os = "linux")]
mod windows_paths;
