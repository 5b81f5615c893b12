//! One thing that happened in a run.

use serde::{Serialize, Serializer};

use crate::policy::Decision;

/// What kind of thing happened. Kinds are only ever added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A session began or was resumed or cleared.
    SessionStarted,
    /// The team's directory appeared.
    TeamCreated,
    /// Somebody came into the team.
    MemberJoined,
    /// A task was written.
    TaskCreated,
    /// A task was there when the run began.
    TaskFound,
    /// A task's status, owner or subject changed.
    TaskChanged,
    /// A task's status became `completed`.
    TaskCompleted,
    /// An agent deleted a task.
    TaskDeleted,
    /// The client removed a task's file.
    TaskErased,
    /// An agent began to work on something.
    TurnStarted,
    /// Somebody told somebody something.
    Message,
    /// Somebody wanted to tell somebody something, and the client or a hook refused it.
    MessageRefused,
    /// Somebody was asked to stop.
    ShutdownRequested,
    /// Somebody agreed to stop.
    ShutdownApproved,
    /// Somebody refused to stop.
    ShutdownRejected,
    /// An agent came to the end of its turn.
    TurnEnded,
    /// A teammate waits for something to do.
    Idle,
    /// Somebody is no longer in the team.
    MemberLeft,
    /// A session ended.
    SessionEnded,
    /// The team's directory disappeared.
    TeamErased,
    /// The policy objected to something.
    Verdict,
}

impl Kind {
    /// Every kind.
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

    /// Whether it tells of a task's state.
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

/// Where a thing was seen.
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

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// When, RFC 3339.
    pub at: String,
    /// What.
    pub kind: Kind,
    /// Who: a name, `client` for the client itself, `unknown` where nothing tells.
    pub actor: String,
    /// The teammate that Claude Code names as the sender of a subagent's message (2.1.177).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_as: Option<String>,
    /// To whom; `*` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The task's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// A summary, a subject, a reason: what fits on a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The full text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The task's status before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_status: Option<String>,
    /// The task's status after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_status: Option<String>,
    /// The task's owner after; `null` in the JSON of a task that nobody owns.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "inner")]
    pub owner: Option<Option<String>>,
    /// Whether nothing of a task changed but its subject.
    #[serde(skip)]
    pub renamed: bool,
    /// The client's word for a message's kind (`message`, `idle_notification`, …).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether the client sent it by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// Whether nothing shows that it was carried out: a hook saw it begin, and nothing saw it happen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
    /// Why the client or a hook refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The shutdown request that it makes or answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Whether an answer about a plan agrees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approve: Option<bool>,
    /// The agent's or the session's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether a plain subagent did it.
    #[serde(skip)]
    pub by_subagent: bool,
    /// In whose transcripts it stands as delivered.
    #[serde(skip)]
    pub heard_by: Vec<String>,
    /// What the policy decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Of a verdict, and of a message that the policy held back: the id of the event that was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// How often the same had been blocked, when it was let through for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<usize>,
    /// Whether it was let through because a human said so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Whether the same was already told, and not told again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// Where it was seen.
    pub sources: Vec<Source>,
}

impl Entry {
    /// A thing of this kind with nothing but the essentials.
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

    /// Notes a further source.
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
