//! Validation: finds every problem of a file with its position. A file without errors can be built.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::keys::{Key, Place, REDACTABLE, names};
use super::parse_duration;
use super::parse_value::{self, Issue, Validation, quoted};
use super::problem::{Code, Problem};
use super::settings::Entry;
use super::source::Source;
use crate::client::payload::{JUDGED, Kind};
use crate::config::suggest::nearest;

/// Maximum number of reported problems in one file.
const MAX_PROBLEMS: usize = 100;

/// The valid values and the problems of a file.
#[derive(Debug, Default)]
pub struct Checked {
    /// In the order of the file.
    pub entries: Vec<Entry>,
    /// By position.
    pub problems: Vec<Problem>,
}

impl Checked {
    /// Whether the file can be used.
    pub fn is_sound(&self) -> bool {
        !self.problems.iter().any(Problem::is_error)
    }
}

/// Checks everything.
pub fn check(source: &Source) -> Checked {
    validate(source, Validation::Full)
}

pub(super) fn validate(source: &Source, validation: Validation) -> Checked {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let mut walk = Walk { source, validation, entries: Vec::new(), problems: Vec::new() };
    let mut lines = BTreeSet::new();
    let mut is_broken = false;
    for error in &errors {
        let at = error.span().map_or(source.text.len(), |span| span.start);
        let is_duplicate = is_duplicate_key(error);
        is_broken |= !is_duplicate;
        // A second error on the same line is a consequence of the first.
        if lines.insert(source.line(at)) {
            let code = if is_duplicate { Code::DuplicateKey } else { Code::Syntax };
            walk.report(Issue::new(code, at, error.message().replace('\n', ", ")));
        }
    }
    let syntax_problems = walk.problems.len();
    walk.table(table.get_ref(), "", "");
    check_items(&walk.entries).into_iter().for_each(|issue| walk.report(issue));
    if is_broken {
        // After a syntax error the rest is a guess.
        walk.problems.truncate(syntax_problems);
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
    validation: Validation,
    entries: Vec<Entry>,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn report(&mut self, issue: Issue) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(issue.into_problem(self.source));
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
        for (index, item) in list.iter().enumerate() {
            let (key, path) = (format!("{key}[]"), format!("{path}[{index}]"));
            let at = item.span().start;
            let DeValue::Table(values) = item.get_ref() else {
                self.wrong(at, &path, "a table", item.get_ref());
                continue;
            };
            self.table(values, &key, &path);
            for name in names(&key) {
                let place = Place::at(&format!("{key}.{name}"));
                let is_required = matches!(place, Some(Place::Value(Key { default: None, .. })));
                if is_required && !values.contains_key(name) {
                    self.report(Issue::new(Code::MissingKey, at, format!("missing key `{name}`")));
                }
            }
        }
    }

    fn value(&mut self, key: &'static Key, path: String, value: &Spanned<DeValue<'_>>) {
        let mut issues = Vec::new();
        if let Some(read) = parse_value::read(key.kind, value, self.validation, &mut issues) {
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
        // The table that has this name, if another one has.
        let elsewhere = Some(format!("policy.{written}"))
            .filter(|path| !written.contains(['.', '[']) && Place::at(path).is_some());
        let hint = match nearest(written, &known, 1).map(str::to_owned).or(elsewhere) {
            Some(suggestion) => format!("did you mean `{suggestion}`?"),
            None => format!("expected one of {}", known.join(", ")),
        };
        let shown: String = written.chars().take(64).collect();
        let message = format!("unknown key `{shown}`");
        self.report(Issue::new(Code::UnknownKey, name.span().start, message).hint(hint));
    }
}

/// Tools of Claude Code. Their names are case-sensitive.
#[rustfmt::skip]
const TOOLS: &[&str] = &[
    "Agent", "AskUserQuestion", "Bash", "BashOutput", "Edit", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS",
    "MultiEdit", "NotebookEdit", "Read", "SendMessage", "Skill", "Task", "TaskCreate", "TaskGet", "TaskList",
    "TaskOutput", "TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete", "TodoWrite", "WebFetch", "WebSearch", "Write",
];

/// The tool that this word names in another case.
fn other_case(word: &str) -> Option<&'static str> {
    TOOLS.iter().copied().find(|tool| *tool != word && tool.eq_ignore_ascii_case(word))
}

/// The keys of one table of a list.
struct Item<'a>(Vec<&'a Entry>);

impl<'a> Item<'a> {
    fn get(&self, name: &str) -> Option<&'a Entry> {
        self.0.iter().copied().find(|entry| entry.path.ends_with(&format!("].{name}")))
    }

    /// The entry, if its value is this one.
    fn is(&self, name: &str, value: impl Into<Json>) -> Option<&'a Entry> {
        let value = value.into();
        self.get(name).filter(|entry| entry.value == value)
    }

    fn list(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let list = self.get(name).and_then(|entry| entry.value.as_array());
        list.into_iter().flatten().filter_map(Json::as_str)
    }
}

/// Checks each rule, check and pattern of the file as a whole.
fn check_items(entries: &[Entry]) -> Vec<Issue> {
    let mut found = Vec::new();
    let mut names = HashSet::new();
    for rule in items(entries, "rule[") {
        found.extend(name_of_rule(&rule, &mut names));
        found.extend(missing_reason(&rule));
        found.extend(unblockable_event(&rule));
        found.extend(tools_without_event(&rule));
        found.extend(tools_in_other_case(&rule));
        found.extend(useless_lasting(&rule));
    }
    for check in items(entries, "policy.completion-check.check[") {
        let run = check.get("run").filter(|run| is_blank(run));
        found.extend(run.map(|run| Issue::new(Code::BadValue, run.at, "the command is blank")));
        found.extend(zero_timeout(&check));
    }
    let waiting = entries.iter().find(|entry| entry.path == "policy.idle-with-work.waiting-key");
    let waiting = waiting.filter(|key| is_blank(key));
    found.extend(waiting.map(|key| Issue::new(Code::BadValue, key.at, "the key is blank")));
    let mut names = HashSet::new();
    for pattern in items(entries, "privacy.pattern[") {
        found.extend(name_of_pattern(&pattern, &mut names));
    }
    found
}

fn name_of_rule<'a>(rule: &Item<'a>, names: &mut HashSet<&'a str>) -> Option<Issue> {
    let name = rule.get("name")?;
    let text = name.value.as_str().unwrap_or_default();
    if is_blank(name) {
        return Some(Issue::new(Code::BadValue, name.at, "the rule's name is blank"));
    }
    let message = format!("duplicate rule name {}", quoted(text));
    (!names.insert(text)).then(|| Issue::new(Code::DuplicateRule, name.at, message))
}

fn missing_reason(rule: &Item<'_>) -> Option<Issue> {
    let action = rule.is("action", "block")?;
    rule.get("reason").is_none_or(is_blank).then(|| {
        Issue::new(Code::MissingReason, action.at, "a rule that blocks needs a `reason` for the model")
            .hint("add `reason = \"what is blocked, and what to do instead\"`")
    })
}

fn unblockable_event(rule: &Item<'_>) -> Option<Issue> {
    let action = rule.is("action", "block")?;
    let kinds = rule.list("events").map(Kind::named);
    let kinds = kinds.filter(|kind| *kind != Kind::Unknown && !kind.is_judged());
    let unblockable: Vec<&str> = kinds.map(Kind::name).collect();
    let judged: Vec<&str> = JUDGED.iter().map(|kind| kind.name()).collect();
    let message = format!("the rule only warns at {}, which cannot be blocked", unblockable.join(", "));
    let hint = format!("the events that can be blocked are {}", judged.join(", "));
    (!unblockable.is_empty()).then(|| Issue::new(Code::OnlyWarns, action.at, message).hint(hint))
}

fn tools_without_event(rule: &Item<'_>) -> Option<Issue> {
    let tools = rule.get("tools").filter(|_| rule.list("tools").next().is_some())?;
    let mut events = rule.list("events").peekable();
    events.peek()?;
    let never = events.all(|event| !Kind::named(event).has_tool());
    never.then(|| {
        Issue::new(Code::NeverMatches, tools.at, "the rule names tools, but none of its events has a tool")
            .hint("add PreToolUse, or another tool event")
    })
}

fn tools_in_other_case(rule: &Item<'_>) -> Vec<Issue> {
    let Some(tools) = rule.get("tools") else { return Vec::new() };
    let misspelled = rule.list("tools").filter_map(|word| Some((word, other_case(word)?)));
    let issue = |(word, tool): (&str, &str)| {
        let message = format!("there is no tool {}: names of tools are case-sensitive", quoted(word));
        Issue::new(Code::NeverMatches, tools.at, message).hint(format!("did you mean \"{tool}\"?"))
    };
    misspelled.map(issue).collect()
}

fn useless_lasting(rule: &Item<'_>) -> Option<Issue> {
    let lasting = rule.is("lasting", true)?;
    let mut events = rule.list("events").peekable();
    let has_events = events.peek().is_some();
    let why = match () {
        () if rule.is("action", "warn").is_some() => "the rule blocks nothing",
        () if has_events && events.all(|event| Kind::named(event) != Kind::PreToolUse) => {
            "none of its events has a tool"
        }
        () => return None,
    };
    let issue = Issue::new(Code::UselessKey, lasting.at, format!("`lasting` has no effect here: {why}"));
    Some(issue.hint("`lasting` applies only to a block at PreToolUse"))
}

fn zero_timeout(check: &Item<'_>) -> Option<Issue> {
    let timeout = check.get("timeout")?;
    let time = parse_duration(timeout.value.as_str()?)?;
    time.is_zero().then(|| {
        Issue::new(Code::BadDuration, timeout.at, "with a timeout of zero the check never passes")
            .hint("to turn the gate off, set its mode to \"off\"")
    })
}

fn name_of_pattern<'a>(pattern: &Item<'a>, names: &mut HashSet<&'a str>) -> Option<Issue> {
    let name = pattern.get("name")?;
    let text = name.value.as_str().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || !text.chars().all(plain) || REDACTABLE.contains(&text) {
        let hint = format!("use letters, digits, `-`, `_` and `.`, and none of {}", REDACTABLE.join(", "));
        let message = format!("invalid pattern name {}", quoted(text));
        return Some(Issue::new(Code::BadValue, name.at, message).hint(hint));
    }
    let message = format!("duplicate pattern name {}", quoted(text));
    (!names.insert(text)).then(|| Issue::new(Code::BadValue, name.at, message))
}

fn is_blank(entry: &Entry) -> bool {
    entry.value.as_str().is_none_or(|text| text.trim().is_empty())
}

/// The tables of a list, in the order of the file.
fn items<'a>(entries: &'a [Entry], list: &str) -> impl Iterator<Item = Item<'a>> {
    let mut items: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let index = entry.path.strip_prefix(list).and_then(|rest| rest.split(']').next());
        if let Some(index) = index.and_then(|index| index.parse().ok()) {
            items.entry(index).or_default().push(entry);
        }
    }
    items.into_values().map(Item)
}
