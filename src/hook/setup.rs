//! Prepares a hook call before it reads its payload. It never fails: it falls back to the defaults.

use std::path::PathBuf;

use super::{BackgroundMode, Recorder};
use crate::clock::Clock;
use crate::config::{Files, OnError, cache, misnamed_file};
use crate::env::Env;
use crate::error::Error;
use crate::paths::Paths;
use crate::process::find_client_ancestor;

/// The recorder of the call, and why the store must not be written, if so.
pub(super) fn recorder() -> (Recorder, Option<Error>) {
    let mut env = Env::read();
    env.client_pid = env.client_pid.or_else(find_client_ancestor);
    let mut paths = Paths::find(&env);
    let clock = Clock::new(env.now.as_deref());
    let unsafe_store = paths.secure().err();
    if unsafe_store.is_some() {
        // The directory belongs to another user. The policy still judges the call.
        paths.abandon();
    }
    let misnamed = misnamed_file(&env);
    let mut files = Files::find(&paths, env.project_dir().as_deref());
    if misnamed.is_some() {
        // No other file replaces the one that the variable names.
        files.user = PathBuf::new();
    }
    let effective = cache::load(&files);
    let mut config = effective.config;
    if misnamed.as_ref().and_then(|problem| cache::last_on_error(&problem.path, &files.cache))
        == Some(OnError::Block)
    {
        config.policy.on_error = OnError::Block;
    }
    let problems = misnamed.into_iter().chain(effective.problems).collect();
    (Recorder { env, paths, config, problems, clock, finish: BackgroundMode::Detached }, unsafe_store)
}
