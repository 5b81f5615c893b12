//! The tools: their parameters, and the command line of each call.

use std::ffi::OsString;
use std::fmt::Display;

use rmcp::handler::server::common::FromContextPart;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::CallToolResult;
use rmcp::{ErrorData, tool, tool_router};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Server;
use teamkeep_history::search::TextKind;
use teamkeep_history::timeline::Kind;

/// The command of a call. A value is never read as an option: it follows `=`, or `--`.
#[derive(Debug)]
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

impl ToolCommand {
    fn new(fixed: &[&str], output: Output, limit: Option<Count>) -> ToolCommand {
        let args = ["--utc", "--color=never"].iter().chain(fixed).map(OsString::from).collect();
        ToolCommand { args, output, limit: limit.map_or(100, |limit| limit.0) }
    }

    fn option<T: Display>(mut self, name: &str, values: impl IntoIterator<Item = T>) -> ToolCommand {
        self.args.extend(values.into_iter().map(|value| OsString::from(format!("{name}={value}"))));
        self
    }

    fn flag(mut self, name: &str, is_set: Option<bool>) -> ToolCommand {
        self.args.extend(is_set.unwrap_or_default().then(|| OsString::from(name)));
        self
    }

    /// The last argument.
    fn operand(mut self, value: Option<String>) -> ToolCommand {
        self.args.extend(value.into_iter().flat_map(|value| ["--".into(), value.into()]));
        self
    }
}

/// The parameters of a call. The macros take their schema from the type of this name.
#[derive(JsonSchema)]
#[schemars(transparent)]
struct Parameters<T>(T);

impl<T: DeserializeOwned> FromContextPart<ToolCallContext<'_, Server>> for Parameters<T> {
    /// rmcp's own error does not name the tool and the parameter.
    fn from_context_part(call: &mut ToolCallContext<'_, Server>) -> Result<Self, ErrorData> {
        let arguments = Value::Object(call.arguments.take().unwrap_or_default());
        let parameters = serde_path_to_error::deserialize(arguments).map_err(|error| {
            ErrorData::invalid_params(format!("invalid parameters of {}: {error}", call.name), None)
        })?;
        Ok(Parameters(parameters))
    }
}

/// A maximum number of entries.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(try_from = "Value")]
#[schemars(!try_from, inline)]
struct Count(#[schemars(range(min = 1, max = 1_000))] usize);

impl TryFrom<Value> for Count {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Count, &'static str> {
        let count = value.as_u64().filter(|count| (1..=1_000).contains(count));
        count.map(|count| Count(count as usize)).ok_or("expected an integer from 1 to 1000")
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct List {
    /// Only runs of this project: a directory, or its name
    project: Option<String>,
    /// Only runs that ended after this time: RFC 3339, or an age (`2h`)
    since: Option<String>,
    /// Only runs that started before this time, in the same formats
    until: Option<String>,
    /// Maximum number of runs, the newest (default 100)
    limit: Option<Count>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Search {
    /// Words that must all occur, also inside of words, and "phrases" in quotes; or a regular expression. In lower case it matches any case
    query: String,
    /// Whether only whole words match
    word: Option<bool>,
    /// Whether the query is a regular expression
    regex: Option<bool>,
    /// Only this run: team name, run ID or its beginning, or `latest`
    run: Option<String>,
    /// Only texts of this agent; `lead` is the lead
    agent: Option<String>,
    /// Only these kinds
    #[serde(default)]
    #[schemars(schema_with = "text_kinds")]
    kinds: Option<Vec<TextKind>>,
    /// Start: RFC 3339, an age (`2h`), or with a run the time since its start (`+90s`)
    since: Option<String>,
    /// End, in the same formats
    until: Option<String>,
    /// Maximum number of results (default 10)
    limit: Option<Count>,
    /// Whether to return the texts, and not only excerpts
    full: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Brief {
    /// Team name, run ID or its beginning, or `latest` (the default)
    run: Option<String>,
    /// The agent for which it is written (default `team-lead`)
    agent: Option<String>,
    /// The moment: RFC 3339, or the time since the start of the run (`+90s`)
    at: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Log {
    /// Team name, run ID or its beginning, or `latest` (the default)
    run: Option<String>,
    /// Start: RFC 3339, an age (`2h`), or with a run the time since its start (`+90s`)
    since: Option<String>,
    /// End, in the same formats
    until: Option<String>,
    /// Only entries by this agent or that concern it
    involving: Option<String>,
    /// Only these kinds
    #[serde(default)]
    #[schemars(schema_with = "entry_kinds")]
    kinds: Option<Vec<Kind>>,
    /// Maximum number of entries, the last ones (default 100)
    limit: Option<Count>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Report {
    /// Team name, run ID or its beginning, or `latest` (the default)
    run: Option<String>,
}

fn text_kinds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["array", "null"], "items": {"type": "string", "enum": TextKind::ALL}})
}

fn entry_kinds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["array", "null"], "items": {"type": "string", "enum": Kind::ALL}})
}

#[tool_router(vis = "pub(super)")]
impl Server {
    /// The recorded runs of agent teams and sessions with subagents: team, project, times, members, counts
    #[tool(annotations(read_only_hint = true, idempotent_hint = true))]
    async fn list(&self, Parameters(list): Parameters<List>) -> Result<CallToolResult, ErrorData> {
        let command = ToolCommand::new(&["list", "--all", "--json"], Output::Array, list.limit)
            .option("--project", list.project)
            .option("--since", list.since)
            .option("--until", list.until);
        self.answer(command).await
    }

    /// Search messages, prompts, replies, tasks, tool uses, their results and transcripts of all recorded runs, the newest first
    #[tool(annotations(read_only_hint = true, idempotent_hint = true))]
    async fn search(&self, Parameters(search): Parameters<Search>) -> Result<CallToolResult, ErrorData> {
        // Less time than `answer::TIMEOUT`.
        let fixed = ["search", "--json", "--redact", "--time-limit=10"];
        let command = ToolCommand::new(&fixed, Output::Object, None)
            .flag("--word", search.word)
            .flag("--regex", search.regex)
            .option("--run", search.run)
            .option("--agent", search.agent)
            .option("--kind", search.kinds.into_iter().flatten().map(TextKind::word))
            .option("--since", search.since)
            .option("--until", search.until)
            .option("--limit", [search.limit.map_or(10, |limit| limit.0)])
            .flag("--full", search.full)
            .operand(Some(search.query));
        self.answer(command).await
    }

    /// The facts about an agent team: its agents, tasks, unanswered messages and blocked calls
    #[tool(annotations(read_only_hint = true, idempotent_hint = true))]
    async fn brief(&self, Parameters(brief): Parameters<Brief>) -> Result<CallToolResult, ErrorData> {
        let command = ToolCommand::new(&["brief", "--json"], Output::Object, None)
            .option("--agent", brief.agent)
            .option("--at", brief.at)
            .operand(brief.run);
        self.answer(command).await
    }

    /// The timeline of a run: messages, tasks, turns, members and verdicts, in order
    #[tool(annotations(read_only_hint = true, idempotent_hint = true))]
    async fn log(&self, Parameters(log): Parameters<Log>) -> Result<CallToolResult, ErrorData> {
        let command = ToolCommand::new(&["log", "--json"], Output::Lines, log.limit)
            .option("--since", log.since)
            .option("--until", log.until)
            .option("--involving", log.involving)
            .option("--kind", log.kinds.into_iter().flatten().map(Kind::word))
            .operand(log.run);
        self.answer(command).await
    }

    /// A summary of a run: verdict, incidents, agents, tasks, messages, time and cost
    #[tool(annotations(read_only_hint = true, idempotent_hint = true))]
    async fn report(&self, Parameters(report): Parameters<Report>) -> Result<CallToolResult, ErrorData> {
        self.answer(ToolCommand::new(&["report", "--redact"], Output::Text, None).operand(report.run)).await
    }
}
