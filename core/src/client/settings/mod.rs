//! Reading Claude Code's settings files: which hooks they have, and what these cover.

pub mod command;
pub mod hook_command;
pub mod install_record;
pub mod installed;
pub mod layer;
pub mod needs;
pub mod plugin_dedupe;
pub mod version;
