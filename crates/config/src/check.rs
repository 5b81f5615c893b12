//! Validation: finds every problem of a file with its position. A file without errors can be built.
//!
//! serde stops at the first error and does not know its position. So a file with errors is read once more for each value,
//! with nothing else in it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use serde_json::{Map, Value as Json, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::kinds::{Rejection, quoted};
use super::pattern::{self, BoundedRegex, RegexTooCostly};
use super::policy::{blockable_events, contradictions};
use super::settings::{Entry, parse};
use super::source::{Code, Problem, ProblemSeverity, Source};
use super::{Config, Mode, REDACTABLE, Rule};
use teamkeep_model::payload::EventKind;
use teamkeep_system::error::nearest;

/// Maximum number of reported problems in one file.
const MAX_PROBLEMS: usize = 100;

/// How thorough the validation is. Compiling the regular expressions costs more than all the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validation {
    Full,
    /// A call that needs one compiles it.
    WithoutRegexes,
}

/// The values and the problems of a file.
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
    let root = Spanned::new(0..0, DeValue::Table(table.into_inner()));
    let mut checker = Checker { source, root: &root, rejected: Vec::new(), problems: Vec::new(), errors: 0 };
    let is_broken = checker.syntax(&errors);
    let syntax_problems = checker.problems.len();
    let config = parse(&to_json(root.get_ref())).ok();
    let valid = || checker.probe(&mut Vec::new(), &root, 0..0).and_then(|tree| parse(&tree).ok());
    if let Some(config) = config.or_else(valid) {
        checker.check(&config, validation);
    }
    let Checker { mut problems, errors, .. } = checker;
    if is_broken {
        // After a syntax error the rest is a guess.
        problems.truncate(syntax_problems);
    }
    problems.sort_by_key(|problem| problem.at);
    let mut entries = Vec::new();
    collect_entries(&root, String::new(), &mut entries);
    Checked { entries, problems, is_sound: errors == 0 }
}

/// Whether a key occurs twice. The library has no kinds of errors, so this compares with the error of such a text.
fn is_duplicate_key(error: &Error) -> bool {
    let (_, errors) = DeTable::parse_recoverable("key=1\nkey=2");
    errors.first().is_some_and(|duplicate| duplicate.message() == error.message())
}

/// A check in progress.
struct Checker<'a> {
    source: &'a Source,
    root: &'a Spanned<DeValue<'a>>,
    /// The paths of the values that are rejected.
    rejected: Vec<String>,
    problems: Vec<Problem>,
    /// Number of problems that are errors.
    errors: usize,
}

impl Checker<'_> {
    fn report(&mut self, code: Code, span: Range<usize>, message: impl Into<String>, hint: Option<String>) {
        let is_error = code.severity() == ProblemSeverity::Error;
        self.errors += usize::from(is_error);
        // The first error is always listed: it disables the file.
        if self.problems.len() < MAX_PROBLEMS || (is_error && self.errors == 1) {
            self.problems.push(Problem { hint, ..self.source.problem(code, span, message) });
        }
    }

    /// Reports a problem of the first of these keys that the file has in this table; none for a key that is only assumed.
    fn report_at(&mut self, code: Code, table: &str, keys: &[&str], message: impl Into<String>, hint: &str) {
        if let Some(span) = keys.iter().find_map(|key| find(self.root, table, key)) {
            self.report(code, span, message, Some(hint.to_owned()).filter(|hint| !hint.is_empty()));
        }
    }

    /// Reports the errors of the parser. Returns whether one of them leaves the rest unknown.
    fn syntax(&mut self, errors: &[Error]) -> bool {
        let (mut lines, mut is_broken) = (BTreeSet::new(), false);
        for error in errors {
            let end = self.source.text.len();
            let span = error.span().unwrap_or(end..end);
            let is_duplicate = is_duplicate_key(error);
            is_broken |= !is_duplicate;
            // A second error on the same line is a consequence of the first.
            if !lines.insert(self.source.line(span.start)) {
                continue;
            }
            if is_duplicate {
                // The library does not report the first place, so the hint names the key only.
                let name = self.source.text.get(span.clone()).unwrap_or_default();
                let hint = "merge the two, or remove one".to_owned();
                self.report(Code::DuplicateKey, span, format!("`{name}` occurs twice"), Some(hint));
            } else {
                self.report(Code::Syntax, span, error.message().replace('\n', ", "), None);
            }
        }
        is_broken
    }

    /// Checks a value and all in it, one by one, and returns what is valid. `name` is the span of its key.
    fn probe(
        &mut self,
        path: &mut Vec<String>,
        value: &Spanned<DeValue<'_>>,
        name: Range<usize>,
    ) -> Option<Json> {
        let alone = match value.get_ref() {
            DeValue::Table(_) => json!({}),
            DeValue::Array(_) => json!([]),
            other => to_json(other),
        };
        if self.errors >= MAX_PROBLEMS {
            return None;
        }
        if let Some(why) = error_of(path, &alone).filter(|why| missing_key(why).is_none()) {
            self.reject(&why, path, value, name);
            return None;
        }
        match value.get_ref() {
            DeValue::Table(table) => {
                let mut valid = Map::new();
                for (name, value) in table {
                    path.push(name.get_ref().to_string());
                    let json = self.probe(path, value, name.span());
                    path.pop();
                    valid.extend(json.map(|json| (name.get_ref().to_string(), json)));
                }
                let mut valid = Json::Object(valid);
                let is_item = path.last().is_some_and(|step| step.starts_with('['));
                // A missing key gets a value, so that the others are still checked together.
                while let Some(name) = error_of(path, &valid).as_deref().and_then(missing_key)
                    && is_item
                {
                    if !table.contains_key(name) {
                        self.report(Code::MissingKey, value.span(), format!("missing key `{name}`"), None);
                    }
                    valid[name] = json!(match name {
                        "action" => "warn",
                        "per" => "run",
                        _ => "x",
                    });
                }
                Some(valid)
            }
            DeValue::Array(list) => {
                let mut valid = Vec::new();
                for (index, item) in list.iter().enumerate() {
                    path.push(format!("[{index}]"));
                    valid.extend(self.probe(path, item, item.span()));
                    path.pop();
                }
                // Items are independent only in a list of tables.
                (valid.len() == list.len() || is_list(&shown(path))).then_some(Json::Array(valid))
            }
            _ => Some(alone),
        }
    }

    /// Reports why a value is rejected.
    fn reject(&mut self, why: &str, path: &[String], value: &Spanned<DeValue<'_>>, name: Range<usize>) {
        let Some(last) = path.last() else { return };
        let is_item = last.starts_with('[');
        let path = shown(path);
        self.rejected.push(path.clone());
        let (what, expected) = why.rsplit_once(", expected ").unwrap_or((why, "a string"));
        let words: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        let word = value.get_ref().as_str().filter(|_| what.starts_with("unknown variant "));
        let rejection = Rejection::parse(why).or_else(|| Some(Rejection::of_word(word?, &words)));
        if let Some(Rejection { code, message, hint }) = rejection {
            let span = if code == Code::BadPointer { name } else { value.span() };
            self.report(code, span, format!("`{path}`: {message}"), hint);
        } else if what.starts_with("unknown field ") {
            self.unknown(last, &words, name);
        } else if what.starts_with("invalid value: ") {
            let written = self.source.text.get(value.span()).unwrap_or_default();
            let message = format!("`{path}`: invalid number {written}; expected 0 to {}", u32::MAX);
            self.report(Code::BadNumber, value.span(), message, None);
        } else {
            let (expected, is_heading) = match expected {
                _ if expected.starts_with("struct ") && is_item => ("a table".to_owned(), false),
                _ if expected.starts_with("struct ") => (format!("a table, `[{path}]`"), true),
                "a sequence" if is_list(&path) => (format!("tables, `[[{path}]]`"), true),
                "a sequence" => ("a list such as [\"a\", \"b\"]".to_owned(), false),
                "a map" => ("a table such as { \"/tool_input/command\" = \"*rm*\" }".to_owned(), false),
                "u32" => ("an integer".to_owned(), false),
                "f64" => ("a number such as 2.5".to_owned(), false),
                expected => (expected.to_owned(), false),
            };
            let span = if is_heading { name } else { value.span() };
            let message = format!("`{path}`: expected {expected}, found {}", type_of(value.get_ref()));
            self.report(Code::WrongType, span, message, None);
        }
    }

    /// Reports an unknown key. `known` are those of its table.
    fn unknown(&mut self, written: &str, known: &[&str], span: Range<usize>) {
        let expected_at = |path: &[&str]| {
            let path: Vec<String> = path.iter().map(|&part| part.to_owned()).collect();
            error_of(&path, &Json::Null).filter(|why| !why.starts_with("unknown field "))
        };
        let hint = match (nearest(written, known, 1), expected_at(&[written])) {
            (Some(suggestion), _) => format!("did you mean `{suggestion}`?"),
            (None, Some(why)) if why.ends_with("a sequence") => format!("did you mean `[[{written}]]`?"),
            (None, Some(_)) => format!("did you mean `[{written}]`?"),
            (None, None) if expected_at(&["policy", written]).is_some() => {
                format!("did you mean `policy.{written}`?")
            }
            (None, None) => format!("expected one of {}", known.join(", ")),
        };
        let shown: String = written.chars().take(64).collect();
        self.report(Code::UnknownKey, span, format!("unknown key `{shown}`"), Some(hint));
    }

    /// Checks what depends on several values, and the regular expressions.
    fn check(&mut self, config: &Config, validation: Validation) {
        let mut names = HashSet::new();
        for (index, rule) in config.rule.iter().enumerate() {
            self.check_rule(&format!("rule[{index}]"), rule, &mut names, validation);
        }
        let to_turn_off = "to turn the gate off, set its mode to \"off\"";
        for (table, key, number, hint) in [
            ("policy", "max-blocks", config.policy.max_blocks, to_turn_off),
            ("incidents", "ping-pong", config.incidents.ping_pong, ""),
        ] {
            if number == 0 {
                let message = format!("`{table}.{key}`: invalid number 0; expected at least 1");
                self.report_at(Code::BadValue, table, &[key], message, hint);
            }
        }
        for (index, check) in config.policy.completion_check.check.iter().enumerate() {
            let table = format!("policy.completion-check.check[{index}]");
            if check.run.trim().is_empty() {
                self.report_at(Code::BadValue, &table, &["run"], "the command is blank", "");
            }
            if check.timeout.is_zero() {
                let message = "with a timeout of zero the check never passes";
                self.report_at(Code::BadDuration, &table, &["timeout"], message, to_turn_off);
            }
        }
        for (index, limit) in config.policy.budget.limit.iter().enumerate() {
            let table = format!("policy.budget.limit[{index}]");
            if !self.rejected.iter().any(|path| path.starts_with(&table)) {
                for (keys, message, hint) in contradictions(limit) {
                    self.report_at(Code::BadValue, &table, keys, message, hint);
                }
            }
        }
        if config.policy.idle_with_work.waiting_key.trim().is_empty() {
            self.report_at(Code::BadValue, "policy.idle-with-work", &["waiting-key"], "the key is blank", "");
        }
        let mut names = HashSet::new();
        for (index, pattern) in config.privacy.pattern.iter().enumerate() {
            let table = format!("privacy.pattern[{index}]");
            let name = pattern.name.as_str();
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            if name.is_empty() || !name.chars().all(plain) || REDACTABLE.contains(&name) {
                let none_of = REDACTABLE.join(", ");
                let hint = format!("use letters, digits, `-`, `_` and `.`, and none of {none_of}");
                let message = format!("invalid pattern name {}", quoted(name));
                self.report_at(Code::BadValue, &table, &["name"], message, &hint);
            } else if !names.insert(name) {
                let message = format!("duplicate pattern name {}", quoted(name));
                self.report_at(Code::BadValue, &table, &["name"], message, "");
            }
            // It would match between any two characters.
            if validation == Validation::Full && self.compile(&table, "regex", &pattern.regex) == Some(true) {
                let message = format!("`{table}.regex`: {} matches the empty string", quoted(&pattern.regex));
                self.report_at(Code::BadRegex, &table, &["regex"], message, "");
            }
        }
    }

    /// Compiles the regular expression of a key, or reports why it is invalid. Returns whether it matches the empty string.
    fn compile(&mut self, table: &str, key: &str, expression: &str) -> Option<bool> {
        let path = if key == "regex" { format!("{table}.{key}") } else { table.to_owned() };
        let named = quoted(expression);
        match BoundedRegex::of(expression) {
            Ok(regex) => return regex.is_match(""),
            Err(RegexTooCostly::Malformed(why)) => {
                let message = format!("`{path}`: {named} is not a valid regular expression: {why}");
                self.report_at(Code::BadRegex, table, &[key], message, "");
            }
            Err(RegexTooCostly::TooLarge) => {
                let message =
                    format!("`{path}`: {named} is too large: the compiled regular expression exceeds 64 KiB");
                let hint = "reduce repetitions: `x{500}` counts as 500 times `x`";
                self.report_at(Code::LargeRegex, table, &[key], message, hint);
            }
        }
        None
    }

    fn check_rule<'r>(
        &mut self,
        table: &str,
        rule: &'r Rule,
        names: &mut HashSet<&'r str>,
        validation: Validation,
    ) {
        if rule.name.trim().is_empty() {
            self.report_at(Code::BadValue, table, &["name"], "the rule's name is blank", "");
        } else if !names.insert(&rule.name) {
            let message = format!("duplicate rule name {}", quoted(&rule.name));
            self.report_at(Code::DuplicateRule, table, &["name"], message, "");
        }
        let expressions = rule.matches.iter().filter_map(|(key, text)| Some((key, pattern::regex_of(text)?)));
        for (pointer, expression) in expressions.filter(|_| validation == Validation::Full) {
            self.compile(&format!("{table}.match"), pointer, expression);
        }
        let kinds: Vec<EventKind> = rule.events.iter().map(|event| EventKind::named(event)).collect();
        let has_only_others =
            |is: fn(EventKind) -> bool| !kinds.is_empty() && !kinds.iter().any(|kind| is(*kind));
        if rule.action == Mode::Block {
            if rule.reason.trim().is_empty() {
                let message = "a rule that blocks needs a `reason` for the model";
                let hint = "add `reason = \"what is blocked, and what to do instead\"`";
                self.report_at(Code::MissingReason, table, &["action"], message, hint);
            }
            let unblockable = kinds.iter().filter(|kind| !kind.can_be_blocked()).map(|kind| kind.name());
            let unblockable: Vec<&str> = unblockable.collect();
            if !unblockable.is_empty() {
                let message =
                    format!("the rule only warns at {}, which cannot be blocked", unblockable.join(", "));
                self.report_at(Code::OnlyWarns, table, &["action"], message, &blockable_events());
            }
        }
        if !rule.tools.is_empty() && has_only_others(EventKind::has_tool) {
            let message = "the rule names tools, but none of its events has a tool";
            let hint = "add PreToolUse, or another tool event";
            self.report_at(Code::NeverMatches, table, &["tools"], message, hint);
        }
        for word in &rule.tools {
            let is_other_case = |tool: &&&str| **tool != word && tool.eq_ignore_ascii_case(word);
            if let Some(tool) = TOOLS.iter().find(is_other_case) {
                let message = format!("there is no tool {}: names of tools are case-sensitive", quoted(word));
                let hint = format!("did you mean \"{tool}\"?");
                self.report_at(Code::NeverMatches, table, &["tools"], message, &hint);
            }
        }
        let why = match rule.action {
            Mode::Warn => "the rule blocks nothing",
            _ if has_only_others(EventKind::is_before_tool) => "none of its events has a tool",
            _ => return,
        };
        if rule.lasting {
            let message = format!("`lasting` has no effect here: {why}");
            let hint = "`lasting` applies only to a block at PreToolUse";
            self.report_at(Code::UselessKey, table, &["lasting"], message, hint);
        }
    }
}

/// Tools of Claude Code. Their names are case-sensitive.
#[rustfmt::skip]
const TOOLS: &[&str] = &[
    "Agent", "AskUserQuestion", "Bash", "BashOutput", "Edit", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS",
    "MultiEdit", "NotebookEdit", "Read", "SendMessage", "Skill", "Task", "TaskCreate", "TaskGet", "TaskList",
    "TaskOutput", "TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete", "TodoWrite", "WebFetch", "WebSearch", "Write",
];

/// The error of a configuration that has only this value.
fn error_of(path: &[String], value: &Json) -> Option<String> {
    let around = |below: Json, step: &String| {
        if step.starts_with('[') { json!([below]) } else { json!({ step: below }) }
    };
    let tree = path.iter().rev().fold(value.clone(), around);
    let error = parse(&tree).err()?.to_string();
    // The position is that in the JSON.
    Some(error.rsplit_once(" at line ").map_or(error.clone(), |(why, _)| why.to_owned()))
}

/// The name of the key that is missing, if this is why a table is rejected.
fn missing_key(why: &str) -> Option<&str> {
    why.strip_prefix("missing field `")?.strip_suffix('`')
}

/// The path of a key: `rule[0].name`. A value in the key's own list or table has the path of the key.
fn shown(steps: &[String]) -> String {
    let path = steps.join(".").replace(".[", "[");
    match path.split_once("].match.") {
        Some((rule, _)) => format!("{rule}].match"),
        None => match path.rsplit_once('[').filter(|(list, _)| path.ends_with(']') && !is_list(list)) {
            Some((list, _)) => list.to_owned(),
            None => path,
        },
    }
}

/// Whether a list of tables is expected at this path. None is in another one.
fn is_list(path: &str) -> bool {
    let steps: Vec<String> = path.split('.').map(str::to_owned).collect();
    error_of(&steps, &json!([0])).is_some_and(|why| why.contains(", expected struct "))
}

/// The span of a key's value in a table such as `rule[0]`, if the file has it.
fn find(root: &Spanned<DeValue<'_>>, table: &str, key: &str) -> Option<Range<usize>> {
    let mut at = root;
    for name in table.split(['.', '[']).chain([key]) {
        at = match at.get_ref() {
            DeValue::Table(values) => values.get(name)?,
            DeValue::Array(list) => list.get(name.strip_suffix(']')?.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(at.span())
}

/// The name of a value's type.
fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A value as JSON. What JSON does not have becomes null, which no key accepts.
fn to_json(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => json!(text),
        // The largest one for one that is beyond.
        DeValue::Integer(number) => {
            json!(i64::from_str_radix(number.as_str(), number.radix()).unwrap_or(i64::MAX))
        }
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().ok()),
        DeValue::Boolean(on) => json!(on),
        DeValue::Datetime(_) => Json::Null,
        DeValue::Array(list) => list.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            table.iter().map(|(name, value)| (name.get_ref().to_string(), to_json(value.get_ref()))).collect()
        }
    }
}

/// Collects the values of all keys with their paths. A quoted name with dots is not a path.
fn collect_entries(value: &Spanned<DeValue<'_>>, path: String, entries: &mut Vec<Entry>) {
    match value.get_ref() {
        DeValue::Table(table) if !path.ends_with("].match") => {
            for (name, value) in table.iter().filter(|(name, _)| !name.get_ref().contains(['.', '['])) {
                let dot = if path.is_empty() { "" } else { "." };
                collect_entries(value, format!("{path}{dot}{}", name.get_ref()), entries);
            }
        }
        DeValue::Array(list) if is_list(&path) => {
            for (index, item) in list.iter().enumerate() {
                collect_entries(item, format!("{path}[{index}]"), entries);
            }
        }
        other => entries.push(Entry { path, value: to_json(other), span: value.span() }),
    }
}

/// The entries of each table of a list, in the order of the file.
pub(super) fn items<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    list: &str,
) -> impl Iterator<Item = Vec<&'a Entry>> {
    let mut items: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let index = entry.path.strip_prefix(list).and_then(|rest| rest.strip_prefix('[')?.split(']').next());
        if let Some(index) = index.and_then(|index| index.parse().ok()) {
            items.entry(index).or_default().push(entry);
        }
    }
    items.into_values()
}
