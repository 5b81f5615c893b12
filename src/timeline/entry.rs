//! One entry of the timeline.

use serde::{Serialize, Serializer};

use crate::model::TaskStatus;
use crate::policy::Decision;

/// The kind of an entry. Kinds are only added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A session started, or was resumed or cleared.
    SessionStarted,
    /// The team's directory appeared.
    TeamCreated,
    /// An agent joined the team.
    MemberJoined,
    /// A task was created.
    TaskCreated,
    /// A task existed when the run began.
    TaskFound,
    /// A task's status, owner or subject changed.
    TaskChanged,
    /// A task's status became `completed`.
    TaskCompleted,
    /// An agent deleted a task.
    TaskDeleted,
    /// Claude Code removed a task's file.
    TaskErased,
    /// An agent's turn started.
    TurnStarted,
    /// An agent sent a message to another.
    Message,
    /// A message was blocked by a hook or rejected by Claude Code.
    MessageRefused,
    /// An agent was asked to shut down.
    ShutdownRequested,
    /// An agent approved its shutdown.
    ShutdownApproved,
    /// An agent rejected its shutdown.
    ShutdownRejected,
    /// An agent's turn ended.
    TurnEnded,
    /// A teammate went idle.
    Idle,
    /// An agent left the team.
    MemberLeft,
    /// A session ended.
    SessionEnded,
    /// The team's directory disappeared.
    TeamErased,
    /// The policy blocked, warned or allowed by exception.
    Verdict,
}

impl Kind {
    /// All kinds.
    pub const ALL: &[Kind] = &[
        Kind::SessionStarted,
        Kind::TeamCreated,
        Kind::MemberJoined,
        Kind::TaskCreated,
        Kind::TaskFound,
        Kind::TaskChanged,
        Kind::TaskCompleted,
        Kind::TaskDeleted,
        Kind::TaskErased,
        Kind::TurnStarted,
        Kind::Message,
        Kind::MessageRefused,
        Kind::ShutdownRequested,
        Kind::ShutdownApproved,
        Kind::ShutdownRejected,
        Kind::TurnEnded,
        Kind::Idle,
        Kind::MemberLeft,
        Kind::SessionEnded,
        Kind::TeamErased,
        Kind::Verdict,
    ];

    /// Whether it is about the state of a task.
    pub fn is_task(self) -> bool {
        matches!(
            self,
            Kind::TaskCreated
                | Kind::TaskFound
                | Kind::TaskChanged
                | Kind::TaskCompleted
                | Kind::TaskDeleted
                | Kind::TaskErased
        )
    }
}

/// The source of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A hook call.
    Hook,
    /// A snapshot of an inbox.
    Inbox,
    /// A snapshot of another file.
    Snapshot,
    /// A transcript.
    Transcript,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// The time, RFC 3339.
    pub at: String,
    /// The kind.
    pub kind: Kind,
    /// The actor: a name, `client` for Claude Code itself, `unknown` if unknown.
    pub actor: String,
    /// The teammate that Claude Code names as the sender of a subagent's message (2.1.177).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_as: Option<String>,
    /// The recipient; `*` for everyone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The task's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// A summary, a subject or a reason on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The full text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The task's status before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_status: Option<TaskStatus>,
    /// The task's status after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_status: Option<TaskStatus>,
    /// The task's owner after; `null` in the JSON of an unassigned task.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "inner")]
    pub owner: Option<Option<String>>,
    /// Whether only the task's subject changed.
    #[serde(skip)]
    pub renamed: bool,
    /// Claude Code's word for a message's kind (`message`, `idle_notification`, …).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether Claude Code sent it automatically.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// Whether only its start was seen, by a hook.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
    /// Why it was blocked or rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The id of the shutdown request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Whether the answer to a plan approves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approve: Option<bool>,
    /// The id of the agent or session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether a plain subagent did it.
    #[serde(skip)]
    pub by_subagent: bool,
    /// The agents in whose transcripts it was delivered.
    #[serde(skip)]
    pub heard_by: Vec<String>,
    /// The policy's decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// For a verdict and for a message that the policy blocked: the id of the judged event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Number of earlier blocks, if the loop guard allowed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<usize>,
    /// Whether a pause or an allowance allowed it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Whether the same warning was already shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// The sources.
    pub sources: Vec<Source>,
}

impl Entry {
    /// An entry with only the required fields.
    pub fn new(at: impl Into<String>, kind: Kind, actor: impl Into<String>, source: Source) -> Entry {
        Entry {
            at: at.into(),
            kind,
            actor: actor.into(),
            signed_as: None,
            to: None,
            task: None,
            summary: None,
            text: None,
            from_status: None,
            to_status: None,
            owner: None,
            renamed: false,
            message: None,
            automatic: false,
            unconfirmed: false,
            refusal: None,
            request: None,
            approve: None,
            agent: None,
            by_subagent: false,
            heard_by: Vec::new(),
            decision: None,
            of: None,
            blocks: None,
            paused: false,
            repeated: false,
            sources: vec![source],
        }
    }

    /// Adds a source.
    pub fn seen_in(&mut self, source: Source) {
        if !self.sources.contains(&source) {
            self.sources.push(source);
            self.sources.sort();
        }
    }
}

fn inner<S: Serializer>(owner: &Option<Option<String>>, out: S) -> Result<S::Ok, S::Error> {
    owner.clone().flatten().serialize(out)
}
