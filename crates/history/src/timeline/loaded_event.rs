//! A hook call as the timeline and the report need it. A run can have a million of them, so each takes little memory.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::str;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use memchr::{memchr, memmem};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use teamkeep_model::event::{Actor, ActorKind, Recorded};
use teamkeep_model::payload::{EventKind, Payload};
use teamkeep_model::time::Timestamp;
use teamkeep_model::{Tool, TraceParent};
use teamkeep_policy::RecordedVerdict;
use teamkeep_store::archive::RunRecord;
use teamkeep_store::log::VERSION;

#[derive(Debug)]
pub struct LoadedEvent {
    pub at: Timestamp,
    id: Box<str>,
    pub place: u32,
    /// Whether the hook call belonged to the run; otherwise it was made before its session had a run.
    pub in_run: bool,
    pub kind: EventKind,
    origin: Arc<Origin>,
    content: Content,
    pub traceparent: Option<Box<TraceParent>>,
    pub verdict: Option<Box<RecordedVerdict>>,
}

const _: () = assert!(size_of::<LoadedEvent>() == 72);

/// The fields that many events have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Origin {
    session: Option<String>,
    /// The task list that `CLAUDE_CODE_TASK_LIST_ID` named.
    task_list: Option<String>,
    actor: Actor,
    /// The tool that was called. Payloads are far apart in memory, so a search for calls does not look into them.
    tool: Option<String>,
}

#[derive(Debug)]
enum Content {
    Payload(Box<Payload>),
    /// The id of the call of a tool that does not manage a team. Its input and response are not kept.
    Call(Box<str>),
}

/// A line of the log with a normal call of a tool that does not manage a team. Most lines of a long log are such. They are parsed
/// once, without the input and the response.
#[derive(Deserialize)]
pub(super) struct CallLine<'a> {
    v: u8,
    #[serde(default)]
    pub at: Timestamp,
    #[serde(default, borrow)]
    id: Cow<'a, str>,
    #[serde(default, borrow)]
    event: Cow<'a, str>,
    #[serde(default, borrow)]
    pub session: Option<Text<'a>>,
    #[serde(default)]
    actor: CallActor<'a>,
    #[serde(default, borrow)]
    pub run: Option<Text<'a>>,
    #[serde(default, borrow)]
    task_list: Option<Text<'a>>,
    #[serde(default, borrow)]
    traceparent: Option<Text<'a>>,
    #[serde(default, borrow)]
    verdict: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: Call<'a>,
}

/// Only a normal call has a name and an id.
#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    tool_name: Cow<'a, str>,
    #[serde(borrow)]
    tool_use_id: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
struct CallActor<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    kind: ActorKind,
}

/// A text that may be missing. Without this type, serde copies it.
#[derive(Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> CallLine<'a> {
    /// `None` for any other line.
    pub(super) fn read(line: &'a [u8]) -> Option<CallLine<'a>> {
        let text = str::from_utf8(line).ok().filter(|text| text.starts_with('{'))?;
        let line: CallLine<'_> = serde_json::from_str(text).ok()?;
        let is_call =
            line.v == VERSION && matches!(line.kind(), EventKind::PreToolUse | EventKind::PostToolUse);
        (is_call && !Tool::named(&line.payload.tool_name).manages_teams()).then_some(line)
    }

    fn kind(&self) -> EventKind {
        EventKind::named(&self.event)
    }
}

/// One in this many of the tool calls that the timeline does not show is read: they relate Claude Code's clock to teamkeep's.
const TIE_INTERVAL: u32 = 256;

/// Recognizes the lines of a large log without which the timeline is the same: most [`CallLine`]s. Nothing of them is parsed, so
/// only `verify` reports that one is damaged.
#[derive(Debug)]
pub(super) struct SkippedLines {
    /// Times of lines that are read in any case.
    needed: BTreeSet<String>,
    tool_name: memmem::Finder<'static>,
    tool_use_id: memmem::Finder<'static>,
}

impl SkippedLines {
    pub(super) fn except_at(times: impl Iterator<Item = Timestamp>) -> SkippedLines {
        SkippedLines {
            needed: times.map(|at| at.to_string()).collect(),
            tool_name: memmem::Finder::new(br#""tool_name":""#),
            tool_use_id: memmem::Finder::new(br#""tool_use_id":""#),
        }
    }

    pub(super) fn contain(&self, line: &[u8]) -> bool {
        let mut rest = line;
        let mut field = |before: &str| {
            let value = rest.strip_prefix(before.as_bytes())?;
            let (value, after) = value.split_at(memchr(b'"', value)?);
            rest = after;
            str::from_utf8(value).ok()
        };
        let head = (field(r#"{"v":1,"at":""#), field(r#"","id":""#), field(r#"","event":""#));
        let (Some(at), Some(_), Some(event)) = head else { return false };
        if !matches!(EventKind::named(event), EventKind::PreToolUse | EventKind::PostToolUse)
            || self.needed.contains(at)
            || !line.ends_with(b"}")
        {
            return false;
        }
        // The input of a tool can have these keys, too.
        let all = |key: &memmem::Finder<'_>, is_right: &dyn Fn(&str) -> bool| {
            let mut values = key.find_iter(rest).map(|at| {
                let value = &rest[at + key.needle().len()..];
                str::from_utf8(&value[..memchr(b'"', value)?]).ok()
            });
            let first = values.next().flatten();
            first.is_some_and(is_right) && values.all(|value| value.is_some_and(is_right))
        };
        all(&self.tool_name, &|tool| !tool.contains('\\') && !Tool::named(tool).manages_teams())
            && all(&self.tool_use_id, &|id| {
                let sum = id.bytes().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
                sum % TIE_INTERVAL != 0
            })
    }
}

/// Fields that nothing reads.
const UNUSED_FIELDS: [&str; 8] = [
    "session_id",
    "transcript_path",
    "cwd",
    "prompt_id",
    "permission_mode",
    "hook_event_name",
    "agent_id",
    "agent_type",
];

/// Makes events that share what they have in common.
#[derive(Debug, Default)]
pub(super) struct EventLoader(Mutex<HashSet<Arc<Origin>>>);

impl EventLoader {
    fn shared(&self, origin: Origin) -> Arc<Origin> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&origin) {
            return known.clone();
        }
        let origin = Arc::new(origin);
        known.insert(origin.clone());
        origin
    }

    pub(super) fn load_call(&self, call: &CallLine<'_>) -> LoadedEvent {
        let owned = |text: &Option<Text<'_>>| text.as_deref().map(str::to_owned);
        let CallActor { name, id, kind } = &call.actor;
        let actor = Actor { name: owned(name), id: owned(id), kind: *kind };
        let (session, task_list) = (owned(&call.session), owned(&call.task_list));
        let tool = Some((*call.payload.tool_name).to_owned());
        LoadedEvent {
            at: call.at,
            id: (*call.id).into(),
            place: 0,
            in_run: call.run.is_some(),
            kind: call.kind(),
            origin: self.shared(Origin { session, task_list, actor, tool }),
            content: Content::Call((*call.payload.tool_use_id).into()),
            traceparent: call.traceparent.as_deref().and_then(TraceParent::parse).map(Box::new),
            verdict: call.verdict.and_then(RecordedVerdict::read).map(Box::new),
        }
    }

    /// Loads an event that is not a [`CallLine`].
    pub(super) fn load(&self, recorded: Recorded) -> LoadedEvent {
        let kind = EventKind::named(&recorded.event);
        // The start of a session has the project's directory.
        let unused = if kind == EventKind::SessionStart { &[][..] } else { &UNUSED_FIELDS };
        let payload = Payload::fields_without(&recorded.payload, unused);
        let tool = payload.tool_name().map(str::to_owned);
        let Recorded { session, task_list, actor, .. } = recorded;
        LoadedEvent {
            at: recorded.at,
            id: recorded.id.into(),
            place: 0,
            in_run: recorded.run.is_some(),
            kind,
            origin: self.shared(Origin { session, task_list, actor, tool }),
            content: Content::Payload(Box::new(payload)),
            traceparent: recorded.traceparent.map(Box::new),
            verdict: recorded.verdict.as_deref().and_then(RecordedVerdict::read).map(Box::new),
        }
    }
}

impl LoadedEvent {
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn session(&self) -> Option<&str> {
        self.origin.session.as_deref()
    }

    pub fn task_list(&self) -> Option<&str> {
        self.origin.task_list.as_deref()
    }

    pub fn actor(&self) -> &Actor {
        &self.origin.actor
    }

    pub(super) fn set_actor(&mut self, actor: Actor) {
        self.origin = Arc::new(Origin { actor, ..(*self.origin).clone() });
    }

    /// The payload, without [`UNUSED_FIELDS`]. It is empty if the call is of a tool that does not manage a team.
    pub fn payload(&self) -> &Payload {
        static EMPTY: LazyLock<Payload> = LazyLock::new(|| Payload::fields_of(RawValue::NULL));
        match &self.content {
            Content::Payload(payload) => payload,
            Content::Call(_) => &EMPTY,
        }
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.payload().text(key)
    }

    pub fn tool_name(&self) -> Option<&str> {
        self.origin.tool.as_deref()
    }

    pub fn tool(&self) -> Option<Tool> {
        self.tool_name().map(Tool::named)
    }

    /// The id that the tool call has in PreToolUse, PostToolUse and the transcript.
    pub fn tool_use_id(&self) -> Option<&str> {
        match &self.content {
            Content::Payload(payload) => payload.tool_use_id(),
            Content::Call(id) => Some(id),
        }
    }

    pub fn tool_input(&self) -> &Value {
        self.payload().tool_input()
    }

    pub fn tool_response(&self) -> &Value {
        self.payload().tool_response()
    }

    pub fn who(&self) -> Option<&str> {
        match self.actor().kind {
            ActorKind::Unknown => None,
            ActorKind::Helper => Some(self.actor().shown()),
            _ => self.actor().name.as_deref(),
        }
    }

    /// The actor's name in the timeline of a run: before its session had a team, the lead was not a lead.
    pub fn shown(&self, run: &RunRecord) -> &str {
        if self.actor().kind == ActorKind::Lead { run.lead() } else { self.who().unwrap_or("unknown") }
    }
}

/// Replaces the actors of events. Events share them, so each is made once.
pub(super) fn change_actors(events: &mut [LoadedEvent], change: impl Fn(&Actor) -> Option<Actor>) {
    let mut known: HashMap<*const Origin, (Arc<Origin>, Option<Arc<Origin>>)> = HashMap::new();
    for event in events {
        // The map holds each origin, so its address is not used again.
        let (_, changed) = known.entry(Arc::as_ptr(&event.origin)).or_insert_with(|| {
            let changed = change(&event.origin.actor);
            let changed = changed.map(|actor| Arc::new(Origin { actor, ..(*event.origin).clone() }));
            (event.origin.clone(), changed)
        });
        if let Some(changed) = changed {
            event.origin = changed.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(event: &str, payload: &str) -> String {
        format!(
            r#"{{"v":1,"at":"2026-02-03T00:00:00.000Z","id":"x","event":"{event}","session":"s","actor":{{"kind":"lead"}},"run":null,"payload":{payload},"chain":"c"}}"#
        )
    }

    fn is_read(event: &str, payload: &str) -> bool {
        let line = line(event, payload);
        let is_skipped = SkippedLines::except_at(std::iter::empty()).contain(line.as_bytes());
        assert!(!is_skipped || CallLine::read(line.as_bytes()).is_some());
        !is_skipped
    }

    #[test]
    fn the_timeline_skips_only_most_calls_of_other_tools() {
        let call = |tool: &str, id: usize| {
            is_read("PreToolUse", &format!(r#"{{"tool_name":"{tool}","tool_use_id":"toolu_{id}"}}"#))
        };
        let read = (0..10_000).filter(|id| call("Bash", *id)).count();
        assert!((10..100).contains(&read), "{read}");
        assert!((0..300).all(|id| {
            ["SendMessage", "TaskUpdate", "TeamDelete", "Agent", "Task"].iter().all(|tool| call(tool, id))
        }));
        assert!(call("Send\\u004dessage", 1), "however it is spelled");
        let nested = r#"{"tool_input":{"tool_name":"Bash"},"tool_name":"SendMessage","tool_use_id":"a"}"#;
        assert!(is_read("PostToolUse", nested));
        for odd in ["{}", "7", "null", r#"{"tool_name":"Bash"}"#, r#"{"tool_name":7,"tool_use_id":"a"}"#] {
            assert!(is_read("PreToolUse", odd), "{odd}");
        }
        let payload = r#"{"tool_name":"Bash","tool_use_id":"a"}"#;
        assert!(is_read("Stop", payload) && !is_read("PreToolUse", payload));
        let line = line("PreToolUse", payload);
        let skips = |at: Option<&str>, line: &str| {
            SkippedLines::except_at(at.and_then(teamkeep_model::time::parse).into_iter())
                .contain(line.as_bytes())
        };
        assert!(skips(None, &line) && skips(Some("2026-02-03T00:00:00.001Z"), &line));
        assert!(!skips(Some("2026-02-03T00:00:00.000Z"), &line), "the start of a run");
        assert!(!skips(None, &line[..line.len() - 1]), "cut off");
        assert!(!skips(None, &line.replace("\"v\":1", "\"v\":2")), "another format");
    }

    #[test]
    fn a_damaged_line_is_not_taken_for_a_call() {
        let good = line("PreToolUse", r#"{"tool_name":"Bash","tool_input":"ü","tool_use_id":"a"}"#);
        let read = |line: &[u8]| CallLine::read(line).is_some();
        assert!(read(good.as_bytes()) && read(good.replace(r#""run":null,"#, "").as_bytes()));
        let bad = [
            good.replace("\"v\":1", "\"v\":2"),
            good.replace("\"v\":1,", ""),
            good.replace('ü', "\n"),
            good.replace("\"run\":null", "\"run\":7"),
            good.replace("\"lead\"", "7"),
            good.replace("\"id\":\"x\"", "\"id\":\"x\",\"id\":\"y\""),
            good[..good.len() - 1].to_owned(),
            format!("[{good}]"),
            good.clone() + "}",
        ];
        assert!(bad.iter().all(|line| !read(line.as_bytes())));
        let cut = good.bytes().filter(|byte| *byte != "ü".as_bytes()[1]).collect::<Vec<_>>();
        assert!(!read(&cut), "no UTF-8");
    }

    fn loaded(loader: &EventLoader, tool: &str) -> LoadedEvent {
        let payload =
            format!(r#"{{"tool_name":"{tool}","tool_use_id":"t1","cwd":"/p","tool_input":{{"to":"bob"}}}}"#);
        let line = line("PostToolUse", &payload);
        match CallLine::read(line.as_bytes()) {
            Some(call) => loader.load_call(&call),
            None => loader.load(serde_json::from_str(&line).unwrap()),
        }
    }

    #[test]
    fn calls_of_other_tools_have_no_input() {
        let loader = EventLoader::default();
        let (bash, read) = (loaded(&loader, "Bash"), loaded(&loader, "Bash"));
        let message = loaded(&loader, "SendMessage");
        assert_eq!((bash.tool_name(), bash.tool_use_id()), (Some("Bash"), Some("t1")));
        assert_eq!(bash.tool_input(), &Value::Null);
        assert_eq!((message.tool_name(), message.tool_use_id()), (Some("SendMessage"), Some("t1")));
        assert_eq!((&message.tool_input()["to"], message.text("cwd")), (&Value::from("bob"), None));
        assert!(Arc::ptr_eq(&bash.origin, &read.origin));
    }
}
