//! The tools, and the command line of each call.

use std::ffi::OsString;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

use super::parameter::{Parameter, Place, Type, schema};
use teamkeep_history::search;
use teamkeep_history::timeline::Kind;
use teamkeep_system::error::{Error, Result};

/// The command of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCommand {
    pub args: Vec<OsString>,
    pub output: Output,
    /// Maximum number of entries.
    pub limit: usize,
}

/// The form of a command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// One JSON object.
    Object,
    /// One JSON object per line; the last ones are returned.
    Lines,
    /// A JSON array; the first elements are returned.
    Array,
    Text,
}

const fn parameter(name: &'static str, place: Place, kind: Type, about: &'static str) -> Parameter {
    Parameter { name, place, kind, about }
}

const fn option(name: &'static str, option: &'static str, kind: Type, about: &'static str) -> Parameter {
    parameter(name, Place::Option(option), kind, about)
}

const RUN: Parameter = parameter(
    "run",
    Place::Argument,
    Type::Text,
    "Team name, run ID or its beginning, or `latest` (the default)",
);
const SINCE: Parameter = option(
    "since",
    "--since",
    Type::Text,
    "Start: RFC 3339, an age (`2h`), or with a run the time since its start (`+90s`)",
);
const UNTIL: Parameter = option("until", "--until", Type::Text, "End, in the same formats");

const RUNS: &[Parameter] = &[
    option("project", "--project", Type::Text, "Only runs of this project: a directory, or its name"),
    option(
        "since",
        "--since",
        Type::Text,
        "Only runs that ended after this time: RFC 3339, or an age (`2h`)",
    ),
    option("until", "--until", Type::Text, "Only runs that started before this time, in the same formats"),
    parameter("limit", Place::Server, Type::Count(1_000), "Maximum number of runs, the newest (default 100)"),
];
const SEARCH: &[Parameter] = &[
    parameter(
        "query",
        Place::Argument,
        Type::Text,
        "Words that must all occur, also inside of words, and \"phrases\" in quotes; or a regular expression. In lower case it matches any case",
    ),
    option("word", "--word", Type::Flag, "Whether only whole words match"),
    option("regex", "--regex", Type::Flag, "Whether the query is a regular expression"),
    option("run", "--run", Type::Text, "Only this run: team name, run ID or its beginning, or `latest`"),
    option("agent", "--agent", Type::Text, "Only texts of this agent; `lead` is the lead"),
    option(
        "kinds",
        "--kind",
        Type::Words(|| search::TextKind::ALL.iter().map(|kind| kind.word()).collect()),
        "Only these kinds",
    ),
    SINCE,
    UNTIL,
    option("limit", "--limit", Type::Count(1_000), "Maximum number of results (default 10)"),
    option("full", "--full", Type::Flag, "Whether to return the texts, and not only excerpts"),
];
const BRIEF: &[Parameter] = &[
    RUN,
    option("agent", "--agent", Type::Text, "The agent for which it is written (default `team-lead`)"),
    option("at", "--at", Type::Text, "The moment: RFC 3339, or the time since the start of the run (`+90s`)"),
];
const LOG: &[Parameter] = &[
    RUN,
    SINCE,
    UNTIL,
    option("involving", "--involving", Type::Text, "Only entries by this agent or that concern it"),
    option(
        "kinds",
        "--kind",
        Type::Words(|| Kind::ALL.iter().map(|kind| kind.word()).collect()),
        "Only these kinds",
    ),
    parameter(
        "limit",
        Place::Server,
        Type::Count(1_000),
        "Maximum number of entries, the last ones (default 100)",
    ),
];
const REPORT: &[Parameter] = &[RUN];

struct Definition {
    name: &'static str,
    about: &'static str,
    fixed: &'static [&'static str],
    output: Output,
    parameters: &'static [Parameter],
    required: &'static [&'static str],
}

const TOOLS: [Definition; 5] = [
    Definition {
        name: "list",
        about: "The recorded runs of agent teams and sessions with subagents: team, project, times, members, counts",
        fixed: &["list", "--all", "--json"],
        output: Output::Array,
        parameters: RUNS,
        required: &[],
    },
    Definition {
        name: "search",
        about: "Search messages, prompts, replies, tasks, tool uses, their results and transcripts of all recorded runs, the newest \
                first",
        // Less than `answer::TIMEOUT`.
        fixed: &["search", "--json", "--redact", "--time-limit=10"],
        output: Output::Object,
        parameters: SEARCH,
        required: &["query"],
    },
    Definition {
        name: "brief",
        about: "The facts about an agent team: its agents, tasks, unanswered messages and blocked calls",
        fixed: &["brief", "--json"],
        output: Output::Object,
        parameters: BRIEF,
        required: &[],
    },
    Definition {
        name: "log",
        about: "The timeline of a run: messages, tasks, turns, members and verdicts, in order",
        fixed: &["log", "--json"],
        output: Output::Lines,
        parameters: LOG,
        required: &[],
    },
    Definition {
        name: "report",
        about: "A summary of a run: verdict, incidents, agents, tasks, messages, time and cost",
        fixed: &["report", "--redact"],
        output: Output::Text,
        parameters: REPORT,
        required: &[],
    },
];

pub fn all() -> Vec<Tool> {
    let tool = |tool: &Definition| {
        let annotations = ToolAnnotations::new().read_only(true).idempotent(true);
        Tool::new(tool.name, tool.about, schema(tool.parameters, tool.required)).with_annotations(annotations)
    };
    TOOLS.iter().map(tool).collect()
}

/// The command of a call. A value is never read as an option: it follows `=`, or `--`.
pub fn command(name: &str, arguments: &JsonObject) -> Result<ToolCommand> {
    let tool = TOOLS.iter().find(|tool| tool.name == name);
    let tool = tool.ok_or_else(|| Error::usage(format!("unknown tool {name:?}")))?;
    let mut args: Vec<OsString> =
        ["--utc", "--color=never"].into_iter().chain(tool.fixed.iter().copied()).map(Into::into).collect();
    let (mut last, mut limit) = (Vec::new(), 100);
    if tool.name == "search" && !arguments.contains_key("limit") {
        args.push("--limit=10".into());
    }
    for (key, value) in arguments.iter().filter(|(_, value)| !value.is_null()) {
        let Some(parameter) = tool.parameters.iter().find(|parameter| parameter.name == key) else {
            return Err(Error::usage(format!("unknown parameter {key:?} of {name}")));
        };
        let wrong =
            || Error::usage(format!("invalid value of {key:?}: expected {}", parameter.kind.expected()));
        let words = parameter.words(value).ok_or_else(wrong)?;
        match parameter.place {
            Place::Argument => last = words,
            Place::Option(_) => args.extend(words),
            Place::Server => {
                limit = value.as_u64().and_then(|limit| limit.try_into().ok()).ok_or_else(wrong)?
            }
        }
    }
    if let Some(missing) = tool.required.iter().find(|name| arguments.get(**name).is_none_or(Value::is_null))
    {
        return Err(Error::usage(format!("the parameter {missing:?} is missing")));
    }
    if !last.is_empty() {
        args.push("--".into());
        args.append(&mut last);
    }
    Ok(ToolCommand { args, output: tool.output, limit })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(name: &str, arguments: Value) -> Result<String> {
        let Value::Object(arguments) = arguments else { panic!() };
        let args = command(name, &arguments)?.args.into_iter();
        Ok(args.map(|arg| arg.into_string().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_value_is_never_an_option() {
        let arguments = json!({"query": "--file=/etc/passwd", "agent": "--json", "kinds": ["task", "tool"], "regex": true});
        assert_eq!(
            args("search", arguments).unwrap(),
            "--utc --color=never search --json --redact --time-limit=10 --limit=10 --agent=--json --kind=task --kind=tool --regex -- --file=/etc/passwd"
        );
        assert_eq!(
            args("report", json!({"run": "-o"})).unwrap(),
            "--utc --color=never report --redact -- -o"
        );
    }

    #[test]
    fn an_unknown_parameter_and_a_wrong_type_are_rejected() {
        for (name, arguments) in [
            ("search", json!({"query": "x", "file": "/etc/passwd"})),
            ("search", json!({"query": 1})),
            ("search", json!({})),
            ("search", json!({"query": "x", "regex": "yes"})),
            ("log", json!({"kinds": [1]})),
            ("log", json!({"kinds": ["-b"]})),
            ("log", json!({"limit": 0})),
            ("search", json!({"query": "x", "limit": 1_001})),
            ("search", json!({"query": "x", "time_limit": 60})),
            ("restore", json!({})),
        ] {
            assert!(args(name, arguments.clone()).is_err(), "{name} {arguments}");
        }
        assert!(all().iter().all(|tool| tool.annotations.as_ref().unwrap().read_only_hint == Some(true)));
    }
}
