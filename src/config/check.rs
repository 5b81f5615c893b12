//! Validation: finds every problem of a file with its position. A file without errors can be built.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::keys::{Key, Place, names};
use super::parse_value::Issue;
use super::problem::{Code, Problem};
use super::source::Source;
use super::{parse_value, rules};
use crate::suggest::nearest;

/// Maximum number of reported problems in one file.
const MAX_PROBLEMS: usize = 100;

/// How thorough the check is. Compiling regular expressions costs more than all the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validation {
    /// Everything.
    Whole,
    /// Everything except compiling regular expressions.
    Swift,
}

/// A valid value in a file.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its path, with dots and list indexes: `rule[0].name`.
    pub path: String,
    /// Its key.
    pub key: &'static Key,
    /// The value.
    pub value: Json,
    /// Its byte offset.
    pub at: usize,
}

/// The valid values and the problems of a file.
#[derive(Debug, Default)]
pub struct Checked {
    /// The valid values, in the order of the file.
    pub entries: Vec<Entry>,
    /// The problems, by position.
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
    checked(source, Validation::Whole)
}

/// Checks a file; with [`Care::Swift`] regular expressions are not compiled. A call that needs one compiles it.
pub(super) fn checked(source: &Source, care: Validation) -> Checked {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let mut walk = Walk { source, care, entries: Vec::new(), problems: Vec::new() };
    let mut lines = BTreeSet::new();
    let mut broken = false;
    for error in &errors {
        let at = error.span().map_or(source.text.len(), |span| span.start);
        let duplicate = is_duplicate_key(error);
        broken |= !duplicate;
        // A second error on the same line is a consequence of the first.
        if lines.insert(source.line(at)) {
            let code = if duplicate { Code::DuplicateKey } else { Code::Syntax };
            walk.report(Issue::new(code, at, error.message().replace('\n', ", ")));
        }
    }
    let told = walk.problems.len();
    walk.table(table.get_ref(), "", "");
    rules::check(&walk.entries).into_iter().for_each(|issue| walk.report(issue));
    if broken {
        // After a syntax error the rest is a guess.
        walk.problems.truncate(told);
    }
    let Walk { entries, mut problems, .. } = walk;
    problems.sort_by_key(|problem| problem.at);
    Checked { entries, problems }
}

/// Whether a key occurs twice. The library has no kinds of errors, so this compares with the error of such a text.
fn is_duplicate_key(error: &toml::de::Error) -> bool {
    let (_, errors) = DeTable::parse_recoverable("key=1\nkey=2");
    errors.first().is_some_and(|duplicate| duplicate.message() == error.message())
}

/// A check in progress.
struct Walk<'a> {
    source: &'a Source,
    care: Validation,
    entries: Vec<Entry>,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    /// Adds a problem.
    fn report(&mut self, issue: Issue) {
        if self.problems.len() < MAX_PROBLEMS {
            let Issue { code, at, message, hint } = issue;
            let (path, at) = (self.source.path.clone(), Some(self.source.position(at)));
            self.problems.push(Problem { code, path, at, message, hint });
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
            // A quoted name is one name, whatever it contains.
            let place = Place::at(&key).filter(|_| !name.get_ref().contains(['.', '[', ']']));
            match (place, value.get_ref()) {
                (Some(Place::Value(key)), _) => self.value(key, path, value),
                (Some(Place::Table), DeValue::Table(values)) => self.table(values, &key, &path),
                (Some(Place::Table), other) => self.wrong(at, &path, &format!("a table, `[{path}]`"), other),
                (Some(Place::List), DeValue::Array(list)) => self.list(list, &key, &path),
                (Some(Place::List), other) => self.wrong(at, &path, &format!("tables, `[[{path}]]`"), other),
                (None, _) => self.unknown(name, table),
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
                            self.report(Issue::new(Code::MissingKey, at, format!("missing key `{name}`")));
                        }
                    }
                }
                other => self.wrong(at, &path, "a table", other),
            }
        }
    }

    fn value(&mut self, key: &'static Key, path: String, value: &Spanned<DeValue<'_>>) {
        let mut issues = Vec::new();
        if let Some(read) = parse_value::read(key.kind, value, self.care, &mut issues) {
            self.entries.push(Entry { path: path.clone(), key, value: read, at: value.span().start });
        }
        for issue in issues {
            self.report(Issue { message: format!("`{path}`: {}", issue.message), ..issue });
        }
    }

    fn wrong(&mut self, at: usize, path: &str, expected: &str, found: &DeValue<'_>) {
        let found = parse_value::type_of(found);
        let message = format!("`{path}`: expected {expected}, found {found}");
        self.report(Issue::new(Code::WrongType, at, message));
    }

    fn unknown(&mut self, name: &Spanned<Cow<'_, str>>, table: &str) {
        let known = names(table);
        let written = name.get_ref().as_ref();
        let hint = match (nearest(written, &known, 1), elsewhere(written)) {
            (Some(close), _) => format!("did you mean `{close}`?"),
            (None, Some(path)) => format!("did you mean `{path}`?"),
            (None, None) => format!("expected one of {}", known.join(", ")),
        };
        let shown: String = written.chars().take(64).collect();
        let message = format!("unknown key `{shown}`");
        self.report(Issue::new(Code::UnknownKey, name.span().start, message).hint(hint));
    }
}

/// The table that has this name, if another one has.
fn elsewhere(name: &str) -> Option<String> {
    let path = format!("policy.{name}");
    (!name.contains(['.', '[']) && Place::at(&path).is_some()).then_some(path)
}
