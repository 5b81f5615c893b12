//! The tables about the parts of a run: agents, tasks, messages, tools, verdicts, incidents, usage of models.

use teamkeep::report;
use teamkeep_core::policy::Decision;

use super::runs::{Row, clamp, count, with_key};
use super::{Column, Table};
use crate::verdicts::RunVerdict;

/// A name that an agent has, with its working time.
#[derive(Debug)]
pub struct AgentFacts<'a> {
    pub agent: &'a report::Agent,
    pub person: Option<&'a report::Person>,
    pub time: Option<&'a report::TimePerAgent>,
    /// The ids of its instances.
    pub ids: Vec<String>,
}

pub type AgentRow<'a> = Row<'a, AgentFacts<'a>>;

pub fn agents<'a>() -> Table<AgentRow<'a>> {
    let columns = vec![
        Column::text("agent", "name of the agent", |row: &AgentRow<'a>| Some(&row.item.agent.name)),
        Column::text("kind", "`lead`, `teammate`, `subagent`, `helper` or `unknown`", |row| {
            Some(row.item.agent.kind.name())
        }),
        Column::texts("agent_ids", "IDs of the agents and sessions with this name", |row| &row.item.ids),
        Column::text("type", "role of the agent", |row| row.item.person?.agent_type.as_deref()),
        Column::text("model", "model in the team's configuration", |row| row.item.person?.model.as_deref()),
        Column::time("time", "when it joined the team", |row| row.item.person?.joined_at),
        Column::time("left_at", "when it left the team", |row| row.item.person?.left_at),
        Column::integer("turns", "number of its turns", |row| count(row.item.time?.turns)),
        Column::integer("working_ms", "time in turns in which it was not stalled", |row| {
            row.item.time?.working_ms
        }),
        Column::integer("waiting_ms", "time outside of turns in which it depended on another agent", |row| {
            row.item.time?.waiting_ms
        }),
        Column::integer("idle_ms", "all other time outside of turns", |row| row.item.time?.idle_ms),
    ];
    Table { name: "agents", row: "a name in a run, and the agents that had it", columns: with_key(columns) }
}

/// A task, with the tokens that its owner used while it was in progress.
#[derive(Debug)]
pub struct TaskFacts<'a> {
    pub task: &'a report::TaskHistory,
    pub usage: Option<&'a report::TaskUsage>,
}

pub type TaskRow<'a> = Row<'a, TaskFacts<'a>>;

pub fn tasks<'a>() -> Table<TaskRow<'a>> {
    let columns = vec![
        Column::text("task", "ID of the task", |row: &TaskRow<'a>| Some(&row.item.task.id)),
        Column::text("status", "last status; `deleted` if an agent deleted it", |row| {
            Some(row.item.task.status.as_str())
        }),
        Column::text("owner", "last owner", |row| row.item.task.owner.as_deref()),
        Column::text("subject", "only with `redacted` and `full`", |row| row.item.task.subject.as_deref()),
        Column::texts("blocked_by", "IDs of the tasks that it depends on", |row| &row.item.task.blocked_by),
        Column::time("time", "first recorded change", |row| {
            row.item.task.changes.first().map(|change| change.at)
        }),
        Column::time("changed_at", "last recorded change", |row| {
            row.item.task.changes.last().map(|change| change.at)
        }),
        Column::time("removed_at", "when its file was removed", |row| row.item.task.removed_at),
        Column::integer("changes", "number of changes", |row| count(row.item.task.changes.len())),
        Column::integer("model_messages", "messages of the model for it", |row| {
            count(row.item.usage?.messages)
        }),
        Column::integer("input_tokens", "without cached ones", |row| {
            Some(clamp(row.item.usage?.tokens.input))
        }),
        Column::integer("output_tokens", "written by the models", |row| {
            Some(clamp(row.item.usage?.tokens.output))
        }),
        Column::integer("cache_read_tokens", "read from the prompt cache", |row| {
            Some(clamp(row.item.usage?.tokens.cache_read))
        }),
        Column::integer("cache_write_tokens", "written to the prompt cache", |row| {
            Some(clamp(row.item.usage?.tokens.cache_write))
        }),
        Column::float("cost_usd", "in US dollars; null if a model has no price", |row| row.item.usage?.cost),
    ];
    Table { name: "tasks", row: "a task of a run", columns: with_key(columns) }
}

/// A message and its position in the run.
#[derive(Debug)]
pub struct MessageFacts<'a> {
    pub number: usize,
    pub message: &'a report::MessageRow,
}

pub type MessageRow<'a> = Row<'a, MessageFacts<'a>>;

pub fn messages<'a>() -> Table<MessageRow<'a>> {
    let columns = vec![
        Column::integer("number", "position in the run, from 0", |row: &MessageRow<'a>| {
            count(row.item.number)
        }),
        Column::time("time", "when it was sent", |row| Some(row.item.message.at)),
        Column::text("sender", "name of the agent; `client` for Claude Code", |row| {
            Some(&row.item.message.from)
        }),
        Column::text("recipient", "name of the agent; `*` for all", |row| Some(&row.item.message.to)),
        Column::text("kind", "kind of message", |row| Some(&row.item.message.kind)),
        Column::flag("automatic", "whether Claude Code sent it", |row| Some(row.item.message.automatic)),
        Column::flag("delivered", "whether the recipient read it; null if unknown", |row| {
            row.item.message.delivered
        }),
        Column::flag("refused", "whether it was not sent", |row| Some(row.item.message.refused.is_some())),
        Column::flag("blocked", "whether a gate or rule of teamkeep blocked it", |row| {
            Some(row.item.message.blocked)
        }),
        Column::integer("chars", "length of the text", |row| count(row.item.message.chars)),
        Column::text("summary", "only with `redacted` and `full`", |row| row.item.message.summary.as_deref()),
        Column::text("text", "only with `redacted` and `full`", |row| {
            Some(row.item.message.text.as_str()).filter(|text| !text.is_empty())
        }),
    ];
    Table { name: "messages", row: "a message of a run", columns: with_key(columns) }
}

/// The calls of one tool by one agent.
#[derive(Debug)]
pub struct ToolFacts<'a> {
    pub agent: &'a str,
    pub tool: &'a str,
    pub calls: usize,
    /// `None` without a transcript.
    pub failed: Option<usize>,
}

pub type ToolRow<'a> = Row<'a, ToolFacts<'a>>;

pub fn tools<'a>() -> Table<ToolRow<'a>> {
    let columns = vec![
        Column::text("agent", "name of the agent", |row: &ToolRow<'a>| Some(row.item.agent)),
        Column::text("tool", "name of the tool", |row| Some(row.item.tool)),
        Column::integer("calls", "number of calls", |row| count(row.item.calls)),
        Column::integer("failed", "failed or denied calls; null without a transcript", |row| {
            count(row.item.failed?)
        }),
    ];
    Table { name: "tools", row: "a tool that an agent called in a run", columns: with_key(columns) }
}

/// A verdict on an event and its position in the run.
#[derive(Debug)]
pub struct VerdictFacts<'a> {
    pub number: usize,
    pub verdict: &'a RunVerdict,
}

pub type VerdictRow<'a> = Row<'a, VerdictFacts<'a>>;

pub fn verdicts<'a>() -> Table<VerdictRow<'a>> {
    let columns = vec![
        Column::integer("number", "position in the run, from 0", |row: &VerdictRow<'a>| {
            count(row.item.number)
        }),
        Column::time("time", "when the event happened", |row| Some(row.item.verdict.at)),
        Column::text("agent", "name of the agent that acted", |row| Some(&row.item.verdict.agent)),
        Column::text("decision", "`block`, `warn` or `allow`", |row| {
            Some(match row.item.verdict.decision {
                Decision::Allow => "allow",
                Decision::Warn => "warn",
                Decision::Block => "block",
            })
        }),
        Column::text("gate", "the gate, or for a rule `rule NAME`", |row| Some(&row.item.verdict.gate)),
        Column::text("event", "`id` of the judged event", |row| Some(&row.item.verdict.event)),
        Column::integer("blocks", "blocks that the loop guard had counted when it allowed this", |row| {
            count(row.item.verdict.blocks?)
        }),
        Column::flag("paused", "whether a pause or an allowance allowed it", |row| {
            Some(row.item.verdict.paused)
        }),
        Column::flag("repeated", "whether the same warning was already shown", |row| {
            Some(row.item.verdict.repeated)
        }),
        Column::text("reason", "only with `redacted` and `full`", |row| {
            Some(row.item.verdict.reason.as_str()).filter(|text| !text.is_empty())
        }),
    ];
    Table {
        name: "verdicts",
        row: "a verdict of the policy on an event of a run",
        columns: with_key(columns),
    }
}

/// An incident and the names of its kind and severity.
#[derive(Debug)]
pub struct IncidentFacts<'a> {
    pub incident: &'a report::Incident,
    pub kind: String,
    pub severity: String,
}

pub type IncidentRow<'a> = Row<'a, IncidentFacts<'a>>;

pub fn incidents<'a>() -> Table<IncidentRow<'a>> {
    let columns = vec![
        Column::text("incident", "ID of the incident", |row: &IncidentRow<'a>| Some(&row.item.incident.id)),
        Column::text("kind", "kind of incident", |row| Some(&row.item.kind)),
        Column::text("severity", "`low`, `medium` or `high`", |row| Some(&row.item.severity)),
        Column::texts("agents", "names of the agents, the cause first", |row| &row.item.incident.agents),
        Column::texts("tasks", "IDs of the tasks", |row| &row.item.incident.tasks),
        Column::time("time", "its start", |row| Some(row.item.incident.from)),
        Column::time("ended_at", "its end; null if it lasted to the end of the run", |row| {
            row.item.incident.to
        }),
        Column::integer("seconds", "how long it lasted", |row| Some(clamp(row.item.incident.cost.seconds))),
        Column::integer("tasks_lost", "tasks that were never completed because of it", |row| {
            count(row.item.incident.cost.tasks_lost)
        }),
        Column::integer("tokens", "tokens that it made useless; null if unknown", |row| {
            row.item.incident.cost.tokens.map(clamp)
        }),
        Column::float("cost_usd", "their price in US dollars; null if unknown", |row| {
            row.item.incident.cost.usd
        }),
        Column::text("summary", "only with `redacted` and `full`", |row| {
            Some(row.item.incident.summary.as_str()).filter(|text| !text.is_empty())
        }),
    ];
    Table { name: "incidents", row: "something that went wrong in a run", columns: with_key(columns) }
}

pub type UsageRow<'a> = Row<'a, report::ModelUsage>;

pub fn usage<'a>() -> Table<UsageRow<'a>> {
    let columns = vec![
        Column::text("agent", "name of the agent", |row: &UsageRow<'a>| Some(&row.item.agent)),
        Column::texts("models", "names of the models", |row| &row.item.models),
        Column::integer("model_messages", "messages of the models", |row| count(row.item.messages)),
        Column::integer("input_tokens", "without cached ones", |row| Some(clamp(row.item.tokens.input))),
        Column::integer("output_tokens", "written by the models", |row| Some(clamp(row.item.tokens.output))),
        Column::integer("cache_read_tokens", "read from the prompt cache", |row| {
            Some(clamp(row.item.tokens.cache_read))
        }),
        Column::integer("cache_write_tokens", "written to the prompt cache", |row| {
            Some(clamp(row.item.tokens.cache_write))
        }),
        Column::float("cost_usd", "in US dollars; null if a model has no price", |row| row.item.cost),
    ];
    Table {
        name: "usage",
        row: "the tokens that an agent used in a run, by its transcript",
        columns: with_key(columns),
    }
}
