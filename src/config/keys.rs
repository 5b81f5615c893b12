//! Every key of `teamkeep.toml`. Validation, `config show`, the JSON Schema and the documentation are derived from
//! this table.

use Kind::{
    Count, Duration, Events, Glob, Globs, Names, Patterns, Picks, Price, Regex, Size, Switch, Text, Times,
    Words,
};
use Project::{Added, Fewer, Never, Smaller, Stricter};

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its path with dots; `rule[].name` for a key of each `[[rule]]`.
    pub path: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// Its default as TOML and JSON; `None` for a required key.
    pub default: Option<&'static str>,
    /// How a project's file may set the key.
    pub project: Project,
    /// Its description, also used in the template and the documentation.
    pub doc: &'static str,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
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
    /// The price of a million tokens: a number from 0.
    Price,
    /// Any string.
    Text,
    /// A list of strings.
    Names,
    /// A glob.
    Glob,
    /// A list of globs.
    Globs,
    /// A list of events.
    Events,
    /// A table from JSON pointers to globs, or regular expressions between slashes.
    Patterns,
    /// A list of some of these words.
    Picks(&'static [&'static str]),
    /// A regular expression.
    Regex,
}

/// How a project's file may set a key. It can only tighten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Project {
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

/// The modes of a gate, most permissive first.
pub const MODES: Kind = Words(&["off", "warn", "block"]);

/// The built-in patterns, most certain first.
pub const REDACTABLE: &[&str] = &["private-key", "api-key", "token", "secret", "email", "home"];

const fn key(
    path: &'static str,
    kind: Kind,
    default: &'static str,
    project: Project,
    doc: &'static str,
) -> Key {
    Key { path, kind, default: Some(default), project, doc }
}

const fn needed(path: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { path, kind, default: None, project: Added, doc }
}

/// A required key that a project cannot set.
const fn own(path: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { path, kind, default: None, project: Never, doc }
}

/// The table.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("log.segment-size", Size, "\"16 MiB\"", Never,
        "A segment of the event log is closed when the next line would make it larger than this. Each day (UTC) \
         starts a new segment, too."),
    key("log.keep", Duration, "\"90d\"", Never,
        "Segments whose last day is older than this are removed. Before that, events of ended runs are copied \
         into the runs. Segments with events of running runs are kept."),
    key("log.keep-size", Size, "\"512 MiB\"", Never,
        "The oldest segments are removed in the same way until the rest fit in this size. Segments with \
         events of running runs do not count."),
    key("log.lock-patience", Duration, "\"1s\"", Never,
        "How long a hook call waits for the log's lock. After that its event is written to a segment of its own."),
    key("archive.on-failure", Words(&["warn", "block"]), "\"block\"", Never,
        "The response to a TeamDelete if the team's files could not be archived first: \"block\" blocks it, \
         \"warn\" allows it with a warning. If the store works and only some files cannot be archived, it is \
         blocked `max-blocks` times at most."),
    key("archive.largest-file", Size, "\"32 MiB\"", Never,
        "A larger file is archived only before a TeamDelete. At other times only its size and time are recorded."),
    key("archive.longest-look", Duration, "\"1s\"", Never,
        "After this time a hook call leaves the remaining files to the next one, so that Claude Code does not \
         have to wait. Before a TeamDelete the limit is six times as long."),
    key("hook.watch", Switch, "true", Never,
        "Whether Claude Code reports each change of a team's files between hook calls."),
    key("hook.largest-input", Size, "\"16 MiB\"", Never,
        "The part of a payload beyond this size is not recorded."),
    key("hook.stdin-patience", Duration, "\"2s\"", Never,
        "How long a hook call waits for the end of stdin."),
    key("hook.slow", Duration, "\"250ms\"", Never,
        "A hook call that takes longer than this is noted in the diagnostics."),

    own("report.price[].model", Glob,
        "A glob for the models that have this price. The first match counts."),
    key("report.price[].input", Price, "0", Never,
        "Price of a million input tokens."),
    key("report.price[].output", Price, "0", Never,
        "Price of a million output tokens."),
    key("report.price[].cache-read", Price, "0", Never,
        "Price of a million tokens read from the cache."),
    key("report.price[].cache-write", Price, "0", Never,
        "Price of a million tokens written to the cache."),

    key("privacy.record", Words(&["verbatim", "metadata"]), "\"verbatim\"", Never,
        "How texts are recorded: \"verbatim\" records every text, \"metadata\" only its size and hash, and no \
         transcripts."),
    key("privacy.redact", Picks(REDACTABLE),
        "[\"private-key\", \"api-key\", \"token\", \"secret\", \"email\", \"home\"]", Never,
        "The built-in patterns that `--redact` removes from every text."),
    own("privacy.pattern[].name", Text,
        "The name in the replacement, `[redacted:NAME]`: letters, digits, `-`, `_` and `.`. Names must be unique."),
    own("privacy.pattern[].regex", Regex,
        "A regular expression. Every match is removed."),

    key("policy.on-error", Words(&["allow", "block"]), "\"allow\"", Stricter,
        "The response to a failure of the policy itself: \"allow\" allows the action, \"block\" blocks it."),
    key("policy.max-blocks", Times, "3", Never,
        "How often (at least once) one gate or rule can block the same agent. After that it allows the action until \
         another task is completed."),

    key("policy.premature-shutdown.mode", MODES, "\"block\"", Stricter,
        "The mode for stopping a teammate that has not finished."),
    key("policy.premature-shutdown.pending", Switch, "false", Stricter,
        "Whether a teammate is unfinished while it owns pending tasks."),
    key("policy.premature-shutdown.open-turn", Switch, "false", Stricter,
        "Whether a teammate is unfinished during a turn."),
    key("policy.premature-shutdown.exempt", Names, "[]", Fewer,
        "Names of teammates that may always be stopped."),
    key("policy.premature-shutdown.without-tasks", MODES, "\"warn\"", Stricter,
        "The mode in a team without tasks, where a teammate is unfinished if it has sent no message since its \
         last instruction."),

    key("policy.protect-lead.mode", MODES, "\"block\"", Stricter,
        "The mode for stopping the lead."),

    key("policy.idle-with-work.mode", MODES, "\"warn\"", Stricter,
        "The mode for a teammate that goes idle with work left."),
    key("policy.idle-with-work.waiting-key", Text, "\"waiting\"", Never,
        "The key in a task's metadata that marks the task as waiting."),

    key("policy.completion-check.mode", MODES, "\"block\"", Stricter,
        "The mode for completing a task whose checks fail. Without checks the gate does nothing."),
    needed("policy.completion-check.check[].run", Text,
        "The command, run with `sh -c`."),
    key("policy.completion-check.check[].subject", Glob, "\"*\"", Added,
        "A glob for the task's subject."),
    key("policy.completion-check.check[].owner", Glob, "\"*\"", Added,
        "A glob for the task's owner."),
    key("policy.completion-check.check[].team", Glob, "\"*\"", Added,
        "A glob for the team."),
    key("policy.completion-check.check[].timeout", Duration, "\"2m\"", Added,
        "How long the command may run."),

    key("policy.unfinished-dependencies.mode", MODES, "\"warn\"", Stricter,
        "The mode for starting or completing a task that depends on an unfinished one."),

    key("policy.report-before-idle.mode", MODES, "\"off\"", Stricter,
        "The mode for a teammate that goes idle without having sent a message since its last instruction."),

    key("policy.team-size.mode", MODES, "\"off\"", Stricter,
        "The mode for spawning a teammate beyond these limits."),
    key("policy.team-size.most", Count, "0", Smaller,
        "The maximum number of teammates, without the lead. 0 means no limit."),
    key("policy.team-size.agent-types", Globs, "[]", Project::Narrower,
        "Globs for the allowed agent types. An empty list allows all."),
    key("policy.team-size.models", Globs, "[]", Project::Narrower,
        "Globs for the allowed models. An empty list allows all."),

    key("policy.lead-stops-early.mode", MODES, "\"off\"", Stricter,
        "The mode for a lead that ends its turn while no agent works on a task in progress."),

    needed("rule[].name", Text,
        "The rule's name in verdicts. Names must be unique."),
    key("rule[].events", Events, "[]", Added,
        "The events that the rule applies to, as `PreToolUse` or `pre-tool-use`. An empty list means all events \
         that can be blocked."),
    key("rule[].tools", Globs, "[]", Added,
        "Globs for the tool, at tool events. An empty list means all tools."),
    key("rule[].actor", Glob, "\"*\"", Added,
        "A glob for the agent's name."),
    key("rule[].team", Glob, "\"*\"", Added,
        "A glob for the team."),
    key("rule[].match", Patterns, "{}", Added,
        "JSON pointers into the payload, each with a glob, or a regular expression between slashes. All must \
         match."),
    needed("rule[].action", Words(&["warn", "block"]),
        "\"warn\" or \"block\"."),
    key("rule[].reason", Text, "\"\"", Added,
        "The text that the model reads. Required for a rule that blocks."),
    key("rule[].lasting", Switch, "false", Never,
        "Whether the rule blocks a tool every time, and not only `max-blocks` times."),
];

/// The kinds of entries that a path of the file can have.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// A value.
    Value(&'static Key),
    /// A table of keys.
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
    let mut names = Vec::new();
    for key in KEYS {
        let below = if table.is_empty() {
            Some(key.path)
        } else {
            key.path.strip_prefix(table).and_then(|rest| rest.strip_prefix('.'))
        };
        if let Some(name) = below.and_then(|rest| rest.split(['.', '[']).next())
            && names.last() != Some(&name)
        {
            names.push(name);
        }
    }
    names
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
        assert_eq!(names(""), ["log", "archive", "hook", "report", "privacy", "policy", "rule"]);
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
