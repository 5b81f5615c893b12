//! Reads Claude Code's settings files. [`layer`] reads each file and [`hook_command`] finds teamkeep's hooks in it. [`needs`]
//! computes the hooks that the policy needs, and their [`matcher`]s; [`installed`] finds those that are not installed.

pub mod command;
pub mod hook_command;
pub mod install_record;
pub mod installed;
pub mod layer;
pub mod managed;
pub mod matcher;
pub mod needs;
pub mod version;
