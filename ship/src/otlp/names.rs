//! The names of attributes, events and metrics. `docs/organization/opentelemetry.md` has the same tables.

/// The conventions that define an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// OpenTelemetry's GenAI semantic conventions v0.1.0.
    GenAi,
    /// The GenAI conventions as of v1.41.0: later versions define it for other spans only.
    EarlierGenAi,
    /// OpenTelemetry's general semantic conventions v1.45.0.
    General,
    /// OpenInference, which Arize Phoenix reads.
    OpenInference,
    Teamkeep,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Origin::GenAi => "GenAI v0.1.0",
            Origin::EarlierGenAi => "GenAI v1.41.0",
            Origin::General => "general v1.45.0",
            Origin::OpenInference => "OpenInference",
            Origin::Teamkeep => "teamkeep",
        }
    }
}

/// The row of an attribute in the documentation.
#[derive(Debug, Clone, Copy)]
pub struct AttributeName {
    pub name: &'static str,
    /// The spans, log records and metrics that have it.
    pub on: &'static str,
    pub origin: Origin,
    pub meaning: &'static str,
    /// Whether it is a text, which is not sent in metadata mode.
    pub is_text: bool,
}

macro_rules! attributes {
    ($($constant:ident $name:literal $on:literal $origin:ident $($text:ident)? : $meaning:literal)*) => {
        $(pub const $constant: &str = $name;)*

        /// Every attribute that is sent.
        pub const ATTRIBUTES: &[AttributeName] = &[$(AttributeName {
            name: $name,
            on: $on,
            origin: Origin::$origin,
            meaning: $meaning,
            is_text: attributes!(@is_text $($text)?),
        }),*];
    };
    (@is_text text) => { true };
    (@is_text) => { false };
}

attributes! {
    SERVICE_NAME "service.name" "resource" General: "`teamkeep`"
    SERVICE_VERSION "service.version" "resource" General: "Version of teamkeep"
    HOST_NAME "host.name" "resource" General: "`ship.host`, or its pseudonym"
    USER_ID "user.id" "resource, run" General: "User who ran the team, or the pseudonym"
    ORGANIZATION "teamkeep.organization" "resource" Teamkeep: "`ship.organization`"

    OPERATION_NAME "gen_ai.operation.name" "run, turn" GenAi: "`invoke_workflow` for a run, `invoke_agent` for a turn"
    AGENT_NAME "gen_ai.agent.name" "run, agent, turn, records, metrics" GenAi: "Name of the agent: for a run, of the team; for a message, of its sender"
    AGENT_ID "gen_ai.agent.id" "agent, turn, verdict" EarlierGenAi: "Claude Code's agent ID; for a lead and for a teammate in a pane, the session ID"
    CONVERSATION_ID "gen_ai.conversation.id" "run, agent, turn, records" GenAi: "Session ID of the lead"
    PROVIDER_NAME "gen_ai.provider.name" "run, agent, turn" EarlierGenAi: "`anthropic`, also if the models are hosted elsewhere"
    REQUEST_MODEL "gen_ai.request.model" "agent" GenAi: "Model that the team's configuration names for the agent"
    RESPONSE_MODEL "gen_ai.response.model" "agent, metrics" GenAi: "Model of the agent's messages, if all have the same"
    INPUT_TOKENS "gen_ai.usage.input_tokens" "agent" GenAi: "Input tokens, with those read from and written to the cache"
    OUTPUT_TOKENS "gen_ai.usage.output_tokens" "agent" GenAi: "Output tokens"
    CACHE_READ_TOKENS "gen_ai.usage.cache_read.input_tokens" "agent" GenAi: "Input tokens read from the cache"
    CACHE_WRITE_TOKENS "gen_ai.usage.cache_write.input_tokens" "agent" GenAi: "Input tokens written to the cache"
    CACHE_CREATION_TOKENS "gen_ai.usage.cache_creation.input_tokens" "agent" EarlierGenAi: "The same as `gen_ai.usage.cache_write.input_tokens`"
    ERROR_TYPE "error.type" "run" General: "`crashed`, or the kind of the worst incident of high severity"

    SPAN_KIND "openinference.span.kind" "run, agent, turn, task" OpenInference: "`CHAIN` for a run or a task, `LLM` for an agent with messages of a model, otherwise `AGENT`"
    MODEL_NAME "llm.model_name" "agent" OpenInference: "The same as `gen_ai.response.model`"
    INPUT "input.value" "run, task" OpenInference text: "The same as `teamkeep.run.title` or `teamkeep.task.subject`"
    OUTPUT "output.value" "run" OpenInference text: "The same as `teamkeep.run.summary`"

    RUN_ID "teamkeep.run.id" "run, agent, turn, task, records, metrics" Teamkeep: "ID of the run"
    RUN_REVISION "teamkeep.run.revision" "run" Teamkeep: "End of the run in milliseconds since 1970. A resumed run is sent again with a later one"
    RUN_CONTINUES "teamkeep.run.continues" "run" Teamkeep: "ID of the run that this one resumes"
    RUN_OUTCOME "teamkeep.run.outcome" "run" Teamkeep: "`completed`, `open-work` or `crashed`"
    RUN_ENDED_BY "teamkeep.run.ended_by" "run" Teamkeep: "How it ended, such as `session-end`"
    RUN_TOPOLOGY "teamkeep.run.topology" "run" Teamkeep: "`in-process`, `panes`, `mixed`, `lead-alone` or `no-team`"
    RUN_MEMBERS "teamkeep.run.members" "run" Teamkeep: "Number of members"
    RUN_TASKS "teamkeep.run.tasks" "run" Teamkeep: "Number of tasks, without deleted ones"
    RUN_TASKS_COMPLETED "teamkeep.run.tasks_completed" "run" Teamkeep: "Number of completed tasks"
    RUN_MESSAGES "teamkeep.run.messages" "run" Teamkeep: "Number of messages, without automatic and rejected ones"
    RUN_INCIDENTS "teamkeep.run.incidents" "run" Teamkeep: "Number of incidents"
    RUN_TITLE "teamkeep.run.title" "run" Teamkeep text: "Start of the first prompt"
    RUN_SUMMARY "teamkeep.run.summary" "run" Teamkeep text: "One sentence about the run"
    CLIENT_VERSIONS "teamkeep.client.versions" "run" Teamkeep: "Versions of Claude Code"
    COST "teamkeep.cost_usd" "run, agent, task" Teamkeep: "Cost in US dollars; absent if a model has no price"
    TEAM "teamkeep.team" "run, agent, turn, task, records, metrics" Teamkeep: "Name of the team; absent for a session without one"

    AGENT_KIND "teamkeep.agent.kind" "agent" Teamkeep: "`lead`, `teammate`, `subagent`, `helper` or `unknown`"
    AGENT_TYPE "teamkeep.agent.type" "agent" Teamkeep: "Agent type in the team's configuration"
    AGENT_MODELS "teamkeep.agent.models" "agent" Teamkeep: "Models of the agent's messages"
    AGENT_REQUESTS "teamkeep.agent.model_messages" "agent" Teamkeep: "Number of the model's messages"
    AGENT_TOOL_USES "teamkeep.agent.tool_uses" "agent" Teamkeep: "Number of tool calls; absent without a transcript"
    TURN_FOR_IDLERS "teamkeep.turn.for_idle_notices" "turn" Teamkeep: "Set if only idle notices started the turn"
    TURN_TASKS "teamkeep.turn.tasks" "turn" Teamkeep: "IDs of the tasks that the agent had in progress"
    LINK "teamkeep.link" "links" Teamkeep: "`client` for a span of Claude Code, `task` for a task"

    TASK_ID "teamkeep.task.id" "task" Teamkeep: "ID of the task"
    TASK_STATUS "teamkeep.task.status" "task, `teamkeep.tasks`" Teamkeep: "`pending`, `in_progress`, `completed`, `deleted` or `other`"
    TASK_OWNER "teamkeep.task.owner" "task" Teamkeep: "Agent that owns it"
    TASK_BLOCKED_BY "teamkeep.task.blocked_by" "task" Teamkeep: "IDs of the tasks that it waits for"
    TASK_SUBJECT "teamkeep.task.subject" "task" Teamkeep text: "Subject"
    TASK_CHANGE "teamkeep.task.change" "task changes" Teamkeep: "Kind of the change, such as `task-completed`"
    TASK_FROM "teamkeep.task.from" "task changes" Teamkeep: "Status before the change"
    TASK_ACTOR "teamkeep.task.actor" "task changes" Teamkeep: "Agent that made the change; `client` for Claude Code itself"

    ID "teamkeep.id" "records" Teamkeep: "ID of the log record, by which a receiver can drop duplicates"
    MESSAGE_TO "teamkeep.message.to" "message" Teamkeep: "Recipient; `*` for all"
    MESSAGE_KIND "teamkeep.message.kind" "message, `teamkeep.messages`" Teamkeep: "`message`, or Claude Code's word such as `shutdown_request`"
    MESSAGE_CHARS "teamkeep.message.chars" "message" Teamkeep: "Length of the text"
    MESSAGE_AUTOMATIC "teamkeep.message.automatic" "message, `teamkeep.messages`" Teamkeep: "Whether Claude Code sent it automatically"
    MESSAGE_DELIVERED "teamkeep.message.delivered" "message" Teamkeep: "Whether the recipient read it; absent if unknown"
    MESSAGE_REJECTED "teamkeep.message.rejected" "message, `teamkeep.messages`" Teamkeep: "Whether it was not sent"
    MESSAGE_BLOCKED "teamkeep.message.blocked" "message" Teamkeep: "Set if the policy blocked it"
    MESSAGE_SUMMARY "teamkeep.message.summary" "message" Teamkeep text: "The sender's summary"
    MESSAGE_REJECTION "teamkeep.message.rejection" "message" Teamkeep text: "Why it was not sent"

    VERDICT_DECISION "teamkeep.verdict.decision" "verdict, `teamkeep.verdicts`" Teamkeep: "`allow`, `warn` or `block`"
    VERDICT_GATE "teamkeep.verdict.gate" "verdict, `teamkeep.verdicts`" Teamkeep: "Gate, or for a rule `rule NAME`"
    VERDICT_EVENT "teamkeep.verdict.event" "verdict" Teamkeep: "ID of the event that was judged"
    VERDICT_BLOCKS "teamkeep.verdict.blocks" "verdict" Teamkeep: "Number of blocks after which the loop guard allowed the action"
    VERDICT_PAUSED "teamkeep.verdict.paused" "verdict" Teamkeep: "Set if a pause or an allowance applied"
    VERDICT_REPEATED "teamkeep.verdict.repeated" "verdict" Teamkeep: "Set if the same warning was already shown"

    INCIDENT_ID "teamkeep.incident.id" "incident" Teamkeep: "ID of the incident in the report"
    INCIDENT_KIND "teamkeep.incident.kind" "incident, `teamkeep.incidents`" Teamkeep: "Kind, such as `stalled-agent`"
    INCIDENT_SEVERITY "teamkeep.incident.severity" "incident, `teamkeep.incidents`" Teamkeep: "`high`, `medium` or `low`"
    INCIDENT_AGENTS "teamkeep.incident.agents" "incident" Teamkeep: "Agents, the cause first"
    INCIDENT_TASKS "teamkeep.incident.tasks" "incident" Teamkeep: "IDs of the tasks"
    INCIDENT_SECONDS "teamkeep.incident.seconds" "incident" Teamkeep: "How long it lasted"
    INCIDENT_TASKS_LOST "teamkeep.incident.tasks_lost" "incident" Teamkeep: "Number of tasks that were never completed because of it"
    INCIDENT_TOKENS "teamkeep.incident.tokens" "incident" Teamkeep: "Tokens that it made useless; absent if unknown"
    INCIDENT_COST "teamkeep.incident.cost_usd" "incident" Teamkeep: "Their cost in US dollars; absent if unknown"
    INCIDENT_REMEDY "teamkeep.incident.remedy" "incident" Teamkeep text: "A command or advice"

    TOKEN_TYPE "teamkeep.token.type" "`teamkeep.tokens`" Teamkeep: "`input` (not cached), `output`, `cache_read` or `cache_write`"
}

/// The name of the events in a task's span.
pub const TASK_CHANGED: &str = "teamkeep.task.changed";

/// The names of log records.
pub const MESSAGE: &str = "teamkeep.message";
pub const VERDICT: &str = "teamkeep.verdict";
pub const INCIDENT: &str = "teamkeep.incident";

/// A metric. Each data point has `teamkeep.run.id` and, for a team, `teamkeep.team`.
#[derive(Debug, Clone, Copy)]
pub struct MetricName {
    pub name: &'static str,
    pub unit: &'static str,
    pub instrument: Instrument,
    pub meaning: &'static str,
    pub attributes: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instrument {
    Counter,
    UpDownCounter,
    Gauge,
}

impl Instrument {
    pub fn name(self) -> &'static str {
        match self {
            Instrument::Counter => "counter",
            Instrument::UpDownCounter => "up-down counter",
            Instrument::Gauge => "gauge",
        }
    }
}

pub const RUN_DURATION: MetricName = MetricName {
    name: "teamkeep.run.duration",
    unit: "s",
    instrument: Instrument::Gauge,
    meaning: "Time from the first hook call to the end",
    attributes: &[],
};

pub const TASKS: MetricName = MetricName {
    name: "teamkeep.tasks",
    unit: "{task}",
    instrument: Instrument::UpDownCounter,
    meaning: "Tasks by their last status",
    attributes: &[TASK_STATUS],
};

pub const MESSAGES: MetricName = MetricName {
    name: "teamkeep.messages",
    unit: "{message}",
    instrument: Instrument::Counter,
    meaning: "Messages by sender",
    attributes: &[AGENT_NAME, MESSAGE_KIND, MESSAGE_AUTOMATIC, MESSAGE_REJECTED],
};

pub const VERDICTS: MetricName = MetricName {
    name: "teamkeep.verdicts",
    unit: "{verdict}",
    instrument: Instrument::Counter,
    meaning: "Verdicts of the policy: blocks are those with the decision `block`",
    attributes: &[AGENT_NAME, VERDICT_DECISION, VERDICT_GATE],
};

pub const INCIDENTS: MetricName = MetricName {
    name: "teamkeep.incidents",
    unit: "{incident}",
    instrument: Instrument::UpDownCounter,
    meaning: "Incidents",
    attributes: &[INCIDENT_KIND, INCIDENT_SEVERITY],
};

pub const TOKENS: MetricName = MetricName {
    name: "teamkeep.tokens",
    unit: "{token}",
    instrument: Instrument::Counter,
    meaning: "Tokens. The types do not overlap",
    attributes: &[AGENT_NAME, RESPONSE_MODEL, TOKEN_TYPE],
};

pub const COSTS: MetricName = MetricName {
    name: "teamkeep.cost",
    unit: "USD",
    instrument: Instrument::Counter,
    meaning: "Cost at the prices of `report.price`, for agents whose models all have a price",
    attributes: &[AGENT_NAME, RESPONSE_MODEL],
};

/// Every metric that is sent.
pub const METRICS: &[MetricName] = &[RUN_DURATION, TASKS, MESSAGES, VERDICTS, INCIDENTS, TOKENS, COSTS];
