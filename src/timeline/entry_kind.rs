//! The kinds of entries, each with its own fields.

use crate::model::TaskStatus;
use crate::policy::Decision;

/// The event.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryKind {
    /// A session started, or was resumed or cleared.
    SessionStarted(SessionEntry),
    /// A session ended.
    SessionEnded(SessionEntry),
    /// The team's directory appeared.
    TeamCreated {
        /// The team's name.
        name: Option<String>,
    },
    /// The team's directory disappeared.
    TeamErased {
        /// How the run ended.
        ended_by: Option<String>,
    },
    /// An agent joined the team.
    MemberJoined(JoinEntry),
    /// An agent left the team.
    MemberLeft,
    /// A task appeared, changed or disappeared.
    Task(TaskEntry),
    /// A turn started or ended, or an agent went idle.
    Turn(TurnEntry),
    /// An agent sent a message, or tried to.
    Message(MessageEntry),
    /// The policy blocked, warned or allowed by exception.
    Verdict(VerdictEntry),
}

/// The start or the end of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// Claude Code's word for the cause; `crashed` for an end that no hook reported.
    pub cause: Option<String>,
    /// The session's id.
    pub session: Option<String>,
}

/// A new member.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JoinEntry {
    /// The description of its spawn.
    pub description: Option<String>,
    /// Its prompt.
    pub prompt: Option<String>,
    /// Its agent id.
    pub agent: Option<String>,
}

/// The event in the life of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskEvent {
    /// It was created.
    Created,
    /// It existed when the run began.
    Found,
    /// Its status, owner or subject changed.
    Changed,
    /// Its status became `completed`.
    Completed,
    /// An agent deleted it.
    Deleted,
    /// Claude Code removed its file.
    Erased,
}

/// One change of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEntry {
    /// The event.
    pub event: TaskEvent,
    /// The task's id.
    pub id: String,
    /// The subject after.
    pub subject: Option<String>,
    /// The status before; `None` for a new task.
    pub from: Option<TaskStatus>,
    /// The status after; `None` for a removed task.
    pub to: Option<TaskStatus>,
    /// The owner after.
    pub owner: Option<String>,
    /// Whether only the subject changed.
    pub is_renamed: bool,
}

/// The event of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnEvent {
    /// It started.
    Started,
    /// It ended.
    Ended,
    /// The agent went idle after it.
    Idle,
}

/// The start or the end of a turn, or the idle time after it.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEntry {
    /// The event.
    pub event: TurnEvent,
    /// The task of a plain subagent.
    pub description: Option<String>,
    /// The prompt that started it, or the last message of the model.
    pub text: Option<String>,
    /// The id of the agent or session.
    pub agent: Option<String>,
    /// Whether the agent is a plain subagent.
    pub by_subagent: bool,
}

/// The effect of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageEvent {
    /// It informs its recipient.
    Sent,
    /// It was blocked by a hook or rejected by Claude Code.
    Refused,
    /// It asks an agent to shut down.
    ShutdownRequested,
    /// It approves a shutdown.
    ShutdownApproved,
    /// It rejects a shutdown.
    ShutdownRejected,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageEntry {
    /// Its effect.
    pub event: MessageEvent,
    /// Claude Code's word for its kind (`message`, `idle_notification`, …).
    pub word: String,
    /// The teammate that Claude Code names as the sender of a subagent's message (2.1.177).
    pub signed_as: Option<String>,
    /// The recipient; `*` for everyone.
    pub to: Option<String>,
    /// The task that it is about.
    pub task: Option<String>,
    /// The summary.
    pub summary: Option<String>,
    /// The text.
    pub text: String,
    /// Whether Claude Code sent it automatically.
    pub automatic: bool,
    /// Whether only its start was seen, by a hook.
    pub unconfirmed: bool,
    /// Why it was blocked or rejected.
    pub refusal: Option<String>,
    /// The id of the shutdown request.
    pub request: Option<String>,
    /// Whether the answer to a plan approves it.
    pub approve: Option<bool>,
    /// The agents in whose transcripts it was delivered.
    pub heard_by: Vec<String>,
    /// If the policy blocked it: the id of the judged event.
    pub judged: Option<String>,
}

impl MessageEntry {
    /// A message with only the required fields.
    pub fn new(event: MessageEvent, word: String, text: String) -> MessageEntry {
        MessageEntry {
            event,
            word,
            signed_as: None,
            to: None,
            task: None,
            summary: None,
            text,
            automatic: false,
            unconfirmed: false,
            refusal: None,
            request: None,
            approve: None,
            heard_by: Vec::new(),
            judged: None,
        }
    }
}

/// A verdict of the policy.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictEntry {
    /// The decision.
    pub decision: Decision,
    /// The gate or the rule.
    pub gate: String,
    /// The reason.
    pub reason: String,
    /// The id of the agent.
    pub agent: Option<String>,
    /// The id of the judged event.
    pub judged: String,
    /// Number of earlier blocks, if the loop guard allowed it.
    pub blocks: Option<usize>,
    /// Whether a pause or an allowance allowed it.
    pub paused: bool,
    /// Whether the same warning was already shown.
    pub repeated: bool,
}
