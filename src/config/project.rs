//! A project's checks and rules, and whether they are trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::check::Entry;
use super::parse_value::quoted;
use super::problem::{Code, Problem};
use super::settings::{Layer, Settings, build, setting};
use super::source::{self, Read};
use super::trust::{Trust, name_of};
use super::{Check, Rule};

/// The checks and rules of a project's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The file.
    pub path: PathBuf,
    /// Its name in the list of trusted files.
    pub name: PathBuf,
    /// The BLAKE3 hash of its bytes, in hexadecimal.
    pub hash: String,
    /// Whether its checks and rules run.
    pub standing: TrustState,
    /// Its checks.
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

const LISTS: [(&str, &str); 2] = [("policy.completion-check.check", "run"), ("rule", "name")];

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
    let taken: BTreeSet<&str> = settings
        .iter()
        .filter(|(path, _)| is_name(path))
        .filter_map(|(_, name)| name.value.as_str())
        .collect();
    let mut left = BTreeSet::new();
    for entry in items.iter().filter(|entry| is_name(&entry.path)) {
        if entry.value.as_str().is_some_and(|name| taken.contains(name)) {
            let name = quoted(entry.value.as_str().unwrap_or_default());
            let message = format!("rule {name} already exists in the user's file; this one is ignored");
            let (path, at) = (source.path.clone(), Some(source.position(entry.at)));
            problems.push(Problem { code: Code::RuleNameTaken, path, at, message, hint: None });
            left.insert(entry.path.trim_end_matches("name"));
        }
    }
    let items = items.iter().filter(|entry| !left.iter().any(|left| entry.path.starts_with(left)));
    let (items, never): (Vec<&Entry>, Vec<&Entry>) =
        items.partition(|entry| entry.key.project != super::keys::Project::Never);
    for entry in never {
        let message = format!("`{}` cannot be set by a project's file", entry.path);
        let (path, at) = (source.path.clone(), Some(source.position(entry.at)));
        problems.push(Problem { code: Code::NotInProject, path, at, message, hint: None });
    }
    let items = items.into_iter();
    let (own, added) = (renumber(items.clone(), &Settings::new()), renumber(items, settings));
    let place = |all: &BTreeMap<String, Entry>| -> Settings {
        all.iter().map(|(path, entry)| (path.clone(), setting(entry, source, Layer::Project))).collect()
    };
    let config = build(&place(&own)).unwrap_or_default();
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
        problems.extend(project.complaint());
    } else {
        problems.extend(missing_projects(&project.path, trust));
    }
    (project, place(&added))
}

/// The problem of a trusted file that is gone or has no checks and rules any more. Someone else may have removed them.
pub(super) fn missing_projects(file: &Path, trust: &Path) -> Option<Problem> {
    let known = Trust::load(trust).ok().filter(|known| known.files().next().is_some())?;
    known.of(&name_of(file))?;
    let what = if source::is_absent(file) { "the file is gone" } else { "the file no longer has any" };
    let message = format!("the trusted checks and rules do not run: {what}");
    let problem = Problem::of_file(Code::TrustGone, file, message);
    Some(problem.hint("restore the file, or revoke trust: teamkeep policy trust --remove"))
}

fn is_name(path: &str) -> bool {
    path.starts_with("rule[") && path.ends_with("].name")
}

/// The entries, renumbered to follow the existing ones.
fn renumber<'a>(items: impl Iterator<Item = &'a Entry>, there: &Settings) -> BTreeMap<String, Entry> {
    let items: Vec<&Entry> = items.collect();
    let mut all = BTreeMap::new();
    for (list, needed) in LISTS {
        let prefix = format!("{list}[");
        let is_item = |path: &str| path.starts_with(&prefix) && path.ends_with(&format!("].{needed}"));
        let first = there.keys().filter(|path| is_item(path)).count();
        let mut places: BTreeMap<usize, Vec<(&str, &Entry)>> = BTreeMap::new();
        for entry in &items {
            let parts = entry.path.strip_prefix(&prefix).and_then(|rest| rest.split_once("]."));
            if let Some((place, name)) = parts
                && let Ok(place) = place.parse()
            {
                places.entry(place).or_default().push((name, *entry));
            }
        }
        for (place, entries) in places.into_values().enumerate() {
            for (name, entry) in entries {
                all.insert(format!("{prefix}{}].{name}", first + place), entry.clone());
            }
        }
    }
    all
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
        let count = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            more => Some(format!("{more} {what}s")),
        };
        let all = [count(self.checks.len(), "check"), count(self.rules.len(), "rule")];
        all.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }

    fn complaint(&self) -> Option<Problem> {
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
