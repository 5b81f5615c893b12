//! A project's file: it can only tighten the user's policy, and its checks and rules run only if it is trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use teamkeep_model::words::count;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::check::items;
use super::kinds::quoted;
use super::settings::{Entry, Layer, Settings, build, default_of, words};
use super::source::{self, Code, Problem, Read, Source};
use super::{Check, Rule, pattern};
use teamkeep_system::error::{Cause, Error, Result};
use teamkeep_system::fs::{self, JsonDocument, JsonFile};
use teamkeep_system::os;
use teamkeep_system::store_lock::StoreLock;

/// The list to which users can only add.
pub(super) const EXCLUDE_PROJECTS: &str = "ship.exclude-projects";
/// How long to wait for another process that changes the list of trusted files.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The checks and rules of a project's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub path: PathBuf,
    /// Its name in the list of trusted files.
    pub name: PathBuf,
    /// The BLAKE3 hash of its bytes, in hexadecimal.
    pub hash: String,
    pub standing: TrustState,
    pub checks: Vec<Check>,
    /// Its rules, without those whose name the user has already used.
    pub rules: Vec<Rule>,
}

/// Whether a project's checks and rules run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrustState {
    /// It has no checks and rules.
    Nothing,
    /// This content is trusted.
    Trusted,
    /// The file was never trusted.
    Untrusted,
    /// The file changed after it was trusted.
    Changed,
}

/// Finds the checks and rules of the file and whether they are trusted. The caller adds the returned settings behind
/// those in force.
pub(super) fn trust_state(
    items: &[Entry],
    read: &Read,
    trust: &Path,
    settings: &Settings,
    problems: &mut Vec<Problem>,
) -> (Project, Settings) {
    let source = &read.source;
    let items = without_taken_rules(items, settings, source, problems);
    let config = build(&renumbered(&items, &Settings::new(), source, Layer::Project)).unwrap_or_default();
    let mut project = Project {
        path: source.path.clone(),
        name: PathBuf::new(),
        hash: read.hash.to_hex().to_string(),
        standing: TrustState::Nothing,
        checks: config.policy.completion_check.check,
        rules: config.rule,
    };
    if !project.checks.is_empty() || !project.rules.is_empty() {
        project.name = name_of(&project.path);
        project.standing = standing(&project, trust, problems);
        problems.extend(project.problem());
    } else {
        problems.extend(missing_project(&project.path, trust));
    }
    (project, renumbered(&items, settings, source, Layer::Project))
}

/// The problem of a trusted file that is gone or has no checks and rules any more. Someone else may have removed them.
pub(super) fn missing_project(file: &Path, trust: &Path) -> Option<Problem> {
    let known = Trust::load(trust).ok().filter(|known| known.files().next().is_some())?;
    known.of(&name_of(file))?;
    let what = if source::is_absent(file) { "the file is gone" } else { "the file no longer has any" };
    let message = format!("the trusted checks and rules do not run: {what}");
    let problem = Problem::of_file(Code::TrustGone, file, message);
    Some(problem.hint("restore the file, or revoke trust: teamkeep policy trust --remove"))
}

/// The items without the rules whose name a layer below has used, which are problems.
pub(super) fn without_taken_rules<'a>(
    items: &'a [Entry],
    settings: &Settings,
    source: &Source,
    problems: &mut Vec<Problem>,
) -> Vec<&'a Entry> {
    let is_name = |path: &str| path.starts_with("rule[") && path.ends_with("].name");
    let names = settings.iter().filter(|(path, _)| is_name(path));
    let taken: BTreeMap<&str, Layer> =
        names.filter_map(|(_, name)| Some((name.value.as_str()?, name.origin.layer))).collect();
    let mut ignored = Vec::new();
    for entry in items.iter().filter(|entry| is_name(&entry.path)) {
        let name = entry.value.as_str().unwrap_or_default();
        if let Some(layer) = taken.get(name) {
            let owner = if *layer == Layer::Organization { "organization" } else { "user" };
            let message =
                format!("rule {} already exists in the {owner}'s file; this one is ignored", quoted(name));
            problems.push(source.problem(Code::RuleNameTaken, entry.span.clone(), message));
            ignored.push(entry.path.trim_end_matches("name"));
        }
    }
    let is_ignored = |entry: &&Entry| ignored.iter().any(|path| entry.path.starts_with(path));
    items.iter().filter(|entry| !is_ignored(entry)).collect()
}

/// The settings of the items of lists, renumbered to follow the existing ones.
pub(super) fn renumbered(entries: &[&Entry], there: &Settings, source: &Source, layer: Layer) -> Settings {
    let mut all = Settings::new();
    let lists: BTreeSet<&str> =
        entries.iter().filter_map(|entry| Some(entry.path.split_once('[')?.0)).collect();
    for list in lists {
        for (index, item) in (length(there, list)..).zip(items(entries.iter().copied(), list)) {
            for entry in item {
                if let Some((_, name)) = entry.path.rsplit_once("].") {
                    all.insert(format!("{list}[{index}].{name}"), entry.setting(source, layer));
                }
            }
        }
    }
    all
}

/// The number of items of a list.
fn length(settings: &Settings, list: &str) -> usize {
    let has = |index: &usize| {
        let item = format!("{list}[{index}].");
        settings.range(item.clone()..).next().is_some_and(|(path, _)| path.starts_with(&item))
    };
    (0..).take_while(has).count()
}

fn standing(project: &Project, trust: &Path, problems: &mut Vec<Problem>) -> TrustState {
    match Trust::load(trust) {
        Ok(known) => match known.of(&project.name) {
            Some(hash) if hash == project.hash => TrustState::Trusted,
            Some(_) => TrustState::Changed,
            None => TrustState::Untrusted,
        },
        Err(error) => {
            problems.push(Problem::of_file(Code::BadTrust, trust, error));
            TrustState::Untrusted
        }
    }
}

impl Project {
    /// `2 checks and 1 rule`.
    pub fn runs(&self) -> String {
        let all = [(self.checks.len(), "check"), (self.rules.len(), "rule")];
        let some = all.into_iter().filter(|(number, _)| *number > 0);
        some.map(|(number, what)| count(number, what)).collect::<Vec<_>>().join(" and ")
    }

    fn problem(&self) -> Option<Problem> {
        let why = match self.standing {
            TrustState::Nothing | TrustState::Trusted => return None,
            TrustState::Untrusted => "not trusted",
            TrustState::Changed => "the file changed after it was trusted",
        };
        let message = format!("{} disabled: {why}", self.runs());
        let problem = Problem::of_file(Code::Untrusted, &self.path, message);
        Some(problem.hint("to review and trust them: teamkeep policy trust"))
    }
}

/// How a project's file may set a key. It can only tighten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectRule {
    /// Not at all.
    Never,
    /// To a stricter word, or to true.
    Stricter,
    /// To a smaller number; 0 means no limit.
    Smaller,
    /// To a shorter list.
    Fewer,
    /// To a narrower list; an empty one allows everything.
    Narrower,
    /// Part of a check or a rule, which are added once the file is trusted.
    Added,
}

impl ProjectRule {
    /// The rule for the key with this path.
    pub fn of(path: &str) -> ProjectRule {
        match path {
            "policy.on-error"
            | "policy.premature-shutdown.pending"
            | "policy.premature-shutdown.open-turn"
            | "policy.premature-shutdown.without-tasks" => ProjectRule::Stricter,
            "policy.premature-shutdown.exempt" => ProjectRule::Fewer,
            "policy.team-size.most" => ProjectRule::Smaller,
            "policy.team-size.agent-types" | "policy.team-size.models" => ProjectRule::Narrower,
            _ if path.starts_with("policy.") && path.ends_with(".mode") => ProjectRule::Stricter,
            _ if path.ends_with("].lasting") => ProjectRule::Never,
            _ if path.starts_with("rule[") || path.starts_with("policy.completion-check.check[") => {
                ProjectRule::Added
            }
            _ => ProjectRule::Never,
        }
    }
}

/// Applies a value of a layer above if it tightens: of a project's file, or of a user's if the organization has fixed the key.
pub(super) fn apply_override(
    settings: &mut Settings,
    entry: &Entry,
    source: &Source,
    layer: Layer,
    problems: &mut Vec<Problem>,
) {
    let (wanted, path) = (&entry.value, entry.path.as_str());
    let base = settings.get(path).map_or_else(|| default_of(path), |setting| setting.value.clone());
    if layer == Layer::User && *wanted == base {
        return;
    }
    let rule = match path {
        "ship.privacy" if layer == Layer::User => ProjectRule::Stricter,
        _ => ProjectRule::of(path),
    };
    let whole = |tightens: bool| match tightens {
        true => (Some(wanted.clone()), None),
        false => (None, Some(wanted.clone())),
    };
    let (accepted, rejected) = match rule {
        _ if path == EXCLUDE_PROJECTS && layer == Layer::User => {
            let known: Vec<&str> = words(&base).collect();
            let added = words(wanted).filter(|word| !known.contains(word));
            (Some(json!(known.iter().copied().chain(added).collect::<Vec<_>>())), None)
        }
        ProjectRule::Never | ProjectRule::Added => {
            let (code, why) = match layer {
                Layer::Project => (Code::NotInProject, "cannot be set by a project's file"),
                _ => (Code::WouldLoosen, "is fixed by the organization"),
            };
            problems.push(source.problem(code, entry.span.clone(), format!("`{path}` {why}")));
            return;
        }
        ProjectRule::Stricter => whole(strictness(wanted) >= strictness(&base)),
        ProjectRule::Smaller => {
            let bound = |value: &Json| value.as_u64().filter(|most| *most > 0).unwrap_or(u64::MAX);
            whole(bound(wanted) <= bound(&base))
        }
        ProjectRule::Fewer | ProjectRule::Narrower => {
            let is_narrower = rule == ProjectRule::Narrower;
            let is_open = is_narrower && words(&base).next().is_none();
            let is_allowed = |word: &&str| {
                is_open || words(&base).any(|known| known == *word || (is_narrower && covers(known, word)))
            };
            let (kept, rejected): (Vec<&str>, Vec<&str>) = words(wanted).partition(is_allowed);
            // An empty list allows everything, so the remaining list must not become empty.
            match is_narrower && kept.is_empty() && !is_open {
                true => whole(false),
                false => (Some(json!(kept)), Some(json!(rejected)).filter(|_| !rejected.is_empty())),
            }
        }
    };
    if let Some(rejected) = rejected {
        let problem = |why: &str| {
            let message = format!("`{path}` = {rejected} would loosen {base}; {why}");
            source.problem(Code::WouldLoosen, entry.span.clone(), message)
        };
        problems.push(match layer {
            Layer::Project => problem("a project's file can only make the policy stricter").hint(
                "set it in the user's file, which applies to every project, or pause the gate: teamkeep pause",
            ),
            _ => problem("the organization has fixed it"),
        });
    }
    if let Some(value) = accepted.filter(|value| *value != base) {
        settings.insert(path.to_owned(), Entry { value, ..entry.clone() }.setting(source, layer));
    }
}

/// The strictness of a word or a switch.
fn strictness(value: &Json) -> Option<usize> {
    let words = ["off", "allow", "full", "warn", "redacted", "block", "metadata"];
    match value {
        Json::String(word) => words.iter().position(|known| known == word),
        Json::Bool(on) => Some(usize::from(*on)),
        _ => None,
    }
}

/// Whether a glob matches another one's only text.
fn covers(glob: &str, other: &str) -> bool {
    pattern::is_plain(other) && pattern::matches(glob, other)
}

/// `trust.json` in the store: the hash of each project's file that a person has approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Format version: 1.
    v: u32,
    /// A project's file → the BLAKE3 hash of the trusted content.
    #[serde(default)]
    files: BTreeMap<PathBuf, String>,
}

impl Default for Trust {
    fn default() -> Trust {
        Trust { v: 1, files: BTreeMap::new() }
    }
}

impl JsonDocument for Trust {
    fn check(&self) -> std::result::Result<(), String> {
        match self.v {
            1 => Ok(()),
            v => Err(format!("unknown version {v}; this teamkeep reads version 1")),
        }
    }
}

impl Trust {
    /// Reads it; a missing file trusts nothing.
    ///
    /// # Errors
    /// It cannot be read, is not valid, or others may write it.
    pub fn load(path: &Path) -> Result<Trust> {
        let cannot = |cause: Cause| Error::caused(format!("cannot use {}", path.display()), cause);
        let file = JsonFile::<Trust>::at(path);
        let read = file.read_bytes().map_err(|error| cannot(error.into()))?;
        let Some((bytes, metadata)) = read else { return Ok(Trust::default()) };
        if let Some(how) = os::access::written_by_others(&metadata) {
            return Err(cannot(format!("others can write to it ({how})").into()));
        }
        file.parse(&bytes).map_err(|damage| cannot(damage.why.into()))
    }

    /// The trusted hash of a project's file.
    pub fn of(&self, file: &Path) -> Option<&str> {
        self.files.get(file).map(String::as_str)
    }

    /// All trusted files.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().map(|(file, hash)| (file.as_path(), hash.as_str()))
    }

    /// Changes the file of a store under a lock and returns the result of `change`.
    ///
    /// # Errors
    /// It cannot be read or written, or another process holds the lock.
    pub fn change<T>(store: &Path, change: impl FnOnce(&mut BTreeMap<PathBuf, String>) -> T) -> Result<T> {
        let path = &store.join("trust.json");
        let Some(_lock) = StoreLock::Trust.take(store, LOCK_TIMEOUT)? else {
            return Err(Error::new(format!("another process is changing {}", path.display())));
        };
        let mut trust = Trust::load(path)?;
        let result = change(&mut trust.files);
        JsonFile::at(path).write_synced(&trust)?;
        Ok(result)
    }
}

/// The name of a project's file in the list: the project's directory with links resolved, and the file in it.
pub fn name_of(file: &Path) -> PathBuf {
    let Some(project) = file.parent().and_then(Path::parent) else { return file.to_path_buf() };
    let project = if project.as_os_str().is_empty() { Path::new(".") } else { project };
    fs::canonicalize(project).map_or_else(|_| file.to_path_buf(), |project| project.join(super::PROJECT_FILE))
}
