//! Combines the user's file with the project's.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::check::{Checked, Entry, Validation, checked};
use super::problem::{Code, Problem};
use super::settings::{Layer, Origin, Setting, Settings, build, setting};
use super::source::{self, Read, Source};
use super::trust::Trust;
use super::{Config, OnError, Rule, cache, keys, load, project, project_overrides};
use crate::error::Error;
use crate::paths::Paths;

pub use super::project::{Project, TrustState};

/// The response to failures of the policy. It is "block" if a broken file sets it, or set it when it was last valid.
const ON_ERROR: &str = "policy.on-error";

/// The path of a project's file, relative to the project.
pub const PROJECT_FILE: &str = ".claude/teamkeep.toml";

/// The files that can exist.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// The user's file.
    pub user: PathBuf,
    /// The project's file.
    pub project: Option<PathBuf>,
    /// The list of trusted files.
    pub trust: PathBuf,
    /// The cache of the user's file.
    pub cache: PathBuf,
}

/// The configuration in force.
#[derive(Debug, Clone, Default)]
pub struct Effective {
    /// The configuration.
    pub config: Config,
    /// The values that are set, with their origin. All others have their default.
    pub settings: Settings,
    /// The problems of the files.
    pub problems: Vec<Problem>,
    /// The project's file, if there is a valid one.
    pub project: Option<Project>,
    /// Whether the user has a file.
    pub has_user: bool,
}

impl Files {
    /// The files for a session in this project: `CLAUDE_PROJECT_DIR`, else the payload's directory, else the current
    /// one.
    pub fn find(paths: &Paths, project: Option<&Path>) -> Files {
        Files {
            user: paths.config.clone(),
            project: project.map(|project| project.join(PROJECT_FILE)),
            trust: paths.trust(),
            cache: paths.policy().join(".understood"),
        }
    }
}

impl Effective {
    /// Whether a whole file was ignored.
    pub fn is_broken(&self) -> bool {
        self.problems.iter().any(Problem::is_error)
    }

    /// The first problem that is an error.
    pub fn error(&self) -> Option<Error> {
        load::first(&self.problems)
    }

    /// The origin of the value at a path.
    pub fn origin(&self, path: &str) -> &Origin {
        self.settings.get(path).map_or(&Origin::DEFAULT, |setting| &setting.origin)
    }
}

/// Reads the files. Without any this costs one failed open per file, and no parser runs.
pub fn load(files: &Files) -> Effective {
    load_with(files, Cares { user: Validation::Whole, project: Validation::Whole })
}

/// How thoroughly each file is checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cares {
    pub user: Validation,
    pub project: Validation,
}

/// [`load`] with this thoroughness.
pub(super) fn load_with(files: &Files, care: Cares) -> Effective {
    let mut effective = Effective::default();
    let user = read(&files.user, source::MAX_BYTES, &mut effective);
    if let Some(user) = &user {
        effective.has_user = true;
        effective.take_user(&user.source, care.user);
    }
    if effective.is_broken() && cache::last_on_error(&files.user, &files.cache) == Some(OnError::Block) {
        effective.block_on_error(Origin::last(&files.user));
    }
    let project = files.project.as_deref().filter(|path| !is_same(user.as_ref(), path));
    let project = project.and_then(|path| read(path, source::LARGEST_PROJECT, &mut effective));
    if let Some(project) = project {
        effective.take_project(&project, &files.trust, care.project);
    }
    let absent = files.project.as_deref().filter(|file| source::is_absent(file));
    effective.problems.extend(absent.and_then(|file| project::missing_projects(file, &files.trust)));
    if !effective.settings.is_empty() {
        match build(&effective.settings) {
            Ok(config) => effective.config = config,
            Err(why) => {
                effective.problems.push(Problem::of_file(Code::BadValue, &files.user, why));
                effective.settings.clear();
            }
        }
    }
    effective
}

/// Reads a file, or notes why it cannot be read.
fn read(path: &Path, largest: u64, effective: &mut Effective) -> Option<Read> {
    source::read(path, largest).unwrap_or_else(|problem| {
        effective.problems.push(problem);
        None
    })
}

/// Whether the project's file is the user's own.
fn is_same(user: Option<&Read>, project: &Path) -> bool {
    let inode = |metadata: &Metadata| (metadata.dev(), metadata.ino());
    user.is_some_and(|user| project.metadata().is_ok_and(|there| inode(&there) == inode(&user.metadata)))
}

impl Effective {
    fn take_user(&mut self, source: &Source, care: Validation) {
        let checked = checked(source, care);
        if checked.is_sound() {
            let all = checked.entries.iter();
            self.settings.extend(all.map(|entry| (entry.path.clone(), setting(entry, source, Layer::User))));
        } else {
            self.take_on_error(&checked, source, Layer::User);
        }
        self.problems.extend(checked.problems);
    }

    /// Applies `on-error = "block"` of a file with errors.
    fn take_on_error(&mut self, checked: &Checked, source: &Source, layer: Layer) {
        let blocks = |entry: &&Entry| entry.path == ON_ERROR && entry.value == "block";
        if let Some(entry) = checked.entries.iter().find(blocks) {
            self.block_on_error(setting(entry, source, layer).origin);
        }
    }

    fn block_on_error(&mut self, origin: Origin) {
        self.settings.insert(ON_ERROR.to_owned(), Setting { value: "block".into(), origin });
    }

    fn take_project(&mut self, read: &Read, trust: &Path, care: Validation) {
        let source = &read.source;
        let checked = checked(source, care);
        if !checked.is_sound() {
            self.take_on_error(&checked, source, Layer::Project);
            self.problems.extend(checked.problems);
            return;
        }
        let mut problems = checked.problems;
        let (items, values): (Vec<_>, Vec<_>) =
            checked.entries.into_iter().partition(|entry| entry.key.project == keys::Project::Added);
        for entry in &values {
            project_overrides::apply_project_overrides(&mut self.settings, entry, source, &mut problems);
        }
        let (project, settings) = project::trust_state(&items, read, trust, &self.settings, &mut problems);
        if matches!(project.standing, TrustState::Trusted) {
            self.settings.extend(settings);
        }
        self.project = Some(project);
        problems.sort_by_key(|problem| problem.at.unwrap_or((usize::MAX, 0)));
        self.problems.extend(problems);
    }
}

/// The rules of all sessions.
#[derive(Debug, Clone, Default)]
pub struct Everywhere {
    /// The user's, then those of the projects; a rule may be there more than once.
    pub rules: Vec<Rule>,
    /// Whether a file could not be used, so that rules may be missing.
    pub is_partial: bool,
}

/// Reads the user's file, and each project's file that is trusted with its current content.
pub fn everywhere(files: &Files) -> Everywhere {
    let user = load(&Files { project: None, ..files.clone() });
    let mut all = Everywhere { is_partial: user.is_broken(), rules: user.config.rule };
    let trust = Trust::load(&files.trust);
    all.is_partial |= trust.is_err();
    for (file, _) in trust.iter().flat_map(Trust::files) {
        let effective = load(&Files { project: Some(file.to_path_buf()), ..files.clone() });
        all.is_partial |= effective.problems.iter().any(|problem| problem.code == Code::Unreadable);
        // This adds the user's rules again. They need the same hooks, so that does no harm.
        all.rules.extend(effective.config.rule);
    }
    all
}
