//! The tools, and the command line of each call.

use std::ffi::OsString;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use teamkeep_core::error::{Error, Result};

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
    Text,
}

/// One parameter: its name, its option (`None` for the argument at the end, `""` if the server applies it), its JSON type and its
/// description.
type Parameter = (&'static str, Option<&'static str>, &'static str, &'static str);

const RUN: Parameter =
    ("run", None, "string", "Team name, run ID or its beginning, or `latest` (the default)");
const SINCE: Parameter = (
    "since",
    Some("--since"),
    "string",
    "Start: RFC 3339, an age (`2h`), or with a run the time since its start (`+90s`)",
);
const UNTIL: Parameter = ("until", Some("--until"), "string", "End, in the same formats");

const SEARCH: &[Parameter] = &[
    (
        "query",
        None,
        "string",
        "Words that must all occur, and \"phrases\" in quotes; or a regular expression",
    ),
    ("regex", Some("--regex"), "boolean", "Whether the query is a regular expression"),
    ("run", Some("--run"), "string", "Only this run: team name, run ID or its beginning, or `latest`"),
    ("agent", Some("--agent"), "string", "Only texts of this agent; `lead` is the lead"),
    (
        "kinds",
        Some("--kind"),
        "array",
        "Only these kinds: message, prompt, reply, thinking, task, tool, result, verdict",
    ),
    SINCE,
    UNTIL,
    ("sort", Some("--sort"), "string", "`relevance` (the default) or `time`, the newest first"),
    ("limit", Some("--limit"), "integer", "Maximum number of results (default 10)"),
    ("full", Some("--full"), "boolean", "Whether to return the texts, and not only excerpts"),
];
const BRIEF: &[Parameter] = &[
    RUN,
    ("for", Some("--for"), "string", "The agent for which it is written (default `team-lead`)"),
    ("at", Some("--at"), "string", "The moment: RFC 3339, or the time since the start of the run (`+90s`)"),
];
const REPLAY: &[Parameter] = &[
    RUN,
    SINCE,
    UNTIL,
    ("involving", Some("--involving"), "string", "Only entries by this agent or that concern it"),
    ("kinds", Some("--kind"), "array", "Only these kinds, such as `message` or `task-completed`"),
    ("limit", Some(""), "integer", "Maximum number of entries, the last ones (default 100)"),
];
const REPORT: &[Parameter] = &[RUN];

struct Definition {
    name: &'static str,
    about: &'static str,
    fixed: &'static [&'static str],
    output: Output,
    parameters: &'static [Parameter],
}

const TOOLS: [Definition; 4] = [
    Definition {
        name: "search",
        about: "Search messages, prompts, replies, tasks, tool uses, their results and transcripts of all recorded runs",
        fixed: &["search", "--json"],
        output: Output::Object,
        parameters: SEARCH,
    },
    Definition {
        name: "brief",
        about: "The facts about an agent team: its agents, tasks, unanswered messages and blocked calls",
        fixed: &["brief", "--json"],
        output: Output::Object,
        parameters: BRIEF,
    },
    Definition {
        name: "replay",
        about: "The timeline of a run: messages, tasks, turns, members and verdicts, in order",
        fixed: &["replay", "--json"],
        output: Output::Lines,
        parameters: REPLAY,
    },
    Definition {
        name: "report",
        about: "A summary of a run: verdict, incidents, agents, tasks, messages, time and cost",
        fixed: &["report", "--redact"],
        output: Output::Text,
        parameters: REPORT,
    },
];

pub fn all() -> Vec<Tool> {
    let tool = |tool: &Definition| {
        let annotations = ToolAnnotations::new().read_only(true).idempotent(true);
        Tool::new(tool.name, tool.about, schema(tool.parameters)).with_annotations(annotations)
    };
    TOOLS.iter().map(tool).collect()
}

fn schema(parameters: &[Parameter]) -> JsonObject {
    let property = |(name, _, kind, about): &Parameter| {
        let mut property = json!({"type": kind, "description": about});
        if *kind == "array" {
            property["items"] = json!({"type": "string"});
        }
        ((*name).to_owned(), property)
    };
    let properties: JsonObject = parameters.iter().map(property).collect();
    let required: Vec<&str> =
        parameters.iter().map(|(name, ..)| *name).filter(|name| *name == "query").collect();
    let schema = [
        ("type", json!("object")),
        ("properties", Value::Object(properties)),
        ("required", json!(required)),
        ("additionalProperties", json!(false)),
    ];
    schema.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The command of a call. A value is never read as an option: it follows `=`, or `--`.
pub fn command(name: &str, arguments: &JsonObject) -> Result<ToolCommand> {
    let tool = TOOLS.iter().find(|tool| tool.name == name);
    let tool = tool.ok_or_else(|| Error::usage(format!("unknown tool {name:?}")))?;
    let mut args: Vec<OsString> =
        ["--utc", "--color=never"].into_iter().chain(tool.fixed.iter().copied()).map(Into::into).collect();
    let (mut last, mut limit) = (None, 100);
    if tool.name == "search" && !arguments.contains_key("limit") {
        args.push("--limit=10".into());
    }
    for (key, value) in arguments {
        let parameter = tool.parameters.iter().find(|(name, ..)| name == key);
        let Some((_, option, kind, _)) = parameter else {
            return Err(Error::usage(format!("unknown parameter {key:?} of {name}")));
        };
        let wrong = || Error::usage(format!("invalid value of {key:?}: expected a value of type {kind}"));
        match (*option, *kind, value) {
            (_, _, Value::Null) => {}
            (None, _, Value::String(text)) => last = Some(text.clone()),
            (Some(""), _, value) => {
                limit = value.as_u64().and_then(|limit| limit.try_into().ok()).ok_or_else(wrong)?
            }
            (Some(option), "boolean", Value::Bool(is_set)) => args.extend(is_set.then(|| option.into())),
            (Some(option), "integer", Value::Number(number)) => {
                args.push(format!("{option}={number}").into())
            }
            (Some(option), "string", Value::String(text)) => args.push(format!("{option}={text}").into()),
            (Some(option), "array", Value::Array(values)) => {
                for value in values {
                    args.push(format!("{option}={}", value.as_str().ok_or_else(wrong)?).into());
                }
            }
            _ => return Err(wrong()),
        }
    }
    match last {
        Some(last) => args.extend(["--".into(), last.into()]),
        None if tool.name == "search" => return Err(Error::usage("the parameter \"query\" is missing")),
        None => {}
    }
    Ok(ToolCommand { args, output: tool.output, limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(name: &str, arguments: Value) -> Result<String> {
        let Value::Object(arguments) = arguments else { panic!() };
        let args = command(name, &arguments)?.args.into_iter();
        Ok(args.map(|arg| arg.into_string().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_value_is_never_an_option() {
        let arguments =
            json!({"query": "--file=/etc/passwd", "agent": "--json", "kinds": ["a", "-b"], "regex": true});
        assert_eq!(
            args("search", arguments).unwrap(),
            "--utc --color=never search --json --limit=10 --agent=--json --kind=a --kind=-b --regex -- --file=/etc/passwd"
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
            ("replay", json!({"kinds": [1]})),
            ("replay", json!({"limit": -1})),
            ("restore", json!({})),
        ] {
            assert!(args(name, arguments.clone()).is_err(), "{name} {arguments}");
        }
        assert!(all().iter().all(|tool| tool.annotations.as_ref().unwrap().read_only_hint == Some(true)));
    }
}
