//! Every key of `teamkeep.toml`, and its JSON Schema. Validation, `config show`, the JSON Schema and the documentation are derived from
//! this table. The descriptions are the comments of the template.

use super::{ContextLoss, ContextPart, LimitScope, TEMPLATE};
use Kind::{
    Count, Duration, Events, Glob, Globs, Names, Patterns, Percent, Picks, Price, Regex, Size, Switch, Text,
    Times, Words,
};
use Project::{Added, Fewer, Narrower, Never, Smaller, Stricter, UserLonger, UserStricter};
use serde_json::{Map, Value as Json, json};
use teamkeep_model::payload::KNOWN;

#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its path with dots; `rule[].name` for a key of each `[[rule]]`.
    pub path: &'static str,
    pub kind: Kind,
    /// Its default as TOML and JSON; `None` for a required key.
    pub default: Option<&'static str>,
    /// How a project's file may set the key.
    pub project: Project,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Switch,
    /// An integer from 0.
    Count,
    /// An integer from 1.
    Times,
    /// `"16 MiB"`.
    Size,
    /// `"90d"`.
    Duration,
    /// One of these words, most permissive first.
    Words(&'static [&'static str]),
    /// An amount of money: a number from 0.
    Price,
    /// `"80%"`, or `"never"`.
    Percent,
    Text,
    /// A list of strings.
    Names,
    Glob,
    Globs,
    Events,
    /// A table from JSON pointers to globs, or regular expressions between slashes.
    Patterns,
    /// A list of some of these words.
    Picks(&'static [&'static str]),
    Regex,
}

impl Kind {
    /// Whether a value is a string.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Size | Duration | Percent | Words(_) | Text | Regex | Glob)
    }
}

/// How a project's file may set a key. It can only tighten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Project {
    /// Not at all.
    Never,
    /// Not at all; a user can set it to a stricter word if the organization has fixed it.
    UserStricter,
    /// Not at all; the items of a user are added to those of the organization.
    UserLonger,
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

/// The modes of a gate, most permissive first.
pub(crate) const MODES: Kind = Words(&["off", "warn", "block"]);

/// The built-in patterns, most certain first.
pub(crate) const REDACTABLE: &[&str] = &["private-key", "api-key", "token", "secret", "email", "home"];

/// The kinds of incidents in `teamkeep report`.
pub const INCIDENT_KINDS: &[&str] = &[
    "crashed-lead",
    "crashed-agent",
    "failed-agent",
    "stalled-agent",
    "lost-work",
    "tasks-deleted",
    "waiting-permission",
    "waiting-approval",
    "blocked-chain",
    "unread-message",
    "unknown-recipient",
    "false-completion",
    "duplicate-agents",
    "policy-escalated",
    "unfinished-work",
    "idle-ping-pong",
];

const fn key(path: &'static str, kind: Kind, default: &'static str, project: Project) -> Key {
    Key { path, kind, default: Some(default), project }
}

/// A required key.
const fn needed(path: &'static str, kind: Kind) -> Key {
    Key { path, kind, default: None, project: Added }
}

/// A required key that a project cannot set.
const fn own(path: &'static str, kind: Kind) -> Key {
    Key { path, kind, default: None, project: Never }
}

#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("log.segment-size", Size, "\"16 MiB\"", Never),
    key("log.keep", Duration, "\"90d\"", Never),
    key("log.keep-size", Size, "\"512 MiB\"", Never),
    key("log.lock-patience", Duration, "\"1s\"", Never),
    key("archive.on-failure", Words(&["warn", "block"]), "\"block\"", Never),
    key("archive.largest-file", Size, "\"32 MiB\"", Never),
    key("archive.longest-look", Duration, "\"1s\"", Never),
    key("archive.sessions", Words(&["teams", "all"]), "\"teams\"", Never),
    key("hook.watch", Switch, "true", Never),
    key("hook.largest-input", Size, "\"16 MiB\"", Never),
    key("hook.stdin-patience", Duration, "\"2s\"", Never),
    key("hook.slow", Duration, "\"250ms\"", Never),
    key("context.after", Picks(ContextLoss::NAMES), "[\"compact\", \"clear\", \"resume\"]", Never),
    key("context.parts", Picks(ContextPart::NAMES), "[\"agents\", \"tasks\", \"messages\", \"changes\", \"blocks\"]", Never),
    key("context.size", Size, "\"2 KiB\"", Never),
    own("report.price[].model", Glob),
    key("report.price[].input", Price, "0", Never),
    key("report.price[].output", Price, "0", Never),
    key("report.price[].cache-read", Price, "0", Never),
    key("report.price[].cache-write", Price, "0", Never),
    key("incidents.silent", Duration, "\"15m\"", Never),
    key("incidents.unread", Duration, "\"15m\"", Never),
    key("incidents.waiting", Duration, "\"5m\"", Never),
    key("incidents.ping-pong", Times, "10", Never),
    key("notify.command", Text, "\"\"", Never),
    key("notify.url", Text, "\"\"", Never),
    key("notify.secret-file", Text, "\"\"", Never),
    key("notify.kinds", Picks(INCIDENT_KINDS), "[]", Never),
    key("notify.severity", Words(&["low", "medium", "high"]), "\"medium\"", Never),
    key("notify.quiet", Duration, "\"10m\"", Never),
    key("ship.store", Text, "\"\"", Never),
    key("ship.store-headers-file", Text, "\"\"", Never),
    key("ship.directory", Text, "\"\"", Never),
    key("ship.otlp", Text, "\"\"", Never),
    key("ship.otlp-signals", Words(&["logs", "traces", "both"]), "\"logs\"", Never),
    key("ship.otlp-headers-file", Text, "\"\"", Never),
    key("ship.organization", Text, "\"default\"", Never),
    key("ship.host", Text, "\"\"", Never),
    key("ship.privacy", Words(&["full", "redacted", "metadata"]), "\"metadata\"", UserStricter),
    key("ship.pseudonym-key-file", Text, "\"\"", Never),
    key("ship.since", Text, "\"\"", Never),
    key("ship.exclude-projects", Globs, "[]", UserLonger),
    key("ship.interval", Duration, "\"1h\"", Never),
    key("ship.keep-unshipped", Size, "\"1 GiB\"", Never),
    key("privacy.record", Words(&["verbatim", "metadata"]), "\"verbatim\"", Never),
    key("privacy.redact", Picks(REDACTABLE), "[\"private-key\", \"api-key\", \"token\", \"secret\", \"email\", \"home\"]", Never),
    own("privacy.pattern[].name", Text),
    own("privacy.pattern[].regex", Regex),
    key("policy.on-error", Words(&["allow", "block"]), "\"allow\"", Stricter),
    key("policy.max-blocks", Times, "3", Never),
    key("policy.premature-shutdown.mode", MODES, "\"block\"", Stricter),
    key("policy.premature-shutdown.pending", Switch, "false", Stricter),
    key("policy.premature-shutdown.open-turn", Switch, "false", Stricter),
    key("policy.premature-shutdown.exempt", Names, "[]", Fewer),
    key("policy.premature-shutdown.without-tasks", MODES, "\"warn\"", Stricter),
    key("policy.protect-lead.mode", MODES, "\"block\"", Stricter),
    key("policy.idle-with-work.mode", MODES, "\"warn\"", Stricter),
    key("policy.idle-with-work.waiting-key", Text, "\"waiting\"", Never),
    key("policy.completion-check.mode", MODES, "\"block\"", Stricter),
    needed("policy.completion-check.check[].run", Text),
    key("policy.completion-check.check[].subject", Glob, "\"*\"", Added),
    key("policy.completion-check.check[].owner", Glob, "\"*\"", Added),
    key("policy.completion-check.check[].team", Glob, "\"*\"", Added),
    key("policy.completion-check.check[].timeout", Duration, "\"2m\"", Added),
    key("policy.unfinished-dependencies.mode", MODES, "\"warn\"", Stricter),
    key("policy.report-before-idle.mode", MODES, "\"off\"", Stricter),
    key("policy.team-size.mode", MODES, "\"off\"", Stricter),
    key("policy.team-size.most", Count, "0", Smaller),
    key("policy.team-size.agent-types", Globs, "[]", Narrower),
    key("policy.team-size.models", Globs, "[]", Narrower),
    key("policy.lead-stops-early.mode", MODES, "\"off\"", Stricter),
    key("policy.edit-collision.mode", MODES, "\"off\"", Stricter),
    key("policy.history-rewrite.mode", MODES, "\"off\"", Stricter),
    key("policy.add-everything.mode", MODES, "\"off\"", Stricter),
    key("policy.budget.mode", MODES, "\"block\"", Stricter),
    own("policy.budget.limit[].per", Words(LimitScope::NAMES)),
    key("policy.budget.limit[].tokens", Count, "0", Never),
    key("policy.budget.limit[].usd", Price, "0", Never),
    key("policy.budget.limit[].warn-at", Percent, "\"80%\"", Never),
    key("policy.budget.limit[].block-at", Percent, "\"never\"", Never),
    needed("rule[].name", Text),
    key("rule[].events", Events, "[]", Added),
    key("rule[].tools", Globs, "[]", Added),
    key("rule[].actor", Glob, "\"*\"", Added),
    key("rule[].team", Glob, "\"*\"", Added),
    key("rule[].match", Patterns, "{}", Added),
    needed("rule[].action", Words(&["warn", "block"])),
    key("rule[].reason", Text, "\"\"", Added),
    key("rule[].lasting", Switch, "false", Never),
    key("organization.fixed", Names, "[]", Never),
    key("organization.allow-pauses", Switch, "false", Never),
    key("organization.store", Text, "\"\"", Never),
];

impl Key {
    /// Its description: the comment before it in the template.
    pub fn doc(&self) -> String {
        let (mut table, mut comment) = (String::new(), Vec::new());
        for line in TEMPLATE.lines() {
            if let Some(words) = line.strip_prefix("# ") {
                comment.push(words);
                continue;
            }
            // Examples are behind `#` without a space.
            let line = line.strip_prefix('#').unwrap_or(line);
            if let Some(list) = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
                table = format!("{list}[].");
            } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                table = format!("{name}.");
            } else if let Some((name, _)) = line.split_once(" = ")
                && self.path.strip_prefix(table.as_str()) == Some(name)
            {
                return comment.join(" ");
            }
            comment.clear();
        }
        String::new()
    }
}

/// The kinds of entries that a path of the file can have.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    Value(&'static Key),
    Table,
    /// A list of tables.
    List,
}

impl Place {
    /// The kind of entry at this path; `rule[]` is each table of the list `rule`.
    pub fn at(path: &str) -> Option<Place> {
        let mut below = KEYS.iter().filter_map(|key| Some((key, key.path.strip_prefix(path)?)));
        below.find_map(|(key, rest)| match rest.as_bytes() {
            [] => Some(Place::Value(key)),
            [b'.', ..] => Some(Place::Table),
            [b'[', ..] => Some(Place::List),
            _ => None,
        })
    }
}

/// The names in the table at this path, in the order of the table of keys; `""` is the file itself.
pub fn names(table: &str) -> Vec<&'static str> {
    let prefix = if table.is_empty() { String::new() } else { format!("{table}.") };
    let below =
        KEYS.iter().filter_map(|key| key.path.strip_prefix(prefix.as_str())?.split(['.', '[']).next());
    let mut names: Vec<&str> = below.collect();
    names.dedup();
    names
}

// The JSON Schema of `teamkeep.toml`.

/// The JSON Schema of the whole file.
pub fn schema() -> Json {
    let mut root =
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "teamkeep.toml"});
    extend(&mut root, table_schema(""));
    root
}

fn extend(schema: &mut Json, more: Json) {
    if let (Json::Object(schema), Json::Object(more)) = (schema, more) {
        schema.extend(more);
    }
}

fn table_schema(path: &str) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for name in names(path) {
        let below = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let schema = match Place::at(&below) {
            Some(Place::Value(key)) => {
                if key.default.is_none() {
                    required.push(name);
                }
                key_schema(key)
            }
            Some(Place::List) => json!({"type": "array", "items": table_schema(&format!("{below}[]"))}),
            Some(Place::Table) | None => table_schema(&below),
        };
        properties.insert(name.to_owned(), schema);
    }
    let mut schema = json!({"type": "object", "additionalProperties": false, "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn key_schema(key: &Key) -> Json {
    let mut schema = json!({"description": key.doc()});
    if let Some(default) = key.default.and_then(|text| serde_json::from_str::<Json>(text).ok()) {
        schema["default"] = default;
    }
    let list = |item: Json| json!({"type": "array", "items": item});
    let kind = match key.kind {
        Switch => json!({"type": "boolean"}),
        Count => json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
        Times => json!({"type": "integer", "minimum": 1, "maximum": u32::MAX}),
        Percent => json!({"type": "string", "pattern": "^([0-9]+%|never)$"}),
        Price => json!({"type": "number", "minimum": 0, "maximum": 1_000_000}),
        Size => json!({"type": "string", "pattern": "^\\s*[0-9.]+\\s*([kKmMgG][iI]?)?[bB]\\s*$"}),
        Duration => json!({"type": "string", "pattern": "^\\s*([0-9.]+(ms|s|m|h|d))+([0-9.]+)?\\s*$"}),
        Words(words) => json!({"enum": words}),
        Text => json!({"type": "string"}),
        Glob | Regex => json!({"type": "string", "minLength": 1}),
        Picks(words) => list(json!({"enum": words})),
        Names => list(json!({"type": "string"})),
        Globs => list(json!({"type": "string", "minLength": 1})),
        Events => list(json!({"enum": KNOWN.iter().flat_map(|row| [row.1, row.2]).collect::<Vec<_>>()})),
        Patterns => json!({
            "type": "object",
            "propertyNames": {"pattern": "^/"},
            "additionalProperties": {"type": "string", "minLength": 1},
        }),
    };
    extend(&mut schema, kind);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_is_a_value_a_table_or_a_list_of_them() {
        assert!(matches!(Place::at("policy.max-blocks"), Some(Place::Value(key)) if key.kind == Times));
        assert!(matches!(Place::at("policy"), Some(Place::Table)));
        assert!(matches!(Place::at("rule"), Some(Place::List)));
        assert!(matches!(Place::at("rule[]"), Some(Place::Table)));
        assert!(matches!(Place::at("rule[].name"), Some(Place::Value(_))));
        assert!(matches!(Place::at("policy.completion-check.check"), Some(Place::List)));
        for unknown in ["pol", "policy.mode", "rule.name", "rule[].name.x"] {
            assert!(Place::at(unknown).is_none(), "{unknown}");
        }
        assert_eq!(
            names(""),
            [
                "log",
                "archive",
                "hook",
                "context",
                "report",
                "incidents",
                "notify",
                "ship",
                "privacy",
                "policy",
                "rule",
                "organization",
            ]
        );
        assert_eq!(names("policy.completion-check"), ["mode", "check"]);
        assert_eq!(names("rule[]")[0], "name");
    }

    #[test]
    fn keys_are_unique() {
        let mut paths: Vec<&str> = KEYS.iter().map(|key| key.path).collect();
        paths.sort_unstable();
        assert!(paths.windows(2).all(|pair| pair[0] != pair[1]));
    }
}

#[cfg(test)]
mod schema_tests {
    use super::*;
    use crate::TEMPLATE;
    use toml::de::{DeTable, DeValue};

    /// Validates with the part of JSON Schema that this schema uses.
    fn flaw(schema: &Json, value: &DeValue<'_>, at: &str) -> Option<String> {
        let no = |what: &str| Some(format!("{at}: {what}"));
        if let Some(words) = schema.get("enum").and_then(Json::as_array) {
            return if words.iter().any(|word| word.as_str() == value.as_str()) { None } else { no("word") };
        }
        let kind = schema["type"].as_str().unwrap();
        match (kind, value) {
            ("boolean", DeValue::Boolean(_)) => None,
            ("integer", DeValue::Integer(number)) => {
                let least = schema["minimum"].as_i64().unwrap();
                (number.as_str().parse::<i64>().unwrap() < least).then(|| at.to_owned())
            }
            ("number", DeValue::Integer(_) | DeValue::Float(_)) => None,
            ("string", DeValue::String(text)) => {
                let pattern =
                    schema.get("pattern").map(|p| regex_lite::Regex::new(p.as_str().unwrap()).unwrap());
                let short = schema.get("minLength").is_some() && text.is_empty();
                let bad = short || pattern.is_some_and(|pattern| !pattern.is_match(text));
                if bad { no("pattern") } else { None }
            }
            ("array", DeValue::Array(list)) => {
                list.iter().find_map(|item| flaw(&schema["items"], item.get_ref(), &format!("{at}[]")))
            }
            ("object", DeValue::Table(table)) => {
                let missing = schema.get("required").and_then(Json::as_array).into_iter().flatten();
                let missing = missing.filter_map(Json::as_str).find(|name| !table.contains_key(*name));
                missing.and_then(&no).or_else(|| {
                    table.iter().find_map(|(name, value)| {
                        let known = schema.get("properties").and_then(|all| all.get(name.get_ref().as_ref()));
                        match known.unwrap_or(&schema["additionalProperties"]) {
                            Json::Bool(_) => no(name.get_ref()),
                            known => flaw(known, value.get_ref(), &format!("{at}.{}", name.get_ref())),
                        }
                    })
                })
            }
            _ => no("type"),
        }
    }

    fn flaw_of(text: &str) -> Option<String> {
        flaw(&schema(), &DeValue::Table(DeTable::parse(text).unwrap().into_inner()), "")
    }

    #[test]
    fn template_and_examples_match_the_schema() {
        assert_eq!(flaw_of(TEMPLATE), None);
        assert_eq!(flaw_of(&crate::tests::with_examples()), None);
    }

    #[test]
    fn schema_rejects_what_validation_rejects() {
        for bad in [
            "[polity]\n",
            "[log]\nkeep = \"90\"\n",
            "[log]\nkeep = 90\n",
            "[log]\nkeep-size = \"1 TiB\"\n",
            "[policy]\nmax-blocks = -1\n",
            "[policy]\nmax-blocks = 0\n",
            "[policy.protect-lead]\nmode = \"hard\"\n",
            "[policy.team-size]\nmodels = [1]\n",
            "[[policy.completion-check.check]]\nsubject = \"x\"\n",
            "[[rule]]\nname = \"x\"\n",
            "[privacy]\nredact = [\"keys\"]\n",
            "[[privacy.pattern]]\nname = \"x\"\n",
            "[[privacy.pattern]]\nname = \"x\"\nregex = \"\"\n",
            "[[rule]]\nname = \"x\"\naction = \"off\"\n",
            "[[rule]]\nname = \"x\"\naction = \"warn\"\nmatch = { \"/a\" = \"\" }\n",
        ] {
            assert!(flaw_of(bad).is_some(), "{bad}");
            let source = crate::source::Source::new(std::path::Path::new("x"), bad);
            assert!(!crate::check::check(&source).is_sound, "{bad}");
        }
    }
}
