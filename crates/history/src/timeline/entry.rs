//! The entries of a timeline, their kinds and their JSON.

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use strum::VariantArray;
use teamkeep_model::time::Timestamp;
use teamkeep_model::words::{QUOTE_CHARS, cut};
use teamkeep_model::{TaskStatus, json};
use teamkeep_policy::{Decision, TaskChange, TaskEvent};
use teamkeep_store::metadata_only;
use teamkeep_system::error::{self, unknown};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Hook,
    Inbox,
    Snapshot,
    Transcript,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub at: Timestamp,
    /// The actor: a name, `client` for Claude Code itself, `unknown` if unknown.
    pub actor: String,
    pub sources: Vec<Source>,
    pub kind: EntryKind,
}

impl Entry {
    pub fn new(at: Timestamp, actor: impl Into<String>, source: Source, kind: EntryKind) -> Entry {
        Entry { at, actor: actor.into(), sources: vec![source], kind }
    }

    pub fn kind(&self) -> Kind {
        match &self.kind {
            EntryKind::SessionStarted(_) => Kind::SessionStarted,
            EntryKind::SessionEnded(_) => Kind::SessionEnded,
            EntryKind::TeamCreated { .. } => Kind::TeamCreated,
            EntryKind::TeamErased { .. } => Kind::TeamErased,
            EntryKind::MemberJoined(_) => Kind::MemberJoined,
            EntryKind::MemberLeft => Kind::MemberLeft,
            EntryKind::AgentStopped(_) => Kind::AgentStopped,
            EntryKind::Task(task) => match task.event {
                TaskEvent::Created => Kind::TaskCreated,
                TaskEvent::Found => Kind::TaskFound,
                TaskEvent::Changed => Kind::TaskChanged,
                TaskEvent::Completed => Kind::TaskCompleted,
                TaskEvent::Deleted => Kind::TaskDeleted,
                TaskEvent::Erased => Kind::TaskErased,
            },
            EntryKind::Turn(turn) => match turn.event {
                TurnEvent::Started => Kind::TurnStarted,
                TurnEvent::Ended => Kind::TurnEnded,
                TurnEvent::Failed => Kind::TurnFailed,
                TurnEvent::Interrupted => Kind::TurnInterrupted,
                TurnEvent::Idle => Kind::Idle,
            },
            EntryKind::Message(message) => match message.event {
                MessageEvent::Sent => Kind::Message,
                MessageEvent::Refused => Kind::MessageRefused,
                MessageEvent::ShutdownRequested => Kind::ShutdownRequested,
                MessageEvent::ShutdownApproved => Kind::ShutdownApproved,
                MessageEvent::ShutdownRejected => Kind::ShutdownRejected,
            },
            EntryKind::Verdict(_) => Kind::Verdict,
        }
    }

    /// Ten hexadecimal digits by which other output refers to the entry. Entries that do not differ have the same.
    pub fn id(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &str| {
            hasher.update(part.as_bytes()).update(&[0]);
        };
        add(&self.at.millis().to_string());
        add(&self.kind().word());
        add(&self.actor);
        match &self.kind {
            EntryKind::Task(task) => {
                add(&task.id);
                add(task.to.as_ref().map_or("", TaskStatus::as_str));
            }
            EntryKind::Message(message) => {
                add(message.to.as_deref().unwrap_or_default());
                add(&message.text);
            }
            EntryKind::Verdict(verdict) => {
                add(&verdict.judged_event);
                add(&verdict.gate);
            }
            EntryKind::AgentStopped(stop) => add(&stop.name),
            _ => add(self.agent().map_or("", String::as_str)),
        }
        hasher.finalize().to_hex()[..10].to_owned()
    }

    pub fn task(&self) -> Option<&TaskChange> {
        if let EntryKind::Task(task) = &self.kind { Some(task) } else { None }
    }

    pub fn turn(&self) -> Option<&TurnEntry> {
        if let EntryKind::Turn(turn) = &self.kind { Some(turn) } else { None }
    }

    pub fn message(&self) -> Option<&MessageEntry> {
        if let EntryKind::Message(message) = &self.kind { Some(message) } else { None }
    }

    /// The agent that the actor stopped.
    pub fn stopped(&self) -> Option<&str> {
        if let EntryKind::AgentStopped(stop) = &self.kind { Some(&stop.name) } else { None }
    }

    pub fn verdict(&self) -> Option<&VerdictEntry> {
        if let EntryKind::Verdict(verdict) = &self.kind { Some(verdict) } else { None }
    }

    /// Whether Claude Code did it automatically.
    pub fn is_automatic(&self) -> bool {
        self.message().is_some_and(|message| message.automatic)
    }

    pub fn agent(&self) -> Option<&String> {
        match &self.kind {
            EntryKind::SessionStarted(session) | EntryKind::SessionEnded(session) => session.session.as_ref(),
            EntryKind::MemberJoined(joined) => joined.agent.as_ref(),
            EntryKind::AgentStopped(stop) => stop.agent.as_ref(),
            EntryKind::Turn(turn) => turn.agent.as_ref(),
            EntryKind::Verdict(verdict) => verdict.agent.as_ref(),
            _ => None,
        }
    }

    pub fn summary(&self) -> Option<&str> {
        match &self.kind {
            EntryKind::SessionStarted(session) | EntryKind::SessionEnded(session) => session.cause.as_deref(),
            EntryKind::TeamCreated { name: word } | EntryKind::TeamErased { ended_by: word } => {
                word.as_deref()
            }
            EntryKind::MemberJoined(joined) => joined.description.as_deref(),
            EntryKind::MemberLeft | EntryKind::AgentStopped(_) => None,
            EntryKind::Task(task) => task.subject.as_deref(),
            EntryKind::Turn(turn) => turn.description.as_deref(),
            EntryKind::Message(message) => message.summary.as_deref(),
            EntryKind::Verdict(verdict) => Some(&verdict.gate),
        }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            EntryKind::MemberJoined(joined) => joined.prompt.as_deref(),
            EntryKind::Turn(turn) => turn.text.as_deref(),
            EntryKind::Message(message) => Some(&message.text),
            EntryKind::Verdict(verdict) => Some(&verdict.text),
            _ => None,
        }
    }
}

pub(super) fn add_source(sources: &mut Vec<Source>, source: Source) {
    if !sources.contains(&source) {
        sources.push(source);
        sources.sort();
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum EntryKind {
    SessionStarted(SessionEntry),
    SessionEnded(SessionEntry),
    TeamCreated { name: Option<String> },
    TeamErased { ended_by: Option<String> },
    MemberJoined(JoinEntry),
    MemberLeft,
    AgentStopped(StopEntry),
    Task(TaskChange),
    Turn(TurnEntry),
    Message(MessageEntry),
    Verdict(VerdictEntry),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionEntry {
    /// Claude Code's word for the cause; `crashed` for an end that no hook reported.
    pub cause: Option<String>,
    pub session: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct JoinEntry {
    pub description: Option<String>,
    pub prompt: Option<String>,
    pub agent: Option<String>,
}

/// The end of an agent by another one's TaskStop. The roster's change is part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct StopEntry {
    pub name: String,
    /// The id of a subagent, whose name can belong to several.
    pub agent: Option<String>,
    /// Whether another agent of the name still works.
    pub beside_another: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnEvent {
    Started,
    Ended,
    /// A usage limit or another error of the API ended it.
    Failed,
    /// The user ended it.
    Interrupted,
    Idle,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TurnEntry {
    pub event: TurnEvent,
    /// The task of a subagent; Claude Code's word for the error of a failed turn.
    pub description: Option<String>,
    /// The prompt, or the agent's last message; Claude Code's message about the error of a failed turn.
    pub text: Option<String>,
    pub agent: Option<String>,
    pub by_subagent: bool,
    /// Whether several agents worked under this name at once, so that only the id distinguishes them.
    pub shares_name: bool,
    /// Whether another agent of the same name works at that moment. The end of this turn then ends only its own agent's work.
    pub beside_another: bool,
}

impl TurnEntry {
    /// Why the agent did not end the turn, in one short line. It may quote Claude Code, so escape it for a terminal.
    pub fn why(&self) -> Option<String> {
        match self.event {
            TurnEvent::Started | TurnEvent::Ended | TurnEvent::Idle => None,
            TurnEvent::Interrupted => Some("interrupted by the user".to_owned()),
            TurnEvent::Failed => {
                let line =
                    |text: &str| text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
                // In metadata-only mode only the word of the error is recorded.
                let text = self.text.as_deref().filter(|text| metadata_only::byte_len(text).is_none());
                let line = text.and_then(line).or_else(|| self.description.clone());
                // The entry has its text in full.
                Some(cut(&line.unwrap_or_else(|| "unknown error".to_owned()), QUOTE_CHARS))
            }
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MessageEvent {
    #[default]
    Sent,
    Refused,
    ShutdownRequested,
    ShutdownApproved,
    ShutdownRejected,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageEntry {
    pub event: MessageEvent,
    pub word: String,
    /// The teammate that Claude Code names as the sender of a subagent's message (2.1.177).
    pub signed_as: Option<String>,
    pub to: Option<String>,
    pub task: Option<String>,
    pub summary: Option<String>,
    pub text: String,
    /// The answer that an idle notice delivers to the lead (2.1.251 and later).
    pub answer: Option<DeliveredAnswer>,
    pub automatic: bool,
    pub unconfirmed: bool,
    pub refusal: Option<String>,
    pub request: Option<String>,
    pub approve: Option<bool>,
    pub heard_by: Vec<String>,
    /// If the policy blocked it: the id of the judged event.
    pub blocked_event: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveredAnswer {
    pub text: String,
    /// Whether the end of the turn has the same text.
    pub is_in_turn: bool,
}

impl MessageEntry {
    /// A message with only the required fields.
    pub fn new(event: MessageEvent, word: String, text: String) -> MessageEntry {
        MessageEntry { event, word, text, ..MessageEntry::default() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct VerdictEntry {
    pub decision: Decision,
    pub gate: String,
    /// The text that the model read.
    pub text: String,
    /// The same without the advice to the model.
    pub reason: String,
    pub agent: Option<String>,
    pub judged_event: String,
    pub blocks: Option<usize>,
    pub paused: bool,
    pub repeated: bool,
    /// Whether Claude Code ran the tool all the same after a block.
    pub ignored: bool,
}

/// The kind of an entry. Kinds are only added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    SessionStarted,
    TeamCreated,
    MemberJoined,
    TaskCreated,
    TaskFound,
    TaskChanged,
    TaskCompleted,
    TaskDeleted,
    TaskErased,
    TurnStarted,
    Message,
    MessageRefused,
    ShutdownRequested,
    ShutdownApproved,
    ShutdownRejected,
    TurnEnded,
    TurnFailed,
    TurnInterrupted,
    Idle,
    AgentStopped,
    MemberLeft,
    SessionEnded,
    TeamErased,
    Verdict,
}

impl Kind {
    pub const ALL: &[Kind] = Kind::VARIANTS;

    /// The kind's word: `task-changed`.
    pub fn word(self) -> String {
        json::serde_name(&self)
    }

    pub fn parse(text: &str) -> error::Result<Kind> {
        parse_kind(text, Kind::ALL)
    }
}

/// The one of these kinds with this word.
pub fn parse_kind<T: Serialize + Copy>(text: &str, kinds: &[T]) -> error::Result<T> {
    let plain = text.to_lowercase().replace('_', "-");
    let words: Vec<String> = kinds.iter().map(json::serde_name).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let place = words.iter().position(|word| *word == plain);
    let is_verdict = matches!(plain.as_str(), "block" | "blocked" | "blocks" | "warning" | "warn" | "warned")
        && words.contains(&"verdict");
    place.map(|place| kinds[place]).ok_or_else(|| {
        let error = match is_verdict {
            true => {
                error::Error::not_found(format!("unknown kind {text:?}")).hint("did you mean \"verdict\"?")
            }
            false => unknown("kind", text, &words),
        };
        error.of_usage()
    })
}

// The JSON of an entry: one flat object.

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut json = FlatMap(out.serialize_map(None)?);
        json.put("at", &self.at)?;
        json.put("id", &self.id())?;
        json.put("kind", &self.kind())?;
        json.put("actor", &self.actor)?;
        match &self.kind {
            EntryKind::Task(task) => {
                json.put("task", &task.id)?;
                json.some("summary", &task.subject)?;
                json.some("from_status", &task.from)?;
                json.some("to_status", &task.to)?;
                json.put("owner", &task.owner)?;
            }
            EntryKind::Message(message) => {
                json.some("signed_as", &message.signed_as)?;
                json.some("to", &message.to)?;
                json.some("task", &message.task)?;
                json.some("summary", &message.summary)?;
                json.put("text", &message.text)?;
                json.some("answer", &message.answer.as_ref().map(|answer| &answer.text))?;
                json.put("message", &message.word)?;
                json.some("automatic", &message.automatic.then_some(true))?;
                json.some("unconfirmed", &message.unconfirmed.then_some(true))?;
                json.some("refusal", &message.refusal)?;
                json.some("request", &message.request)?;
                json.some("approve", &message.approve)?;
                json.some("of", &message.blocked_event)?;
            }
            EntryKind::AgentStopped(stop) => {
                json.put("stopped", &stop.name)?;
                json.some("agent", &stop.agent)?;
            }
            _ => {
                json.some("summary", &self.summary())?;
                json.some("text", &self.text())?;
                json.some("agent", &self.agent())?;
            }
        }
        if let Some(verdict) = self.verdict() {
            json.put("decision", &verdict.decision)?;
            json.put("of", &verdict.judged_event)?;
            json.some("blocks", &verdict.blocks)?;
            json.some("paused", &verdict.paused.then_some(true))?;
            json.some("repeated", &verdict.repeated.then_some(true))?;
            json.some("ignored", &verdict.ignored.then_some(true))?;
        }
        json.put("sources", &self.sources)?;
        json.0.end()
    }
}

struct FlatMap<M>(M);

impl<M: SerializeMap> FlatMap<M> {
    fn put(&mut self, key: &'static str, value: &impl Serialize) -> Result<(), M::Error> {
        self.0.serialize_entry(key, value)
    }

    fn some(&mut self, key: &'static str, value: &Option<impl Serialize>) -> Result<(), M::Error> {
        value.as_ref().map_or(Ok(()), |value| self.put(key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_parsed_from_its_word_and_a_typo_gets_a_suggestion() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(&kind.word()).unwrap(), *kind);
        }
        assert_eq!(Kind::parse("Task_Changed").unwrap(), Kind::TaskChanged);
        assert_eq!(Kind::parse("mesage").unwrap_err().hints, ["did you mean \"message\"?"]);
        assert_eq!(Kind::parse("blocked").unwrap_err().hints, ["did you mean \"verdict\"?"]);
        assert!(Kind::parse("moon").unwrap_err().hints[0].starts_with("known kinds: session-started, "));
    }
}
