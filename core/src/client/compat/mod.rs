//! Code for versions of Claude Code before 2.1.178, and for quirks of one version: one file a quirk, so that it can be
//! deleted one day.

mod client_process;
mod double_announcement;
mod messages_as_text;
mod pane_without_role;
mod team_names;
mod trackers;
mod unnamed_agents;

pub use client_process::find_client_ancestor;
pub use double_announcement::{RecentCall, RecentCalls};
pub use messages_as_text::is_json_text;
pub use pane_without_role::may_be_teammate;
pub use team_names::{config_directory, is_of_team};
pub use trackers::is_tracker;
pub use unnamed_agents::names_agents;
