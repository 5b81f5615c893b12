//! A cache of the parsed user's file, stored beside the policy's counts: a hook call does not check an unchanged,
//! valid file again, because that costs more than the rest of the call. A project's regular expressions may come from
//! anyone; they are compiled only by `policy check`, `policy trust`, and the call that needs one.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::check::Validation;
use super::layers::{self, Cares, Effective, Files};
use super::source;
use super::{Config, OnError, project, settings};
use crate::fs;

/// The version that wrote the cache. Another version may read the file differently.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The cache as read.
#[derive(Deserialize)]
struct ConfigCache {
    program: String,
    hash: String,
    /// The position of each rule, for the verdicts.
    places: Vec<String>,
    config: Config,
}

/// The cache as written.
#[derive(Serialize)]
struct CacheEntry<'a> {
    program: &'a str,
    hash: &'a str,
    places: Vec<&'a str>,
    config: Json,
}

/// [`layers::load`] for a hook call: an unchanged, valid file of the user is not checked again. The result then has no
/// settings and origins.
pub fn load(files: &Files) -> Effective {
    let effective = load_user(&Files { project: None, ..files.clone() });
    let own = files.project.as_deref();
    if own.is_none_or(source::is_absent) {
        let gone = own.and_then(|file| project::missing_projects(file, &files.trust));
        return Effective { problems: effective.problems.into_iter().chain(gone).collect(), ..effective };
    }
    let known = if effective.problems.is_empty() { Validation::Swift } else { Validation::Whole };
    layers::load_with(files, Cares { user: known, project: Validation::Swift })
}

/// The `on-error` of the last valid content of the user's file.
pub fn last_on_error(user: &Path, cache: &Path) -> Option<OnError> {
    let known: Json = serde_json::from_slice(&fs::read_regular(cache, 4 << 20).ok()?.0).ok()?;
    let (_, path) = known.get("hash")?.as_str()?.split_once(' ')?;
    let on_error = known.pointer("/config/policy/on-error").filter(|_| path == user.display().to_string())?;
    OnError::deserialize(on_error).ok()
}

/// Loads the user's file only.
fn load_user(files: &Files) -> Effective {
    let Some(hash) = source::hash(&files.user) else { return layers::load(files) };
    let hash = format!("{} {}", hash.to_hex(), files.user.display());
    if let Some(config) = recall(&files.cache, &hash) {
        return Effective { config, has_user: true, ..Effective::default() };
    }
    let effective = layers::load(files);
    if effective.is_broken() || source::hash(&files.user).is_none_or(|now| !hash.starts_with(&*now.to_hex()))
    {
        return effective;
    }
    let on_error = effective.config.policy.on_error;
    match effective.problems.is_empty() {
        true => keep(&files.cache, &hash, &effective),
        // A file with warnings is checked each time. The cache then only keeps its `on-error`.
        false if last_on_error(&files.user, &files.cache).unwrap_or(OnError::Allow) != on_error => {
            keep(&files.cache, &format!("- {}", files.user.display()), &effective);
        }
        false => {}
    }
    effective
}

/// Writes the cache. A failure is ignored.
fn keep(cache: &Path, hash: &str, effective: &Effective) {
    let places = effective.config.rule.iter().map(|rule| rule.place.as_str()).collect();
    let config = settings::tree(&effective.settings);
    let written = CacheEntry { program: PROGRAM, hash, places, config };
    if let (Some(dir), Ok(bytes)) = (cache.parent(), serde_json::to_vec(&written)) {
        let _ = fs::private_dir(dir).and_then(|()| fs::write_atomic(cache, &bytes));
    }
}

fn recall(path: &Path, hash: &str) -> Option<Config> {
    let bytes = fs::read_regular(path, 4 << 20).ok()?.0;
    let ConfigCache { program, hash: of, places, mut config } = serde_json::from_slice(&bytes).ok()?;
    if program != PROGRAM || of != hash || places.len() != config.rule.len() {
        return None;
    }
    config.rule.iter_mut().zip(places).for_each(|(rule, place)| rule.place = place);
    Some(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const RULES: &str = "[hook]\nslow = \"2s\"\n[policy]\nmax-blocks = 5\n[[rule]]\nname = \"no-push\"\ntools = [\"Bash\"]\naction = \"block\"\nreason = \"no\"\nmatch = { \"/tool_input/command\" = \"git push*\" }\n";

    fn files(dir: &Path) -> (Files, PathBuf) {
        let project = Some(dir.join("project.toml"));
        let cache = dir.join("policy/cache.json");
        let files = Files { user: dir.join("teamkeep.toml"), project, trust: dir.join("trust.json"), cache };
        (files.clone(), files.cache)
    }

    #[test]
    fn valid_file_is_cached_with_equal_result() {
        let dir = tempfile::tempdir().unwrap();
        let (files, cache) = files(dir.path());
        std::fs::write(&files.user, RULES).unwrap();
        let first = load(&files);
        assert!(recall(&cache, "another").is_none());
        let hash = format!("{} {}", blake3::hash(RULES.as_bytes()).to_hex(), files.user.display());
        assert_eq!(recall(&cache, &hash).unwrap(), first.config);
        assert_eq!(load(&files).config, layers::load(&files).config);
        assert!(first.config.rule[0].place.ends_with("teamkeep.toml:6"), "{}", first.config.rule[0].place);
    }

    #[test]
    fn changed_file_project_file_and_damaged_cache_are_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let (files, cache) = files(dir.path());
        std::fs::write(&files.user, RULES).unwrap();
        load(&files);
        std::fs::write(&files.user, RULES.replace("= 5", "= 6")).unwrap();
        assert_eq!(load(&files).config.policy.max_blocks, 6);
        std::fs::write(files.project.as_deref().unwrap(), "[polity]\n").unwrap();
        assert!(load(&files).is_broken());
        std::fs::remove_file(files.project.as_deref().unwrap()).unwrap();
        std::fs::write(&cache, "{half").unwrap();
        assert_eq!(load(&files).config.policy.max_blocks, 6);
        std::fs::write(&files.user, "[polity]\n").unwrap();
        for _ in 0..2 {
            assert!(load(&files).is_broken(), "reported each time");
        }
    }
    const PROJECT: &str = "[[rule]]\nname = \"theirs\"\naction = \"block\"\nreason = \"no\"\nmatch = { \"/tool_input/command\" = \"/(/\" }\n";

    #[test]
    fn hook_call_does_not_compile_project_expressions_and_keeps_the_cache() {
        let dir = tempfile::tempdir().unwrap();
        let (files, cache) = files(dir.path());
        std::fs::write(&files.user, RULES).unwrap();
        std::fs::write(files.project.as_deref().unwrap(), PROJECT).unwrap();
        let codes = |effective: &Effective| -> Vec<&str> {
            effective.problems.iter().map(|problem| problem.code.name()).collect()
        };
        for _ in 0..2 {
            let effective = load(&files);
            assert_eq!(codes(&effective), ["untrusted"]);
            assert_eq!((effective.config.rule.len(), effective.config.policy.max_blocks), (1, 5));
            let hash = format!("{} {}", blake3::hash(RULES.as_bytes()).to_hex(), files.user.display());
            assert!(recall(&cache, &hash).is_some(), "the user's file is understood once");
        }
        assert_eq!(
            codes(&layers::load(&files)),
            ["bad-regex"],
            "a command says what a call does not look at"
        );
        let large = "# \n".repeat(22_000);
        std::fs::write(files.project.as_deref().unwrap(), large).unwrap();
        assert_eq!(codes(&load(&files)), ["too-large"]);
        assert_eq!(codes(&layers::load(&files)), ["too-large"]);
    }

    #[test]
    fn inaccessible_project_file_does_not_count_as_missing() {
        let dir = tempfile::tempdir().unwrap();
        let (mut files, _) = files(dir.path());
        std::fs::write(&files.user, RULES).unwrap();
        std::os::unix::fs::symlink("loop", dir.path().join("loop")).unwrap();
        files.project = Some(dir.path().join("loop/teamkeep.toml"));
        for _ in 0..2 {
            assert!(load(&files).is_broken());
        }
        files.project = Some(files.user.join("teamkeep.toml"));
        assert!(!load(&files).is_broken(), "below a file there is none");
    }
    #[test]
    fn broken_link_does_not_count_as_missing() {
        let dir = tempfile::tempdir().unwrap();
        let (mut files, _) = files(dir.path());
        let link = |name: &str| std::os::unix::fs::symlink("nowhere", dir.path().join(name)).unwrap();
        for name in ["project.toml", ".claude"] {
            link(name);
        }
        for project in ["project.toml", ".claude/teamkeep.toml"] {
            files.project = Some(dir.path().join(project));
            for user in ["", RULES] {
                std::fs::write(&files.user, user).unwrap();
                let problem = &load(&files).problems[0];
                assert_eq!((problem.code.name(), problem.is_error()), ("unreadable", true), "{project}");
            }
        }
        files.project = None;
        std::fs::remove_file(&files.user).unwrap();
        link("teamkeep.toml");
        let problem = &load(&files).problems[0];
        assert!(problem.message.ends_with("teamkeep.toml is a broken link"), "{}", problem.message);
        assert!(layers::load(&files).is_broken() && Config::load(&files.user).1.is_some());
    }
}
