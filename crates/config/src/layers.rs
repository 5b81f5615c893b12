//! Loads the configuration: combines the organization's file, the user's and the project's, and caches the first two for
//! hook calls.
//!
//! A hook call does not check an unchanged, valid file of the user again: with 20 rules, the cache saves a third of the
//! call's processor time. With an organization's file, only the regular expressions are not checked again. A project's
//! regular expressions may come from anyone; they are compiled only by `config check`, `policy trust`, and the call that
//! needs one.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::check::{Checked, Validation, validate};
use super::organization::{self, ORGANIZATION_FILE};
use super::project::{self, Project, ProjectRule, Trust, TrustState};
use super::settings::{Entry, Layer, Origin, Setting, Settings, build, tree};
use super::source::{self, Code, Problem, Read, Source};
use super::{Config, OnError};
use teamkeep_system::command::quoted;
use teamkeep_system::env::Env;
use teamkeep_system::error::Error;
use teamkeep_system::fs;
use teamkeep_system::os;
use teamkeep_system::paths::Paths;

/// The response to failures of the policy. It is "block" if a broken file sets it, or set it when it was last valid. With an
/// organization's file, other files with errors are only left out.
const ON_ERROR: &str = "policy.on-error";
/// The path of a project's file, relative to the project.
pub const PROJECT_FILE: &str = ".claude/teamkeep.toml";

/// The files that can exist.
#[derive(Debug, Clone, Default)]
pub struct Files {
    pub organization: Option<PathBuf>,
    pub user: PathBuf,
    pub project: Option<PathBuf>,
    /// The list of trusted files.
    pub trust: PathBuf,
    /// The cache of the organization's and the user's file.
    pub cache: PathBuf,
}

impl Files {
    /// The files for a session in this project: `CLAUDE_PROJECT_DIR`, else the payload's directory, else the current
    /// one.
    pub fn find(paths: &Paths, project: Option<&Path>) -> Files {
        Files {
            organization: Some(PathBuf::from(ORGANIZATION_FILE)),
            user: paths.config.clone(),
            project: project.map(|project| project.join(PROJECT_FILE)),
            trust: paths.trust(),
            cache: paths.cache().join("config.json"),
        }
    }

    /// The copy of the organization's last valid file, if the store is known.
    fn organization_copy(&self) -> Option<PathBuf> {
        Some(self.cache.parent().filter(|dir| dir.is_absolute())?.join("organization.toml"))
    }
}

/// The organization's and the user's file, or why they cannot be read.
struct Shared {
    organization: Result<Option<Read>, Problem>,
    user: Result<Option<Read>, Problem>,
}

impl Shared {
    fn read(files: &Files) -> Shared {
        let read = |path: Option<&Path>| path.map_or(Ok(None), |path| source::read(path, source::MAX_BYTES));
        Shared { organization: read(files.organization.as_deref()), user: read(Some(&files.user)) }
    }

    /// The hash of both; `None` without both.
    fn hash(&self) -> Option<blake3::Hash> {
        let hash = |read: &Result<Option<Read>, Problem>| Some(read.as_ref().ok()?.as_ref()?.hash);
        let user = hash(&self.user);
        let Some(organization) = hash(&self.organization) else { return user };
        let mut both = blake3::Hasher::new();
        both.update(organization.as_bytes());
        both.update(user.as_ref().map_or(&[], |user| user.as_bytes()));
        Some(both.finalize())
    }
}

impl Config {
    /// Reads the organization's and the user's file, for commands that evaluate no gate. A missing one means the defaults
    /// and costs one failed open. An unreadable or invalid file also means the defaults, with an error that has the position.
    pub fn load(files: &Files) -> (Config, Option<Error>) {
        let effective = load(&Files { project: None, ..files.clone() });
        let error = effective.error();
        (effective.config, error)
    }

    /// Parses a file; `path` is used only in the error.
    ///
    /// # Errors
    /// The text is not valid TOML, a key is unknown, or a value is invalid: `path:line:column`, the key, the reason.
    pub fn parse(text: &str, path: &Path) -> Result<Config, Error> {
        let mut effective = Effective::default();
        effective.add_user(&Source::new(path, text), Validation::Full);
        effective.build(path);
        effective.error().map_or(Ok(effective.config), Err)
    }
}

/// A problem with the path in `TEAMKEEP_CONFIG`, found before the file is read.
pub fn misnamed_file(env: &Env) -> Option<Problem> {
    let named = env.config.as_deref()?;
    let is_missing = || match named.try_exists() {
        Ok(exists) => !exists,
        Err(error) => error.kind() == ErrorKind::NotADirectory,
    };
    let (what, hint) = if !named.is_absolute() {
        let what = "TEAMKEEP_CONFIG is not an absolute path, and hooks run in any directory";
        (what, "set TEAMKEEP_CONFIG to an absolute path, or unset it")
    } else if is_missing() {
        let hint = "create it with `teamkeep config init`, or unset TEAMKEEP_CONFIG";
        ("TEAMKEEP_CONFIG names a file that does not exist", hint)
    } else {
        return None;
    };
    Some(Problem::of_file(Code::Unreadable, named, what).hint(hint))
}

/// The configuration in force.
#[derive(Debug, Clone, Default)]
pub struct Effective {
    pub config: Config,
    /// The values that are set, with their origin. All others have their default.
    pub settings: Settings,
    pub problems: Vec<Problem>,
    /// The project's file, if there is a valid one.
    pub project: Option<Project>,
    /// Whether the user has a file.
    pub has_user: bool,
    /// Whether there is an organization's file, valid or not.
    pub has_organization: bool,
}

/// Reads the files. Without any this costs one failed open per file, and no parser runs.
pub fn load(files: &Files) -> Effective {
    load_with(files, &Shared::read(files), Validation::Full, Validation::Full)
}

/// [`load`] for a hook call: an unchanged, valid file of the user is not checked again. The result then has no
/// settings and origins.
pub fn load_cached(files: &Files) -> Effective {
    let shared = Shared::read(files);
    let effective = load_user(&Files { project: None, ..files.clone() }, &shared);
    let own = files.project.as_deref();
    if own.is_none_or(source::is_absent) {
        let gone = own.and_then(|file| project::missing_project(file, &files.trust));
        return Effective { problems: effective.problems.into_iter().chain(gone).collect(), ..effective };
    }
    let is_known = effective.problems.is_empty();
    let user = if is_known { Validation::WithoutRegexes } else { Validation::Full };
    load_with(files, &shared, user, Validation::WithoutRegexes)
}

fn load_with(
    files: &Files,
    shared: &Shared,
    user_validation: Validation,
    project_validation: Validation,
) -> Effective {
    let has_organization = !matches!(shared.organization, Ok(None));
    let mut effective = Effective { has_organization, ..Effective::default() };
    effective.add_organization(files, &shared.organization, user_validation);
    let is_organization = files.organization.as_ref() == Some(&files.user);
    let user = match &shared.user {
        Ok(user) => user.as_ref().filter(|_| !is_organization),
        Err(problem) if !is_organization => {
            effective.problems.push(problem.clone());
            None
        }
        Err(_) => None,
    };
    if let Some(user) = user {
        effective.has_user = true;
        effective.add_user(&user.source, user_validation);
    }
    if !has_organization
        && effective.is_broken()
        && last_on_error(&files.user, &files.cache) == Some(OnError::Block)
    {
        effective.block_on_error(Origin::last(&files.user));
    }
    let project = files.project.as_deref().filter(|path| !is_same(user, path));
    if let Some(project) = project.and_then(|path| effective.read(path, source::LARGEST_PROJECT)) {
        effective.add_project(&project, &files.trust, project_validation);
    }
    let absent = files.project.as_deref().filter(|file| source::is_absent(file));
    effective.problems.extend(absent.and_then(|file| project::missing_project(file, &files.trust)));
    effective.build(&files.user);
    effective
}

/// Whether the project's file is the user's own.
fn is_same(user: Option<&Read>, project: &Path) -> bool {
    let id = os::files::id;
    user.is_some_and(|user| {
        project.metadata().is_ok_and(|there| id(project, &there) == id(&user.source.path, &user.metadata))
    })
}

impl Effective {
    /// Whether a whole file was ignored.
    pub fn is_broken(&self) -> bool {
        self.problems.iter().any(Problem::is_error)
    }

    /// The first problem that is an error.
    pub fn error(&self) -> Option<Error> {
        let mut errors = self.problems.iter().filter(|problem| problem.is_error());
        let first = errors.next()?;
        let what = match first.at {
            Some(_) => format!("cannot use the configuration {}", first.location()),
            None => "cannot read the configuration".to_owned(),
        };
        let mut error = Error::caused(what, first.message.clone());
        error.hints.extend(first.hint.clone());
        match errors.filter(|problem| problem.path == first.path).count() {
            0 => Some(error),
            more => {
                let path = quoted(&first.path.to_string_lossy());
                Some(error.hint(format!("to list {more} more: teamkeep config check {path}")))
            }
        }
    }

    /// Builds the configuration from the settings. `user` is the file that is named if that fails.
    fn build(&mut self, user: &Path) {
        if self.settings.is_empty() {
            return;
        }
        match build(&self.settings) {
            Ok(config) => self.config = config,
            Err(why) => {
                self.problems.push(Problem::of_file(Code::BadValue, user, why));
                self.settings.retain(|_, setting| setting.origin.layer == Layer::Organization);
                self.config = build(&self.settings).unwrap_or_default();
            }
        }
    }

    /// The origin of the value at a path.
    pub fn origin(&self, path: &str) -> &Origin {
        self.settings.get(path).map_or(&Origin::DEFAULT, |setting| &setting.origin)
    }

    /// Reads a file, or notes why it cannot be read.
    fn read(&mut self, path: &Path, max_bytes: u64) -> Option<Read> {
        source::read(path, max_bytes).unwrap_or_else(|problem| {
            self.problems.push(problem);
            None
        })
    }

    fn add_user(&mut self, source: &Source, validation: Validation) {
        let mut checked = validate(source, validation);
        if checked.is_sound {
            organization::add_user(&mut self.settings, checked.entries, source, &mut checked.problems);
        } else {
            self.add_on_error(&checked, source, Layer::User);
        }
        self.problems.extend(checked.problems);
    }

    /// Adds the organization's file. While it cannot be used, its last valid content applies.
    fn add_organization(
        &mut self,
        files: &Files,
        read: &Result<Option<Read>, Problem>,
        validation: Validation,
    ) {
        let Some(file) = files.organization.as_deref() else { return };
        let copy = files.organization_copy();
        let mut problems = match read {
            Ok(None) => return,
            Err(problem) => vec![problem.clone()],
            Ok(Some(read)) => {
                let checked = validate(&read.source, validation);
                if checked.is_sound {
                    copy.iter().for_each(|copy| organization::store_valid(copy, read));
                    let entries = checked.entries.iter();
                    let set = entries
                        .map(|entry| (entry.path.clone(), entry.setting(&read.source, Layer::Organization)));
                    self.settings.extend(set);
                    self.problems.extend(checked.problems);
                    return;
                }
                self.add_on_error(&checked, &read.source, Layer::Organization);
                checked.problems
            }
        };
        let last = copy.and_then(|copy| organization::last_valid(&copy, file, validation));
        if let Some((source, entries)) = last {
            self.settings.clear();
            for entry in entries {
                let mut set = entry.setting(&source, Layer::Organization);
                set.origin.line = None;
                self.settings.insert(entry.path, set);
            }
            let first = problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
            let message = format!("{first}; the last valid content of the organization's file applies");
            let command =
                format!("to list the problems: teamkeep config check {}", quoted(&file.to_string_lossy()));
            problems = vec![Problem::of_file(Code::OrganizationBroken, file, message).hint(command)];
        }
        self.problems.extend(problems);
    }

    /// Applies `on-error = "block"` of a file with errors. With an organization's file, only that file decides.
    fn add_on_error(&mut self, checked: &Checked, source: &Source, layer: Layer) {
        if self.has_organization && layer != Layer::Organization {
            return;
        }
        let blocks = |entry: &&Entry| entry.path == ON_ERROR && entry.value == "block";
        if let Some(entry) = checked.entries.iter().find(blocks) {
            self.block_on_error(entry.setting(source, layer).origin);
        }
    }

    fn block_on_error(&mut self, origin: Origin) {
        self.settings.insert(ON_ERROR.to_owned(), Setting { value: "block".into(), origin });
    }

    fn add_project(&mut self, read: &Read, trust: &Path, validation: Validation) {
        let source = &read.source;
        let checked = validate(source, validation);
        if !checked.is_sound {
            self.add_on_error(&checked, source, Layer::Project);
            self.problems.extend(checked.problems);
            return;
        }
        let mut problems = checked.problems;
        let (items, values): (Vec<_>, Vec<_>) =
            checked.entries.into_iter().partition(|entry| ProjectRule::of(&entry.path) == ProjectRule::Added);
        for entry in &values {
            project::apply_override(&mut self.settings, entry, source, Layer::Project, &mut problems);
        }
        let (project, settings) = project::trust_state(&items, read, trust, &self.settings, &mut problems);
        if project.standing == TrustState::Trusted {
            self.settings.extend(settings);
        }
        self.project = Some(project);
        problems.sort_by_key(|problem| problem.at.unwrap_or((usize::MAX, 0)));
        self.problems.extend(problems);
    }
}

/// The configurations of all sessions.
#[derive(Debug, Clone, Default)]
pub struct Everywhere {
    /// The user's, then with those of the projects.
    pub configs: Vec<Config>,
    /// Whether a file could not be used, so that rules may be missing.
    pub is_partial: bool,
}

/// Reads the user's file, each project's file that is trusted with its current content, and that of the present project,
/// which can turn on gates without trust.
pub fn everywhere(files: &Files) -> Everywhere {
    let user = load(&Files { project: None, ..files.clone() });
    let mut all = Everywhere { is_partial: user.is_broken(), configs: vec![user.config] };
    let trust = Trust::load(&files.trust);
    all.is_partial |= trust.is_err();
    let trusted = trust.iter().flat_map(Trust::files).map(|(file, _)| file);
    for file in trusted.chain(files.project.as_deref()) {
        let effective = load(&Files { project: Some(file.to_path_buf()), ..files.clone() });
        all.is_partial |= effective.problems.iter().any(|problem| problem.code == Code::Unreadable);
        all.configs.push(effective.config);
    }
    all
}

/// Loads the organization's and the user's file only.
fn load_user(files: &Files, shared: &Shared) -> Effective {
    let load = |validation| load_with(files, shared, validation, validation);
    let Some(hash) = shared.hash() else { return load(Validation::Full) };
    let hash = format!("{} {}", hash.to_hex(), files.user.display());
    if let Some(config) = read_cache(&files.cache, &hash) {
        // The user can change the cache, so it proves only that the regular expressions of its rules are valid.
        if !matches!(shared.organization, Ok(None)) {
            return load(Validation::WithoutRegexes);
        }
        return Effective { config, has_user: true, ..Effective::default() };
    }
    let effective = load(Validation::Full);
    if effective.is_broken() {
        return effective;
    }
    let Effective { config, settings, problems, .. } = &effective;
    if problems.is_empty() {
        write_cache(&files.cache, hash, config, settings);
    } else if last_on_error(&files.user, &files.cache).unwrap_or(OnError::Allow) != config.policy.on_error {
        // A file with warnings is checked each time. The cache then only keeps its `on-error`.
        write_cache(&files.cache, format!("- {}", files.user.display()), config, settings);
    }
    effective
}

// The cache of the organization's and the user's file, so that a hook call does not check unchanged files again.

/// The version that wrote the cache. Another version may read the file differently.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// The file: `cache/config.json`.
#[derive(Serialize, Deserialize)]
struct Cache<C> {
    program: String,
    hash: String,
    /// The position of each rule, for the verdicts.
    #[serde(rename = "places")]
    file_lines: Vec<String>,
    config: C,
}

/// The `on-error` of the last valid content of the user's file.
pub fn last_on_error(user: &Path, cache: &Path) -> Option<OnError> {
    let known: Json = serde_json::from_slice(&fs::read_regular(cache, fs::MAX_JSON_BYTES).ok()?.0).ok()?;
    let (_, path) = known.get("hash")?.as_str()?.split_once(' ')?;
    let on_error = known.pointer("/config/policy/on-error").filter(|_| path == user.display().to_string())?;
    OnError::deserialize(on_error).ok()
}

/// Writes the cache. A failure is ignored.
pub(super) fn write_cache(path: &Path, hash: String, config: &Config, settings: &Settings) {
    let file_lines = config.rule.iter().map(|rule| rule.file_line.clone()).collect();
    let cache = Cache { program: PROGRAM.to_owned(), hash, file_lines, config: tree(settings) };
    if let (Some(dir), Ok(bytes)) = (path.parent(), serde_json::to_vec(&cache)) {
        let _ = fs::private_dir(dir).and_then(|()| fs::write_atomic(path, &bytes));
    }
}

/// The configuration in the cache, if it is that of files with this hash.
pub(super) fn read_cache(path: &Path, wanted: &str) -> Option<Config> {
    let bytes = fs::read_regular(path, fs::MAX_JSON_BYTES).ok()?.0;
    let Cache { program, hash, file_lines, mut config } =
        serde_json::from_slice::<Cache<Config>>(&bytes).ok()?;
    if program != PROGRAM || hash != wanted || file_lines.len() != config.rule.len() {
        return None;
    }
    config.rule.iter_mut().zip(file_lines).for_each(|(rule, file_line)| rule.file_line = file_line);
    Some(config)
}
