//! Validation: every problem of a file at once, each with its place. What comes out without an error can be built.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::keys::{Key, Place, names};
use super::problem::{Code, Problem};
use super::source::Source;
use super::{rules, written};
use crate::near::nearest;

/// Problems of one file that are told; a person mends the first ones first.
const MOST: usize = 100;

/// The key that says what is to happen when the policy fails. It is asked of a file with errors, too; where the error is
/// in this very key, whoever wrote it did not mean the default.
pub(super) const ON_ERROR: &str = "policy.on-error";

/// How much of a file is looked at. To compile an expression costs more than all the rest of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// Everything.
    Whole,
    /// Everything but whether regular expressions are some.
    Swift,
}

/// A value that stands in a file and makes sense.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it stands, with dots and places in lists: `rule[0].name`.
    pub path: String,
    /// Its key.
    pub key: &'static Key,
    /// The value.
    pub value: Json,
    /// The byte at which it begins.
    pub at: usize,
}

/// What a file says, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Checked {
    /// The values that make sense, in the order of the file's keys.
    pub entries: Vec<Entry>,
    /// What is wrong, by place.
    pub problems: Vec<Problem>,
}

impl Checked {
    /// Whether the file can be used.
    pub fn is_sound(&self) -> bool {
        !self.problems.iter().any(Problem::is_error)
    }
}

/// Checks a file.
pub fn check(source: &Source) -> Checked {
    checked(source, Care::Whole)
}

/// Checks a file; with [`Care::Swift`] its regular expressions are believed: a call that needs one compiles it.
pub(super) fn checked(source: &Source, care: Care) -> Checked {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let mut walk = Walk { source, care, entries: Vec::new(), problems: Vec::new() };
    let mut lines = BTreeSet::new();
    let mut broken = false;
    for error in &errors {
        let at = error.span().map_or(source.text.len(), |span| span.start);
        let duplicate = error.message().starts_with("duplicate key");
        broken |= !duplicate;
        // What follows from an error on the same line says nothing new.
        if lines.insert(source.line(at)) {
            let code = if duplicate { Code::DuplicateKey } else { Code::Syntax };
            walk.complain(code, at, error.message().replace('\n', ", "));
        }
    }
    let told = walk.problems.len();
    walk.table(table.get_ref(), "", "");
    // Of two values the one that holds back counts.
    let mut twice = errors.iter().filter_map(|error| source.text.get(error.span()?.start..));
    if twice.any(holds_back) {
        let entries = walk.entries.iter_mut().filter(|entry| entry.path == ON_ERROR);
        entries.for_each(|entry| entry.value = "block".into());
    }
    rules::check(&mut walk);
    if broken {
        // What the parser made of the rest is a guess: good enough to look for `on-error`, not to complain of.
        walk.problems.truncate(told);
    }
    let Walk { entries, mut problems, .. } = walk;
    problems.sort_by_key(|problem| problem.at);
    Checked { entries, problems }
}

/// Whether a value is meant to be `"allow"`.
fn means_allow(value: &Spanned<DeValue<'_>>) -> bool {
    let near = value.get_ref().as_str().and_then(|text| nearest(text, &["allow", "block"], 1));
    near == Some("allow")
}

/// Whether a text begins with `on-error = ` and anything but `"allow"`.
fn holds_back(text: &str) -> bool {
    let Some((key, value)) = text.split_once('=') else { return false };
    let value = value.lines().next().unwrap_or_default().split('#').next().unwrap_or_default();
    let plain = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    plain(key) == "on-error" && plain(value) != "allow"
}

/// A file on its way through the check.
pub(super) struct Walk<'a> {
    pub source: &'a Source,
    care: Care,
    pub entries: Vec<Entry>,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    /// Notes a problem at a byte.
    pub fn complain(&mut self, code: Code, at: usize, message: impl Into<String>) {
        self.complain_with(code, at, message, None);
    }

    /// Notes a problem and what to do about it.
    pub fn complain_with(&mut self, code: Code, at: usize, message: impl Into<String>, hint: Option<String>) {
        if self.problems.len() < MOST {
            let (path, at) = (self.source.path.clone(), Some(self.source.position(at)));
            self.problems.push(Problem { code, path, at, message: message.into(), hint });
        }
    }

    /// `table` is the path in the table of keys, `path` the one in the file.
    fn table(&mut self, values: &DeTable<'_>, table: &str, path: &str) {
        for (name, value) in values {
            let at = name.span().start;
            let below = |table: &str| match table {
                "" => name.get_ref().to_string(),
                table => format!("{table}.{}", name.get_ref()),
            };
            let (key, path) = (below(table), below(path));
            // A quoted name is one name, whatever it holds.
            let place = Place::at(&key).filter(|_| !name.get_ref().contains(['.', '[', ']']));
            match (place, value.get_ref()) {
                (Some(Place::Value(key)), _) => self.value(key, path, value),
                (Some(Place::Table), DeValue::Table(values)) => self.table(values, &key, &path),
                (Some(Place::Table), other) => self.wrong(at, &path, &format!("a table, `[{path}]`"), other),
                (Some(Place::List), DeValue::Array(list)) => self.list(list, &key, &path),
                (Some(Place::List), other) => self.wrong(at, &path, &format!("tables, `[[{path}]]`"), other),
                (None, _) => {
                    self.unknown(name, table);
                    if table == "policy" && name.get_ref().to_lowercase().replace('_', "-") == "on-error" {
                        self.misspelled_on_error(value);
                    }
                }
            }
        }
    }

    fn list(&mut self, list: &DeArray<'_>, key: &str, path: &str) {
        for (place, item) in list.iter().enumerate() {
            let (key, path) = (format!("{key}[]"), format!("{path}[{place}]"));
            let at = item.span().start;
            match item.get_ref() {
                DeValue::Table(values) => {
                    self.table(values, &key, &path);
                    for name in names(&key) {
                        let needed = Place::at(&format!("{key}.{name}"));
                        if matches!(needed, Some(Place::Value(Key { default: None, .. })))
                            && !values.contains_key(name)
                        {
                            self.complain(Code::MissingKey, at, format!("`{name}` is missing here"));
                        }
                    }
                }
                other => self.wrong(at, &path, "a table", other),
            }
        }
    }

    fn value(&mut self, key: &'static Key, path: String, value: &Spanned<DeValue<'_>>) {
        let mut flaws = Vec::new();
        if let Some(read) = written::read(key.kind, value, self.care, &mut flaws) {
            self.entries.push(Entry { path: path.clone(), key, value: read, at: value.span().start });
        }
        if path == ON_ERROR && !flaws.is_empty() && !means_allow(value) {
            let at = value.span().start;
            self.entries.push(Entry { path: path.clone(), key, value: "block".into(), at });
        }
        for flaw in flaws {
            self.complain_with(flaw.code, flaw.at, format!("`{path}`: {}", flaw.message), flaw.hint);
        }
    }

    /// A key that is meant to say what happens when the policy fails.
    fn misspelled_on_error(&mut self, value: &Spanned<DeValue<'_>>) {
        if let Some(Place::Value(key)) = Place::at(ON_ERROR)
            && !means_allow(value)
        {
            let at = value.span().start;
            self.entries.push(Entry { path: ON_ERROR.to_owned(), key, value: "block".into(), at });
        }
    }

    fn wrong(&mut self, at: usize, path: &str, expected: &str, found: &DeValue<'_>) {
        let found = written::type_of(found);
        self.complain(Code::WrongType, at, format!("`{path}`: expected {expected}, found {found}"));
    }

    fn unknown(&mut self, name: &Spanned<Cow<'_, str>>, table: &str) {
        let known = names(table);
        let written = name.get_ref().as_ref();
        let hint = match (nearest(written, &known, 1), elsewhere(written)) {
            (Some(close), _) => format!("did you mean `{close}`?"),
            (None, Some(path)) => format!("did you mean `{path}`?"),
            (None, None) => format!("the keys here are {}", known.join(", ")),
        };
        let shown: String = written.chars().take(64).collect();
        let message = format!("unknown key `{shown}`");
        self.complain_with(Code::UnknownKey, name.span().start, message, Some(hint));
    }
}

/// Where a table of this name stands, if not here.
fn elsewhere(name: &str) -> Option<String> {
    let path = format!("policy.{name}");
    (!name.contains(['.', '[']) && Place::at(&path).is_some()).then_some(path)
}
