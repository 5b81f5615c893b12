//! Limits a project's file: it can only tighten.

use serde_json::{Value as Json, json};

use super::check::Entry;
use super::keys::{Kind, Project};
use super::pattern;
use super::problem::{Code, Problem};
use super::settings::{Layer, Settings, setting};
use super::source::Source;

/// Applies a value of a project's file if it tightens.
pub(super) fn apply_project_overrides(
    settings: &mut Settings,
    entry: &Entry,
    source: &Source,
    problems: &mut Vec<Problem>,
) {
    let base = match settings.get(&entry.path) {
        Some(setting) => setting.value.clone(),
        None => entry.key.default.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Json::Null),
    };
    let mut complain = |code: Code, message: String| {
        let (path, at) = (source.path.clone(), Some(source.position(entry.at)));
        let hint = "set it in the user's file, which applies to every project, or pause the gate: teamkeep policy pause";
        let hint = (code == Code::WouldLoosen).then(|| hint.to_owned());
        problems.push(Problem { code, path, at, message, hint });
    };
    let (wanted, path) = (&entry.value, &entry.path);
    let loosens = |what: &str| {
        format!("`{path}` = {what} would loosen {base}; a project's file can only make the policy stricter")
    };
    let kept = match entry.key.project {
        Project::Never | Project::Added => {
            complain(Code::NotInProject, format!("`{path}` cannot be set by a project's file"));
            return;
        }
        Project::Stricter => rank(entry.key.kind, wanted) >= rank(entry.key.kind, &base),
        Project::Smaller => {
            let bound = |value: &Json| value.as_u64().filter(|most| *most > 0).unwrap_or(u64::MAX);
            bound(wanted) <= bound(&base)
        }
        Project::Fewer | Project::Narrower => {
            let narrower = entry.key.project == Project::Narrower;
            let (kept, left): (Vec<&str>, Vec<&str>) =
                words(wanted).partition(|word| stays(word, &base, narrower));
            // An empty list allows everything, so the remaining list must not become empty.
            let all = narrower && kept.is_empty() && !is_empty(&base);
            if !left.is_empty() || all {
                let left = if all { wanted.clone() } else { json!(left) };
                complain(Code::WouldLoosen, loosens(&left.to_string()));
            }
            if !all && json!(kept) != base {
                let kept = Entry { value: json!(kept), ..entry.clone() };
                settings.insert(path.clone(), setting(&kept, source, Layer::Project));
            }
            return;
        }
    };
    match kept {
        true if *wanted == base => {}
        true => {
            settings.insert(path.clone(), setting(entry, source, Layer::Project));
        }
        false => complain(Code::WouldLoosen, loosens(&wanted.to_string())),
    }
}

/// The strictness of a word or a switch.
fn rank(kind: Kind, value: &Json) -> Option<usize> {
    match (kind, value) {
        (Kind::Words(words), Json::String(word)) => words.iter().position(|known| known == word),
        (_, Json::Bool(on)) => Some(usize::from(*on)),
        _ => None,
    }
}

fn words(list: &Json) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str)
}

fn is_empty(list: &Json) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

/// Whether an item of the project's list is within the list in force.
fn stays(word: &str, base: &Json, narrower: bool) -> bool {
    let mut known = words(base);
    match narrower {
        false => known.any(|known| known == word),
        true => {
            is_empty(base)
                || known
                    .any(|known| known == word || (pattern::is_plain(word) && pattern::matches(known, word)))
        }
    }
}
