//! Every key of `teamkeep.toml`, once: validation, `policy show`, the JSON Schema and the documentation read this table.

use Kind::{
    Count, Duration, Events, Glob, Globs, Names, Patterns, Picks, Price, Regex, Size, Switch, Text, Times,
    Words,
};
use Project::{Added, Fewer, Never, Smaller, Stricter};

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Where it stands, with dots; `rule[].name` for a key of each `[[rule]]`.
    pub path: &'static str,
    /// What may be written.
    pub kind: Kind,
    /// Its default, as TOML and JSON spell it; `None` for a key that must be written.
    pub default: Option<&'static str>,
    /// What a project's file may do with it.
    pub project: Project,
    /// What it does; the template and the documentation say the same.
    pub doc: &'static str,
}

/// What may be written as a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Switch,
    /// A whole number from 0.
    Count,
    /// A whole number from 1.
    Times,
    /// `"16 MiB"`.
    Size,
    /// `"90d"`.
    Duration,
    /// One of these words, the softest first.
    Words(&'static [&'static str]),
    /// What a million tokens cost: a number from 0, with or without a fraction.
    Price,
    /// Any text.
    Text,
    /// A list of texts.
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

/// What a project's file may do with a key: never more than to tighten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Project {
    /// Nothing.
    Never,
    /// Set a later word, or turn it on.
    Stricter,
    /// Set a smaller number; 0 is no bound.
    Smaller,
    /// Take names away from the list.
    Fewer,
    /// Narrow a list of what is allowed; an empty one allows everything.
    Narrower,
    /// It belongs to a check or a rule, which are added once the file is trusted.
    Added,
}

/// How hard a gate can be, the softest first.
pub const MODES: Kind = Words(&["off", "warn", "block"]);

/// What is found without a pattern of the user's, the most certain first.
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

/// One that must be written, and not by a project.
const fn own(path: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { path, kind, default: None, project: Never, doc }
}

/// The table.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("log.segment-size", Size, "\"16 MiB\"", Never,
        "A segment of the event log is closed, and a new one begun, when a line would make it larger than this. \
         Each day (UTC) begins a new segment, too."),
    key("log.keep", Duration, "\"90d\"", Never,
        "Segments whose last day is longer ago than this are removed. Before that, events of ended runs are copied into \
         the runs. Segments with events of running runs are kept."),
    key("log.keep-size", Size, "\"512 MiB\"", Never,
        "The oldest segments are removed in the same way until the rest are no larger than this. Segments with events of \
         running runs do not count."),
    key("log.lock-patience", Duration, "\"1s\"", Never,
        "How long a call waits for other calls that are writing. After that its line goes to a segment of its own."),
    key("archive.on-failure", Words(&["warn", "block"]), "\"block\"", Never,
        "What happens to a TeamDelete when the team's state could not be archived before it: \"block\" refuses it, \
         \"warn\" allows it with a warning. If the store works and only some files cannot be archived, it is blocked `max-blocks` times at most."),
    key("archive.largest-file", Size, "\"32 MiB\"", Never,
        "A file larger than this is archived only before a TeamDelete; at other times only its size and time are recorded."),
    key("archive.longest-look", Duration, "\"1s\"", Never,
        "After so long a call leaves what it has not archived yet to the next one, so that its event is on record before the client loses its patience. Before a TeamDelete it is six times as long."),
    key("hook.watch", Switch, "true", Never,
        "Whether a session that starts asks the client to report each change of a team's files."),
    key("hook.largest-input", Size, "\"16 MiB\"", Never,
        "What lies past this size on stdin is not recorded."),
    key("hook.stdin-patience", Duration, "\"2s\"", Never,
        "How long a call waits for the end of stdin."),
    key("hook.slow", Duration, "\"250ms\"", Never,
        "A call that takes longer than this is noted in the diagnostics."),

    own("report.price[].model", Glob,
        "A glob for the models that it is the price of; the first price that matches counts."),
    key("report.price[].input", Price, "0", Never,
        "What a million tokens cost that the model reads."),
    key("report.price[].output", Price, "0", Never,
        "What a million tokens cost that the model writes."),
    key("report.price[].cache-read", Price, "0", Never,
        "What a million tokens cost that come from the cache."),
    key("report.price[].cache-write", Price, "0", Never,
        "What a million tokens cost that go into the cache."),

    key("privacy.record", Words(&["verbatim", "metadata"]), "\"verbatim\"", Never,
        "What is recorded: \"verbatim\" is every text as it is, \"metadata\" its size and its hash instead, and no transcripts."),
    key("privacy.redact", Picks(REDACTABLE),
        "[\"private-key\", \"api-key\", \"token\", \"secret\", \"email\", \"home\"]", Never,
        "What `--redact` takes out of every text, of what teamkeep knows by itself."),
    own("privacy.pattern[].name", Text,
        "What stands for what it found: `[redacted:NAME]`. Letters, digits, `-`, `_` and `.`; no two patterns share a name."),
    own("privacy.pattern[].regex", Regex,
        "A regular expression; what it matches is taken out."),

    key("policy.on-error", Words(&["allow", "block"]), "\"allow\"", Stricter,
        "What happens when the policy itself fails: \"allow\" lets the action go on, \"block\" holds it back."),
    key("policy.max-blocks", Times, "3", Never,
        "How often, at least once, one gate may block one actor in one state of the work; after that it lets through."),

    key("policy.premature-shutdown.mode", MODES, "\"block\"", Stricter,
        "How hard the gate is on stopping a teammate that has not finished."),
    key("policy.premature-shutdown.pending", Switch, "false", Stricter,
        "Whether tasks that a teammate owns and has not begun count as unfinished."),
    key("policy.premature-shutdown.open-turn", Switch, "false", Stricter,
        "Whether a turn that has not ended counts as unfinished."),
    key("policy.premature-shutdown.exempt", Names, "[]", Fewer,
        "Teammates that may always be stopped, by name."),
    key("policy.premature-shutdown.without-tasks", MODES, "\"warn\"", Stricter,
        "How hard the gate is in a team without tasks, where a teammate that has not reported since it was last told \
         something counts as unfinished."),

    key("policy.protect-lead.mode", MODES, "\"block\"", Stricter,
        "How hard the gate is on stopping the lead."),

    key("policy.idle-with-work.mode", MODES, "\"warn\"", Stricter,
        "How hard the gate is on a teammate that goes idle with work left."),
    key("policy.idle-with-work.waiting-key", Text, "\"waiting\"", Never,
        "The key in a task's metadata by which its owner says that it waits."),

    key("policy.completion-check.mode", MODES, "\"block\"", Stricter,
        "How hard the gate is on completing a task whose checks fail. Without checks nothing is asked."),
    needed("policy.completion-check.check[].run", Text,
        "The command, for `sh -c`."),
    key("policy.completion-check.check[].subject", Glob, "\"*\"", Added,
        "A glob for the task's subject."),
    key("policy.completion-check.check[].owner", Glob, "\"*\"", Added,
        "A glob for the task's owner."),
    key("policy.completion-check.check[].team", Glob, "\"*\"", Added,
        "A glob for the team."),
    key("policy.completion-check.check[].timeout", Duration, "\"2m\"", Added,
        "How long it may take."),

    key("policy.unfinished-dependencies.mode", MODES, "\"warn\"", Stricter,
        "How hard the gate is on starting or completing a task that waits for another."),

    key("policy.report-before-idle.mode", MODES, "\"off\"", Stricter,
        "How hard the gate is on a teammate that goes idle without a message since it was last told something."),

    key("policy.team-size.mode", MODES, "\"off\"", Stricter,
        "How hard the gate is on spawning more teammates than may be, or others."),
    key("policy.team-size.most", Count, "0", Smaller,
        "The most teammates, the lead not counted; 0 for any number."),
    key("policy.team-size.agent-types", Globs, "[]", Project::Narrower,
        "Globs for the agent types that may be spawned; empty for all."),
    key("policy.team-size.models", Globs, "[]", Project::Narrower,
        "Globs for the models that may be asked for; empty for all."),

    key("policy.lead-stops-early.mode", MODES, "\"off\"", Stricter,
        "How hard the gate is on a lead whose turn ends while work in progress is nobody's."),

    needed("rule[].name", Text,
        "What it is called in verdicts; no two rules share a name."),
    key("rule[].events", Events, "[]", Added,
        "The events that it looks at, in either spelling; all that can be judged when empty."),
    key("rule[].tools", Globs, "[]", Added,
        "Globs for the tool, on tool events; all when empty."),
    key("rule[].actor", Glob, "\"*\"", Added,
        "A glob for the actor's name."),
    key("rule[].team", Glob, "\"*\"", Added,
        "A glob for the team."),
    key("rule[].match", Patterns, "{}", Added,
        "JSON pointers into the payload, each with a glob, or a regular expression between slashes. All must match."),
    needed("rule[].action", Words(&["warn", "block"]),
        "What happens: \"warn\" or \"block\"."),
    key("rule[].reason", Text, "\"\"", Added,
        "What the model is told. A rule that blocks needs one."),
    key("rule[].lasting", Switch, "false", Never,
        "Whether it blocks a tool however often it is tried, and not only `max-blocks` times."),
];

/// What stands at a path of the file.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// A value.
    Value(&'static Key),
    /// A table of keys.
    Table,
    /// A list of such tables.
    List,
}

impl Place {
    /// What stands at this path; `rule[]` is each table of the list `rule`.
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

/// The names that may stand in the table at this path, in the order of the table of keys; `""` is the file itself.
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
    fn no_key_is_there_twice() {
        let mut paths: Vec<&str> = KEYS.iter().map(|key| key.path).collect();
        paths.sort_unstable();
        assert!(paths.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
