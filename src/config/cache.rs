//! A cache of the parsed user's file, stored beside the policy's counts: a hook call does not check an unchanged,
//! valid file again, because that costs more than the rest of the call. A project's regular expressions may come from
//! anyone; they are compiled only by `policy check`, `policy trust`, and the call that needs one.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::check::{ON_ERROR, Validation};
use super::layers::{self, Cares, Effective, Files};
use super::problem::{Code, Problem};
use super::settings::Layer;
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

/// [`layers::load`] with this cache. The result has no settings and origins. If the user's file cannot be read, its
/// last `on-error` applies; a missing file has none.
pub fn load(files: &Files, cache: &Path) -> Effective {
    let mut effective = load_user(&Files { project: None, ..files.clone() }, cache);
    let own = files.project.as_deref();
    if own.is_none_or(source::is_absent) {
        effective.problems.extend(own.and_then(|file| project::missing_projects(file, &files.trust)));
    } else {
        let known = if effective.problems.is_empty() { Validation::Swift } else { Validation::Whole };
        effective = layers::load_with(files, Cares { user: known, project: Validation::Swift });
    }
    let unread = |problem: &Problem| {
        let codes = [Code::Unreadable, Code::TooLarge, Code::NotUtf8, Code::Syntax];
        problem.path == files.user && codes.contains(&problem.code)
    };
    if effective.problems.iter().any(unread)
        && effective.origin(ON_ERROR).layer != Layer::User
        && cached_on_error(&files.user, cache)
    {
        effective.config.policy.on_error = OnError::Block;
    }
    effective
}

/// Whether the last valid content of the user's file had `on-error = "block"`.
pub fn cached_on_error(user: &Path, cache: &Path) -> bool {
    let read = || -> Option<bool> {
        let known: Json = serde_json::from_slice(&fs::read_regular(cache, 4 << 20).ok()?.0).ok()?;
        let (_, path) = known.get("hash")?.as_str()?.split_once(' ')?;
        let says = known.pointer("/config/policy/on-error")?.as_str()?;
        Some(path == user.display().to_string() && says == "block")
    };
    read().unwrap_or(false)
}

/// Loads the user's file only.
fn load_user(files: &Files, cache: &Path) -> Effective {
    let Some(hash) = source::hash(&files.user) else { return layers::load(files) };
    let hash = format!("{} {}", hash.to_hex(), files.user.display());
    if let Some(config) = recall(cache, &hash) {
        return Effective { config, has_user: true, ..Effective::default() };
    }
    let effective = layers::load(files);
    if effective.is_broken() || source::hash(&files.user).is_none_or(|now| !hash.starts_with(&*now.to_hex()))
    {
        return effective;
    }
    let says = effective.config.policy.on_error == OnError::Block;
    match effective.problems.is_empty() {
        true => keep(cache, &hash, &effective),
        // A file with warnings is checked each time. The cache then only keeps its `on-error`.
        false if cached_on_error(&files.user, cache) != says => {
            keep(cache, &format!("- {}", files.user.display()), &effective);
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
        let _ = fs::private_dir(dir).and_then(|()| fs::write_atomic(cache, &bytes, false));
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
        let files = Files { user: dir.join("teamkeep.toml"), project, trust: dir.join("trust.json") };
        (files, dir.join("policy/cache.json"))
    }

    #[test]
    fn a_sound_file_is_understood_once_and_the_same_the_second_time() {
        let dir = tempfile::tempdir().unwrap();
        let (files, cache) = files(dir.path());
        std::fs::write(&files.user, RULES).unwrap();
        let first = load(&files, &cache);
        assert!(recall(&cache, "another").is_none());
        let hash = format!("{} {}", blake3::hash(RULES.as_bytes()).to_hex(), files.user.display());
        assert_eq!(recall(&cache, &hash).unwrap(), first.config);
        assert_eq!(load(&files, &cache).config, layers::load(&files).config);
        assert!(first.config.rule[0].place.ends_with("teamkeep.toml:6"), "{}", first.config.rule[0].place);
    }

    #[test]
    fn a_changed_file_a_project_s_file_and_a_damaged_memo_are_looked_at_anew() {
        let dir = tempfile::tempdir().unwrap();
        let (files, cache) = files(dir.path());
        std::fs::write(&files.user, RULES).unwrap();
        load(&files, &cache);
        std::fs::write(&files.user, RULES.replace("= 5", "= 6")).unwrap();
        assert_eq!(load(&files, &cache).config.policy.max_blocks, 6);
        std::fs::write(files.project.as_deref().unwrap(), "[polity]\n").unwrap();
        assert!(load(&files, &cache).is_broken());
        std::fs::remove_file(files.project.as_deref().unwrap()).unwrap();
        std::fs::write(&cache, "{half").unwrap();
        assert_eq!(load(&files, &cache).config.policy.max_blocks, 6);
        std::fs::write(&files.user, "[polity]\n").unwrap();
        for _ in 0..2 {
            assert!(load(&files, &cache).is_broken(), "told each time");
        }
    }
    const PROJECT: &str = "[[rule]]\nname = \"theirs\"\naction = \"block\"\nreason = \"no\"\nmatch = { \"/tool_input/command\" = \"/(/\" }\n";

    #[test]
    fn a_project_s_expressions_are_not_compiled_by_a_call_and_its_file_does_not_forget_the_user_s() {
        let dir = tempfile::tempdir().unwrap();
        let (files, cache) = files(dir.path());
        std::fs::write(&files.user, RULES).unwrap();
        std::fs::write(files.project.as_deref().unwrap(), PROJECT).unwrap();
        let codes = |effective: &Effective| -> Vec<&str> {
            effective.problems.iter().map(|problem| problem.code.name()).collect()
        };
        for _ in 0..2 {
            let effective = load(&files, &cache);
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
        assert_eq!(codes(&load(&files, &cache)), ["too-large"]);
        assert_eq!(codes(&layers::load(&files)), ["too-large"]);
    }

    #[test]
    fn a_project_s_file_that_cannot_be_looked_at_is_not_taken_for_none() {
        let dir = tempfile::tempdir().unwrap();
        let (mut files, cache) = files(dir.path());
        std::fs::write(&files.user, RULES).unwrap();
        std::os::unix::fs::symlink("loop", dir.path().join("loop")).unwrap();
        files.project = Some(dir.path().join("loop/teamkeep.toml"));
        for _ in 0..2 {
            assert!(load(&files, &cache).is_broken());
        }
        files.project = Some(files.user.join("teamkeep.toml"));
        assert!(!load(&files, &cache).is_broken(), "below a file there is none");
    }
    #[test]
    fn a_link_to_nothing_is_not_taken_for_none() {
        let dir = tempfile::tempdir().unwrap();
        let (mut files, cache) = files(dir.path());
        let link = |name: &str| std::os::unix::fs::symlink("nowhere", dir.path().join(name)).unwrap();
        for name in ["project.toml", ".claude"] {
            link(name);
        }
        for project in ["project.toml", ".claude/teamkeep.toml"] {
            files.project = Some(dir.path().join(project));
            for user in ["", RULES] {
                std::fs::write(&files.user, user).unwrap();
                let problem = &load(&files, &cache).problems[0];
                assert_eq!((problem.code.name(), problem.is_error()), ("unreadable", true), "{project}");
            }
        }
        files.project = None;
        std::fs::remove_file(&files.user).unwrap();
        link("teamkeep.toml");
        let problem = &load(&files, &cache).problems[0];
        assert!(problem.message.ends_with("teamkeep.toml is a broken link"), "{}", problem.message);
        assert!(layers::load(&files).is_broken() && Config::load(&files.user).1.is_some());
    }
}
