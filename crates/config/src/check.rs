//! Validation: finds every problem of a file with its position. A file without errors can be built.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::time::Duration;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::budget::limit_problems;
use super::keys::{Key, Place, REDACTABLE, names};
use super::notify::{check_path, check_url};
use super::parse_duration;
use super::parse_value::{Checker, Validation, blockable_events, quoted};
use super::settings::{Entry, words};
use super::ship::{
    StoreAddress, check_exclude_projects, check_host, check_interval, check_organization, check_otlp,
    parse_since,
};
use super::source::{Code, Problem, Source};
use teamkeep_model::payload::EventKind;
use teamkeep_system::error::nearest;

/// The valid values and the problems of a file.
#[derive(Debug, Default)]
pub struct Checked {
    /// In the order of the file.
    pub entries: Vec<Entry>,
    /// By position.
    pub problems: Vec<Problem>,
    /// Whether the file can be used.
    pub is_sound: bool,
}

/// Checks everything.
pub fn check(source: &Source) -> Checked {
    validate(source, Validation::Full)
}

pub(super) fn validate(source: &Source, validation: Validation) -> Checked {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let mut checker = Checker {
        source,
        validation,
        path: String::new(),
        entries: Vec::new(),
        problems: Vec::new(),
        errors: 0,
        rejected: Vec::new(),
    };
    let mut lines = BTreeSet::new();
    let mut is_broken = false;
    for error in &errors {
        let end = source.text.len();
        let span = error.span().unwrap_or(end..end);
        let is_duplicate = is_duplicate_key(error);
        is_broken |= !is_duplicate;
        // A second error on the same line is a consequence of the first.
        if lines.insert(source.line(span.start)) {
            match is_duplicate {
                true => checker.duplicate_key(span),
                false => checker.report(Code::Syntax, span, error.message().replace('\n', ", "), None),
            }
        }
    }
    let syntax_problems = checker.problems.len();
    checker.table(table.get_ref(), "", "");
    checker.check_items();
    let Checker { entries, mut problems, errors, .. } = checker;
    if is_broken {
        // After a syntax error the rest is a guess.
        problems.truncate(syntax_problems);
    }
    problems.sort_by_key(|problem| problem.at);
    Checked { entries, problems, is_sound: errors == 0 }
}

/// Whether a key occurs twice. The library has no kinds of errors, so this compares with the error of such a text.
fn is_duplicate_key(error: &toml::de::Error) -> bool {
    let (_, errors) = DeTable::parse_recoverable("key=1\nkey=2");
    errors.first().is_some_and(|duplicate| duplicate.message() == error.message())
}

impl Checker<'_> {
    /// The library does not report the first place, so the hint names the key only.
    fn duplicate_key(&mut self, span: Range<usize>) {
        let name = self.source.text.get(span.clone()).unwrap_or_default().to_owned();
        let hint = "merge the two, or remove one".to_owned();
        self.report(Code::DuplicateKey, span, format!("`{name}` occurs twice"), hint);
    }

    /// `table` is the path in the table of keys, `path` the one in the file.
    fn table(&mut self, values: &DeTable<'_>, table: &str, path: &str) {
        for (name, value) in values {
            let below = |table: &str| match table {
                "" => name.get_ref().to_string(),
                table => format!("{table}.{}", name.get_ref()),
            };
            let (key, path) = (below(table), below(path));
            self.path.clone_from(&path);
            // A quoted name is one name, whatever it contains.
            let place = Place::at(&key).filter(|_| !name.get_ref().contains(['.', '[', ']']));
            match (place, value.get_ref()) {
                (Some(Place::Value(key)), _) => {
                    if let Some(read) = self.read(key.kind, value) {
                        self.entries.push(Entry { path, key, value: read, span: value.span() });
                    }
                }
                (Some(Place::Table), DeValue::Table(values)) => self.table(values, &key, &path),
                (Some(Place::Table), other) => {
                    self.wrong_type(name.span(), &format!("a table, `[{path}]`"), other);
                }
                (Some(Place::List), DeValue::Array(list)) => self.list(list, &key, &path),
                (Some(Place::List), other) => {
                    self.wrong_type(name.span(), &format!("tables, `[[{path}]]`"), other);
                }
                (None, _) => self.unknown(name, table),
            }
        }
    }

    fn list(&mut self, list: &DeArray<'_>, key: &str, path: &str) {
        let key = format!("{key}[]");
        for (index, item) in list.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let DeValue::Table(values) = item.get_ref() else {
                self.path = path;
                self.wrong_type(item.span(), "a table", item.get_ref());
                continue;
            };
            self.table(values, &key, &path);
            for name in names(&key) {
                let place = Place::at(&format!("{key}.{name}"));
                let is_required = matches!(place, Some(Place::Value(Key { default: None, .. })));
                if is_required && !values.contains_key(name) {
                    self.report(Code::MissingKey, item.span(), format!("missing key `{name}`"), None);
                }
            }
        }
    }

    fn unknown(&mut self, name: &Spanned<Cow<'_, str>>, table: &str) {
        let known = names(table);
        let written = name.get_ref().as_ref();
        // The table that has this name, if another one has.
        let elsewhere = Some(format!("policy.{written}"))
            .filter(|path| !written.contains(['.', '[']) && Place::at(path).is_some());
        let hint = match nearest(written, &known, 1).map(str::to_owned).or(elsewhere) {
            Some(suggestion) => format!("did you mean `{suggestion}`?"),
            None => format!("expected one of {}", known.join(", ")),
        };
        let shown: String = written.chars().take(64).collect();
        self.report(Code::UnknownKey, name.span(), format!("unknown key `{shown}`"), hint);
    }

    /// Checks each rule, check and pattern of the file as a whole.
    fn check_items(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        let mut names = HashSet::new();
        for rule in items(entries.iter(), "rule") {
            self.check_rule(&rule, &mut names);
        }
        for check in items(entries.iter(), "policy.completion-check.check") {
            if let Some(run) = check.get("run").filter(|run| is_blank(run)) {
                self.report(Code::BadValue, run.span.clone(), "the command is blank", None);
            }
            let zero = |entry: &&Entry| entry.value.as_str().and_then(parse_duration) == Some(Duration::ZERO);
            if let Some(timeout) = check.get("timeout").filter(zero) {
                let message = "with a timeout of zero the check never passes";
                let hint = "to turn the gate off, set its mode to \"off\"".to_owned();
                self.report(Code::BadDuration, timeout.span.clone(), message, hint);
            }
        }
        for limit in items(entries.iter(), "policy.budget.limit") {
            let table =
                limit.0.first().and_then(|entry| Some(format!("{}.", entry.path.rsplit_once('.')?.0)));
            if self.rejected.iter().any(|path| table.as_ref().is_some_and(|table| path.starts_with(table))) {
                continue;
            }
            for (entry, message, hint) in limit_problems(&limit.0) {
                self.report(Code::BadValue, entry.span.clone(), message, hint.to_owned());
            }
        }
        let is_blank_key =
            |entry: &&Entry| entry.path == "policy.idle-with-work.waiting-key" && is_blank(entry);
        if let Some(key) = entries.iter().find(is_blank_key) {
            self.report(Code::BadValue, key.span.clone(), "the key is blank", None);
        }
        for entry in &entries {
            let text = entry.value.as_str().unwrap_or_default();
            let checked = match entry.path.as_str() {
                "notify.url" => check_url(text),
                "notify.secret-file"
                | "ship.store-headers-file"
                | "ship.otlp-headers-file"
                | "ship.pseudonym-key-file"
                | "ship.directory"
                | "organization.store" => check_path(text),
                "ship.store" => StoreAddress::parse(text).map(drop),
                "ship.otlp" => check_otlp(text),
                "ship.organization" => check_organization(text),
                "ship.host" => check_host(text),
                "ship.since" => parse_since(text).map(drop),
                "ship.interval" => check_interval(text),
                "ship.exclude-projects" => check_exclude_projects(entry),
                "organization.fixed" => check_fixed(entry),
                _ => continue,
            };
            if let Err(why) = checked {
                self.report(Code::BadValue, entry.span.clone(), format!("`{}`: {why}", entry.path), None);
            }
        }
        let mut names = HashSet::new();
        for pattern in items(entries.iter(), "privacy.pattern") {
            self.check_pattern_name(&pattern, &mut names);
        }
        self.entries = entries;
    }

    fn check_rule<'a>(&mut self, rule: &Item<'a>, names: &mut HashSet<&'a str>) {
        if let Some(name) = rule.get("name") {
            let text = name.value.as_str().unwrap_or_default();
            if is_blank(name) {
                self.report(Code::BadValue, name.span.clone(), "the rule's name is blank", None);
            } else if !names.insert(text) {
                let message = format!("duplicate rule name {}", quoted(text));
                self.report(Code::DuplicateRule, name.span.clone(), message, None);
            }
        }
        let kinds: Vec<EventKind> = rule.list("events").map(EventKind::named).collect();
        if let Some(action) = rule.is("action", "block") {
            if rule.get("reason").is_none_or(is_blank) {
                let message = "a rule that blocks needs a `reason` for the model";
                let hint = "add `reason = \"what is blocked, and what to do instead\"`".to_owned();
                self.report(Code::MissingReason, action.span.clone(), message, hint);
            }
            let known = kinds.iter().filter(|kind| **kind != EventKind::Unknown && !kind.is_judged());
            let unblockable: Vec<&str> = known.map(|kind| kind.name()).collect();
            if !unblockable.is_empty() {
                let events = unblockable.join(", ");
                let message = format!("the rule only warns at {events}, which cannot be blocked");
                self.report(Code::OnlyWarns, action.span.clone(), message, blockable_events());
            }
        }
        if let Some(tools) = rule.get("tools") {
            let has_tools = rule.list("tools").next().is_some();
            if has_tools && !kinds.is_empty() && !kinds.iter().any(|kind| kind.has_tool()) {
                let message = "the rule names tools, but none of its events has a tool";
                let hint = "add PreToolUse, or another tool event".to_owned();
                self.report(Code::NeverMatches, tools.span.clone(), message, hint);
            }
            for word in rule.list("tools") {
                let is_other_case = |tool: &&&str| **tool != word && tool.eq_ignore_ascii_case(word);
                if let Some(tool) = TOOLS.iter().find(is_other_case) {
                    let message =
                        format!("there is no tool {}: names of tools are case-sensitive", quoted(word));
                    let hint = format!("did you mean \"{tool}\"?");
                    self.report(Code::NeverMatches, tools.span.clone(), message, hint);
                }
            }
        }
        let why = match () {
            () if rule.is("action", "warn").is_some() => "the rule blocks nothing",
            () if !kinds.is_empty() && !kinds.iter().any(|kind| kind.is_before_tool()) => {
                "none of its events has a tool"
            }
            () => return,
        };
        if let Some(lasting) = rule.is("lasting", true) {
            let message = format!("`lasting` has no effect here: {why}");
            let hint = "`lasting` applies only to a block at PreToolUse".to_owned();
            self.report(Code::UselessKey, lasting.span.clone(), message, hint);
        }
    }

    fn check_pattern_name<'a>(&mut self, pattern: &Item<'a>, names: &mut HashSet<&'a str>) {
        let Some(name) = pattern.get("name") else { return };
        let text = name.value.as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let (message, hint) = if text.is_empty() || !text.chars().all(plain) || REDACTABLE.contains(&text) {
            let none_of = REDACTABLE.join(", ");
            let hint = format!("use letters, digits, `-`, `_` and `.`, and none of {none_of}");
            (format!("invalid pattern name {}", quoted(text)), Some(hint))
        } else if !names.insert(text) {
            (format!("duplicate pattern name {}", quoted(text)), None)
        } else {
            return;
        };
        self.report(Code::BadValue, name.span.clone(), message, hint);
    }
}

/// Tools of Claude Code. Their names are case-sensitive.
#[rustfmt::skip]
const TOOLS: &[&str] = &[
    "Agent", "AskUserQuestion", "Bash", "BashOutput", "Edit", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS",
    "MultiEdit", "NotebookEdit", "Read", "SendMessage", "Skill", "Task", "TaskCreate", "TaskGet", "TaskList",
    "TaskOutput", "TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete", "TodoWrite", "WebFetch", "WebSearch", "Write",
];

/// The keys of one table of a list.
pub(super) struct Item<'a>(pub Vec<&'a Entry>);

impl<'a> Item<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a Entry> {
        self.0.iter().copied().find(|entry| entry.path.ends_with(&format!("].{name}")))
    }

    /// The entry, if its value is this one.
    fn is(&self, name: &str, value: impl Into<Json>) -> Option<&'a Entry> {
        let value = value.into();
        self.get(name).filter(|entry| entry.value == value)
    }

    fn list(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.get(name).into_iter().flat_map(|entry| words(&entry.value))
    }
}

/// Checks that `fixed` names keys and tables.
fn check_fixed(entry: &Entry) -> Result<(), String> {
    let mut names = words(&entry.value);
    // Lists are fixed as a whole.
    let unknown = names.find(|name| name.contains('[') || Place::at(name).is_none());
    unknown.map_or(Ok(()), |name| Err(format!("unknown key or table {name:?}")))
}

fn is_blank(entry: &Entry) -> bool {
    entry.value.as_str().is_none_or(|text| text.trim().is_empty())
}

/// The tables of a list, in the order of the file.
pub(super) fn items<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    list: &str,
) -> impl Iterator<Item = Item<'a>> {
    let mut items: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let index = entry.path.strip_prefix(list).and_then(|rest| rest.strip_prefix('[')?.split(']').next());
        if let Some(index) = index.and_then(|index| index.parse().ok()) {
            items.entry(index).or_default().push(entry);
        }
    }
    items.into_values().map(Item)
}
