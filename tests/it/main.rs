//! The integration tests: one binary, one folder for each subject, `support` for what they share.
//!
//! # Windows
//!
//! `scripts/windows.sh test --test it` runs them in wine. A test that cannot run there has `#[cfg_attr(windows, ignore = "REASON")]`, or
//! `#[cfg(unix)]` if it does not compile. A file of such tests has `#[cfg(unix)]` at its `mod` line:
//!
//! | Left out | Reason |
//! |---|---|
//! | `docs` | pages, packages and outputs, which are those of Unix |
//! | `watch::terminal`, and tests with `Terminal` | a terminal of Unix |
//! | `settings::install_sh*` | shell scripts |
//! | `history::windows_paths` | on Windows, each test has such paths |
//! | `doctor::hooks`, `hook::crashes_legacy`, `settings::plugin*`, `shipping::starts` | shell scripts as programs |
//! | `doctor::managed`, `settings::left_out`, `settings::managed*`, `settings::redirected` | directories of the system in a namespace of Linux |
//! | `hook::fallback_store`, `hook::hook_stderr` | users and permissions of files |
//! | `hook::signals`, `store::killed_calls` | signals, and `strace` |
//! | `hook::unreadable_files`, and tests with `symlink` or `mkfifoat` | links and pipes in place of files |
//! | `mcp::python_sdk` | Python |
//! | `notify::deliveries`, `notify::test_command` | wine has no `curl` |
//! | `restore::odd_worktrees`, `restore::worktrees` | wine has no `git` |

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]
// Tests that are left out on Windows are the only ones that use some helpers.
#![cfg_attr(windows, allow(dead_code, unused_imports))]

#[cfg(unix)]
mod docs;
mod doctor;
mod fuzz;
mod history;
mod hook;
mod mcp;
mod notify;
mod policy;
mod redact;
mod report;
mod restore;
mod search;
mod settings;
mod shipping;
mod store;
mod support;
mod watch;
