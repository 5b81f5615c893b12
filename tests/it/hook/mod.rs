//! Hook calls: what they record, and what they say and do when something is wrong.

pub mod announced_twice;
pub mod bad_input;
pub mod captures;
pub mod concurrency;
pub mod config_dirs;
pub mod crashes;
#[cfg(unix)]
pub mod crashes_legacy;
pub mod deleted_teams;
#[cfg(unix)]
pub mod fallback_store;
#[cfg(unix)]
pub mod hook_stderr;
pub mod interrupted_calls;
pub mod long_names;
pub mod odd_files;
pub mod properties;
#[cfg(unix)]
pub mod signals;
pub mod task_lists;
pub mod team_context;
pub mod team_delete;
pub mod team_delete_many;
pub mod team_name_spelling;
#[cfg(unix)]
pub mod unreadable_files;
pub mod unusable_paths;
